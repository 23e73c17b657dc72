"""Where a server listens, and what it shows to who comes. Called by `serving.py`."""

from __future__ import annotations

import os
import ssl

from fairlead.core.errors import OperatorError
from fairlead.runtime.clock import Clock
from fairlead.runtime.credentials.identity import Identity
from fairlead.runtime.server.settings import ServeSettings
from fairlead.wire.listener import Listener
from fairlead.wire.validity import leave_time_out


def server_tls(known: Identity) -> ssl.SSLContext:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.minimum_version = ssl.TLSVersion.TLSv1_2
    tls.load_cert_chain(known.server_certificate, known.server_key)
    tls.set_alpn_protocols(["http/1.1"])
    tls.load_verify_locations(known.ca_certificate)
    tls.verify_mode = ssl.CERT_OPTIONAL  # who has a certificate of this authority may sign in with it
    leave_time_out(tls)  # `api/access/client_certificates.py` judges it, by the clock of this process
    return tls


async def listen(listener: Listener, settings: ServeSettings, known: Identity, clock: Clock) -> int:
    try:
        port = await listener.listen(settings.listen, settings.port, server_tls(known))
    except OSError as error:
        raise OperatorError(
            f"cannot listen on {settings.listen} port {settings.port}: {os.strerror(error.errno or 0).lower()}; "
            "choose another with --port, or stop what uses it"
        ) from error
    if port != settings.port:
        known.lead_to(settings.listen, port, clock())
    return port
