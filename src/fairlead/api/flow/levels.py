"""Priority levels as the machine needs them: their shares of the seats, what they lend, and who may wait.

A seat is held by a request that has begun and is not answered yet: by writes until their commit, by long lists until
they are sent. Read from stored objects by `in_force.py`; `deal_seats` is asked by the machine when levels change.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import NamedTuple

import msgspec

from fairlead.model.kinds.prioritylevelconfiguration import EXEMPT, QUEUE

# How many seats there are. Few, because here is one loop and one journal: what is begun earlier is not done earlier,
# and stands before those who come next. Enough that a commit is shared by many, and that the loop plans the next batch
# while the disk has one.
#: bound: requests | seats that all priority levels share | requests wait in their queues
SEATS = 24
# Nobody is kept waiting by a flow that is alone.
#: bound: requests | seats of a flow while no other comes | its further requests wait
ALONE_SEATS = 64

_PERCENT = 100


class PriorityLevel(msgspec.Struct, frozen=True):
    """`queues` is 0 for a level that refuses instead of queueing; `borrowing_percent` None is without limit."""

    name: str
    uid: str = ""
    exempt: bool = False
    shares: int = 0
    lendable_percent: int = 0
    borrowing_percent: int | None = None
    queues: int = 0
    hand_size: int = 0
    queue_length: int = 0


class Seats(NamedTuple):
    """What a level has for itself, what of it others may use while it does not, and what it may borrow."""

    nominal: int
    lendable: int
    borrowable: int


def deal_seats(levels: Iterable[PriorityLevel], total: int = SEATS) -> dict[str, Seats]:
    """The seats of each level, in proportion to the shares; rounded up, so that who has a share has a seat."""
    known = list(levels)
    shares = sum(level.shares for level in known) or 1
    nominal = {level.name: ceil(total * level.shares / shares) for level in known}
    lendable = {level.name: round(nominal[level.name] * level.lendable_percent / _PERCENT) for level in known}
    lent = sum(lendable.values())
    found = {}
    for level in known:
        borrowable = lent - lendable[level.name]
        if level.borrowing_percent is not None:
            limit = round(nominal[level.name] * level.borrowing_percent / _PERCENT)
            borrowable = min(borrowable, limit)
        found[level.name] = Seats(nominal[level.name], lendable[level.name], borrowable)
    return found


class _Queuing(msgspec.Struct, frozen=True, rename="camel"):
    queues: int = 64
    hand_size: int = 8
    queue_length_limit: int = 50


class _LimitResponse(msgspec.Struct, frozen=True):
    type: str = ""
    queuing: _Queuing | None = None


class _Limited(msgspec.Struct, frozen=True, rename="camel"):
    nominal_concurrency_shares: int | None = None
    lendable_percent: int | None = None
    borrowing_limit_percent: int | None = None
    limit_response: _LimitResponse | None = None


class _Spec(msgspec.Struct, frozen=True):
    type: str = ""
    limited: _Limited | None = None
    exempt: _Limited | None = None


class _Stored(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


_decode = msgspec.json.Decoder(_Stored).decode


def parse_level(name: str, uid: str, data: bytes) -> PriorityLevel:
    """Raises MsgspecError for what is not a level."""
    spec = _decode(data).spec
    if spec.type == EXEMPT:
        exempt = spec.exempt or _Limited()
        return PriorityLevel(
            name,
            uid,
            exempt=True,
            shares=exempt.nominal_concurrency_shares or 0,
            lendable_percent=exempt.lendable_percent or 0,
        )
    limited = spec.limited or _Limited()
    response = limited.limit_response or _LimitResponse()
    queuing = (response.queuing or _Queuing()) if response.type == QUEUE else None
    return PriorityLevel(
        name,
        uid,
        shares=limited.nominal_concurrency_shares or 0,
        lendable_percent=limited.lendable_percent or 0,
        borrowing_percent=limited.borrowing_limit_percent,
        queues=queuing.queues if queuing else 0,
        hand_size=queuing.hand_size if queuing else 0,
        queue_length=queuing.queue_length_limit if queuing else 0,
    )
