"""Released pods and those who take their place, for ReplicaSets. Called by `replicaset.py`; pure.

A replacement is named from the set, the uid of the pod it replaces and the set's next number (`replicaset.py`), and
says whom it replaces (`fairlead.dev/replaces`). However often a release is seen, by whichever leader, there is one name
to ask for; no second one while the first is there. It commits only while that pod is still released: one that came back
meanwhile is not replaced.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.decision.contract import EFFECTS_MAX, Reading
from fairlead.decision.effects import ChangeStatus, Create, Delete, premise_of
from fairlead.decision.ensure import ensure_child, ensure_gone
from fairlead.model.marks import AT_MOST_ONE, REPLACES, RETURNED
from fairlead.model.premise import Premise
from fairlead.model.views import PODS, REPLICASETS, Pod, ReplicaSet
from fairlead.reconcile.children import child_name, from_template
from fairlead.reconcile.nodes.pod_marks import mark_pod, released_condition


def make_replacements(
    view: Reading,
    controller: str,
    found: ReplicaSet,
    mine: Sequence[Pod],
    missing: int,
    number: int,
    premise: Premise,
) -> list[Create]:
    """One for each released pod that has none, as far as pods are missing."""
    creates: list[Create] = []
    meta = found.metadata
    released = [pod for pod in mine if pod.released and not pod.finished and not _is_back(pod)]
    replaced = {pod.metadata.annotations.get(REPLACES) for pod in mine} if released else set()
    for pod in released:
        uid = pod.metadata.uid
        if len(creates) >= missing:
            break
        if uid in replaced:
            continue
        name = child_name(meta, "replaces", uid, str(number))
        body = from_template(found.spec.template, REPLICASETS, meta, name)
        body["metadata"]["annotations"] = {**body["metadata"]["annotations"], REPLACES: uid}
        there = view.get(PODS, meta.namespace, name)
        premises = (premise, premise_of(PODS, pod.metadata))
        create = ensure_child(controller, meta, PODS, there, body, f"replaces.{uid}.{number}", premises)
        if create is not None:
            creates.append(create)
    return creates


def swap_back(
    controller: str, found: ReplicaSet, mine: Sequence[Pod], live: Sequence[Pod], now: float, premise: Premise
) -> ChangeStatus | Delete | None:
    """The next step for a released pod that is to count again: its replacement goes; then it counts, if one is
    missing; else it goes itself."""
    for pod in mine:
        if not _is_back(pod) or pod.finished or pod.metadata.deletion_timestamp:
            continue
        twin = next(
            (each for each in live if each.metadata.annotations.get(REPLACES) == pod.metadata.uid), None
        )
        if twin is not None:
            return ensure_gone(controller, found.metadata, PODS, twin, premises=(premise,))
        if still_there(found, mine):
            continue  # at most one: the other has to end first
        if len(live) < found.spec.replicas:
            return mark_pod(controller, pod, None, now, lost=False, premises=(premise,))
        return ensure_gone(controller, found.metadata, PODS, pod, premises=(premise,))
    return None


def delete_unwanted(
    controller: str, found: ReplicaSet, mine: Sequence[Pod], live: Sequence[Pod], premise: Premise
) -> list[Delete]:
    """Released pods that nobody will replace, since enough are there without them: their deletion is asked for, so that
    they hold no quota that others need. Their node ends them when it is heard again."""
    if len(live) < found.spec.replicas:
        return []
    replaced = {pod.metadata.annotations.get(REPLACES) for pod in mine}
    deletes = (
        ensure_gone(controller, found.metadata, PODS, pod, premises=(premise,))
        for pod in mine
        if pod.released and not pod.finished and not _is_back(pod) and pod.metadata.uid not in replaced
    )
    return [delete for delete in deletes if delete is not None][:EFFECTS_MAX]


def _is_back(pod: Pod) -> bool:
    """Its node was heard again, and it is to count again: `swap_back` has the word."""
    condition = released_condition(pod)
    return condition is not None and condition.reason == RETURNED


def still_there(found: ReplicaSet, mine: Sequence[Pod]) -> int:
    """Pods on their way out that count where at most one may run: until they have ended, or were released."""
    noted = (found.spec.template.get("metadata") or {}).get("annotations") or {}
    if noted.get(AT_MOST_ONE) != "true":
        return 0
    return sum(
        bool(pod.metadata.deletion_timestamp) and not pod.finished and not pod.released for pod in mine
    )
