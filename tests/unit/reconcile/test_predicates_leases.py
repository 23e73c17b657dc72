"""Renewals of leases, the most frequent change there is: who is asked about one, and that the others had nothing to say."""

from __future__ import annotations

from itertools import product
from typing import Any

import msgspec
import pytest

from fairlead.control.roster import default_deciders
from fairlead.decision.decider import WatchEvent
from fairlead.decision.predicates import CHANGED, OWNED, facts_of
from fairlead.model.key import Key
from fairlead.model.marks import NODE_LEASES
from fairlead.model.views import LEASES, Lease
from tests.unit.reconcile.test_predicates import AT, guarded, lost, world

DECIDERS = {decider.name: decider for decider in default_deciders()}
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


@pytest.mark.parametrize("name", sorted(name for name in DECIDERS if guarded(DECIDERS[name], LEASES)))
@pytest.mark.parametrize("namespace", [NODE_LEASES, "default"])  # the second is on its way out
def test_a_predicate_leaves_out_no_change_that_the_mapping_names_keys_for(name: str, namespace: str) -> None:
    view, changes = world(), [(was, now) for was, now in product(leases(namespace), repeat=2) if was or now]
    for wake in guarded(DECIDERS[name], LEASES):
        missed, _ = lost(wake, view, changes)
        assert not missed, missed[0]


def test_a_renewal_asks_three_controllers_and_wakes_none() -> None:
    before, after = lease(), lease(renewed="later")
    facts = facts_of(before, after)
    assert facts == CHANGED | OWNED
    asked = [name for name, decider in DECIDERS.items() if decider.wakes_on(LEASES.name, facts)]
    assert sorted(asked) == ["garbage-collector", "node-health", "overrides"]  # the last while there are any
    event = WatchEvent(world(), Key(LEASES.name, NODE_LEASES, "n1"), before, after)
    for decider in DECIDERS.values():
        assert not tuple(decider.woken_by(event)), decider.name
