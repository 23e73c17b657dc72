"""Runs start from a standing fleet: restored whole, owners first, under revisions of its own, and left alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairlead.core import codec
from fairlead.model.key import Key
from fairlead.sim.backup import Backup, backup_of
from fairlead.sim.chance import Chance
from fairlead.sim.faults import CALM
from fairlead.sim.run import Runner
from fairlead.sim.world import World
from fairlead.store.contract import Entry


@pytest.fixture(scope="module")
def backup() -> Backup:
    return Runner().backup()


def entry(resource: str, name: str, revision: int, owner: str = "") -> Entry:
    metadata = {"name": name, "uid": name, "resourceVersion": str(revision)}
    if owner:
        metadata["ownerReferences"] = [{"uid": owner}]  # type: ignore[assignment]
    return Entry(Key(resource, "default", name), name, revision, codec.encode({"metadata": metadata}))


def test_objects_are_numbered_anew_owners_before_what_they_own() -> None:
    stored = (
        entry("pods", "pod", 4, owner="set"),
        entry("replicasets.apps", "set", 7, owner="deployment"),
        entry("deployments.apps", "deployment", 9),
        entry("leases.coordination.k8s.io", "fairlead-plane", 8),
    )
    made = backup_of(stored, requests=12)
    assert [change.entry.key.name for change in made.changes] == ["deployment", "set", "pod"]
    for revision, change in enumerate(made.changes, start=1):
        assert change.entry.revision == revision
        assert codec.decode(change.entry.data)["metadata"]["resourceVersion"] == str(revision)
    assert made.requests == 12


def test_the_fleet_stands_before_a_run_begins(backup: Backup) -> None:
    kinds = [change.entry.key.resource for change in backup.changes]
    assert (kinds.count("nodes"), kinds.count("pods")) == (20, 95)
    assert "leases.coordination.k8s.io" not in kinds
    times = {codec.decode(c.entry.data)["metadata"]["creationTimestamp"] for c in backup.changes}
    assert max(times) < "2027-01-15T08:00:00Z"  # the run's first second


def test_nothing_is_done_to_a_fleet_that_stands(backup: Backup) -> None:
    scenario = replace(Runner().scenario, steps=())
    run = World(scenario, Chance(3), CALM, backup=backup).run()
    assert run.violation is None
    standing = {change.entry.key: change.entry.revision for change in backup.changes}
    assert {key: view.metadata.revision for key, view in run.objects.all() if key in standing} == standing


def test_identities_of_a_run_are_not_those_of_the_fleet(backup: Backup) -> None:
    scenario = Runner().scenario
    run = World(scenario, Chance(3), CALM, backup=backup).run()
    before = {change.entry.uid: change.entry.key for change in backup.changes}
    for key, view in run.objects.all():
        uid = view.metadata.uid
        assert before.get(uid, key) == key, f"{key} has the uid of {before[uid]}"
