"""How many answers there were, by verb, resource and status, and how long they took. `handler.py` counts every answer
here; `runtime/metrics/` reads it.

Resources that clients make up are counted together, and so is what there is no room for.
"""

from __future__ import annotations

from fairlead.api.access.reviews import REVIEWS
from fairlead.api.metrics import METRICS
from fairlead.api.server import Api
from fairlead.port.request import Request
from fairlead.wire.latency import Latencies

_COUNTED_MAX = 4096
_NO_KINDS = frozenset(
    {"", "unknown", "other", *(each.plural for each in REVIEWS), *(each.plural for each in METRICS)}
)

CountedBy = tuple[str, str, int]  # verb, resource, status


class RequestTally:
    """One per server; the API tells which resources there are."""

    def __init__(self, api: Api) -> None:
        self.requests: dict[CountedBy, int] = {}
        self.latencies = Latencies()
        self._api = api
        self._looked_at = -1  # the state of the catalog when counts were last looked through

    def count(self, request: Request | None, status: int) -> tuple[str, str]:
        """One answer; gives the verb and the resource that it counts as."""
        key = (request.verb, request.plural, status) if request is not None else ("document", "", status)
        if key not in self.requests and request is not None and not self._api.serves(request):
            # Names are the client's to invent: long, many, or with quotes.
            key = (request.verb, "unknown", status)
        if key not in self.requests and len(self.requests) >= _COUNTED_MAX:
            key = self._room_for(key)
        self.requests[key] = self.requests.get(key, 0) + 1
        return key[0], key[1]

    def _room_for(self, key: CountedBy) -> CountedBy:
        """Counts of custom kinds that are gone make room; where that is not enough, the rest is counted together."""
        catalog = self._api.desk.catalog
        if self._looked_at != catalog.changes:
            self._looked_at = catalog.changes
            kinds = {kind.plural for kind in catalog}
            gone = {resource for _, resource, _ in self.requests} - kinds - _NO_KINDS
            self.requests = {each: count for each, count in self.requests.items() if each[1] not in gone}
            self.latencies.forget(gone)
        return key if len(self.requests) < _COUNTED_MAX else (key[0], "other", key[2])
