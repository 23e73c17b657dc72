"""What a pod asks for in all, exact, in billionths: what its containers need together (`model/pod_sums.py`), or what it
says of the pod as a whole (`spec.resources`), which then counts instead; and its overhead. Used by everything that
counts pods: quotas, rooms that reservations keep, and the scheduler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fairlead.core.quantity import NANO, from_json
from fairlead.model.pod_sums import Usage, add, exact, sum_containers
from fairlead.model.views import Container, PodSpec

__all__ = ["Usage", "add", "exact", "limits_of", "placed_usage", "requests_of"]


def requests_of(
    spec: PodSpec,
    of: Callable[[Container], Mapping[str, Any]] = lambda container: container.resources.requests,
) -> Usage:
    """`of`: what a container is taken to request, where that is not what it says."""
    needed = sum_containers(spec, of)
    if spec.resources.requests:
        needed.update(exact(spec.resources.requests))
    add(needed, exact(spec.overhead))
    return needed


def limits_of(spec: PodSpec) -> Usage:
    """Overhead counts only where there is a limit at all."""
    needed = sum_containers(spec, lambda container: container.resources.limits)
    if spec.resources.limits:
        needed.update(exact(spec.resources.limits))
    for name, value in spec.overhead.items():
        if needed.get(name):
            needed[name] += from_json(value).nano
    return needed


def placed_usage(spec: PodSpec) -> Usage:
    """What it takes of a node: its requests, and one of the node's pods."""
    return {**requests_of(spec), "pods": NANO}
