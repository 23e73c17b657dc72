"""Renewals of leases, the most frequent change there is: who is asked about one, and that the others had nothing to say."""

from __future__ import annotations

from itertools import product
from typing import Any

import msgspec
import pytest

from fairlead.control.plane import Plane
from fairlead.control.roster import default_deciders
from fairlead.decision.heeds import ANY, facts_of
from fairlead.model.marks import NODE_LEASES
from fairlead.model.views import LEASES, Lease
from tests.unit.reconcile.test_heeds import AT, world

DECIDERS = {decider.name: decider for decider in default_deciders()}
READERS = sorted(
    name for name, each in DECIDERS.items() if any(read.name == LEASES.name for read in each.reads)
)
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "uid-n1"}


def lease(
    owned: bool = True, leaving: bool = False, renewed: str = AT, namespace: str = NODE_LEASES, app: str = ""
) -> Lease:
    metadata: dict[str, Any] = {"name": "n1", "namespace": namespace, "uid": "uid-l1", "resourceVersion": "7"}
    metadata |= {"ownerReferences": [OWNER] if owned else [], "labels": {"app": app} if app else {}}
    if leaving:
        metadata |= {"deletionTimestamp": AT, "finalizers": ["example.com/held"]}
    return msgspec.convert({"metadata": metadata, "spec": {"renewTime": renewed}}, Lease)


def leases(namespace: str) -> list[Lease | None]:
    told = [
        lease(owned, leaving, renewed, namespace, app)
        for owned, leaving, renewed, app in product((True, False), (True, False), (AT, "later"), ("", "web"))
    ]
    return [None, *told]


def heeded(decider: Any, *declared: str) -> int | None:
    facts: int | None = None
    for name in declared:
        facts = dict(getattr(decider, name, ())).get(LEASES.name, facts)
    return facts


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("namespace", [NODE_LEASES, "default"])  # the second is on its way out
def test_who_is_not_asked_had_nothing_to_say(name: str, namespace: str) -> None:
    decider, view = DECIDERS[name], world()
    adopters: Any = getattr(decider, "adopters", None)
    for before, after in product(leases(namespace), repeat=2):
        if before is None and after is None:
            continue
        facts = facts_of(before, after)
        keys, adopts = heeded(decider, "heeds"), heeded(decider, "heeds", "adopts")
        if keys is not None and not keys & facts:
            assert not tuple(decider.keys(LEASES.name, before, after)), (before, after)
        if adopters is not None and adopts is not None and not adopts & facts:
            assert not tuple(adopters(view, LEASES.name, before, after)), (before, after)


def test_a_renewal_asks_two_controllers_and_wakes_none() -> None:
    plane = Plane("test", tuple(DECIDERS.values()))
    before, after = lease(), lease(renewed="later")
    facts = facts_of(before, after)
    assert facts != ANY
    readers = [each for each in plane.controllers if each.decider.name in READERS]
    assert [each.decider.name for each in readers if each.heeds(LEASES.name, facts)] == ["node-health"]
    assert sorted(each.decider.name for each in readers if each.adopts(LEASES.name, facts)) == [
        "garbage-collector",
        "node-health",
    ]
    view = world()
    for each in readers:
        assert not each.keys(LEASES.name, before, after), each.decider.name
        adopters: Any = getattr(each.decider, "adopters", None)
        assert not (tuple(adopters(view, LEASES.name, before, after)) if adopters is not None else ())
