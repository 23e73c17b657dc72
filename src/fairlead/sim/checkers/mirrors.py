"""At rest every mirror shows what is stored: of each kind the same objects, at the same revisions, with the same text.

Compared with what a list would bring to the same process just then, so that a node's mirrors are judged by what that
node may see. Also those of planes that stand by. Only what was written within the last `_DELIVERY_SECONDS` may still be
on its way: leases, which are renewed at rest as well. A mirror of a kind that has ended shows what there was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from fairlead.cache.mirror import Mirror
from fairlead.model.key import Key
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation
from fairlead.store.contract import Entry
from fairlead.store.damage import is_stand_in

# A calm network delivers within a third of it (`sim/network.py`).
_DELIVERY_SECONDS = 1.0


class Mirroring(NamedTuple):
    """One process with its mirrors, and what a list of a resource would show it now."""

    process: str
    mirrors: Mapping[str, Mirror[Any]]
    listed: Callable[[str], Iterable[Entry]]


class MirrorsAtRest:
    name = "mirrors-at-rest"
    outlives_loss = True

    def __init__(self, mirroring: Callable[[], Iterable[Mirroring]]) -> None:
        self._mirroring = mirroring
        self._changed_at: dict[Key, float] = {}

    def saw(self, sight: SeenChange) -> None:
        self._changed_at[sight.key] = sight.seconds

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        fresh = {key for key, at in self._changed_at.items() if at > seconds - _DELIVERY_SECONDS}
        for process, mirrors, listed in self._mirroring():
            for resource, mirror in mirrors.items():
                if mirror.has_ended:
                    continue
                told = _difference(mirror, listed(resource), fresh)
                if told:
                    raise Violation(self.name, f"{process} {told}")


def _difference(mirror: Mirror[Any], entries: Iterable[Entry], fresh: set[Key]) -> str:
    """What a mirror shows otherwise than it is; "" if all is well."""
    left = dict(mirror.revisions)
    for entry in entries:
        key = entry.key
        shown = left.pop(key, 0)
        if key in fresh:
            continue
        if shown != entry.revision:
            return (
                f"shows {key.resource} {key.name} at {shown or 'no revision'}, which is at {entry.revision}"
            )
        if is_stand_in(entry.data) or key in mirror.unreadable:
            continue
        if not _same(mirror, entry):
            return f"shows {key.resource} {key.name} otherwise than it is at {entry.revision}"
    for key in left:
        if key not in fresh:
            return f"shows {key.resource} {key.name}, which is gone"
    return ""


def _same(mirror: Mirror[Any], entry: Entry) -> bool:
    view = mirror.index.get(entry.key)
    if view is None:
        return False
    if mirror.as_stored:
        return bool(view.data == entry.data)
    return bool(view == mirror.decode(entry.data))
