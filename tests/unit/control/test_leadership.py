"""Leadership: one leader at a time, by observed durations, fenced; driven in virtual time against the real API."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.control.instructions import Call, Instruction
from fairlead.control.leadership import Leadership, Phase
from fairlead.port.outcome import Outcome, Unknown, outcome_of
from fairlead.port.request import Reply, Request
from tests.inprocess import InProcess

STEP = 0.5


class Candidate:
    """A plane's leadership and its way to the API, which may lose requests or answers."""

    def __init__(self, name: str, plane: InProcess, numbers: Any, faults: Any = None) -> None:
        self.leadership = Leadership(name, lambda: next(numbers))
        self.plane = plane
        self.faults = faults or (lambda: "none")
        self.paused = False
        self.inbox: list[tuple[int, Outcome]] = []
        self.skew = 0.0

    def carry_out(self, instructions: tuple[Instruction, ...]) -> None:
        for instruction in instructions:
            if isinstance(instruction, Call):
                fault = self.faults()
                outcome: Outcome = Unknown("no answer")
                if fault != "lost":
                    reply = self.plane.send(instruction.request)
                    assert isinstance(reply, Reply)
                    if fault != "timeout":
                        outcome = outcome_of(reply)
                self.inbox.append((instruction.call, outcome))

    def turn(self, now: float) -> None:
        if self.paused:
            return
        now += self.skew
        inbox, self.inbox = self.inbox, []
        for call, outcome in inbox:
            assert self.leadership.answers(call)
            self.carry_out(self.leadership.answered(outcome, now))
        self.carry_out(self.leadership.woke(now))


class Contest:
    def __init__(self, *names: str, faults: Any = None) -> None:
        self.plane = InProcess()
        numbers = itertools.count(1)
        self.candidates = [Candidate(name, self.plane, numbers, faults) for name in names]
        self.now = 1_000.0
        self.histories: list[list[str]] = []
        for candidate in self.candidates:
            candidate.carry_out(candidate.leadership.begin(self.now))

    def run(self, seconds: float) -> None:
        for _ in range(int(seconds / STEP)):
            self.now += STEP
            for candidate in self.candidates:
                candidate.turn(self.now)
            acting = [
                c.leadership.identity for c in self.candidates if c.leadership.may_act(self.now + c.skew)
            ]
            self.histories.append(acting)
            assert len(acting) <= 1, f"two leaders at {self.now}: {acting}"

    @property
    def leaders(self) -> list[str]:
        return [c.leadership.identity for c in self.candidates if c.leadership.leads]


def test_the_only_candidate_leads_within_moments_and_goes_on_leading() -> None:
    contest = Contest("a")
    contest.run(3)
    assert contest.leaders == ["a"]
    fence = contest.candidates[0].leadership.fence
    contest.run(120)
    assert contest.leaders == ["a"]
    assert contest.candidates[0].leadership.fence == fence, (
        "the fence is written only when the holder changes"
    )


def test_the_second_waits_as_long_as_the_first_renews() -> None:
    contest = Contest("a", "b")
    contest.run(300)
    assert contest.leaders == ["a"]
    assert contest.candidates[1].leadership.phase is Phase.STANDBY


def test_a_paused_leader_is_replaced_and_does_not_act_when_it_wakes() -> None:
    contest = Contest("a", "b")
    contest.run(5)
    first, second = contest.candidates
    old_fence = first.leadership.fence
    first.paused = True
    contest.run(40)
    assert second.leadership.leads
    assert second.leadership.fence != old_fence
    first.paused = False
    assert not first.leadership.may_act(contest.now)
    contest.run(20)
    assert contest.leaders == ["b"]


def test_what_a_replaced_leader_still_sends_is_refused_by_its_fence() -> None:
    contest = Contest("a", "b")
    contest.run(5)
    old = contest.candidates[0].leadership.fence
    contest.candidates[0].paused = True
    contest.run(40)
    request = Request(
        "create", "", "v1", "configmaps", "default", query={"fence": old},
        body=b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"late"}}',
    )  # fmt: skip
    reply = contest.plane.send(request)
    assert isinstance(reply, Reply)
    assert reply.status == 409


def test_a_renewal_that_is_answered_after_the_end_of_the_lease_leads_to_a_new_fence() -> None:
    contest = Contest("a")
    contest.run(3)
    (candidate,) = contest.candidates
    leadership, old_fence = candidate.leadership, candidate.leadership.fence
    while not candidate.inbox:
        contest.run(STEP)  # until a renewal is under way
    contest.now += leadership.settings.duration_seconds
    assert not leadership.may_act(contest.now)
    ((_, outcome),) = candidate.inbox
    candidate.inbox.clear()
    candidate.carry_out(leadership.answered(outcome, contest.now))
    assert not leadership.may_act(contest.now), "it would act under the fence that its lost time began with"
    contest.run(5)
    assert leadership.may_act(contest.now)
    assert leadership.fence != old_fence


@pytest.mark.parametrize("skew", [-3600.0, 3600.0])
def test_clocks_that_differ_by_an_hour_do_not_matter(skew: float) -> None:
    contest = Contest("a", "b")
    contest.candidates[1].skew = skew
    contest.run(120)
    assert contest.leaders == ["a"]


@given(
    st.lists(st.sampled_from(["none", "none", "none", "lost", "timeout"]), max_size=60), st.integers(0, 40)
)
def test_lost_requests_and_answers_never_make_two_leaders_and_one_leads_in_the_end(
    faults: list[str], pause_at: int
) -> None:
    remaining = iter(faults)
    contest = Contest("a", "b", faults=lambda: next(remaining, "none"))
    contest.run(pause_at)
    contest.candidates[0].paused = True
    contest.run(30)
    contest.candidates[0].paused = False
    contest.run(60)
    assert len(contest.leaders) == 1
