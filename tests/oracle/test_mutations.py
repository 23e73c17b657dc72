"""Every plugin made wrong in several ways: each is noticed within a bounded number of clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from fairlead.ledger.pod_needs import requests_of
from fairlead.model.selectors import from_object
from fairlead.model.views import Pod
from fairlead.schedule import facts as facts_module
from fairlead.schedule import preemption
from fairlead.schedule.changes import Changes
from fairlead.schedule.class_ranking import ClassState
from fairlead.schedule.lower import LowerOf
from fairlead.schedule.matching import Matching, Meant
from fairlead.schedule.nodes import Nodes
from fairlead.schedule.plugins import inter_pod_affinity, node_affinity, pod_topology_spread, static
from fairlead.schedule.policy import Policy
from fairlead.schedule.registry import default_policy
from fairlead.schedule.snapshot import Snapshot
from tests.oracle.generating import Case, case
from tests.oracle.kernel import disagreements
from tests.oracle.mutating import (
    lied,
    of_answer,
    of_facts,
    of_items,
    of_scores,
    reversed_scores,
    without_filter,
    without_symmetry,
    without_touching,
)
from tests.oracle.placing import Expected, expected_of
from tests.oracle.quota import MUTATION
from tests.oracle.test_preemption_agreement import test_the_code_evicts_whom_the_oracle_evicts as evict
from tests.oracle.test_snapshot import (
    test_a_cycle_that_lives_with_its_snapshot_answers_like_a_new_one as follow,
)
from tests.oracle.test_snapshot import test_a_snapshot_is_what_it_would_be_if_built_from_what_is_left as live

CLUSTERS_MAX = 600  # within so many the mutation must be noticed

# A search begins where it found when this was written, and goes round the range: it stays short as long as that holds,
# and needs no change when it does not. Where nothing is said, it begins at 0.
STARTS = {
    "PodTopologySpread never honours taints": 488,
    "PodTopologySpread always honours affinity": 322,
    "NodePorts ignores addresses": 243,
    "NodeAffinity ignores matchFields": 201,
    "PodTopologySpread ignores minDomains": 177,
    "PodTopologySpread never honours affinity": 107,
    "NodePorts ignores protocols": 89,
    "NodeAffinity takes Gt for Lt": 84,
    "NodeAffinity takes all weights for one": 74,
}

CORDON, TAINTS, AFFINITY, PORTS = "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts"
FIT, SPREAD, PODS = "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity"
BALANCE = "NodeResourcesBalancedAllocation"


@lru_cache(maxsize=CLUSTERS_MAX)
def drawn(seed: int) -> tuple[Case, list[Expected]]:
    found = case(seed)
    return found, expected_of(found)


def noticed(policy: Policy, clusters: int = CLUSTERS_MAX, start: int = 0) -> int:
    """The seed of a cluster that shows it, the first from `start` on, round the range; -1 if none does."""
    for seed in chain(range(start, clusters), range(start)):
        if next(disagreements(*drawn(seed), policy), None) is not None:
            return seed
    return -1


def without(name: str) -> Callable[[Any], dict[str, int]]:
    return lambda facts: {key: value for key, value in facts.requests.items() if key != name}


def operators(changed: dict[str, str]) -> Callable[[Any], Any]:
    """Node selector terms with other operators."""

    def requirement(each: Any) -> Any:
        return each._replace(operator=changed.get(each.operator, each.operator))

    return lambda term: replace(
        term, labels=tuple(map(requirement, term.labels)), fields=tuple(map(requirement, term.fields))
    )


def in_required(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda facts: facts.required_terms and tuple(map(change, facts.required_terms))


def changed_items(**changes: Any) -> Callable[[Any], Any]:
    return lambda each: replace(each, **changes)


def tolerating(**changes: Any) -> Callable[[Any], Any]:
    """Tolerations with other fields. They are no dataclasses."""
    fields = ("key", "operator", "value", "effect", "toleration_seconds")
    return lambda each: type(each)(**{name: getattr(each, name) for name in fields} | changes)


def first_only(field: str) -> Callable[[Any], Any]:
    return lambda facts: getattr(facts, field) and getattr(facts, field)[:1]


MUTATIONS: dict[str, Callable[[], Policy]] = {
    f"{CORDON} lets everything pass": lambda: without_filter(CORDON),
    f"{CORDON} knows no toleration": lambda: of_facts(CORDON, tolerations=lambda facts: ()),
    f"{TAINTS} lets everything pass": lambda: without_filter(TAINTS),
    f"{TAINTS} takes Exists for Equal": lambda: of_items(TAINTS, "tolerations", tolerating(operator="Equal")),
    f"{TAINTS} takes Equal for Exists": lambda: of_items(
        TAINTS, "tolerations", tolerating(operator="Exists")
    ),
    f"{TAINTS} ignores effects": lambda: of_items(TAINTS, "tolerations", tolerating(effect="")),
    f"{TAINTS} scores the wrong way round": lambda: of_scores(TAINTS, reversed_scores),
    f"{AFFINITY} takes NotIn for In": lambda: of_facts(
        AFFINITY, required_terms=in_required(operators({"notin": "in"}))
    ),
    f"{AFFINITY} takes Gt for Lt": lambda: of_facts(
        AFFINITY, required_terms=in_required(operators({">": "<"}))
    ),
    f"{AFFINITY} sees only the first term": lambda: of_facts(
        AFFINITY, required_terms=first_only("required_terms")
    ),
    f"{AFFINITY} ignores the node selector": lambda: of_facts(AFFINITY, node_selector=lambda facts: ()),
    f"{AFFINITY} ignores matchFields": lambda: of_facts(
        AFFINITY, required_terms=in_required(changed_items(fields=()))
    ),
    f"{AFFINITY} takes all weights for one": lambda: of_items(
        AFFINITY, "preferred_terms", lambda each: (1, each[1])
    ),
    f"{PORTS} lets everything pass": lambda: without_filter(PORTS),
    f"{PORTS} ignores addresses": lambda: of_items(PORTS, "ports", changed_items(address="0.0.0.0")),
    f"{PORTS} ignores protocols": lambda: of_items(PORTS, "ports", changed_items(protocol="TCP")),
    f"{PORTS} misses placements": lambda: without_touching(PORTS),
    f"{FIT} ignores memory": lambda: of_facts(FIT, requests=without("memory")),
    f"{FIT} ignores extended resources": lambda: of_facts(FIT, requests=without("example.com/gpu")),
    f"{FIT} does not count pods": lambda: of_facts(FIT, requests=without("pods")),
    f"{FIT} scores without what is assumed": lambda: of_facts(
        FIT, scored_cpu=lambda facts: facts.requests.get("cpu", 0)
    ),
    f"{FIT} prefers the fuller": lambda: of_scores(FIT, reversed_scores),
    f"{FIT} misses placements": lambda: without_touching(FIT),
    f"{SPREAD} is off by one": lambda: of_items(
        SPREAD, "spreads", lambda each: replace(each, max_skew=each.max_skew + 1)
    ),
    f"{SPREAD} ignores minDomains": lambda: of_items(SPREAD, "spreads", changed_items(min_domains=1)),
    f"{SPREAD} always honours affinity": lambda: of_items(
        SPREAD, "spreads", changed_items(honours_affinity=True)
    ),
    f"{SPREAD} never honours affinity": lambda: of_items(
        SPREAD, "spreads", changed_items(honours_affinity=False)
    ),
    f"{SPREAD} never honours taints": lambda: of_items(
        SPREAD, "spreads", changed_items(honours_taints=False)
    ),
    f"{SPREAD} sees only the first constraint": lambda: of_facts(SPREAD, spreads=first_only("spreads")),
    f"{SPREAD} does not count the pod itself": lambda: of_facts(SPREAD, labels=lambda facts: {}),
    f"{SPREAD} takes wishes for demands": lambda: of_items(SPREAD, "spreads", changed_items(required=True)),
    f"{SPREAD} scores the wrong way round": lambda: of_scores(SPREAD, reversed_scores),
    f"{SPREAD} misses placements": lambda: without_touching(SPREAD),
    f"{PODS} ignores affinity": lambda: of_facts(PODS, affinity=lambda facts: ()),
    f"{PODS} ignores anti-affinity": lambda: of_facts(PODS, anti_affinity=lambda facts: ()),
    f"{PODS} does not see that a pod is of its own group": lambda: of_facts(PODS, labels=lambda facts: {}),
    f"{PODS} has lost symmetry": lambda: lied(PODS, snapshot=without_symmetry),
    f"{PODS} sees only the first term": lambda: of_facts(PODS, affinity=first_only("affinity")),
    f"{PODS} ignores the namespace selector": lambda: of_items(
        PODS, "affinity", changed_items(namespace_selector=None)
    ),
    f"{PODS} takes affinity in all namespaces": lambda: of_items(
        PODS, "anti_affinity", changed_items(namespaces=None)
    ),
    f"{PODS} takes all weights for one": lambda: of_items(PODS, "preferred_pods", changed_items(weight=1)),
    f"{PODS} likes whom it should avoid": lambda: of_items(PODS, "preferred_pods", changed_items(anti=False)),
    f"{PODS} misses placements": lambda: without_touching(PODS),
    f"{BALANCE} takes cpu for memory": lambda: of_facts(
        BALANCE, requests=lambda facts: {**facts.requests, "memory": facts.requests.get("cpu", 0)}
    ),
    f"{BALANCE} ignores memory": lambda: of_facts(BALANCE, requests=without("memory")),
    f"{BALANCE} counts what is assumed": lambda: of_facts(
        BALANCE, requests=lambda facts: {**facts.requests, "cpu": facts.scored_cpu}
    ),
    f"{BALANCE} has no opinion": lambda: of_answer(BALANCE, scores=lambda real: lambda open_slots: None),
    f"{BALANCE} misses placements": lambda: without_touching(BALANCE),
}


def test_what_is_not_mutated_is_not_noticed() -> None:
    assert noticed(lied(FIT), 100) == -1 == noticed(default_policy(), 100)


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_wrong_plugin_is_noticed(name: str, record_property: Callable[[str, object], None]) -> None:
    assert noticed(MUTATIONS[name](), start=STARTS.get(name, 0)) >= 0
    record_property(MUTATION, name)


def test_a_search_that_begins_somewhere_is_one_that_is_made() -> None:
    assert STARTS.keys() <= MUTATIONS.keys()


# Kubernetes has none of these, so its documentation says nothing of them; tests/unit/schedule does.
OURS = ("CapacityClass", "NodeIsolation", "PlacementQuota", "Reservations", "SchedulerOverrides")


@pytest.mark.parametrize("plugin", [each.name for each in default_policy().plugins if each.name not in OURS])
def test_every_plugin_is_made_wrong_at_least_twice(plugin: str) -> None:
    assert sum(name.startswith(f"{plugin} ") for name in MUTATIONS) >= 2


def test_a_weight_that_is_wrong_is_noticed() -> None:
    policy = default_policy()
    for name in policy.weights.keys() - set(OURS):
        assert noticed(replace(policy, weights={**policy.weights, name: policy.weights[name] + 1})) >= 0


# What cannot be reached from outside


def unscaled(raw: Any, open_slots: Any, reverse: bool) -> Any:
    return raw


def scaled_over_all(raw: Any, open_slots: Any, reverse: bool) -> Any:
    return REAL_NORMALISED(raw, np.ones_like(open_slots), reverse)


def first_slot(state: Any) -> int:
    """Among equals the first by slot, not by name."""
    return int(state.total.argmax()) if state.total.max() >= 0 else -1


def without_sidecars(spec: Any, *of: Any) -> Any:
    ending = tuple(each for each in spec.init_containers if each.restart_policy != "Always")
    return REAL_REQUESTS(structs.replace(spec, init_containers=ending), *of)


REAL_NORMALISED = static.normalise
REAL_REQUESTS = requests_of
PATCHES: dict[str, tuple[Any, str, Any]] = {
    "scores are not scaled": (static, "normalise", unscaled),
    "scores are scaled over all nodes": (static, "normalise", scaled_over_all),
    f"{SPREAD} counts pods on their way out": (
        pod_topology_spread,
        "Meant",
        lambda clauses, leaving_too: Meant(clauses),
    ),
    f"{PODS} does not know what neighbours require": (inter_pod_affinity, "_REQUIRED_WEIGHT", 0),
    f"{AFFINITY} thinks that every node meets every term": (
        node_affinity,
        "where_term",
        lambda nodes, term: nodes.present,
    ),
    "matchLabelKeys are ignored": (
        facts_module,
        "_narrowed",
        lambda owner, labels: from_object(owner.get("labelSelector")),
    ),
    "sidecars are forgotten": (facts_module, "requests_of", without_sidecars),
    "ties are broken by slot": (ClassState, "best", first_slot),
    "pods that ended still take room": (Pod, "finished", False),
    "nothing is charged for an assumed pod": (Snapshot, "assume", lambda self, pod, node: None),
}


@pytest.mark.parametrize("name", PATCHES)
def test_a_wrong_function_is_noticed(
    name: str, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    monkeypatch.setattr(*PATCHES[name])
    assert noticed(default_policy()) >= 0
    record_property(MUTATION, name)


def forget_anyone(self: Any, key: Any, uid: str) -> None:
    if self.assumed.pop(key, None) is not None:
        self._take(key)


def keep_labels(self: Any, name: str, labels: Any) -> None:
    if labels is not None:
        self.spaces.setdefault(name, labels)


Patches = dict[str, tuple[Any, str, Any]]

SNAPSHOT_PATCHES: Patches = {
    "forgetting does not look at the uid": (Snapshot, "forget", forget_anyone),
    "pods do not come and go with their node": (Snapshot, "_charge_all", lambda self, node, sign: None),
    "labels of a namespace never change": (Matching, "put_namespace", keep_labels),
    "what depends on nodes is never computed again": (Nodes, "_moved", lambda self: None),
    "counts do not grow with the columns": (Matching, "grow", lambda self, slots: None),
}
CYCLE_PATCHES: Patches = {
    "nobody is told of comings and goings": (Changes, "append", lambda self, change: None),
    "what changes at one place is not looked at": (ClassState, "_look_at", lambda self, *rest: False),
}
REAL_LOWER = LowerOf.on
EVICTION_PATCHES: Patches = {
    "budgets are ignored": (preemption, "find_breaking", lambda pods, budgets: set()),
    "the least important are put back first": (
        LowerOf,
        "on",
        lambda self, node, priority: REAL_LOWER(self, node, priority)[::-1],
    ),
    "of equal nodes that of the older victim is taken": (preemption._Later, "__lt__", str.__lt__),
}


@pytest.mark.parametrize(
    ("check", "patches", "name"),
    [
        (check, patches, name)
        for check, patches in ((live, SNAPSHOT_PATCHES), (follow, CYCLE_PATCHES), (evict, EVICTION_PATCHES))
        for name in patches
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_wrong_snapshot_cycle_or_eviction_is_noticed(
    check: Callable[[int], None],
    patches: Patches,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    monkeypatch.setattr(*patches[name])
    seeds = range(0, 400, 100) if check is evict else range(200)
    assert any(goes_wrong(check, seed) for seed in seeds)
    record_property(MUTATION, name)


def goes_wrong(check: Callable[[int], None], seed: int) -> bool:
    try:
        check(seed)
    except (AssertionError, IndexError, KeyError, ValueError):
        return True
    return False
