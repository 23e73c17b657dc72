"""The sentence at the end of a timeline, from lines that are given."""

from __future__ import annotations

import pytest

from fairlead.explain.timeline.moment import BOUND, ENDED, REFUSED, Moment, ToldMoment
from fairlead.explain.timeline.why import why_of

OWNER, POD = "deployments.apps/shop/web", "pods/shop/web-1"


def line(at: float, kind: str, what: str) -> ToldMoment:
    moment = Moment(at, "scheduler", kind, POD, what, decision=f"term-{int(at)}")
    return ToldMoment(moment, moment, (POD,))


def test_what_was_refused_last_is_why_it_came_no_further() -> None:
    told = [line(1.0, REFUSED, "refused: exceeded quota")]
    why = why_of(told, OWNER, True, {OWNER, POD}, ())
    assert "pod/web-1 came no further" in why.sentence
    assert (why.decisions, why.evidence) == (("term-1",), (0,))


@pytest.mark.parametrize(("kind", "what"), [(BOUND, "bound to node-1"), (ENDED, "its deletion is asked for")])
def test_what_has_a_node_since_or_is_gone_holds_nothing_up(kind: str, what: str) -> None:
    told = [line(1.0, REFUSED, "looked up"), line(2.0, kind, what)]
    assert why_of(told, OWNER, True, {OWNER, POD}, ()).sentence == "nothing here holds it up"
