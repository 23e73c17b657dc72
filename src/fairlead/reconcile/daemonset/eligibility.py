"""Which nodes a DaemonSet means, as facts about one pod and one node: taints, selectors, affinity.

Pure predicates on views. The scheduler asks the same of all nodes at once (`schedule/plugins/`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.model.selectors import Requirement, label_selector
from fairlead.model.tolerations import covers_taint
from fairlead.model.views import Json, Node, PodSpec, Toleration

REPELLING = frozenset({"NoSchedule", "NoExecute"})
_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!", "Gt": ">", "Lt": "<"}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def tolerates(toleration: Toleration, taint: Json) -> bool:
    """Whether one toleration covers one taint, as it stands in a Node's spec."""
    return covers_taint(
        toleration, taint.get("key") or "", taint.get("value") or "", taint.get("effect") or ""
    )


def is_repelled(taints: Iterable[Json], tolerations: Iterable[Toleration]) -> bool:
    """Whether a taint keeps pods with these tolerations away."""
    return any(
        taint.get("effect") in REPELLING and not any(tolerates(each, taint) for each in tolerations)
        for taint in taints
    )


def is_selected(spec: PodSpec, node: Node) -> bool:
    """Whether a pod wants this node, by its selector and what its node affinity requires."""
    labels = node.metadata.labels
    if not all(labels.get(key) == value for key, value in spec.node_selector.items()):
        return False
    required = (spec.affinity.get("nodeAffinity") or {}).get(_REQUIRED) if spec.affinity else None
    if required is None:
        return True
    return any(_meets(term, node) for term in required.get("nodeSelectorTerms") or ())


def _meets(term: Json, node: Node) -> bool:
    """All of one term. A term without conditions is met by no node."""
    labels, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    return (
        bool(labels or fields)
        and _all_hold(labels, node.metadata.labels)
        and _all_hold(fields, {"metadata.name": node.metadata.name})
    )


def _all_hold(conditions: Iterable[Json], facts: Mapping[str, str]) -> bool:
    return label_selector(
        Requirement(each["key"], _OPERATORS[each["operator"]], tuple(sorted(each.get("values") or ())))
        for each in conditions
    ).matches(facts)


def pinned_node(spec: PodSpec) -> str:
    """The node that a pod of a DaemonSet is made for: the one its affinity names, and no other; "" if there is none."""
    if not spec.affinity:
        return ""
    required = (spec.affinity.get("nodeAffinity") or {}).get(_REQUIRED) or {}
    terms: list[Json] = required.get("nodeSelectorTerms") or []
    fields: list[Json] = terms[0].get("matchFields") or [] if len(terms) == 1 else []
    if len(fields) != 1 or fields[0].get("operator") != "In":
        return ""
    names: list[str] = fields[0].get("values") or []
    return names[0] if len(names) == 1 else ""


def pinned_to(affinity: Json | None, node: str) -> Json:
    """An affinity that requires this node, in place of whatever nodes it required."""
    affinity = affinity or {}
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {**affinity, "nodeAffinity": {**(affinity.get("nodeAffinity") or {}), _REQUIRED: required}}
