"""How many seats a request takes, known before it is begun: one, and more for long lists and large bodies.

Asked by `wire/flow_driver.py` for each request. `in_turn` are requests that are answered in the turn in which they
begin, because they wait for nothing: they need a turn, but never a seat that others hold.
"""

from __future__ import annotations

from typing import NamedTuple

from fairlead.port.request import Request
from fairlead.store.contract import Reader

#: bound: requests | seats that one request takes | a longer one takes as many
WIDTH_MAX = 10
# As Kubernetes counts them.
_OBJECTS_PER_SEAT = 100
_BODY_BYTES_PER_SEAT = 256 * 1024
_LOG = "log"


class Width(NamedTuple):
    seats: int
    in_turn: bool


ONE, ONE_IN_TURN = Width(1, False), Width(1, True)


def width_of(request: Request, read: Reader) -> Width:
    match request.verb:
        case "get":
            return ONE if request.subresource == _LOG else ONE_IN_TURN
        case "list":
            seats = _of_list(request, read)
            return ONE_IN_TURN if seats == 1 else Width(seats, False)
        case "watch":  # it is open afterwards, and holds nothing
            begins = not request.query.get("resourceVersion") or "sendInitialEvents" in request.query
            return Width(_of_list(request, read), True) if begins else ONE_IN_TURN
        case _:
            extra = len(request.body) // _BODY_BYTES_PER_SEAT
            return Width(min(WIDTH_MAX, 1 + extra), False) if extra else ONE


def _of_list(request: Request, read: Reader) -> int:
    resource = f"{request.plural}.{request.group}" if request.group else request.plural
    count = len(read.list(resource, request.namespace))
    limit, selects = request.query.get("limit", ""), {"labelSelector", "fieldSelector"} & request.query.keys()
    # With selectors all are looked at, however few are answered.
    if not selects and limit.isascii() and limit.isdigit() and len(limit) < 10 and int(limit):
        count = min(count, int(limit))
    return min(WIDTH_MAX, max(1, -(-count // _OBJECTS_PER_SEAT)))
