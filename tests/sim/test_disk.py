"""Mishaps of the server's disk: a few seeds of each world; their plants are in `test_zoo.py`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairlead.model.key import Key
from fairlead.sim.chance import Chance
from fairlead.sim.faults import CALM
from fairlead.sim.run import Runner
from fairlead.sim.scenario import DiskMishap, create
from fairlead.sim.worlds import small
from fairlead.store.contract import ADDED, DELETED, MODIFIED, Batch, CommittedChange, Entry
from fairlead.store.memory import MemoryJournal
from tests.sim.sampled import sampled

MISHAPS = {
    "bit-rot": "row_rots",
    "lost-log": "log_lost",
    "full-disk": "disk_full",
    "fenced-full": "disk_full",
}


@pytest.mark.parametrize("world", MISHAPS)
def test_what_befalls_the_disk_breaks_nothing(world: str) -> None:
    tally = sampled(world, range(3))
    assert tally.faults[MISHAPS[world]] == 3


def test_who_asks_for_more_of_what_is_lost_does_not_keep_others_from_making_it_again() -> None:
    """Seed 5010: web is lost before it is scaled. Steps about one object wait for each other, and one that was asked for
    without end waited for what came after it."""
    sampled("lost-log", [5010])


def test_a_journal_that_lost_its_newest_changes_is_as_it_was_before_them() -> None:
    one, two = Key("pods", "default", "one"), Key("pods", "default", "two")
    versions = [Entry(one, "u", revision, b"%d" % revision, revision - 1) for revision in range(4)]
    journal = MemoryJournal()
    journal.append(Batch((CommittedChange(ADDED, versions[1], None),), (), 1.0))
    before = journal.recover().entries
    made = Entry(two, "v", 4, b"4")
    later = (
        CommittedChange(MODIFIED, versions[2], versions[1]),
        CommittedChange(DELETED, versions[3], versions[2]),
        CommittedChange(ADDED, made, None),
    )
    journal.append(Batch(later, (), 2.0))
    journal.lose(after=1, until=9)
    assert journal.recover().entries == before
    assert journal.recover().revision == 9


def test_who_gives_up_after_one_refusal_asks_on_while_the_disk_is_full() -> None:
    body = {"kind": "ConfigMap", "metadata": {"name": "late"}}
    asked = replace(create(8.0, "v1", "configmaps", body), tries=1)
    scenario = replace(small.FRAME, steps=(asked,), disk_mishaps=(DiskMishap(5.0, "disk_full", 20.0),))
    run = Runner(scenario, CALM).play(Chance(0, calm=True), trail=True)
    assert run.violation is None
    assert [key.name for key in run.objects.of("configmaps")] == ["late"]
    committed = [step for step in run.trail or () if "configmaps/default/late" in step.text]
    assert committed[-1].ms > 20_000
