"""A way to the server on which one write is late, and nothing else happens: its sender gives up, and then it arrives."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.api.access.users import User
from fairlead.port.outcome import Unknown
from fairlead.port.request import Reply, Request
from fairlead.sim.calls import TIMEOUT_MS, Heard
from fairlead.sim.checkers.contract import LATE
from fairlead.sim.network import Link

Matches = Callable[[Request, str], bool]


def late_link(matches: Matches, ms: int = TIMEOUT_MS + 2_000) -> type[Link]:
    """The first write that matches arrives so much later."""
    held: list[Request] = []

    class LateLink(Link):
        def call(self, request: Request, user: User, origin: str, heard: Heard) -> None:
            if held or not matches(request, origin):
                super().call(request, user, origin, heard)
                return
            held.append(request)
            self._timeline.after(TIMEOUT_MS, heard, Unknown("no answer in time"))
            self._timeline.after(ms, self._server.send, request, user, LATE + origin, _nobody)

    return LateLink


def _nobody(reply: Reply | None) -> None:
    """The sender has given up."""
