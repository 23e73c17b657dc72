"""The PodDisruptionBudget controller: how many pods of an application may be taken away now.

    expected pods    what the owners of the pods are scaled to (Deployment, ReplicaSet, StatefulSet)
    desired healthy  minAvailable, or expected pods less maxUnavailable
    healthy          ready, not deleted, not evicted a moment ago (disruptedPods), and within reach (`nodes/reach.py`):
                     on a node that has missed no renewal of its lease
    allowed          healthy less desired healthy

Evictions spend the allowance themselves, in the transaction that deletes the pod (`ledger/disruption.py`). Here it is
only ever recomputed from what is observed, in a write bound to the budget's revision: an eviction in between makes the
write fail and the question be asked anew. When the expected pods cannot be known, nothing is allowed. Preemption goes
by what is written here; evictions count for themselves as well.

A pod's change concerns budgets its event does not name: it wakes the namespace's key (no name), whose turn looks at
all budgets there. Two turns on one budget at once are harmless: the second write is refused. A node that is marked, or
is no longer, wakes the namespaces of its pods. That a renewal is missed is no event: the key of all namespaces (no
namespace either) comes back whenever one may be, and looks at the budgets of such a node's pods; those that it lowers
look by themselves whether the node is heard again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import structs

from fairlead.core.times import parse_time, timestamp
from fairlead.decision.contract import EFFECTS_MAX, NOTHING, SETTLED, Decision, Reading, Waiting
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.effects import Effect
from fairlead.decision.ensure import ensure_status
from fairlead.decision.predicates import GONE, NEW
from fairlead.decision.wakes import always, changed, in_namespace, itself, within
from fairlead.ledger.evidence import is_closed
from fairlead.model.key import Key
from fairlead.model.marks import NODE_LEASES
from fairlead.model.views import (
    BUDGETS,
    DEPLOYMENTS,
    LEASES,
    NODES,
    PODS,
    REPLICASETS,
    STATEFULSETS,
    BudgetStatus,
    Condition,
    DisruptionBudget,
    Node,
    Owner,
    Pod,
    Resource,
    View,
)
from fairlead.reconcile.deployment.rollout import resolve_amount
from fairlead.reconcile.nodes.reach import LOOK_AGAIN_SECONDS, find_overdue, has_missed, is_out_of_reach

_NAME = "disruption"
# An evicted pod that is still not being deleted after so long will not be.
#: bound: plane | an evicted pod counts as going for | it counts as staying
DELETION_SECONDS = 120.0
# A look at all nodes is followed by another no sooner than this.
_PATROL_SECONDS_MIN = 1.0
_ALL = Key(BUDGETS.name, "", "")
_ALLOWED = "DisruptionAllowed"
_ALWAYS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


class _UnknownScale(Exception):
    """What a pod's owner is scaled to cannot be found out; the text says why."""


class _Need(NamedTuple):
    expected: int
    healthy: int


def budget_decider() -> Decider:
    """A change of pods or their owners wakes all budgets of the namespace, under one key without a name. A further one,
    without a namespace, watches for nodes that fall silent."""
    owners: tuple[Resource[View], ...] = (PODS, REPLICASETS, DEPLOYMENTS, STATEFULSETS)
    return Decider(
        name=_NAME,
        reads=(BUDGETS, *owners, NODES, LEASES),
        dated=(LEASES,),
        wakes=(
            Wake(BUDGETS, itself),
            Wake(BUDGETS, always(_ALL), when=NEW),
            *(Wake(each, in_namespace(BUDGETS), among=BUDGETS) for each in owners),
            Wake(NODES, changed(_is_closed, _with_pods_on), among=BUDGETS),
            Wake(LEASES, within(NODE_LEASES, always(_ALL)), when=NEW | GONE, among=BUDGETS),
        ),
        decide=_decide,
    )


def _with_pods_on(event: WatchEvent[Node]) -> Iterable[Key]:
    """All budgets of the namespaces that have pods on the node."""
    pods = event.view.on_node(event.key.name)
    spaces = {pod.metadata.namespace for pod in pods if isinstance(pod, Pod)}
    return [Key(BUDGETS.name, space, "") for space in sorted(spaces)]


def _decide(view: Reading, key: Key, now: float) -> Decision:
    if key.name:
        budget = view.get(BUDGETS, key.namespace, key.name)
        return NOTHING if budget is None else _reconcile(view, budget, now)
    if not key.namespace:
        return _look_round(view, now)
    return _together([_reconcile(view, budget, now) for budget in view.list(BUDGETS, key.namespace)], now)


def _together(decisions: Sequence[Decision], now: float) -> Decision:
    effects = [effect for decision in decisions for effect in decision.effects]
    # Each write wakes its own budget only; those there was no room for are for the next turn.
    times = [decision.again_at for decision in decisions if decision.again_at]
    again_at = now if len(effects) > EFFECTS_MAX else min(times, default=0.0)
    return Decision(effects=tuple(effects[:EFFECTS_MAX]), again_at=again_at)


def _look_round(view: Reading, now: float) -> Decision:
    """The budgets of pods whose nodes have missed a renewal that no mark tells of yet."""
    if not view.list(BUDGETS):
        return NOTHING
    found = find_overdue(view)
    unmarked = [name for name in found.names if not _is_closed(view.get(NODES, "", name))]
    spaces = {
        pod.metadata.namespace for name in unmarked for pod in view.on_node(name) if isinstance(pod, Pod)
    }
    budgets = [each for space in sorted(spaces) for each in view.list(BUDGETS, space)]
    decision = _together([_reconcile(view, each, now) for each in budgets], now)
    waits = [LOOK_AGAIN_SECONDS] if unmarked else []
    if found.next_seconds:
        waits.append(max(_PATROL_SECONDS_MIN, found.next_seconds))
    times = [decision.again_at] if decision.again_at else []
    times += [now + each for each in waits]
    return Decision(effects=decision.effects, again_at=min(times, default=0.0))


def _reconcile(view: Reading, budget: DisruptionBudget, now: float) -> Decision:
    if budget.metadata.deletion_timestamp:
        return NOTHING
    pods = view.select(PODS, budget.metadata.namespace, budget.spec.selector)
    disrupted = _disrupted(budget, pods, now)
    try:
        heard = [pod for pod in pods if not is_out_of_reach(view, pod)]
        wanted = _status(budget, heard, disrupted, _need(view, budget, pods), now)
    except _UnknownScale as problem:
        wanted = _failed(budget, str(problem), now)
    ends = [parse_time(at) + DELETION_SECONDS for at in disrupted.values()]
    if any(pod.ready and _may_be_heard(view, pod) for pod in pods):
        ends.append(now + LOOK_AGAIN_SECONDS)
    status = ensure_status(_NAME, BUDGETS, budget, wanted, _ALWAYS)
    effects: tuple[Effect, ...] = (status,) if status is not None else ()
    verdict = SETTLED if wanted.disruptions_allowed else Waiting("NoDisruptionAllowed")
    return Decision(verdict, effects, min(ends, default=0.0))


def _may_be_heard(view: Reading, pod: Pod) -> bool:
    """It is out of reach, and nothing will be taken off that tells when it is no longer."""
    node = view.get(NODES, "", pod.spec.node_name) if pod.spec.node_name else None
    return node is not None and not is_closed(node) and has_missed(view, pod.spec.node_name)


def _is_closed(node: Node | None) -> bool:
    return node is not None and is_closed(node)


def _disrupted(budget: DisruptionBudget, pods: Iterable[Pod], now: float) -> dict[str, str]:
    """Evictions that are recorded but not seen yet: the pod is there, not deleted, and not a new one of that name."""
    kept = {}
    for pod in pods:
        at = budget.status.disrupted_pods.get(pod.metadata.name)
        if at is None or pod.metadata.deletion_timestamp:
            continue
        evicted = parse_time(at)
        if parse_time(pod.metadata.creation_timestamp) <= evicted and now < evicted + DELETION_SECONDS:
            kept[pod.metadata.name] = at
    return kept


def _need(view: Reading, budget: DisruptionBudget, pods: Sequence[Pod]) -> _Need:
    spec = budget.spec
    if spec.max_unavailable is not None:
        expected = _expected(view, pods)
        return _Need(expected, max(0, expected - resolve_amount(spec.max_unavailable, expected, up=True)))
    if isinstance(spec.min_available, str):
        expected = _expected(view, pods)
        return _Need(expected, resolve_amount(spec.min_available, expected, up=True))
    # A budget that says nothing expects nothing and allows nothing.
    return _Need(len(pods), spec.min_available) if spec.min_available is not None else _Need(0, 0)


def _expected(view: Reading, pods: Iterable[Pod]) -> int:
    """What the owners of these pods are scaled to, each counted once. Pods without an owner are not expected."""
    scales: dict[str, int] = {}
    for pod in pods:
        owner = pod.metadata.controller
        if owner is not None and owner.uid not in scales:
            scales[owner.uid] = 0
            uid, scale = _scale(view, pod.metadata.namespace, owner)
            scales[uid] = scale
    return sum(scales.values())


def _scale(view: Reading, namespace: str, owner: Owner) -> tuple[str, int]:
    """The uid and scale of whoever is in charge of an owner's pods: a Deployment's word counts, not its sets'."""
    if owner.kind == REPLICASETS.kind:
        replicas = view.get(REPLICASETS, namespace, owner.name)
        if replicas is not None and replicas.metadata.uid == owner.uid:
            above = replicas.metadata.controller
            if above is None or above.kind != DEPLOYMENTS.kind:
                return owner.uid, replicas.spec.replicas
            deployment = view.get(DEPLOYMENTS, namespace, above.name)
            if deployment is not None and deployment.metadata.uid == above.uid:
                return above.uid, deployment.spec.replicas
            owner = above
    elif owner.kind == STATEFULSETS.kind:
        stateful = view.get(STATEFULSETS, namespace, owner.name)
        if stateful is not None and stateful.metadata.uid == owner.uid:
            return owner.uid, stateful.spec.replicas
    else:
        raise _UnknownScale(f"{owner.kind} {owner.name} has no scale: use a number for minAvailable")
    raise _UnknownScale(f"{owner.kind} {owner.name} was not found")


def _status(
    budget: DisruptionBudget, pods: Sequence[Pod], disrupted: dict[str, str], need: _Need, now: float
) -> BudgetStatus:
    healthy = sum(
        pod.ready and not pod.metadata.deletion_timestamp and pod.metadata.name not in disrupted
        for pod in pods
    )
    allowed = max(0, healthy - need.healthy) if need.expected > 0 else 0
    reason = "SufficientPods" if allowed else "InsufficientPods"
    return BudgetStatus(
        observed_generation=budget.metadata.generation,
        disruptions_allowed=allowed,
        current_healthy=healthy,
        desired_healthy=need.healthy,
        expected_pods=need.expected,
        disrupted_pods=disrupted,
        conditions=_conditions(budget, allowed > 0, reason, "", now),
    )


def _failed(budget: DisruptionBudget, message: str, now: float) -> BudgetStatus:
    """Nothing is allowed; the other figures are the last that were known, and the generation they were known for."""
    conditions = _conditions(budget, False, "SyncFailed", message, now)
    return structs.replace(budget.status, disruptions_allowed=0, conditions=conditions)


def _conditions(
    budget: DisruptionBudget, allowed: bool, reason: str, message: str, now: float
) -> tuple[Condition, ...]:
    """The time of the condition moves only with its status."""
    held = "True" if allowed else "False"
    known = next((each for each in budget.status.conditions if each.type == _ALLOWED), None)
    since = known.last_transition_time if known is not None and known.status == held else timestamp(now)
    new = Condition(_ALLOWED, held, reason, message, since, observed_generation=budget.metadata.generation)
    return (*(each for each in budget.status.conditions if each.type != _ALLOWED), new)
