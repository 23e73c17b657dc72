"""Quotas are never exceeded: neither by what they say is used, nor by what the pods they count request.

`quota-kept` judges PlacementQuotas as pods come to nodes, and also what a status says is used when that rises: no more
than was used at any time in the moments before (`resource-quota-kept` is in `pod_numbers.py`). A released pod counts
until it says that another has its quota, or its deletion was asked for. Nobody is to blame for a limit that was lowered
below what is used, nor for a released pod that counts again: then nothing may be added, but by one that gets another's
quota in the same commit. When an original counts again nobody has taken its place but who is on the way out. Beyond its
own a quota takes no more than its borrowingLimit, and a cohort no more than its members lend (`cohorts.py`).
"""

from __future__ import annotations

from typing import Any

from fairlead.model.key import Key
from fairlead.model.marks import QUOTA_GIVEN
from fairlead.model.selectors import matches_label_selector
from fairlead.model.views import NODES, PLACEMENT_QUOTAS, PODS
from fairlead.sim.checkers.cohorts import describe_overlent, members_of, most_allowed
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.checkers.room import Amounts, Bound, add, describe_excess, parse_amounts
from fairlead.sim.violation import Violation

BOUND = "Bound"  # reason of the condition: the other has a node

# A status is what its controller counted when it decided; pods may have gone before it was written.
_COUNTED_SECONDS = 16.0


def keeps_quota(pod: Any, *given: str) -> bool:
    """Whether a pod counts. `given`: the reasons by which it does not, once it was released."""
    if not pod.released:
        return True
    told = any(
        each.type == QUOTA_GIVEN and each.status == "True" and each.reason in given
        for each in pod.status.conditions
    )
    return not told and not pod.metadata.deletion_timestamp


class QuotaKept:
    name = "quota-kept"
    sees = frozenset({PLACEMENT_QUOTAS.name, NODES.name, PODS.name})

    def __init__(self) -> None:
        self._quotas: dict[Key, Any] = {}
        self._labels: dict[str, dict[str, str]] = {}  # of nodes
        self._bound = Bound()
        self._yielded: set[Key] = set()  # pods that count for nothing
        self._before: dict[
            Key, tuple[float, Amounts]
        ] = {}  # quota -> when a pod last yielded, used until then
        self._until: dict[Key, list[tuple[float, Amounts]]] = {}  # quota -> when pods ended, used until then

    def saw(self, sight: SeenChange) -> None:
        key = sight.key
        if key.resource == PLACEMENT_QUOTAS.name:
            self._quota(sight)
        elif key.resource == NODES.name:
            self._labels[key.name] = sight.last.metadata.labels
        elif key.resource == PODS.name:
            self._pod(sight)

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""

    def _pod(self, sight: SeenChange) -> None:
        key = sight.key
        quotas = [(at, quota) for at, quota in self._quotas.items() if at.namespace == key.namespace]
        if sight.after is None or keeps_quota(sight.after, BOUND):
            self._yielded.discard(key)
        elif key not in self._yielded:
            for at, quota in quotas:
                self._before[at] = sight.seconds, self._used(at, quota)
            self._yielded.add(key)
        if sight.after is None or sight.after.finished:
            for at, quota in quotas:
                self._until.setdefault(at, []).append((sight.seconds, self._used(at, quota)))
        node = self._bound.saw(sight)
        if not node:
            return
        for at, quota in quotas:
            if is_about(quota, self._labels.get(node, {})):
                since, before = self._before.get(at, (-1.0, {}))
                excused = before if since == sight.seconds else {}
                self._judge(at, self._used(at, quota), quota, key.name, excused)
                self._judge_cohort(at, key, excused)

    def _quota(self, sight: SeenChange) -> None:
        if sight.after is None:
            self._quotas.pop(sight.key, None)
            self._until.pop(sight.key, None)
            return
        self._quotas[sight.key] = quota = sight.after
        used = parse_amounts(quota.status.used)
        before = parse_amounts(sight.before.status.used) if sight.before is not None else {}
        if any(value > before.get(name, 0) for name, value in used.items()):
            self._judge(sight.key, used, quota, "what it says is used", self._most(sight))

    def _most(self, sight: SeenChange) -> Amounts:
        """What was used at any time since its status can have been counted."""
        most, since = self._used(sight.key, sight.after), sight.seconds - _COUNTED_SECONDS
        recent = [each for each in self._until.pop(sight.key, ()) if each[0] >= since]
        if recent:
            self._until[sight.key] = recent
        for _, used in recent:
            most.update({name: max(value, most.get(name, 0)) for name, value in used.items()})
        return most

    def _used(self, at: Key, quota: Any) -> Amounts:
        found: Amounts = {}
        for node, beside in self._bound.on.items():
            if is_about(quota, self._labels.get(node, {})):
                for pod, needs in beside.items():
                    if pod.namespace == at.namespace and pod not in self._yielded:
                        add(found, needs)
        return found

    def _judge_cohort(self, at: Key, pod: Key, excused: Amounts) -> None:
        members = members_of(self._quotas, at)
        if not members:
            return
        after = {key: self._used(key, each) for key, each in members.items()}
        self._yielded.add(pod)
        before = {key: self._used(key, each) for key, each in members.items()}
        self._yielded.discard(pod)
        before[at] = {
            name: max(value, excused.get(name, 0)) for name, value in {**excused, **before[at]}.items()
        }
        over = describe_overlent(members, before, after)
        if over:
            cohort = self._quotas[at].spec.cohort
            raise Violation(self.name, f"cohort {cohort} has {over}, with {pod.namespace}/{pod.name}")

    def _judge(self, at: Key, used: Amounts, quota: Any, what: str, excused: Amounts) -> None:
        """`excused`: as much may be used, though it be beyond the limit."""
        hard = most_allowed(quota)
        over = describe_excess(used, {name: max(value, excused.get(name, 0)) for name, value in hard.items()})
        if over:
            raise Violation(self.name, f"{at.name} has {over} with {what}")


def is_about(quota: Any, labels: dict[str, str]) -> bool:
    selector = quota.spec.node_selector
    return not selector or matches_label_selector(selector, labels)
