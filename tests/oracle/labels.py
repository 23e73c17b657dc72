"""Selectors of Kubernetes over plain labels: LabelSelector objects and node selector terms."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]
Labels = Mapping[str, str]

_INTEGER = re.compile(r"[+-]?[0-9]+")


def selects(selector: Json | None, labels: Labels) -> bool:
    """A missing selector selects nothing, an empty one everything."""
    if selector is None:
        return False
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items()) and all(
        holds(each, labels) for each in selector.get("matchExpressions", ())
    )


def holds(expression: Json, labels: Labels) -> bool:
    """One expression of either kind of selector. Absence satisfies NotIn and DoesNotExist and nothing else."""
    value = labels.get(expression["key"])
    values = expression.get("values", [])
    match expression["operator"]:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return _is_integer(value) and int(str(value)) > int(values[0])
        case "Lt":
            return _is_integer(value) and int(str(value)) < int(values[0])
    raise AssertionError(f"no operator of Kubernetes: {expression}")


def _is_integer(value: str | None) -> bool:
    return value is not None and _INTEGER.fullmatch(value) is not None


def term_holds(term: Json, node: Json) -> bool:
    """One nodeSelectorTerm. One that asks for nothing matches no node."""
    expressions, fields = term.get("matchExpressions", []), term.get("matchFields", [])
    if not expressions and not fields:
        return False
    labels = node["metadata"].get("labels", {})
    names = {"metadata.name": node["metadata"]["name"]}
    return all(holds(each, labels) for each in expressions) and all(holds(each, names) for each in fields)


def wants_node(pod: Json, node: Json) -> bool:
    """nodeSelector and required node affinity: both, and of the terms of the latter any."""
    spec, labels = pod["spec"], node["metadata"].get("labels", {})
    if any(labels.get(key) != value for key, value in spec.get("nodeSelector", {}).items()):
        return False
    required = (
        spec.get("affinity", {}).get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    )
    return required is None or any(term_holds(term, node) for term in required["nodeSelectorTerms"])


def labels_of(obj: Json) -> dict[str, str]:
    found: dict[str, str] = obj["metadata"].get("labels", {})
    return found


def with_keys(selector: Json | None, same: list[str], other: list[str], labels: Labels) -> Json | None:
    """A selector narrowed by matchLabelKeys and mismatchLabelKeys: keys that the pod has, with the pod's values."""
    if selector is None:
        return None
    more = [{"key": key, "operator": "In", "values": [labels[key]]} for key in same if key in labels]
    more += [{"key": key, "operator": "NotIn", "values": [labels[key]]} for key in other if key in labels]
    return {**selector, "matchExpressions": [*selector.get("matchExpressions", ()), *more]}
