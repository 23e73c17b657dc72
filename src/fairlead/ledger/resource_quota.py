"""ResourceQuota: what an object counts for, which quotas are about it, and what a pod has to say under one.

Kubernetes' rules. `pods` and compute resources count pods that have not finished, `count/RESOURCE` every object; a
released pod that gave its quota away counts for nothing (`handover.py`). A scope narrows a quota to some pods. The
arithmetic of limits is in `quota.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from fairlead.core.quantity import NANO, parse
from fairlead.ledger.handover import holds_quota
from fairlead.ledger.pod_needs import Usage, add, limits_of, requests_of
from fairlead.model.service_views import ServiceSpec
from fairlead.model.views import Container, Json, Pod, PodSpec, ResourceQuotaSpec

PODS, SERVICES = "pods", "services"
_PLAIN_COUNTS = frozenset({"services", "secrets", "configmaps", "resourcequotas"})
# A pod must state these if a quota limits them.
_MUST_SAY = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})
# Known under their own name besides `requests.NAME`.
_ALSO_PLAIN = ("cpu", "memory", "ephemeral-storage")


class _WithSpec(msgspec.Struct, frozen=True):
    """A Service that may have no metadata yet."""

    spec: ServiceSpec = ServiceSpec()


_service = msgspec.json.Decoder(_WithSpec).decode


def is_about(hard: Iterable[str], resource: str) -> bool:
    """Whether limits with these names count objects of a resource at all."""
    if resource == PODS:
        return any(name == "count/pods" or not _counts_others(name) for name in hard)
    return resource in counted_resources(hard)


def counted_resources(hard: Iterable[str]) -> list[str]:
    """The resources besides pods that limits with these names count."""
    found = {name.removeprefix("count/") for name in hard if name.startswith("count/")}
    found |= {name.partition(".")[0] for name in hard if name.partition(".")[0] in _PLAIN_COUNTS}
    return sorted(found - {PODS})


def usage_of_object(resource: str, data: bytes) -> Usage:
    """What any object but a pod counts for."""
    return usage_of_service(_service(data).spec) if resource == SERVICES else usage_of_any(resource)


def usage_of_any(resource: str) -> Usage:
    """What an object counts for of which nothing matters but that it is there."""
    used = {f"count/{resource}": NANO}
    if resource in _PLAIN_COUNTS:
        used[resource] = NANO
    return used


def usage_of_service(spec: ServiceSpec) -> Usage:
    used = usage_of_any(SERVICES)
    balanced = spec.type == "LoadBalancer"
    if balanced:
        used["services.loadbalancers"] = NANO
    if spec.type == "NodePort" or (balanced and spec.allocate_load_balancer_node_ports is not False):
        used["services.nodeports"] = NANO * len(spec.ports)
    return used


def usage_of_pod(pod: Pod) -> Usage:
    """A pod that was released counts until another of its owner has its quota (`handover.py`)."""
    if not holds_quota(pod):
        return {}
    used = {"count/pods": NANO}
    if pod.finished:
        return used
    used[PODS] = NANO
    for name, value in requests_of(pod.spec).items():
        used[f"requests.{name}"] = value
        if name in _ALSO_PLAIN or name.startswith("hugepages-"):
            used[name] = value
    for name, value in limits_of(pod.spec).items():
        used[f"limits.{name}"] = value
    return used


def counted_pods(spec: ResourceQuotaSpec, pods: Iterable[Pod]) -> Usage:
    total: Usage = {}
    for pod in pods:
        if in_scope(spec, pod):
            add(total, usage_of_pod(pod))
    return total


def in_scope(spec: ResourceQuotaSpec, pod: Pod) -> bool:
    """Whether a quota is about this pod: every scope and every expression must hold."""
    expressions = spec.scope_selector.get("matchExpressions") or ()
    return all(_holds(scope, "Exists", (), pod.spec) for scope in spec.scopes) and all(
        _holds(each["scopeName"], each["operator"], each.get("values") or (), pod.spec)
        for each in expressions
    )


def is_scoped(spec: ResourceQuotaSpec) -> bool:
    return bool(spec.scopes or spec.scope_selector.get("matchExpressions"))


def list_unstated(hard: Iterable[str], pod: Pod) -> str:
    """What containers must state under such limits and do not: `limits.cpu for: a,b; requests.memory for: a`."""
    missing = []
    for name in sorted(_MUST_SAY.intersection(hard)):
        field, _, resource = name.rpartition(".")
        containers = [*pod.spec.init_containers, *pod.spec.containers]
        if resource in _stated(pod.spec, field):
            continue  # said for the pod as a whole
        silent = [each.name for each in containers if resource not in _stated(each, field)]
        if silent:
            missing.append(f"{name} for: {','.join(sorted(silent))}")
    return "; ".join(missing)


def _stated(asking: Container | PodSpec, field: str) -> dict[str, Any]:
    return asking.resources.limits if field == "limits" else asking.resources.requests


def _holds(scope: str, operator: str, values: Iterable[str], spec: PodSpec) -> bool:
    if scope == "PriorityClass":
        name = spec.priority_class_name
        if operator == "Exists":
            return bool(name)
        if operator == "DoesNotExist":
            return not name
        return (name in values) is (operator == "In")
    if scope in ("BestEffort", "NotBestEffort"):
        return _is_best_effort(spec) is (scope == "BestEffort")
    if scope in ("Terminating", "NotTerminating"):
        return (spec.active_deadline_seconds is not None) is (scope == "Terminating")
    if scope == "CrossNamespacePodAffinity":
        return _reaches_elsewhere(spec.affinity)
    return False  # of volumes: no pod is in it


def _is_best_effort(spec: PodSpec) -> bool:
    needs = [spec.resources, *(each.resources for each in (*spec.containers, *spec.init_containers))]
    for amounts in (amounts for each in needs for amounts in (each.requests, each.limits)):
        if any(parse(str(amounts[name])).nano for name in ("cpu", "memory") if name in amounts):
            return False
    return True


def _reaches_elsewhere(affinity: Json) -> bool:
    terms: list[Json] = []
    for kind in ("podAffinity", "podAntiAffinity"):
        asked = affinity.get(kind) or {}
        terms += asked.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        preferred = asked.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms += [each.get("podAffinityTerm") or {} for each in preferred]
    return any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms)


def _counts_others(name: str) -> bool:
    """Whether a limit's name is about other objects than pods."""
    return name.startswith(("count/", "services")) or name in _PLAIN_COUNTS
