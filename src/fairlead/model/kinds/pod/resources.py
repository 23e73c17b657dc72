"""Requests and limits of containers and pods: which names and quantities are allowed, and the QoS class they
give.

`containers.py` and `validation.py` validate with it, `kind.py` takes the class. How much is free on
a node is the scheduler's work, how much a namespace may use the quota's.
"""

from __future__ import annotations

import msgspec

from fairlead.core.problems import Problems
from fairlead.model.kind import Json
from fairlead.model.kinds.amounts import format_amount, nanos, validate_amount
from fairlead.model.pod_sums import sum_containers
from fairlead.model.verdicts import label_key_problems
from fairlead.model.views import PodSpec

_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage"})
_POD_LEVEL = frozenset({"cpu", "memory"})
HUGE_PAGES = "hugepages-"


def validate_resources(resources: Json, path: str, problems: Problems, *, pod: bool = False) -> None:
    """A ResourceRequirements. At the level of the pod only cpu, memory and huge pages may be named."""
    limits: Json = resources.get("limits") or {}
    requests: Json = resources.get("requests") or {}
    huge = False
    for field, listed in (("limits", limits), ("requests", requests)):
        for name, quantity in listed.items():
            # Almost every entry is a plain amount of cpu or memory.
            if name not in _STANDARD or pod or nanos(quantity) < 0:
                _validate_entry(name, quantity, f"{path}.{field}[{name}]", problems, pod=pod)
                huge = huge or name.startswith(HUGE_PAGES)
    for name, quantity in requests.items():
        limit = limits.get(name)
        if limit is not None:
            if limit != quantity:
                _validate_pair(name, quantity, limit, f"{path}.requests", problems)
        elif name not in _STANDARD and not _overcommits(name):
            problems.required(f"{path}.limits", "Limit must be set for non overcommitable resources")
    if huge and not any(name in listed for listed in (limits, requests) for name in ("cpu", "memory")):
        problems.forbidden(path, "HugePages require cpu or memory")


def _validate_entry(name: str, quantity: str, path: str, problems: Problems, *, pod: bool) -> None:
    if pod and name not in _POD_LEVEL and not name.startswith(HUGE_PAGES):
        choices = ("cpu", "hugepages-", "memory")
        problems.unsupported(path, name, choices)
    elif name not in _STANDARD:
        _validate_resource_name(name, path, problems)
    validate_amount(quantity, path, problems, whole="/" in name)


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
    asked, most = nanos(request), nanos(limit)
    if asked == most:
        return
    if name not in _STANDARD and not _overcommits(name):
        problems.invalid(path, request, f"must be equal to {name} limit of {limit}")
    elif asked > most:
        problems.invalid(path, request, f"must be less than or equal to {name} limit of {limit}")


def container_amounts(spec: Json, field: str) -> dict[str, int]:
    """`requests` or `limits` of all containers together, in billionths."""
    view = msgspec.convert(
        {name: spec[name] for name in ("containers", "initContainers") if spec.get(name)},
        PodSpec,
        strict=False,
    )
    return sum_containers(
        view, lambda each: each.resources.requests if field == "requests" else each.resources.limits
    )


def validate_pod_resources(spec: Json, path: str, problems: Problems) -> None:
    """Those of the pod as a whole, also against what its containers say: it may not ask for less than they do together,
    and none of them may go beyond its limits."""
    resources: Json = spec["resources"]
    validate_resources(resources, f"{path}.resources", problems, pod=True)
    asked = container_amounts(spec, "requests")
    for name, quantity in (resources.get("requests") or {}).items():
        if nanos(quantity) < asked.get(name, 0):
            text = f"must be greater than or equal to aggregate container requests of {format_amount(asked[name])}"
            problems.invalid(f"{path}.resources.requests[{name}]", quantity, text)
    for field in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            _validate_within(container, resources.get("limits") or {}, f"{path}.{field}[{index}]", problems)


def _validate_within(container: Json, most: Json, path: str, problems: Problems) -> None:
    for name, quantity in ((container.get("resources") or {}).get("limits") or {}).items():
        if name in most and nanos(quantity) > nanos(most[name]):
            text = f"must be less than or equal to pod limits of {most[name]}"
            problems.invalid(f"{path}.resources.limits[{name}]", quantity, text)


def qos_class(spec: Json) -> str:
    """Guaranteed, Burstable or BestEffort, by cpu and memory of the containers or of the pod itself."""
    if spec.get("resources"):
        holders = [spec]
    else:
        holders = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    guaranteed = True
    asked = False
    for holder in holders:
        resources = holder.get("resources")
        if not resources:
            guaranteed = False
            continue
        limits: Json = resources.get("limits") or {}
        requests: Json = resources.get("requests") or {}
        for name in ("cpu", "memory"):
            # Nothing and zero are the same here.
            request, limit = nanos(requests.get(name, "0")), nanos(limits.get(name, "0"))
            if request or limit:
                asked = True
            if not limit or request != limit:
                guaranteed = False
    if not asked:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"
