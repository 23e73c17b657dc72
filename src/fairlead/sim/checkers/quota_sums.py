"""At rest what a quota says is used is the sum over what it counts: pods, what they request, and objects of a kind.

The sums are the checker's own (`room.py`). A ResourceQuota counts the pods of its namespace that have not ended (under
`count/pods` also those that have), a PlacementQuota those of them that have a node it is about; a released pod counts
until it says that another has its quota. Quotas with scopes are not judged.
"""

from __future__ import annotations

from typing import Any

from fairlead.model.key import Key
from fairlead.model.views import NODES, PLACEMENT_QUOTAS, PODS, RESOURCE_QUOTAS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.checkers.quotas import BOUND, is_about, keeps_quota
from fairlead.sim.checkers.room import Amounts, add, parse_amounts, sum_limits, sum_requests
from fairlead.sim.violation import Violation

_COUNT = "count/"
_PLAIN = frozenset(
    {"configmaps", "resourcequotas", "secrets", "services"}
)  # may be counted without the prefix


class QuotaIsTheSum:
    name = "quota-is-the-sum"
    sees: frozenset[str] = frozenset()

    def saw(self, sight: SeenChange) -> None:
        """On the way a status may be behind: what is used is judged as it is committed (`quotas.py`)."""

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        for key, quota in objects.of(RESOURCE_QUOTAS.name).items():
            if not quota.spec.scopes and not quota.spec.scope_selector:
                self._judge(key, quota, _used(objects, key.namespace, quota.spec.hard))
        for key, quota in objects.of(PLACEMENT_QUOTAS.name).items():
            self._judge(key, quota, _placed(objects, key.namespace, quota))

    def _judge(self, key: Key, quota: Any, used: Amounts) -> None:
        told = parse_amounts(quota.status.used)
        for name in quota.spec.hard:
            if told.get(name) != used.get(name, 0):
                has, are = told.get(name), used.get(name, 0) / 1000
                said = "nothing" if has is None else f"{has / 1000:g}"
                raise Violation(self.name, f"{key.name} says that {said} {name} are used, and it is {are:g}")


def _used(objects: CommittedObjects, namespace: str, hard: dict[str, str]) -> Amounts:
    total: Amounts = {}
    for key, pod in objects.of(PODS.name).items():
        if key.namespace == namespace and not pod.finished and keeps_quota(pod, "Created", BOUND):
            asked = sum_requests(pod)
            asked.update({f"requests.{name}": value for name, value in asked.items() if name != "pods"})
            asked.update({f"limits.{name}": value for name, value in sum_limits(pod).items()})
            add(total, asked)
    for name in hard:
        resource = name.removeprefix(_COUNT)
        if name.startswith(_COUNT) or resource in _PLAIN:
            total[name] = 1000 * sum(
                key.namespace == namespace and (resource != PODS.name or keeps_quota(view, "Created", BOUND))
                for key, view in objects.of(resource).items()
            )
    return total


def _placed(objects: CommittedObjects, namespace: str, quota: Any) -> Amounts:
    total: Amounts = {}
    labels = {key.name: node.metadata.labels for key, node in objects.of(NODES.name).items()}
    for key, pod in objects.of(PODS.name).items():
        node = pod.spec.node_name
        if key.namespace != namespace or not node or pod.finished or not keeps_quota(pod, BOUND):
            continue
        if node in labels and is_about(quota, labels[node]):
            add(total, sum_requests(pod))
    return total
