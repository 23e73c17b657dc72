"""Leadership: one leader at a time, by observed durations, fenced; driven in virtual time against the real API."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.control.instructions import Call, Replied
from fairlead.control.leadership import Leadership, LeadershipInstruction, LeadershipPhase
from fairlead.core import codec
from fairlead.port.driving import Started, Woke
from fairlead.port.outcome import Conflict, Done, Outcome, Refused, Unknown, outcome_of
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

    def carry_out(self, instructions: tuple[LeadershipInstruction, ...]) -> None:
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
            self.carry_out(self.leadership.handle(Replied(call, outcome, now, 0.5)))
        self.carry_out(self.leadership.handle(Woke(now)))


class Contest:
    def __init__(self, *names: str, faults: Any = None) -> None:
        self.plane = InProcess()
        numbers = itertools.count(1)
        self.candidates = [Candidate(name, self.plane, numbers, faults) for name in names]
        self.now = 1_000.0
        self.histories: list[list[str]] = []
        for candidate in self.candidates:
            candidate.carry_out(candidate.leadership.handle(Started(self.now)))

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
    assert contest.candidates[1].leadership.phase is LeadershipPhase.STANDBY


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
    assert old is not None
    contest.candidates[0].paused = True
    contest.run(40)
    request = Request(
        "create", "", "v1", "configmaps", "default", premises=(old,),
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
    ((call, outcome),) = candidate.inbox
    candidate.inbox.clear()
    candidate.carry_out(leadership.handle(Replied(call, outcome, contest.now, 0.5)))
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


def lease_body(holder: str, revision: int, transitions: int = 1) -> Done:
    spec = {"holderIdentity": holder, "leaseTransitions": transitions, "leaseDurationSeconds": 15}
    return Done(revision, codec.encode({"metadata": {"resourceVersion": str(revision)}, "spec": spec}))


MOVES = (0.0, 5.0, 100.0)  # at once, when something is due, when every lease has ended
ANSWERS: tuple[Outcome, ...] = (
    lease_body("", 9),
    lease_body("a", 10, 2),
    lease_body("b", 11, 7),
    Refused(404, "NotFound", ""),
    Conflict("Conflict", ""),
    Unknown("no answer"),
)


def walked(fencing: bool, path: list[tuple[float, Outcome | None]]) -> tuple[Leadership, float]:
    """A leadership that was started and has then met these: after so long an answer, or just the time."""
    numbers = itertools.count(1)
    leadership = Leadership("a", lambda: next(numbers), fencing=fencing)
    leadership.handle(Started(0.0))
    now = 0.0
    for passed, outcome in path:
        now += passed
        leadership.handle(Woke(now) if outcome is None else Replied(leadership._call, outcome, now, 0.5))
    return leadership, now


def test_the_transition_table_in_the_docstring_is_what_the_machine_does() -> None:
    lines = [line.strip() for line in (Leadership.__doc__ or "").splitlines() if line.strip().startswith("|")]
    header, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    documented = {
        (row[0], event): set(cell.split()) - {"-"}
        for row in rows
        for event, cell in zip(header[1:], row[1:], strict=True)
    }
    observed: dict[tuple[str, str], set[str]] = {key: set() for key in documented}
    observed["STANDBY", "Started"].add("STANDBY")  # each of the walks begins with it
    steps: list[tuple[float, Outcome | None]] = [(p, o) for p in MOVES for o in (None, *ANSWERS)]
    for fencing in (True, False):
        edge: list[list[tuple[float, Outcome | None]]] = [[]]
        known: set[Any] = set()
        for _ in range(6):
            following = []
            for path, step in itertools.product(edge, steps):
                before, now = walked(fencing, path)
                if step[1] is not None and not before._call:
                    continue
                after, _ = walked(fencing, [*path, step])
                what = "Woke" if step[1] is None else "Replied"
                if what == "Replied" or (after.phase, after._call) != (before.phase, before._call):
                    observed[before.phase.name, what].add(after.phase.name)
                assert before.handle(Started(now)) == () or before.phase is LeadershipPhase.STANDBY
                state = (
                    after.phase,
                    bool(after._call),
                    after._reading_fence,
                    after._reading_lease,
                    after._unsure,
                )
                if state not in known:
                    known.add(state)
                    following.append([*path, step])
            edge = following
    assert observed == documented


def test_an_answer_to_another_call_has_no_effect() -> None:
    leadership, now = walked(True, [])
    assert leadership.handle(Replied(leadership._call + 1, lease_body("", 9), now, 0.5)) == ()
    assert leadership.phase is LeadershipPhase.STANDBY
    assert leadership.next_at == 0.0, "it still waits for its own"


def test_a_candidate_that_may_not_take_the_lease_waits_before_it_tries_again() -> None:
    """Without its namespace, or without the right to: every answer comes at once, and so would the next try."""
    plane, numbers = InProcess(), itertools.count(1)
    asked: list[str] = []
    leadership = Leadership("one", lambda: next(numbers))
    now = plane.now
    instructions = leadership.handle(Started(now))
    for _ in range(100):
        calls = [each for each in instructions if isinstance(each, Call)]
        if not calls:
            now += 0.01
            instructions = leadership.handle(Woke(now))
            continue
        asked.append(calls[0].request.verb)
        refused = Refused(404 if calls[0].request.verb == "get" else 403, "Forbidden", "no")
        instructions = leadership.handle(Replied(calls[0].call, refused, now, 0.5))
    assert asked == ["get", "create"], "within a second"
