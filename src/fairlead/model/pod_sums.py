"""What the containers of a pod ask for in all, exact, in billionths.

Containers run together; an init container runs alone, beside the sidecars (restartPolicy Always) started before it;
sidecars stay. The pod needs the larger of the two phases. `ledger/pod_needs.py` counts with it; the kind Pod
judges by it what a pod says of itself as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fairlead.core.quantity import from_json
from fairlead.model.views import Container, PodSpec

Usage = dict[str, int]  # resource -> billionths of its unit


def exact(amounts: Mapping[str, Any]) -> Usage:
    return {name: from_json(value).nano for name, value in amounts.items()}


def add(total: Usage, more: Mapping[str, int]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def sum_containers(spec: PodSpec, of: Callable[[Container], Mapping[str, Any]]) -> Usage:
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
