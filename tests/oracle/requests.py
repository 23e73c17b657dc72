"""What a pod takes of a node, by the formula of the Kubernetes documentation.

Quantities are whole numbers of 10^-9, the finest grain that Kubernetes keeps, until the very end; a pod's sum is then
rounded up, cpu to thousandths, everything else to whole units. Nothing here is shared with the code under test.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache
from typing import Any

Json = dict[str, Any]

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_SUFFIXES = {
    **{suffix: Fraction(10) ** power for suffix, power in _DECIMAL.items()},
    **{suffix: Fraction(1024) ** power for suffix, power in _BINARY.items()},
}
_QUANTITY = re.compile(r"([+-]?[0-9]*\.?[0-9]*)(?:[eE]([+-]?[0-9]+)|([a-zA-Z]*))")

# A container that does not say what it needs is scored as if it needed this much.
UNSAID = {"cpu": 10**8, "memory": 200 * 1024 * 1024 * 10**9}


@lru_cache(maxsize=4096)
def quantity(value: str | int | float) -> int:
    found = _QUANTITY.fullmatch(str(value))
    assert found is not None, value
    number, exponent, suffix = found.groups()
    scale = Fraction(10) ** int(exponent) if exponent else _SUFFIXES[suffix or ""]
    return math.ceil(Fraction(number) * scale * 10**9)


def whole(resource: str, amount: int) -> int:
    return -(-amount // (10**6 if resource == "cpu" else 10**9))


def allocatable(node: Json, resource: str) -> int:
    return whole(resource, quantity(node["status"]["allocatable"].get(resource, 0)))


def requests(pod: Json) -> dict[str, int]:
    """What filtering counts. Resources that nobody names are absent."""
    return _pod_needs(pod, {})


def scored_requests(pod: Json) -> dict[str, int]:
    """What least and most allocated count: cpu and memory, with what is assumed of containers that do not say."""
    needs = _pod_needs(pod, UNSAID)
    return {"cpu": needs["cpu"], "memory": needs["memory"]}


def _pod_needs(pod: Json, unsaid: dict[str, int]) -> dict[str, int]:
    spec = pod["spec"]
    names = {*unsaid, *spec.get("overhead", {}), *spec.get("resources", {}).get("requests", {})}
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        names |= container.get("resources", {}).get("requests", {}).keys()
    return {name: whole(name, _pod_need(spec, name, unsaid)) for name in names}


def _pod_need(spec: Json, resource: str, unsaid: dict[str, int]) -> int:
    """The larger of
        the sum over all containers and all sidecars,
        for each init container, itself and the sidecars that started before it;
    or what the pod as a whole requests, if it says so; and the overhead on top."""
    inits = spec.get("initContainers", [])

    def need(container: Json) -> int:
        said = container.get("resources", {}).get("requests", {})
        if resource in said:
            return quantity(said[resource])
        return unsaid.get(resource, 0)

    def sidecars(before: int) -> int:
        return sum(need(each) for each in inits[:before] if is_sidecar(each))

    overhead = quantity(spec.get("overhead", {}).get(resource, 0))
    whole_pod = spec.get("resources", {}).get("requests", {})
    if resource in whole_pod:
        return quantity(whole_pod[resource]) + overhead
    running = sum(map(need, spec["containers"])) + sidecars(len(inits))
    starting = [need(each) + sidecars(place) for place, each in enumerate(inits)]
    return max([running, *starting]) + overhead


def is_sidecar(init_container: Json) -> bool:
    return bool(init_container.get("restartPolicy") == "Always")
