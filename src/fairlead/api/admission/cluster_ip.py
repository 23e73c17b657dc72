"""The address of a Service: the one that is asked for, if it is free, or one that is chosen. Part of `services.py`.

The choice starts somewhere that follows from the request's entropy, away from the low part of the network, which is
left to those who name theirs. Two planes on one machine share the loopback network: that they start at different places
keeps them apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from fairlead.api import claims
from fairlead.api.attempt import Attempt
from fairlead.core.problems import Problems
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.marks import SERVICE_NETWORK

_NETWORK = IPv4Network(SERVICE_NETWORK)
_LOWEST = int(_NETWORK.network_address)
_LEFT_TO_NAMED = 256
_SINGLE = "this cluster is not configured for dual-stack services"
_WHAT = "address"


def key_of(address: str) -> Key:
    return claims.key_of(_WHAT, address)


def check_families(spec: Json, old: Json | None, problems: Problems) -> None:
    before: Json = (old or {}).get("spec") or {}
    if spec.get("type") == "ExternalName":
        return
    if spec.get("ipFamilies") != before.get("ipFamilies"):
        for index, family in enumerate(spec.get("ipFamilies") or ()):
            if family != "IPv4":
                text = "not configured on this cluster: use IPv4, or leave the field out"
                problems.invalid(f"spec.ipFamilies[{index}]", family, text)
    if spec.get("ipFamilyPolicy") == "RequireDualStack" != before.get("ipFamilyPolicy"):
        problems.invalid("spec.ipFamilyPolicy", "RequireDualStack", f"{_SINGLE}: use SingleStack")
    if len(spec.get("clusterIPs") or ()) > 1:
        problems.invalid("spec.clusterIPs", spec["clusterIPs"], f"{_SINGLE}: name one address")


def give_address(attempt: Attempt, before: tuple[Key, ...], problems: Problems) -> None:
    assert attempt.new is not None
    spec: Json = attempt.new["spec"]
    asked = spec.get("clusterIP") or ""
    if spec.get("type") == "ExternalName" or asked == "None":
        return
    if not asked:
        chosen = claims.first_free(attempt, map(key_of, _addresses(attempt)))
        if chosen is None:
            text = f"no address of {_NETWORK} is free: delete Services that are not used"
            problems.invalid("spec.clusterIPs", [], text)
            return
        asked = claims.claimed_value(chosen)
        spec["clusterIP"], spec["clusterIPs"] = asked, [asked]
        claims.take(attempt, chosen)
        return
    try:
        address = IPv4Address(asked)
    except ValueError:
        address = None
    if address is None and ":" not in asked:
        return  # not an address: validation says so
    wanted = key_of(asked)
    usable = address is not None and address in _NETWORK and 0 < int(address) - _LOWEST < _size() - 1
    if wanted in before:
        # It was so before there were claims, or it has one.
        if usable and claims.find_claim(attempt.read, wanted) is None:
            claims.take(attempt, wanted)
        return
    if any(claims.is_about(key, _WHAT) for key in before):
        return  # addresses do not change: validation says so
    fix = "leave the field out to get a free one"
    if not usable:
        text = (
            f"failed to allocate IP {asked}: the provided IP is not in the valid range. "
            f"The range of valid IPs is {_NETWORK}: {fix}"
        )
        problems.invalid("spec.clusterIPs", [asked], text)
    elif not claims.take_if_free(attempt, wanted):
        text = f"failed to allocate IP {asked}: provided IP is already allocated: name another, or {fix}"
        problems.invalid("spec.clusterIPs", [asked], text)


def _addresses(attempt: Attempt) -> Iterator[str]:
    numbers = claims.numbers(attempt, 1, _LEFT_TO_NAMED, _size() - 1)
    return (str(IPv4Address(_LOWEST + number)) for number in numbers)


def _size() -> int:
    return _NETWORK.num_addresses
