"""Owners that go without their dependents: they wait until every kind is shown up to their deletion, and no longer."""

from __future__ import annotations

import pytest

from fairlead.cache import events as mirrored
from fairlead.control.roster import collecting_deciders
from fairlead.control.sources import MirrorSources
from fairlead.core import codec
from fairlead.model.key import Key
from fairlead.model.served import Served
from fairlead.port.driving import Started
from fairlead.store.contract import ADDED, Entry
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver
from tests.unit.control.test_plane import DEPLOYMENTS, deployment

MAPS = "/api/v1/namespaces/default/configmaps"
SETS = "/apis/apps/v1/namespaces/default/replicasets"


def test_it_goes_at_once_where_watches_tell_how_far_they_are() -> None:
    api = InProcess()
    driver = Driver(api)
    api.post(DEPLOYMENTS, deployment(1))
    driver.run(30)
    api.delete(f"{DEPLOYMENTS}/web?propagationPolicy=Orphan")
    driver.run(0.5)
    assert api.get(f"{DEPLOYMENTS}/web")[0] == 404
    [left] = api.get(SETS)[1]["items"]
    assert "ownerReferences" not in left["metadata"]
    driver.run(60)
    assert len(api.get(SETS)[1]["items"]) == 1


@pytest.mark.parametrize("every", [0.3, 0.9])
def test_whoever_writes_the_owner_meanwhile_keeps_it_from_nothing(every: float) -> None:
    api = InProcess()
    driver = Driver(api)
    driver.run(10)
    meta = {"name": "own", "finalizers": ["example.com/x"]}
    api.post(MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
    driver.run(5)
    api.delete(f"{MAPS}/own?propagationPolicy=Orphan")
    for number in range(10):
        api.patch(f"{MAPS}/own", {"data": {"n": str(number)}})
        driver.run(every)
    assert api.get(f"{MAPS}/own")[1]["metadata"]["finalizers"] == ["example.com/x"]


def test_what_must_be_shown_is_all_up_to_the_deletion_and_not_to_the_last_write() -> None:
    kinds = Served()
    deciders = collecting_deciders(kinds)
    sources = MirrorSources(deciders, None, finalizes=False)
    for mirror in sources.mirrors.values():
        mirror.handle(Started(0.0))
        mirror.handle(mirrored.Listed(5, (), 0.0))
    key = Key("deployments.apps", "default", "web")
    meta = {"name": "web", "namespace": "default", "uid": "u", "finalizers": ["orphan"]}
    collector = next(each for each in deciders if each.name == "garbage-collector")
    for revision in (10, 20):  # deleted, and then written by somebody
        versioned = {**meta, "resourceVersion": str(revision), "deletionTimestamp": "2026-01-01T00:00:00Z"}
        entry = Entry(key, "u", revision, codec.encode({"apiVersion": "apps/v1", "metadata": versioned}))
        sources.mirrors[key.resource].handle(mirrored.Framed(ADDED, entry, 0.0))
    assert not collector.decide(sources.view(), key, 0.0).effects, "they may show too little"
    for name, mirror in sources.mirrors.items():
        if name != key.resource:
            mirror.handle(mirrored.Marked(15, 0.0))
    assert collector.decide(sources.view(), key, 0.0).effects, (
        "all that was made before the deletion is shown"
    )
