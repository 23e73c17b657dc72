"""Kubernetes' addresses, networks and URLs."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from fairlead.model.cel.errors import EvaluationError
from fairlead.model.cel.library.function import Library
from fairlead.model.cel.values import Address, Cidr, Spend, Url, no_overload

LIBRARY = Library()
_ADDRESSES = (ipaddress.IPv4Address, ipaddress.IPv6Address)
_TEXT_MAX = 4096


def _text(name: str, value: Any) -> str:
    if type(value) is not str:
        raise no_overload(name, value)
    return value


def _address_of(text: str) -> Address:
    if "%" in text:
        raise ValueError(f"IP address {text[:64]!r} with zone value is not allowed")
    found = ipaddress.ip_address(text)
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        raise ValueError(f"IPv4-mapped IPv6 address {text[:64]!r} is not allowed")
    return found


def _network_of(text: str) -> Cidr:
    head, slash, length = text.partition("/")
    if not slash or not length.isdigit() or (len(length) > 1 and length[0] == "0"):
        raise ValueError(f"network address parse error during conversion from string: {text[:64]!r}")
    return Cidr(_address_of(head), ipaddress.ip_network(text, strict=False))


def _url_of(text: str) -> Url:
    parts = urlsplit(text)
    _ = parts.port  # raises where it is no number
    whole = text.startswith("/") or (parts.scheme and (parts.netloc or parts.path))
    if len(text) > _TEXT_MAX or not whole or any(each.isspace() for each in text):
        raise ValueError(f"URL parse error during conversion from string: {text[:64]!r}")
    return Url(text, parts)


def _made(name: str, read: Callable[[str], Any], returns: str) -> None:
    def make(spend: Spend, value: Any) -> Any:
        try:
            return read(_text(name, value))
        except ValueError as error:
            raise EvaluationError(str(error)) from None

    LIBRARY.function(name, 1, make, returns)


def _asked(name: str, read: Callable[[str], Any]) -> None:
    def ask(spend: Spend, value: Any) -> bool:
        try:
            read(_text(name, value))
        except ValueError:
            return False
        return True

    LIBRARY.function(name, 1, ask, "bool")


def _of_address(name: str, ask: Callable[[Address], Any], returns: str) -> None:
    def call(spend: Spend, value: Any) -> Any:
        if not isinstance(value, _ADDRESSES):
            raise no_overload(name, value)
        return ask(value)

    LIBRARY.method(name, 0, call, returns, "net.IP")


def _family(spend: Spend, value: Any) -> int:
    if isinstance(value, _ADDRESSES):
        return value.version
    raise no_overload("family", value)


def _is_canonical(spend: Spend, text: Any) -> bool:
    try:
        return bool(str(_address_of(_text("ip.isCanonical", text))) == text)
    except ValueError as error:
        raise EvaluationError(str(error)) from None


def _cidr(name: str, value: Any) -> Cidr:
    if isinstance(value, Cidr):
        return value
    raise no_overload(name, value)


def _contains_ip(spend: Spend, cidr: Any, value: Any) -> bool:
    network = _cidr("containsIP", cidr).network
    try:
        address = value if isinstance(value, _ADDRESSES) else _address_of(_text("containsIP", value))
    except ValueError as error:
        raise EvaluationError(str(error)) from None
    return address in network


def _contains_cidr(spend: Spend, cidr: Any, value: Any) -> bool:
    outer = _cidr("containsCIDR", cidr).network
    try:
        inner = (value if isinstance(value, Cidr) else _network_of(_text("containsCIDR", value))).network
    except ValueError as error:
        raise EvaluationError(str(error)) from None
    if isinstance(outer, ipaddress.IPv4Network) and isinstance(inner, ipaddress.IPv4Network):
        return inner.subnet_of(outer)
    if isinstance(outer, ipaddress.IPv6Network) and isinstance(inner, ipaddress.IPv6Network):
        return inner.subnet_of(outer)
    return False


def _masked(spend: Spend, cidr: Any) -> Cidr:
    network = _cidr("masked", cidr).network
    return Cidr(network.network_address, network)


def _of_url(name: str, ask: Callable[[Url], Any], returns: str) -> None:
    def call(spend: Spend, value: Any) -> Any:
        if not isinstance(value, Url):
            raise no_overload(name, value)
        spend(len(value.text) // 10)
        return ask(value)

    LIBRARY.method(name, 0, call, returns, "kubernetes.URL")


def _host(url: Url) -> str:
    return url.parts.netloc.rpartition("@")[2]


def _hostname(url: Url) -> str:
    host = _host(url)
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _port(url: Url) -> str:
    port = url.parts.port
    return "" if port is None else str(port)


_made("ip", _address_of, "net.IP")
_made("cidr", _network_of, "net.CIDR")
_made("url", _url_of, "kubernetes.URL")
_asked("isIP", _address_of)
_asked("isCIDR", _network_of)
_asked("isURL", _url_of)
LIBRARY.function("ip.isCanonical", 1, _is_canonical, "bool")
LIBRARY.method("family", 0, _family, "int", "net.IP")
_of_address("isUnspecified", lambda ip: ip.is_unspecified, "bool")
_of_address("isLoopback", lambda ip: ip.is_loopback, "bool")
_of_address("isLinkLocalMulticast", lambda ip: _in(ip, "224.0.0.0/24", "ff02::/16"), "bool")
_of_address("isLinkLocalUnicast", lambda ip: ip.is_link_local, "bool")
_of_address("isGlobalUnicast", lambda ip: _is_global(ip), "bool")
LIBRARY.method("containsIP", 1, _contains_ip, "bool", "net.CIDR")
LIBRARY.method("containsCIDR", 1, _contains_cidr, "bool", "net.CIDR")
LIBRARY.method("masked", 0, _masked, "net.CIDR", "net.CIDR")
LIBRARY.method(
    "prefixLength", 0, lambda spend, cidr: _cidr("prefixLength", cidr).network.prefixlen, "int", "net.CIDR"
)
_of_url("getScheme", lambda url: url.parts.scheme, "string")
_of_url("getHost", _host, "string")
_of_url("getHostname", _hostname, "string")
_of_url("getPort", _port, "string")
_of_url("getEscapedPath", lambda url: url.parts.path, "string")
_of_url("getQuery", lambda url: parse_qs(url.parts.query, keep_blank_values=True, max_num_fields=1000), "map")


def _in(ip: Address, four: str, six: str) -> bool:
    return ip in ipaddress.ip_network(four if ip.version == 4 else six)


def _is_global(ip: Address) -> bool:
    """As Go has it: no address that means nobody, oneself, many or only neighbours; private ones are."""
    broadcast = ip.version == 4 and str(ip) == "255.255.255.255"
    return not (broadcast or ip.is_unspecified or ip.is_loopback or ip.is_multicast or ip.is_link_local)


def ip_of(spend: Spend, value: Any) -> Any:
    """`cidr.ip()`, which shares its name with the function that makes an address."""
    return _cidr("ip", value).address


LIBRARY.method("ip", 0, ip_of, "net.IP", "net.CIDR")
