"""What a mirror is told and what it asks for, beside the vocabulary of `port/driving.py`. Plain frozen data.

The plane or the agent that has the mirror stands between it and the driver: it passes on `ListAll`, `Follow` and
`WakeAt` (a mirror's timer is called like its resource), and acts on each `Changed`. What a list or a watch brings
reaches it as `Mirrored`, whose events it hands to the mirror. Each `ListAll` is answered by exactly one of Listed,
ListFailed, Expired; each `Follow` ends with one of Broke, Expired. Deadlines of calls are the driver's.

`attempt` numbers the calls of one mirror. An event that belongs to a call that was given up is late and has no
effect, so a driver that cannot recall what is on its way passes the number on. 0 says that the driver knows it to
be of the present call: an in-process driver that drops its subscription needs no numbers.
"""

from __future__ import annotations

import msgspec

from fairlead.model.key import Key
from fairlead.model.views import View
from fairlead.port.driving import Follow, ListAll, Started, WakeAt, Woke
from fairlead.store.contract import Entry


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


MirrorEvent = Listed | ListFailed | Framed | Marked | Broke | Expired
Event = Started | MirrorEvent | Woke


class Mirrored(msgspec.Struct, frozen=True, gc=False):
    """To whoever has the mirror of this resource: a call of it came back, or its watch brought these, at least one.
    They are all taken in before anything is decided."""

    resource: str
    events: tuple[MirrorEvent, ...]

    @property
    def now(self) -> float:
        return self.events[-1].now


class Changed(msgspec.Struct, frozen=True, gc=False):
    """One object became another for those who read the mirror. None: it was not there, it is gone."""

    before: View | None
    after: View | None
    key: Key


Instruction = ListAll | Follow | WakeAt | Changed
