"""Every fault is described, and what each fate of a call does to the one that it strikes."""

from __future__ import annotations

from dataclasses import fields, replace
from math import factorial

import pytest

from fairlead.model.key import Key
from fairlead.sim.calls import FATES, TOUCHED
from fairlead.sim.chance import Chance
from fairlead.sim.faults import CALM, MEANING, NodeFaults
from fairlead.sim.incidents.pinned import LEADER
from fairlead.sim.network import in_order
from fairlead.sim.run import Runner
from fairlead.sim.scenario import PinnedFault
from fairlead.sim.world import Run
from fairlead.sim.worlds import seesaw
from fairlead.sim.worlds.roster import WORLDS
from fairlead.store.contract import Entry
from tests.sim.directed import Asked, calls, calm

# Pinned by the worlds that are made for them.
_AT_WILL = {"row_rots", "log_lost"}


def test_every_fault_is_described_and_nothing_else_is() -> None:
    rates = {each.name for each in fields(NodeFaults)} - {"incident", "incidents"}
    drawn = {name for _, faults in WORLDS.values() for name, _ in faults.incidents}
    assert rates | drawn | _AT_WILL == MEANING.keys()


def struck(fate: str) -> tuple[Asked, Run]:
    """A calm run of `seesaw` in which the first create of a pod has this fate."""
    runner = Runner(seesaw.scenario(), seesaw.FAULTS)
    asked = next(each for each in calls(calm(runner)) if (each.verb, each.resource) == ("create", "pods"))
    run = runner.play(Chance(0, {asked.fate: 1 + FATES.index(fate)}, calm=True), trail=True)
    assert run.violation is None
    return asked, run


@pytest.mark.parametrize(
    ("fate", "answer"),
    [
        ("request_slow", "Done"),
        ("request_twice", "Done"),
        ("throttled", "Refused"),
        ("racing_write", "Conflict"),
        ("reply_lost", "Unknown"),
    ],
)
def test_a_call_that_meets_a_fate_is_answered_so_and_the_world_recovers(fate: str, answer: str) -> None:
    _, run = struck(fate)
    assert run.trail is not None
    fault = next(step for step in run.trail if step.kind == "fault" and step.text.startswith(fate))
    call = next(
        step for step in run.trail[fault.number :: -1] if step.kind == "call" and " create pods " in step.text
    )
    number = call.text.split(" ")[0]
    told = (step for step in run.trail if (step.kind, step.actor) == ("replied", call.actor))
    assert next(step.text for step in told if step.text.startswith(f"{number} ")) == f"{number} {answer}"


def test_a_racing_writer_touches_what_the_create_rests_on() -> None:
    _, run = struck("racing_write")
    found = [view for key, view in run.objects.all() if key.resource == "replicasets.apps"]
    assert any(TOUCHED in (step.data or "") for step in run.trail or ())
    assert len(found) == 1


def test_while_the_way_of_requests_is_cut_watches_go_on_and_no_call_arrives() -> None:
    """The one that led is told of what the next one writes, and its own calls come to nothing."""
    since, until = 5_000, 35_000
    cut = PinnedFault(since / 1000, "partition_of_requests", LEADER, (until - since) / 1000)
    run = Runner(replace(seesaw.scenario(), pinned=(cut,)), CALM).play(Chance(0, calm=True), trail=True)
    assert run.violation is None
    assert run.trail is not None
    struck = next(step for step in run.trail if step.kind == "fault").text.removeprefix(f"{cut.name} ")
    its = [step for step in run.trail if step.actor == struck and since < step.ms < until]
    called = {step.text.split(" ")[0] for step in its if step.kind == "call"}
    answers = [step.text for step in run.trail if (step.actor, step.kind) == (struck, "replied")]
    assert called
    assert {f"{number} Unknown" for number in called} <= set(answers)
    others = f" of {'plane-1' if struck == 'plane-0' else 'plane-0'}-"
    wrote = [step for step in run.trail if step.kind == "committed" and others in step.text]
    heard = "".join(step.text.partition("Framed ")[2] for step in its if step.kind == "told")
    pods = [step.text.split(" ")[0] for step in wrote if " pods/" in step.text and step.ms < until - 100]
    assert pods
    assert all(each in heard for each in pods)


def test_a_list_comes_in_every_order_and_as_it_is_where_all_is_calm() -> None:
    for count in range(1, 6):
        listed = tuple(Entry(Key("pods", "default", str(at)), "u", at, b"", 0) for at in range(count))
        orders = factorial(count)
        found = [in_order(listed, number, orders) for number in range(orders)]
        assert len(set(found)) == orders
        assert found[0] == listed
        assert found[1 % orders] == (listed[::-1] if count > 1 else listed)
    many = tuple(Entry(Key("pods", "default", str(at)), "u", at, b"", 0) for at in range(30))
    assert len({in_order(many, number, factorial(20)) for number in range(40)}) == 40
    assert set(in_order(many, 7, factorial(20))) == set(many)
