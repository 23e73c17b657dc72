"""How old what a decision had read was then: the revision used of each resource, against the newest of its own that had
been written by that instant.

Who decides cannot know it: a view that lags lags behind what it has not heard of. So it is joined here, from the
store's history, by whoever reads the record. Used by `turns.py`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from fairlead.store.contract import Compacted, Journal, Reader

Json = dict[str, Any]
#: bound: plane | changes of one resource that a timeline looks through for what was newest | not known before
CHANGES_READ_MAX = 5000


class ReadAge(NamedTuple):
    """`newest`: of its own kind, when it was read. `behind`: changes of its own that it lacked; None: history does not
    tell."""

    resource: str
    used: int
    newest: int
    behind: int | None

    def as_json(self) -> Json:
        return self._asdict()


class Ages:
    """Of one answer: what history says is looked up once."""

    def __init__(self, reader: Reader, journal: Journal) -> None:
        self._reader, self._journal = reader, journal
        self._changes: dict[
            str, tuple[int, list[int]] | None
        ] = {}  # since which revision, and what came then
        self._written: dict[int, float] = {}

    def learn(self, records: Iterable[Json]) -> Iterable[None]:
        """Once, before anything is asked: reads history from the oldest that any of these had used."""
        oldest: dict[str, int] = {}
        for record in records:
            for resource, (used, _) in (record.get("reads") or {}).items():
                oldest[resource] = min(used, oldest.get(resource, used))
        for resource, used in oldest.items():
            self._changes[resource] = self._since(resource, used)
            yield None

    def of(self, reads: Mapping[str, list[int]], at: float) -> tuple[ReadAge, ...]:
        return tuple([self._age(resource, used, at) for resource, (used, _) in sorted(reads.items())])

    def written_at(self, revision: int) -> float:
        """0.0: it is not kept any more."""
        found = self._written.get(revision)
        if found is None:
            after = self._journal.written_after(revision - 1)
            found = self._written[revision] = after[1] if after is not None and after[0] == revision else 0.0
        return found

    def _age(self, resource: str, used: int, at: float) -> ReadAge:
        known = self._changes.get(resource)
        if known is None or used < known[0]:
            return ReadAge(resource, used, used, None)
        later = known[1][bisect_right(known[1], used) :]
        count = bisect_left(later, at, key=self.written_at)
        return ReadAge(resource, used, later[count - 1] if count else used, count)

    def _since(self, resource: str, used: int) -> tuple[int, list[int]] | None:
        try:
            found = self._reader.changes_after(used, resource, CHANGES_READ_MAX)
        except Compacted as error:
            used = error.floor
            found = self._reader.changes_after(used, resource, CHANGES_READ_MAX)
        if len(found) == CHANGES_READ_MAX:
            return None
        return used, [change.entry.revision for change in found]


def stale_told(reads: Iterable[ReadAge]) -> str:
    """`placementquotas@12, whose newest was 15`, of those that were not the newest."""
    return "; ".join(
        f"{_short(each.resource)}@{each.used}, whose newest was {each.newest}"
        for each in reads
        if each.behind
    )


def read_told(reads: Iterable[ReadAge], first: str) -> str:
    """`reads nodes@69, and 8 others`: where one stood, and what was stale."""
    known = list(reads)
    stale = stale_told(known)
    if stale:
        return f"reads {stale}"
    found = next((each for each in known if each.resource == first), None)
    if found is None:
        return ""
    told = f"reads {_short(found.resource)}@{found.used}"
    unknown = any(each.behind is None for each in known)
    return (
        f"{told}; what was newest then is no longer kept"
        if unknown
        else f"{told}, all inputs at their newest"
    )


def _short(resource: str) -> str:
    return resource.partition(".")[0]
