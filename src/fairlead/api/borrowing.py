"""What bound pods take of the nodes of PlacementQuotas, and the members of a cohort, as a charge has to see them.

Called by `charging.py` in the plan of a binding. The members of a cohort are read in their newest versions, and the
charge names all their revisions as preconditions: of two charges at once that would share the last of a cohort, the
second is planned again. A member that is new is known once it is durable; until then nothing is lent of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from fairlead.api.objects import tree
from fairlead.ledger import quota as ledger
from fairlead.ledger.cohort import Cohort, CohortMember
from fairlead.ledger.pod_needs import Usage, add, exact, placed_usage
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.kinds import placementquota
from fairlead.model.metadata import is_observed
from fairlead.model.reasons import QUOTA_ADMIN
from fairlead.model.selectors import LabelMatcher, from_object
from fairlead.model.views import Anything, Pod
from fairlead.store.contract import Entry, Reader

_NODES, _PODS = "nodes", "pods"
PLACEMENT = placementquota.KIND.resource
_WAITS_FOR_QUOTA = f'"{QUOTA_ADMIN}"'.encode()

decode_pod = msgspec.json.Decoder(Pod).decode
_metadata = msgspec.json.Decoder(Anything).decode


class Beside(NamedTuple):
    """A quota's cohort; None without one. `others`: its members but for itself."""

    cohort: Cohort | None
    others: tuple[Entry, ...] = ()


def find_cohort(read: Reader, key: Key, quota: Json, charged: Mapping[Key, Json]) -> Beside:
    """`charged`: quotas that the same write charges, as they are to be."""
    cohort, nodes = quota["spec"].get("cohort"), nodes_of(quota)
    if not cohort:
        return Beside(None)
    others: list[Entry] = []
    members = [member_of(read, key, quota, ())]
    for durable in read.list(PLACEMENT):
        entry = read.newest(durable.key) if durable.key != key else None
        if entry is None:
            continue
        member = charged.get(entry.key) or tree(entry)
        if member["spec"].get("cohort") != cohort or nodes_of(member) != nodes:
            continue
        space = entry.key.namespace
        refused = pods_refused(read, space) if space != key.namespace else ()
        members.append(member_of(read, entry.key, member, refused))
        others.append(entry)
    return Beside(Cohort(cohort, _name(key), tuple(members)), tuple(others))


def current_usage(read: Reader, quota: Json, space: str) -> Usage:
    return ledger.used_of(quota) if is_observed(quota) else placed_usage_of(read, quota, space)


def placed_usage_of(read: Reader, quota: Json, space: str) -> Usage:
    def labels(node: str) -> dict[str, str] | None:
        return labels_of(read, node)

    bound = (decode_pod(each.data) for each in read.list(_PODS, space) if b'"nodeName"' in each.data)
    return ledger.sum_usage(quota["spec"].get("nodeSelector"), bound, labels)


def labels_of(read: Reader, node: str) -> dict[str, str] | None:
    entry = read.get(Key(_NODES, "", node))
    return None if entry is None else decode_labels(entry.data)


def decode_labels(data: bytes) -> dict[str, str]:
    return _metadata(data).metadata.labels


def member_of(read: Reader, key: Key, quota: Json, refused: Iterable[Pod]) -> CohortMember:
    """`refused`: pods of its namespace whose claims count."""
    spec, used = quota["spec"], current_usage(read, quota, key.namespace)
    hard = exact(spec.get("hard") or {})
    return CohortMember(
        _name(key),
        hard,
        used,
        exact(spec.get("borrowingLimit") or {}),
        exact(spec.get("lendingLimit") or {}),
        _claimed(refused, key, hard, used),
    )


def _claimed(refused: Iterable[Pod], key: Key, hard: Usage, used: Usage) -> Usage:
    """What pods of a namespace ask for that wait for this quota and would fit into what it has of its own."""
    claimed: Usage = {}
    for pod in refused:
        if not is_waiting(pod, key.name):
            continue
        asked = placed_usage(pod.spec)
        if all(used.get(name, 0) + claimed.get(name, 0) + asked.get(name, 0) <= hard[name] for name in hard):
            add(claimed, asked)
    return claimed


def pods_refused(read: Reader, space: str) -> Iterator[Pod]:
    """Those of a namespace that a quota kept from a node."""
    for entry in read.list(_PODS, space):
        if _WAITS_FOR_QUOTA in entry.data:
            yield decode_pod(entry.data)


def is_waiting(pod: Pod, quota: str) -> bool:
    """Whether it waits for this quota of its namespace."""
    if pod.spec.node_name or pod.finished or pod.metadata.deletion_timestamp:
        return False
    return any(
        each.type == "PodScheduled"
        and each.status == "False"
        and each.owner == QUOTA_ADMIN
        and f"quota/{quota}: " in each.message
        for each in pod.status.conditions
    )


def nodes_of(quota: Json) -> LabelMatcher | None:
    selector = quota["spec"].get("nodeSelector")
    return from_object(selector) if selector else None


def _name(key: Key) -> str:
    return f"{key.namespace}/{key.name}"
