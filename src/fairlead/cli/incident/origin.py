"""A server as the origin of a capture (`replay/capture.py`): its logs and its history, asked for page by page."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator

import msgspec

from fairlead.cli.client import ApiClient
from fairlead.control.instructions import DECISIONS, DELIVERIES, TURNS
from fairlead.core.errors import ApiError, Forbidden, OperatorError
from fairlead.core.times import microtime, parse_time
from fairlead.model.key import Key
from fairlead.replay.capture import AUDIT, LogLine, PlaneFacts
from fairlead.replay.past import PastChange, ResourceHistory
from fairlead.store.contract import Entry

HISTORY = "/fairlead/v1/history"
_PATHS = {
    DECISIONS: ("/fairlead/v1/decisions", ""),
    TURNS: ("/fairlead/v1/decisions", TURNS),
    DELIVERIES: ("/fairlead/v1/decisions", DELIVERIES),
    AUDIT: ("/fairlead/v1/audit", ""),
}
_PAGE = 1_000
_ATTEMPTS = 3
#: bound: plane | bytes of history that one capture takes | it ends with what to do: a shorter --since
CAPTURE_BYTES_MAX = 1024**3


class _Record(msgspec.Struct):
    time: str = ""
    term: str = ""


class _Item(msgspec.Struct):
    sequence: int
    record: msgspec.Raw


class _Log(msgspec.Struct):
    items: list[_Item] = []


class _Page(msgspec.Struct):
    start: int
    end: int
    objects: list[tuple[str, str, str, int, msgspec.Raw]] = []
    changes: list[tuple[str, str, str, str, int, msgspec.Raw]] = []
    next: dict[str, int] = {}


class _Facts(msgspec.Struct):
    fairlead: str
    python: str
    revision: int
    resources: tuple[str, ...]


_record = msgspec.json.Decoder(_Record).decode
_log = msgspec.json.Decoder(_Log).decode
_page = msgspec.json.Decoder(_Page).decode
_facts = msgspec.json.Decoder(_Facts).decode


class ServerOrigin:
    def __init__(self, client: ApiClient, also: Collection[str] = ()) -> None:
        """`also`: what else is taken out, beside secrets (`replay/redaction.py`)."""
        self._client, self._also = client, ",".join(also)
        self._key = secrets.token_hex(32)  # of this capture alone; nobody keeps it
        self._bytes = 0

    def facts(self, since: float) -> PlaneFacts:
        found = _facts(self._ask(HISTORY, {"since": microtime(since)}))
        return PlaneFacts(found.fairlead, found.python, found.revision, found.resources)

    def lines(self, stream: str, since: float) -> Iterator[LogLine]:
        path, name = _PATHS[stream]
        query = {"stream": name} if name else {}
        after = self._last_before(path, query, since)
        while items := _log(self._ask(path, query | {"after": str(after), "limit": str(_PAGE)})).items:
            for item in items:
                after = item.sequence
                if parse_time(_record(item.record).time) >= since:
                    yield LogLine(item.sequence, bytes(item.record))

    def opening(self, term: str) -> LogLine | None:
        path, _ = _PATHS[DECISIONS]
        found = _log(self._ask(path, {"id": term})).items
        return next(
            (
                LogLine(each.sequence, bytes(each.record))
                for each in found
                if _record(each.record).term == term
            ),
            None,
        )

    def _last_before(self, path: str, query: dict[str, str], since: float) -> int:
        """A sequence after which all lines since then are: lines are in the order of time. Halves the range with each
        question."""

        def first(after: int) -> tuple[int, float] | None:
            items = _log(self._ask(path, query | {"after": str(after), "limit": "1"})).items
            return (items[0].sequence, parse_time(_record(items[0].record).time)) if items else None

        found = first(0)
        if found is None or found[1] >= since:
            return 0
        low, high = found[0], found[0] + _PAGE
        while (found := first(high)) is not None and found[1] < since:
            low, high = found[0], high + 2 * (high - low)
        while high - low > 1:
            middle = (low + high) // 2
            found = first(middle)
            if found is not None and found[1] < since:
                low = max(middle, found[0])
            else:
                high = middle
        return max(0, low - 1)

    def history(self, resource: str, start: int) -> ResourceHistory:
        for _ in range(_ATTEMPTS):
            found = self._history(resource, start)
            if found is not None:
                return found
        raise ApiError(
            f"the history of {resource} is compacted faster than it is read: capture less with --since"
        )

    def _history(self, resource: str, start: int) -> ResourceHistory | None:
        """None: its beginning was forgotten meanwhile."""
        entries: list[Entry] = []
        changes: list[PastChange] = []
        query: dict[str, int] = {}
        begin = 0
        while True:
            asked = {"start": str(begin or start), "key": self._key, "also": self._also} | {
                name: str(at) for name, at in query.items()
            }
            page = _page(self._ask(f"{HISTORY}/{resource}", asked))
            if begin and page.start != begin and "offset" in query:
                return None
            begin = begin or page.start
            entries += (
                Entry(Key(resource, space, name), uid, revision, bytes(data))
                for space, name, uid, revision, data in page.objects
            )
            changes += (
                PastChange(kind, Entry(Key(resource, space, name), uid, revision, bytes(data)))
                for kind, space, name, uid, revision, data in page.changes
            )
            if not page.next:
                return ResourceHistory(begin, tuple(entries), changes, page.end)
            query = page.next

    def _ask(self, path: str, query: dict[str, str]) -> bytes:
        status, body = self._client.raw(path, query)
        if status == 403:
            raise Forbidden(
                "a capture holds the objects of every namespace, so only who may read all of them may make one:"
                f" you may not get {path}; ask somebody with the role cluster-admin, or look at your own with"
                " `fairlead decisions` and `fairlead audit`"
            )
        if status >= 400:
            told = msgspec.json.decode(body).get("message", "") if body.startswith(b"{") else ""
            raise ApiError(told or f"{path} cannot be read: the server answered {status}")
        self._bytes += len(body)
        if self._bytes > CAPTURE_BYTES_MAX:
            raise OperatorError(
                f"this is more than {CAPTURE_BYTES_MAX // 1024**2} MiB: capture less with --since"
            )
        return body
