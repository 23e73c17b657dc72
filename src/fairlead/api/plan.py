"""What a verb gives back: a finished Reply, a Plan to commit first, or a Watch to open.

A verb is two pure functions: planning reads durable state and yields a Transaction; `finish` turns the
store's outcome into a Reply, into a further Plan, or into AGAIN: the state moved, plan the request anew.
Whoever drives (runtime, simulator) runs `plan -> submit -> finish` until a Reply comes out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import msgspec

from fairlead.api.users import User
from fairlead.port.request import Reply
from fairlead.store.contract import Change, Entry, Outcome, Transaction


class Again(Enum):
    """Plan the same request again on fresh state."""

    AGAIN = "again"


AGAIN = Again.AGAIN

# How often one request may be planned again before the client is told to retry: bounds a livelock.
ATTEMPTS_MAX = 32


class Plan(msgspec.Struct, frozen=True):
    transaction: Transaction
    finish: Callable[[Outcome], Reply | Plan | Again]


@dataclass(frozen=True, slots=True)
class Watch:
    """Open a stream: first `initial` as ADDED, then every accepted change after `since`."""

    resource: str
    namespace: str
    since: int
    initial: tuple[Entry, ...]
    accepts: Callable[[Entry], bool] | None
    encode: Callable[[str, Change, float], bytes] | None  # (type, change, now); None: the shared frame
    bookmarks: bool
    bookmark: Callable[[int, bool], bytes]  # (revision, end of initial events) -> frame
    initial_end: bool  # send a marked bookmark after the initial events
    timeout_seconds: float


Step = Reply | Plan | Watch


class Context(msgspec.Struct, frozen=True, gc=False):
    """What arrives with a request besides its text: who, when, and the entropy its ids are made of."""

    user: User
    now: float
    entropy: bytes
    request_id: str = ""
    user_agent: str = ""
    source: str = ""
