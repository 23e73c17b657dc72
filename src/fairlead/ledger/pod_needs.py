"""What a pod asks for in all, exact, in billionths. Containers run together; an init container runs alone, beside the
sidecars (restartPolicy Always) started before it; sidecars stay. The pod needs the larger of the two phases, and its
overhead. Used by everything that counts pods: quotas, rooms that reservations keep, and the scheduler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fairlead.core.quantity import NANO, from_json
from fairlead.model.views import Container, PodSpec

Usage = dict[str, int]  # resource -> billionths of its unit


def requests_of(
    spec: PodSpec,
    of: Callable[[Container], Mapping[str, Any]] = lambda container: container.resources.requests,
) -> Usage:
    """`of`: what a container is taken to request, where that is not what it says."""
    needed = _summed(spec, of)
    add(needed, exact(spec.overhead))
    return needed


def limits_of(spec: PodSpec) -> Usage:
    """Overhead counts only where there is a limit at all."""
    needed = _summed(spec, lambda container: container.resources.limits)
    for name, value in spec.overhead.items():
        if needed.get(name):
            needed[name] += from_json(value).nano
    return needed


def placed_usage(spec: PodSpec) -> Usage:
    """What it takes of a node: its requests, and one of the node's pods."""
    return {**requests_of(spec), "pods": NANO}


def exact(amounts: Mapping[str, Any]) -> Usage:
    return {name: from_json(value).nano for name, value in amounts.items()}


def add(total: Usage, more: Mapping[str, int]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _summed(spec: PodSpec, of: Callable[[Container], Mapping[str, Any]]) -> Usage:
    running: Usage = {}
    for container in spec.containers:
        add(running, exact(of(container)))
    sidecars: Usage = {}
    starting: Usage = {}
    for container in spec.init_containers:
        asked = exact(of(container))
        if container.restart_policy == "Always":
            add(running, asked)
            add(sidecars, asked)
            _raise(starting, sidecars)
        else:
            beside = dict(sidecars)
            add(beside, asked)
            _raise(starting, beside)
    _raise(running, starting)
    return running


def _raise(total: Usage, other: Usage) -> None:
    for name, value in other.items():
        total[name] = max(total.get(name, 0), value)
