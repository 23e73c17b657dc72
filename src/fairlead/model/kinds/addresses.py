"""IP addresses in the fields of pods and services: the check, and Kubernetes' sentence for what fails it."""

from __future__ import annotations

import ipaddress

NOT_AN_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def is_address(text: str) -> bool:
    """An IPv4 or IPv6 address, without a zone."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text
