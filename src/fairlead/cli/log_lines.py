"""Lines of the plane's logs (audit, decisions), page by page, as `audit` and `decisions` read them.

Whoever may see some namespaces only gets the lines about those; how many others there are is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.cli.client import ApiClient
from fairlead.cli.output import hint

_PAGE = 1000


class LogLines:
    def __init__(self, client: ApiClient, path: str, stream: str = "") -> None:
        self._client, self._path = client, path
        self._query = {"stream": stream} if stream else {}
        self._after = 0
        self.hidden = 0

    def read(self) -> Iterator[dict[str, Any]]:
        """Those that came since it was last read, oldest first."""
        while True:
            query = {**self._query, "after": str(self._after), "limit": str(_PAGE)}
            page = self._client.get(self._path, query)
            items, hidden = page.get("items") or [], page.get("hidden", 0)
            yield from items
            self.hidden += hidden
            self._after = page.get("last") or (items[-1]["sequence"] if items else self._after)
            if len(items) + hidden < _PAGE:
                return

    def newest_first(self, **asked: str) -> Iterator[dict[str, Any]]:
        """All there are, from the last one back; `asked` narrows them, as the server's document says."""
        before = 0
        while True:
            query = {**self._query, **asked, "before": str(before), "limit": str(_PAGE)}
            page = self._client.get(self._path, query)
            items, hidden = page.get("items") or [], page.get("hidden", 0)
            yield from reversed(items)
            self.hidden += hidden
            before = page.get("first") or (items[0]["sequence"] if items else 0)
            if len(items) + hidden < _PAGE or before <= 1:
                return

    def tell_hidden(self) -> None:
        if self.hidden:
            hint(f"{self.hidden} more are about objects that you may not read.")


def attempts_told(record: dict[str, Any]) -> str:
    """Which attempts a record stands for: blocked ones that came to the same are one record."""
    first, last = record.get("attempts") or [record.get("attempt", 1)] * 2
    return f"{first} to {last}" if first != last else str(last)
