"""The node ports of a Service: those that are asked for, if they are free, or ones that are chosen. Part of
`services.py`; chosen like addresses (`cluster_ip.py`).
"""

from __future__ import annotations

from fairlead.api import claims
from fairlead.api.attempt import Attempt
from fairlead.core.problems import Problems
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.store.contract import OPERATIONS_MAX

OUTSIDE = ("NodePort", "LoadBalancer")  # the types that have some
# One transaction holds the Service, its address, and all ports it takes and gives up.
#: bound: objects | ports of a Service with node ports | 422
NODE_PORTS_MAX = (OPERATIONS_MAX - 4) // 2
_FIRST, _LAST = 30000, 32767
_LEFT_TO_NAMED = 86
_FIX = "leave the field out to get a free one"


def key_of(number: int) -> Key:
    return claims.key_of("nodeport", str(number))


def give_ports(attempt: Attempt, before: tuple[Key, ...], problems: Problems) -> None:
    assert attempt.new is not None
    spec: Json = attempt.new["spec"]
    ports: list[Json] = spec.get("ports") or []
    if spec.get("type") not in OUTSIDE:
        return
    if len(ports) > NODE_PORTS_MAX:
        problems.too_many("spec.ports", len(ports), NODE_PORTS_MAX)
        return
    taken = set(before)
    given: dict[int, int] = {}  # protocols of one port share the node's
    for index, port in enumerate(ports):
        number = port.get("nodePort")
        if not number:
            continue
        given.setdefault(port.get("port", 0), number)
        _take_port(attempt, number, taken, f"spec.ports[{index}].nodePort", problems)
    if spec.get("type") == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
        return
    for port in ports:
        if port.get("nodePort"):
            continue
        shared = given.get(port.get("port", 0))
        if shared is None:
            numbers = claims.numbers(attempt, _FIRST, _FIRST + _LEFT_TO_NAMED, _LAST + 1)
            chosen = claims.first_free(attempt, (key for key in map(key_of, numbers) if key not in taken))
            if chosen is None:
                text = f"no port of {_FIRST}-{_LAST} is free: delete Services that are not used"
                problems.invalid("spec.ports", len(ports), text)
                return
            taken.add(chosen)
            claims.take(attempt, chosen)
            shared = given[port.get("port", 0)] = int(claims.claimed_value(chosen))
        port["nodePort"] = shared


def _take_port(attempt: Attempt, number: int, taken: set[Key], path: str, problems: Problems) -> None:
    key = key_of(number)
    if key in taken:
        return
    if not _FIRST <= number <= _LAST:
        text = f"provided port is not in the valid range. The range of valid ports is {_FIRST}-{_LAST}"
        problems.invalid(path, number, f"{text}: {_FIX}")
    elif not claims.take_if_free(attempt, key):
        problems.invalid(path, number, f"provided port is already allocated: name another, or {_FIX}")
    taken.add(key)
