"""Loops of several writers: what is one, what is none, and that memory ends somewhere."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.control import feedback
from fairlead.control.feedback import AMPLIFICATION, INVALID, OSCILLATION, Commit
from fairlead.control.write_loops import (
    DecisionLine,
    WriteLoop,
    WriteLoops,
    WriteLoopSettings,
    describe_loop,
    value_of,
)
from fairlead.model.key import Key

WEB = Key("deployments.apps", "default", "web")
QUOTA = Key("resourcequotas", "default", "team")


def nobody(writer: str, resource: str, field: str) -> bool:
    return False


def everybody(writer: str, resource: str, field: str) -> bool:
    return True


class Told:
    """Writes one after the other, a second apart unless told otherwise."""

    def __init__(self, reads: feedback.Reads = nobody, settings: WriteLoopSettings | None = None) -> None:
        self.loops, self.reads, self.now, self.number = WriteLoops(settings), reads, 0.0, 0
        self.values: dict[tuple[Key, str], Any] = {}

    def wrote(
        self, writer: str, value: Any, field: str = "spec.replicas", key: Key = WEB, after: float = 1.0
    ) -> list[WriteLoop]:
        self.now += after
        self.number += 1
        before = self.values.get((key, field), 2)
        self.values[key, field] = value
        fields = {field: (value_of(before), value_of(value))}
        commit = Commit(self.now, writer, key, fields, f"t-{self.number}", self.number)
        return self.loops.committed(commit, self.reads)

    def kinds(self, *writes: tuple[str, Any]) -> list[str]:
        return [loop.kind for writer, value in writes for loop in self.wrote(writer, value)]


def test_a_field_that_two_undo_by_turns_is_an_oscillation() -> None:
    told = Told()
    assert told.kinds(("jane", 5), ("autoscaler", 2), ("jane", 5)) == []
    (loop,) = told.wrote("autoscaler", 2)
    assert (loop.kind, loop.writers, loop.writes) == (OSCILLATION, ("autoscaler", "jane"), 3)
    assert (loop.object, loop.fields) == ("deployments.apps/default/web", ("spec.replicas",))
    assert [(step.value, step.decision) for step in loop.proof] == [
        ("2", ""),
        ("5", "t-1"),
        ("2", "t-2"),
        ("5", "t-3"),
        ("2", "t-4"),
    ]
    assert describe_loop(loop) == (
        "autoscaler and jane undo each other's spec.replicas of deployments.apps/default/web, 3 times:"
        " 2 to 5 to 2 to 5 to 2; t-1, t-2, t-3, t-4"
    )
    assert told.wrote("jane", 5) == []  # it goes on, and is no news
    assert [(each.writes, each.last) for each in told.loops.loops(told.now)] == [(4, told.now)]
    assert told.loops.found_by == {"repeat": 0, "oscillation": 1, "amplification": 0, "invalid decision": 0}


@pytest.mark.parametrize(
    ("writes", "why"),
    [
        ([("jane", 5), ("jane", 2)] * 5, "one who changes her mind"),
        ([("jane", 3), ("autoscaler", 4), ("jane", 5), ("autoscaler", 7)], "values that do not come back"),
        ([("jane", 5), ("autoscaler", 2)] * 1, "once"),
    ],
)
def test_what_is_no_oscillation(writes: list[tuple[str, Any]], why: str) -> None:
    assert OSCILLATION not in Told().kinds(*writes), why


@pytest.mark.parametrize(
    "field",
    ["status.readyReplicas", "status.used", "delete", "metadata.annotations[fairlead.dev/operation]"],
)
def test_what_follows_from_what_there_is_is_not_looked_at(field: str) -> None:
    told = Told(everybody)
    assert [told.wrote(writer, value, field) for writer, value in [("a", 5), ("b", 2)] * 5] == [[]] * 10


def test_conditions_are_looked_at_without_their_times() -> None:
    told, field = Told(), "status.conditions[Ready]"
    found = []
    for number in range(4):
        value = {"status": str(number % 2 == 1), "lastTransitionTime": f"2027-01-15T08:00:0{number}Z"}
        found += told.wrote(("agent", "node-health")[number % 2], value, field)
    assert found == []  # what was there before the first is neither
    (loop,) = told.wrote("agent", {"status": "False", "lastTransitionTime": "2027-01-15T08:00:09Z"}, field)
    assert loop.kind == OSCILLATION


def test_an_oscillation_over_a_long_time_is_none_and_one_that_ended_is_forgotten() -> None:
    told = Told()
    slow = [told.wrote(writer, value, after=400.0) for writer, value in [("a", 5), ("b", 2)] * 4]
    assert slow == [[]] * 8
    told = Told()
    told.kinds(*[("a", 5), ("b", 2)] * 2)
    assert len(told.loops.loops(told.now + 599.0)) == 1
    assert told.loops.loops(told.now + 600.0) == ()


def test_a_write_that_nobody_saw_ends_what_was_known() -> None:
    told = Told()
    told.kinds(("a", 5), ("b", 2), ("a", 5))
    told.values[WEB, "spec.replicas"] = 9
    assert told.wrote("b", 2) == []


def test_two_that_raise_the_same_field_by_turns_amplify() -> None:
    told = Told()
    writes = [(("autoscaler", "bot")[number % 2], 3 + number) for number in range(5)]
    assert told.kinds(*writes) == []
    (loop,) = told.wrote("bot", 20)
    assert (loop.kind, loop.writers, loop.writes) == (AMPLIFICATION, ("autoscaler", "bot"), 3)
    assert [step.value for step in loop.proof] == ["3", "4", "5", "6", "7", "20"]
    assert "autoscaler and bot raise spec.replicas by turns" in describe_loop(loop)


def rises(reads: feedback.Reads) -> list[str]:
    told = Told(reads)
    kinds: list[str] = []
    for number in range(6):
        kinds += [each.kind for each in told.wrote("scaler", 10 + number)]
        kinds += [each.kind for each in told.wrote("buyer", 10 + number, "spec.hard", QUOTA)]
    return kinds


def test_two_fields_amplify_if_each_writer_decides_on_the_others() -> None:
    assert rises(everybody) == [AMPLIFICATION] * 2  # told by either, once each
    assert rises(nobody) == []
    assert rises(lambda writer, resource, field: writer == "scaler") == []  # who follows is no loop


def test_rises_that_are_undone_are_no_amplification() -> None:
    told = Told(everybody)
    found = [told.wrote(("a", "b")[number % 2], (9, 1)[number % 2]) for number in range(3)]
    assert found == [[], [], []]


def line(**fields: Any) -> DecisionLine:
    return DecisionLine(controller="job", object="jobs.batch/default/sum", **fields)


def refused(loops: WriteLoops, number: int, effect: str, outcome: str = "refused") -> list[WriteLoop]:
    loops.recorded(line(id=f"t-{number}", verdict="Waiting", effects=(effect,)), float(number))
    trouble = "pods is forbidden: no"
    return loops.recorded(line(of=f"t-{number}", outcome=outcome, trouble=trouble), float(number))


def test_a_decision_that_is_refused_again_and_again() -> None:
    loops = WriteLoops()
    found = [refused(loops, number, f"Create job/u/pod@{number}") for number in range(10)]
    assert found[:9] == [[]] * 9
    ((loop,),) = found[9:]
    assert (loop.kind, loop.writers, loop.writes) == (INVALID, ("job",), 10)
    assert [step.decision for step in loop.proof] == [f"t-{number}" for number in range(10)]
    assert "each time: pods is forbidden: no; t-0, t-1" in describe_loop(loop)


def test_decisions_that_differ_or_are_carried_out_are_no_loop() -> None:
    loops = WriteLoops()
    assert [refused(loops, number, f"Create job/u/{'ab'[number % 2]}") for number in range(40)] == [[]] * 40
    assert [refused(loops, number, "Create job/u/a", "unknown") for number in range(40)] == [[]] * 40


def test_one_that_was_carried_out_in_between_ends_what_came_to_nothing() -> None:
    """A controller that always says the same, such as one that reports, is too late now and then for ever."""
    loops, told = WriteLoops(), "ChangeStatus job/u/progress"
    for number in range(0, 40, 2):
        assert refused(loops, number, told) == []
        loops.recorded(line(id=f"t-{number + 1}", verdict="Waiting", effects=(told,)), number + 1.0)
    assert any(refused(loops, number, told) for number in range(40, 60)), "one that never is, is found still"


def test_nothing_is_looked_for_where_the_settings_say_so() -> None:
    off = WriteLoopSettings(turns_max=0, invalid_max=0)
    assert Told(everybody, off).kinds(*[("a", 5), ("b", 2)] * 9) == []
    loops = WriteLoops(off)
    assert [refused(loops, number, "Create job/u/a") for number in range(40)] == [[]] * 40


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feedback, "FIELDS_KEPT_MAX", 10)
    monkeypatch.setattr(feedback, "SPACES_KEPT_MAX", 5)
    monkeypatch.setattr(feedback, "DECISIONS_KEPT_MAX", 10)
    told = Told()
    for number in range(100):
        told.wrote("a", number + 3, key=Key("pods", f"space-{number}", "web"))
        told.loops.recorded(line(id=f"t-{number}", effects=("x",)), 1.0)
        told.loops.recorded(line(of=f"t-{number}", outcome="refused"), 1.0)
    memory: Any = told.loops._feedback
    assert len(memory._written) == 10
    assert len(memory._rises) == 5
    assert len(memory._tried) <= 10


def test_values_of_secrets_are_compared_and_not_shown() -> None:
    assert value_of({"password": "a"}, is_shown=False) == value_of({"password": "a"}, is_shown=False)
    hidden, other = value_of("a", is_shown=False), value_of("b", is_shown=False)
    assert (hidden.shown, hidden.number, hidden.same == other.same) == ("...", None, False)
    assert len(value_of("x" * 200).shown) == 60
