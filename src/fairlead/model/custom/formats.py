"""The formats of strings that Kubernetes checks; a format that is not among them means nothing, as there.

Used by `validating.py`.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date
from urllib.parse import urlsplit

from fairlead.core.times import parse_duration, parse_time

_EMAIL = re.compile(r"[^@\s<>\"(),:;]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63}){0,126}\Z")
_HOSTNAME = re.compile(
    r"[a-zA-Z0-9_]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9_])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?){0,126}\Z"
)
_MAC = re.compile(r"([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\Z|([0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}\Z")
_UUID = re.compile(r"[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}\Z")
_HOSTNAME_MAX = 255


def _raises(read: Callable[[str], object], *errors: type[Exception]) -> Callable[[str], bool]:
    def fits(text: str) -> bool:
        try:
            read(text)
        except errors:
            return False
        return True

    return fits


def _uri(text: str) -> None:
    parts = urlsplit(text)
    if not (parts.scheme or text.startswith("/")) or any(c.isspace() for c in text):
        raise ValueError(text)


def _base64(text: str) -> None:
    base64.b64decode(text.encode(), validate=True)


def _cidr(text: str) -> None:
    if "/" not in text:
        raise ValueError(text)
    ipaddress.ip_interface(text)


FORMATS: Mapping[str, Callable[[str], bool]] = {
    "date-time": _raises(parse_time, ValueError),
    "datetime": _raises(parse_time, ValueError),
    "date": _raises(date.fromisoformat, ValueError),
    "duration": _raises(parse_duration, ValueError),
    "email": lambda text: _EMAIL.match(text) is not None,
    "hostname": lambda text: len(text) <= _HOSTNAME_MAX and _HOSTNAME.match(text) is not None,
    "ipv4": _raises(ipaddress.IPv4Address, ValueError),
    "ipv6": _raises(ipaddress.IPv6Address, ValueError),
    "ip": _raises(ipaddress.ip_address, ValueError),
    "cidr": _raises(_cidr, ValueError),
    "mac": lambda text: _MAC.match(text) is not None,
    "uuid": lambda text: _UUID.match(text) is not None,
    "uri": _raises(_uri, ValueError),
    "byte": _raises(_base64, ValueError, binascii.Error),
}
