"""Requests and limits of containers and pods: which names and quantities are allowed, and the QoS class they
give.

`pod_containers.py` and `pod_validation.py` validate with it, `pod.py` takes the class. How much is free on
a node is the scheduler's work, how much a namespace may use the quota's.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.kind import Json
from fairlead.model.kinds.amounts import nanos, validate_amount
from fairlead.model.names import label_key_problems

_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage"})
_POD_LEVEL = frozenset({"cpu", "memory"})
HUGE_PAGES = "hugepages-"


def validate_resources(resources: Json, path: str, problems: Problems, *, pod: bool = False) -> None:
    """A ResourceRequirements. At the level of the pod only cpu, memory and huge pages may be named."""
    limits: Json = resources.get("limits") or {}
    requests: Json = resources.get("requests") or {}
    for field, listed in (("limits", limits), ("requests", requests)):
        for name, quantity in listed.items():
            _validate_entry(name, quantity, f"{path}.{field}", problems, pod=pod)
    for name, quantity in requests.items():
        limit = limits.get(name)
        if limit is not None:
            _validate_pair(name, quantity, limit, f"{path}.requests", problems)
        elif name not in _STANDARD and not _overcommits(name):
            problems.required(f"{path}.limits", "Limit must be set for non overcommitable resources")
    huge = any(name.startswith(HUGE_PAGES) for listed in (limits, requests) for name in listed)
    if huge and not any(name in listed for listed in (limits, requests) for name in ("cpu", "memory")):
        problems.forbidden(path, "HugePages require cpu or memory")


def _validate_entry(name: str, quantity: str, path: str, problems: Problems, *, pod: bool) -> None:
    if pod and name not in _POD_LEVEL and not name.startswith(HUGE_PAGES):
        choices = ("cpu", "hugepages-", "memory")
        problems.unsupported(f"{path}[{name}]", name, choices)
    elif name not in _STANDARD:
        _validate_resource_name(name, f"{path}[{name}]", problems)
    if nanos(quantity) < 0 or "/" in name:
        validate_amount(quantity, f"{path}[{name}]", problems, whole="/" in name)


def _validate_resource_name(name: str, path: str, problems: Problems) -> None:
    for text in label_key_problems(name):
        problems.invalid(path, name, text)
    if "/" not in name and not name.startswith(HUGE_PAGES):
        problems.invalid(path, name, "must be a standard resource type or fully qualified")
        problems.invalid(path, name, "must be a standard resource for containers")


def _overcommits(name: str) -> bool:
    """Extended resources and huge pages are handed out whole: what is asked is what is given."""
    return "/" not in name and not name.startswith(HUGE_PAGES)


def _validate_pair(name: str, request: str, limit: str, path: str, problems: Problems) -> None:
    if request == limit:
        return
    asked, most = nanos(request), nanos(limit)
    if asked == most:
        return
    if name not in _STANDARD and not _overcommits(name):
        problems.invalid(path, request, f"must be equal to {name} limit of {limit}")
    elif asked > most:
        problems.invalid(path, request, f"must be less than or equal to {name} limit of {limit}")


def qos_class(spec: Json) -> str:
    """Guaranteed, Burstable or BestEffort, by cpu and memory of the containers or of the pod itself."""
    if spec.get("resources"):
        holders = [spec]
    else:
        holders = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    guaranteed = True
    asked = False
    for holder in holders:
        resources = holder.get("resources") or {}
        limits: Json = resources.get("limits") or {}
        requests: Json = resources.get("requests") or {}
        for name in ("cpu", "memory"):
            request, limit = _positive(requests.get(name)), _positive(limits.get(name))
            asked = asked or request is not None or limit is not None
            if limit is None or (request != limit and _differs(request, limit)):
                guaranteed = False
    if not asked:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _positive(quantity: str | None) -> str | None:
    return quantity if quantity is not None and nanos(quantity) > 0 else None


def _differs(request: str | None, limit: str) -> bool:
    return request is None or nanos(request) != nanos(limit)
