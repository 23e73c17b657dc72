"""What a mirror is told and what it asks for. Plain frozen data between `cache/mirror.py` and its driver.

The driver (the plane's loop, or the simulator) turns `ListAll` and `Follow` into a list and a watch of the
resource, reports what comes back as events, wakes the mirror at `WakeAt`, and hands each `Changed` to whoever
maps changes to keys. Each `ListAll` is answered by exactly one of Listed, ListFailed, Expired; each `Follow` ends
with one of Broke, Expired. Deadlines of calls are the driver's.

`attempt` numbers the calls of one mirror. An event that belongs to a call that was given up is late and has no
effect, so a driver that cannot recall what is on its way passes the number on. 0 says that the driver knows it to
be of the present call: an in-process driver that drops its subscription needs no numbers.
"""

from __future__ import annotations

import msgspec

from fairlead.model.views import View
from fairlead.store.contract import Entry, Key


class Started(msgspec.Struct, frozen=True, gc=False):
    now: float
    chance: float = 0.5  # spreads the first back-off; 0 <= chance < 1, drawn by the driver


class Listed(msgspec.Struct, frozen=True, gc=False):
    """The whole resource as it was at `revision`."""

    revision: int
    entries: tuple[Entry, ...]
    now: float
    attempt: int = 0


class ListFailed(msgspec.Struct, frozen=True, gc=False):
    reason: str
    now: float
    attempt: int = 0


class Framed(msgspec.Struct, frozen=True, gc=False):
    """One change, as a watch delivers it: in order of revision, none left out."""

    change_type: str  # ADDED, MODIFIED, DELETED
    entry: Entry
    now: float
    attempt: int = 0


class Marked(msgspec.Struct, frozen=True, gc=False):
    """A bookmark: the watch has delivered everything up to `revision`."""

    revision: int
    now: float
    attempt: int = 0


class Broke(msgspec.Struct, frozen=True, gc=False):
    """The watch ended, could not be opened, or failed; going on from the same revision is worth a try."""

    reason: str
    now: float
    attempt: int = 0


class Expired(msgspec.Struct, frozen=True, gc=False):
    """410: the server no longer has the history that was asked for."""

    now: float
    attempt: int = 0


class Woke(msgspec.Struct, frozen=True, gc=False):
    now: float
    chance: float = 0.5  # spreads the next back-off; 0 <= chance < 1, drawn by the driver


Event = Started | Listed | ListFailed | Framed | Marked | Broke | Expired | Woke


class ListAll(msgspec.Struct, frozen=True, gc=False):
    """List the resource, all namespaces, at the newest revision the server has."""

    resource_name: str
    attempt: int


class Follow(msgspec.Struct, frozen=True, gc=False):
    """Watch the resource: every change after `since_revision`, with bookmarks."""

    resource_name: str
    since_revision: int
    attempt: int


class WakeAt(msgspec.Struct, frozen=True, gc=False):
    """Send Woke at this instant. Replaces an earlier WakeAt of the same mirror."""

    at: float


class Changed(msgspec.Struct, frozen=True, gc=False):
    """One object became another for those who read the mirror. None: it was not there, it is gone."""

    before: View | None
    after: View | None
    key: Key


Instruction = ListAll | Follow | WakeAt | Changed
