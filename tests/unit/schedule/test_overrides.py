"""Overrides on the scheduler's columns: the same nodes as the ledger's rule closes, for all at once, and no longer."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from fairlead.core.times import timestamp
from fairlead.ledger import override as ledger
from fairlead.model.kind import Json
from fairlead.model.views import OVERRIDES, SchedulerOverride
from fairlead.schedule.cycle import Cycle
from fairlead.schedule.plugins.scheduler_overrides import SchedulerOverrides
from fairlead.schedule.registry import default_policy
from fairlead.schedule.snapshot import Snapshot
from tests.unit.schedule.clusters import cluster, node, pod, viewed

NOW = 1_800_000_000.0
REGION, POOL = "topology.kubernetes.io/region", "fairlead.dev/pool"
NODES = tuple(
    node(f"{zone}-{pool}-{region}", zone, {POOL: pool, REGION: region})
    for zone, pool, region in product(("a", "b"), ("x", "y"), ("east", "west"))
)


def laid_down(
    target: str, name: str = "calm", space: str = "default", scope: str = "", **changes: Any
) -> SchedulerOverride:
    spec = {"target": target, "scope": scope, "expiresAt": timestamp(NOW + 60), "changes": changes}
    return viewed(
        {"metadata": {"name": name, "namespace": space, "uid": name}, "spec": spec}, SchedulerOverride
    )


def snapshot_with(*overrides: SchedulerOverride) -> Snapshot:
    snapshot = cluster(NODES)
    for each in overrides:
        snapshot.observe(OVERRIDES.name, None, each)
    return snapshot


def owned(name: str, owner: str = "web-5d9f", **labels: str) -> Any:
    body: Json = {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": name,
            "labels": {"pod-template-hash": "5d9f", **labels},
            "ownerReferences": [{"kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}],
        },
        "spec": {"containers": [{"name": "c"}]},
    }
    return viewed(body, type(pod("x")))


CASES = (
    laid_down("deployment/web", avoidZones=["a"]),
    laid_down("workload/web", avoidPools=["x"], avoidZones=["b"], scope="region/east"),
    laid_down("namespace", avoidNodes={"matchLabels": {POOL: "y", REGION: "west"}}),
    laid_down("zone/a", space="kube-system", cordon=True),
    laid_down("pool/y", space="kube-system", drain=True, scope="zone/b"),
    laid_down("node/a-x-east", space="kube-system", cordon=True),
)


@pytest.mark.parametrize("override", CASES, ids=lambda each: each.spec.target)
def test_columns_close_what_the_rule_closes(override: SchedulerOverride) -> None:
    snapshot = snapshot_with(override)
    prepared = SchedulerOverrides().prepare(snapshot, snapshot.facts_of(owned("p")))
    assert prepared is not None
    mask = prepared.mask()
    assert mask is not None
    for each in NODES:
        name = each.metadata.name
        closed = ledger.closes(override, name, each.metadata.labels)
        assert bool(mask[snapshot.nodes.slot[name]]) is not closed, name


def test_only_the_target_is_kept_off_and_only_until_the_end() -> None:
    snapshot = snapshot_with(laid_down("deployment/web", avoidZones=["a", "b"]))
    cycle = Cycle(snapshot, default_policy())
    refused = cycle.place(owned("p"), assume=False)
    assert not refused.node
    assert [(each.plugin, each.reason, each.nodes) for each in refused.refusals] == [
        ("SchedulerOverrides", "node(s) were closed by SchedulerOverride default/calm", 8)
    ]
    assert cycle.place(owned("q", "db-5d9f"), assume=False).node
    assert not snapshot.overrides.expire(NOW + 59)
    assert snapshot.overrides.expire(NOW + 60)
    assert cycle.place(owned("p"), assume=False).node


def test_one_that_waits_for_approval_closes_nothing() -> None:
    waits = laid_down("zone/a", space="kube-system", cordon=True)
    body = {"spec": {"approval": "it closes much"}}
    found = viewed(
        {
            "metadata": {"name": "calm", "namespace": "kube-system", "uid": "u"},
            "spec": {
                "target": "zone/a",
                "expiresAt": waits.spec.expires_at,
                "changes": {"cordon": True},
                **body["spec"],
            },
        },
        SchedulerOverride,
    )
    snapshot = snapshot_with(found)
    assert SchedulerOverrides().prepare(snapshot, snapshot.facts_of(pod("p"))) is None
