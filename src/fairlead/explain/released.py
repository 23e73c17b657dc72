"""Pods that were released and still hold something: room on a node, quota of their namespace. Told by `explain`.

For a pod that fits nowhere it is told which of them hold what is in its way; for the pod that was released, and for the
one that takes its place, what belongs to which. Called by `explaining.py`.
"""

from __future__ import annotations

from fairlead.explain import words
from fairlead.explain.masking import Spaces, is_seen
from fairlead.ledger import handover
from fairlead.model.marks import QUOTA_GIVEN
from fairlead.model.views import Pod
from fairlead.reconcile.nodes.pod_marks import condition_of, released_condition
from fairlead.schedule.class_ranking import ClassState
from fairlead.schedule.facts import Facts
from fairlead.schedule.policy import Policy
from fairlead.schedule.snapshot import Placed, Snapshot


def in_the_way(snapshot: Snapshot, policy: Policy, facts: Facts, spaces: Spaces = None) -> tuple[str, ...]:
    """Released pods that hold what such a pod lacks; empty if it fits somewhere. Those outside of `spaces` are
    counted."""
    released = sorted((each for each in snapshot.placed.values() if each.released), key=lambda each: each.key)
    if not released or ClassState(snapshot, policy, facts).open.any():
        return ()
    told = []
    quotas = [quota for quota in snapshot.quotas(facts.namespace) if quota.exceeded(facts.requests)]
    holding = [
        each
        for each in released
        if each.counts and each.key.namespace == facts.namespace and each.owner != facts.controller
    ]
    if quotas and holding:
        told.append(
            f"of quota {words.some([quota.name for quota in quotas])} a part is held by released pods, until their "
            f"owners replace them: {words.some([*map(_where, holding)])}"
        )
    told.append(
        f"released pods may still run, and keep their room until their node is back or its end is confirmed: "
        f"{words.some(_named(released, spaces))}"
    )
    return tuple(told)


def _named(released: list[Placed], spaces: Spaces) -> list[str]:
    told = [_where(each) for each in released if is_seen(each.key.namespace, spaces)]
    others = len(released) - len(told)
    return [*told, f"{others} of other namespaces"] if others else told


def told_of(pod: Pod, beside: tuple[Pod, ...]) -> tuple[str, ...]:
    """What a release means for this pod. `beside`: the pods of its owner."""
    told = []
    condition = released_condition(pod)
    if pod.released and condition is not None and not pod.finished:
        given = condition_of(pod, QUOTA_GIVEN)
        quota = "it holds its quota until its owner replaces it"
        if given is not None and given.status == "True":
            quota = given.message.partition(";")[0]
        elif not handover.holds_quota(pod):
            quota = "it holds no quota, since its deletion was asked for"
        told.append(
            f"{condition.message}; it may still run, and keeps its room on {pod.spec.node_name}; {quota}"
        )
    for other in beside:
        if handover.is_named_by(other, pod) and other.released and not other.finished:
            told.append(
                f"it takes the place of {other.metadata.name}, which may still run on {other.spec.node_name} and keeps "
                "its room there"
            )
    return tuple(told)


def _where(placed: Placed) -> str:
    return f"{placed.key.namespace}/{placed.key.name} on {placed.node}"
