"""Renews the certificates of a running server, long before they end: nobody has to restart it for them.

Made by `runtime/server/serving.py`. `identity.py` says what is due and makes it, in a thread, because it writes files;
due is also a certificate without the address of the server's own Service. New handshakes show the new certificate;
connections that are open go on. The authority stays, so clients that trust it need nothing new. A renewal that fails
(the authority's key is kept elsewhere, the disk is full) is logged and tried again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from fairlead.core.errors import OperatorError
from fairlead.runtime.credentials.identity import Identity

log = logging.getLogger("fairlead.runtime")

#: bound: tokens | a certificate that ends is looked for every | -
CERTIFICATES_SECONDS = 600.0


class Renewing:
    """`clock`: seconds since the epoch. `address`: of the server's own Service, "" if it has none. `renewed` is called
    on the loop when there are new files."""

    def __init__(
        self,
        known: Identity,
        host: str,
        clock: Callable[[], float],
        renewed: Callable[[], None],
        address: Callable[[], str] = str,
    ) -> None:
        self._known = known
        self._host = host
        self._address = address
        self._clock = clock
        self._renewed = renewed
        self._looking = asyncio.Lock()  # two at once would write halves of two pairs

    async def run(self) -> None:
        while True:
            await self.look()  # at once too: the server's own Service may have got its address just now
            await asyncio.sleep(CERTIFICATES_SECONDS)

    async def look(self) -> bool:
        """Whether a certificate was due, made, and is in use."""
        try:
            async with self._looking:
                now, address = self._clock(), self._address()
                if not await asyncio.to_thread(self._known.renew, self._host, now, address):
                    return False
                self._renewed()
        except (OperatorError, OSError) as error:
            log.error("a certificate could not be renewed: %s", error)
            return False
        log.info("the server's certificate was renewed")
        return True
