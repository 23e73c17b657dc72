"""Whom a certificate names, and whether it is valid now: by the clock of this process, not by the wall clock.

OpenSSL knows the wall clock alone: an hour back, and what was made a moment ago is "not yet valid" to an agent, which
then misses its lease. Contexts of long-lived processes (`runtime/remote/reaching.py`, `runtime/node/endpoint.py`) leave
the time out, and who is shown a certificate asks here. It is the certificate itself that is judged, not those that
signed.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any

from fairlead.api.access.client_certificates import ClientCertificate
from fairlead.core.times import timestamp

# X509_V_FLAG_NO_CHECK_TIME of OpenSSL, which Python has no name for.
_NO_CHECK_TIME = ssl.VerifyFlags(0x200000)


def leave_time_out(context: ssl.SSLContext) -> None:
    """From now on it does not say whether a certificate is valid now: `time_trouble` does."""
    context.verify_flags |= _NO_CHECK_TIME


def time_trouble(shown: Mapping[str, Any] | None, now: float) -> str:
    """What is wrong with the time of a certificate, as `getpeercert` gives it; "" if nothing is."""
    if not shown:
        return ""
    begins, ends = (ssl.cert_time_to_seconds(shown[field]) for field in ("notBefore", "notAfter"))
    if now < begins:
        return f"it is valid from {timestamp(begins)}, and now is {timestamp(now)}"
    return f"it has expired at {timestamp(ends)}" if now > ends else ""


def client_certificate(shown: Mapping[str, Any] | None) -> ClientCertificate | None:
    """What a client showed, as `getpeercert` gives it; None if that is nothing."""
    if not shown:
        return None
    fields = [pair for part in shown.get("subject", ()) for pair in part]
    return ClientCertificate(
        name=common_name(shown),
        groups=tuple(str(value) for field, value in fields if field == "organizationName"),
        serial=str(shown.get("serialNumber", "")),
        begins=ssl.cert_time_to_seconds(shown["notBefore"]),
        ends=ssl.cert_time_to_seconds(shown["notAfter"]),
    )


def common_name(shown: Mapping[str, Any] | None) -> str:
    """Whom a certificate names; "" if there is none."""
    for part in shown.get("subject", ()) if shown else ():
        for field, value in part:
            if field == "commonName":
                return str(value)
    return ""
