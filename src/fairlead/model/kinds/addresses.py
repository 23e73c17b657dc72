"""IP addresses and networks in the fields of pods, services and nodes: the checks, and Kubernetes' sentences for what
fails them.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache

_JUDGED = 4096  # a pod's address is written many times
NOT_AN_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
NOT_A_NETWORK = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


@lru_cache(maxsize=_JUDGED)
def is_address(text: str) -> bool:
    """An IPv4 or IPv6 address, without a zone."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def is_network(text: str) -> bool:
    """An IPv4 or IPv6 network with its prefix length, without bits beyond it."""
    try:
        ipaddress.ip_network(text)
    except ValueError:
        return False
    return "/" in text and "%" not in text
