"""From a manifest to the pods it would lead to. Called by `cli/plan.py`; knows no server.

Workloads are taken as if they did not exist yet; of those that exist, what they would have in addition.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Json = dict[str, Any]
#: bound: plane | pods of one object in a plan | 413
NAMES_MAX = 5001  # one more than a plan takes (planning.PLAN_PODS_MAX)
WORKLOADS = ("Deployment", "ReplicaSet", "StatefulSet", "Job")


class Expanded(NamedTuple):
    """`pod` has no name; `names` are those its copies are shown by."""

    owner: str  # `Deployment/web`; for a Pod itself `Pod/web`
    pod: Json
    names: tuple[str, ...]


def expand(document: Json, existing: int = 0) -> Expanded | None:
    """None: the kind leads to no pods. `existing`: so many of its pods are there already."""
    kind, meta = document.get("kind", ""), document.get("metadata") or {}
    name = meta.get("name") or meta.get("generateName") or "unnamed"
    spec = document.get("spec") or {}
    if kind == "Pod":
        return Expanded(f"Pod/{name}", document, (name,))
    if kind not in WORKLOADS:
        return None
    wanted = parallel(spec) if kind == "Job" else replicas(document)
    first = (spec.get("ordinals") or {}).get("start", 0) if kind == "StatefulSet" else 0
    wanted = min(wanted, existing + NAMES_MAX)  # the server refuses to plan so many
    names = tuple(f"{name}-{number}" for number in range(first + existing, first + wanted))
    template = spec.get("template") or {}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**(template.get("metadata") or {}), "namespace": meta.get("namespace", "")},
        "spec": template.get("spec") or {},
    }
    return Expanded(f"{kind}/{name}", pod, names)


def replicas(document: Json) -> int:
    """How many pods a set asks for."""
    number = (document.get("spec") or {}).get("replicas", 1)
    return number if isinstance(number, int) else 1


def parallel(spec: Json) -> int:
    """How many pods of a Job run at once."""
    if spec.get("suspend"):
        return 0
    number, completions = spec.get("parallelism", 1), spec.get("completions")
    return min(number, completions) if isinstance(completions, int) else int(number)
