"""Finding what a request names, and saying so in Kubernetes' words when it is not there."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from fairlead.api.desk import Desk
from fairlead.api.objects import key_of
from fairlead.core.errors import Cause, NotFound, TimedOut
from fairlead.model.kind import Kind
from fairlead.port.request import Request
from fairlead.store.contract import Entry


def not_found(kind: Kind, name: str) -> NotFound:
    return NotFound(f'{kind.resource} "{name}" not found', group=kind.group, kind=kind.plural, name=name)


def find(desk: Desk, kind: Kind, request: Request) -> Entry:
    entry = desk.sound.get(key_of(kind, request.namespace, request.name))
    if entry is None:
        raise not_found(kind, request.name)
    return entry if kind.presented is None else _presented(entry, kind.presented)


def _presented(entry: Entry, presented: Callable[[bytes], bytes]) -> Entry:
    """In the version that was asked for, which may not be the one that is stored."""
    data = presented(entry.data)
    return entry if data is entry.data else msgspec.structs.replace(entry, data=data)


def not_newer_than(desk: Desk, revision: int | None) -> None:
    """A revision that has not happened here is a client that talked to another plane, or one restored from a
    backup: answering would take it back in time."""
    if revision is not None and revision > desk.read.revision:
        raise TimedOut(
            f"Too large resource version: {revision}, current: {desk.read.revision}",
            causes=(Cause("ResourceVersionTooLarge", "Too large resource version"),),
            retry_after_seconds=1,
        )
