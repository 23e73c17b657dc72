"""The sentence at the end of a timeline, from lines that are given."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.explain.timeline.lines import DECISIONS, Line
from fairlead.explain.timeline.moment import (
    BOUND,
    CONDITION,
    ENDED,
    MADE,
    REFUSED,
    WAITED,
    Moment,
    ToldMoment,
)
from fairlead.explain.timeline.why import gone_on, why_of

OWNER, POD = "deployments.apps/shop/web", "pods/shop/web-1"


def line(at: float, kind: str, what: str) -> ToldMoment:
    moment = Moment(at, "scheduler", kind, POD, what, decision=f"term-{int(at)}")
    return ToldMoment(moment, moment, (POD,))


def test_what_was_refused_last_is_why_it_came_no_further() -> None:
    told = [line(1.0, REFUSED, "refused: exceeded quota")]
    why = why_of(told, OWNER, True, {OWNER, POD}, (), {})
    assert "pod/web-1 came no further" in why.sentence
    assert (why.decisions, why.evidence) == (("term-1",), (0,))


@pytest.mark.parametrize(("kind", "what"), [(BOUND, "bound to node-1"), (ENDED, "its deletion is asked for")])
def test_what_has_a_node_since_or_is_gone_holds_nothing_up(kind: str, what: str) -> None:
    told = [line(1.0, REFUSED, "looked up"), line(2.0, kind, what)]
    assert why_of(told, OWNER, True, {OWNER, POD}, (), {}).sentence == "nothing here holds it up"


SET, JOB = "replicasets.apps/shop/web-1", "jobs.batch/shop/sum"


def held(at: float, who: str, about: str, kind: str = WAITED) -> ToldMoment:
    moment = Moment(at, who, kind, about, "waits: exceeded quota", decision=f"term-{int(at)}")
    return ToldMoment(moment, moment, (about,))


def decided(at: float, who: str, about: str, **record: Any) -> Line:
    told = {"id": f"term-{int(at)}", "controller": who, "object": about, "verdict": "Waiting", **record}
    return Line(DECISIONS, int(at), at, 0, told)


@pytest.mark.parametrize(
    "since",
    [
        pytest.param([decided(2.0, "replicaset", SET, effects=["Create web-1-a"])], id="it did something"),
        pytest.param([decided(2.0, "replicaset", SET, verdict="Settled")], id="it found all as it should be"),
    ],
)
def test_what_its_controller_went_on_with_is_held_up_no_more(since: list[Line]) -> None:
    why = why_of([held(1.0, "replicaset", SET)], OWNER, True, {OWNER, SET}, (), gone_on(since, 9.0))
    assert why.sentence == "nothing here holds it up"


@pytest.mark.parametrize(
    "since",
    [
        pytest.param(
            [decided(2.0, "replicaset", SET, effects=["ChangeStatus web-1"])], id="it only reported"
        ),
        pytest.param([decided(2.0, "progress", SET, verdict="Settled")], id="another one went on"),
        pytest.param([decided(2.0, "replicaset", OWNER, verdict="Settled")], id="with another object"),
        pytest.param([decided(0.5, "replicaset", SET, verdict="Settled")], id="before that"),
        pytest.param([decided(9.5, "replicaset", SET, verdict="Settled")], id="later than was asked for"),
        pytest.param(
            [
                decided(2.0, "replicaset", SET, effects=["Create web-1-a"]),
                Line(DECISIONS, 3, 2.1, 0, {"of": "term-2", "controller": "replicaset", "object": SET}),
            ],
            id="it was refused again",
        ),
    ],
)
def test_what_its_controller_has_not_gone_on_with_is_held_up_still(since: list[Line]) -> None:
    why = why_of([held(1.0, "replicaset", SET)], OWNER, True, {OWNER, SET}, (), gone_on(since, 9.0))
    assert "replicaset/web-1 came no further" in why.sentence


def test_what_is_refused_about_a_pod_that_was_removed_holds_nothing_up() -> None:
    told = [
        line(1.0, ENDED, "is removed (PodsReleased: 1 on node-a)"),
        line(1.1, REFUSED, "patch is refused with 403"),
    ]
    assert why_of(told, OWNER, True, {OWNER, POD}, (), {}).sentence == "nothing here holds it up"
    again = [told[0], line(1.1, MADE, "is created"), line(1.2, REFUSED, "refused: exceeded quota")]
    assert "pod/web-1 came no further" in why_of(again, OWNER, True, {OWNER, POD}, (), {}).sentence


def test_a_request_of_somebody_that_was_refused_holds_nothing_up() -> None:
    moment = Moment(1.0, "admin (kubectl)", REFUSED, OWNER, "patch is refused with 400 BadRequest")
    why = why_of([ToldMoment(moment, moment, (OWNER,))], OWNER, True, {OWNER, POD}, (), {})
    assert why.sentence == "nothing here holds it up"


def test_a_job_that_failed_is_said_to_have_failed() -> None:
    what = "Failed=True BackoffLimitExceeded: Job has reached the specified backoff limit"
    moment = Moment(2.0, "job", CONDITION, JOB, what, decision="term-2")
    told = [held(1.0, "job", JOB), ToldMoment(moment, moment, (JOB,))]
    why = why_of(told, JOB, True, {JOB}, (), {})
    assert "job/sum has failed" in why.sentence
    assert why.sentence.endswith("BackoffLimitExceeded: Job has reached the specified backoff limit")
    assert why.decisions == ("term-2",)
    made = Moment(3.0, "admin", MADE, JOB, "is created")
    again = why_of([*told, ToldMoment(made, made, (JOB,))], JOB, True, {JOB}, (), {})
    assert again.sentence == "nothing here holds it up", "it was another one of that name"
