"""What a caller learns of its request: four answers, and what may be done after each.

Done      it happened; `revision` is the object's now (0 where the answer tells none)
Conflict  it did not happen, because the state had moved: read again, decide again
Refused   it did not happen and will not if repeated as it is; `retry` says whether later may help
Unknown   nobody knows whether it happened: look, never repeat
"""

from __future__ import annotations

import re

import msgspec

from fairlead.core.errors import Retry
from fairlead.port.request import Reply


class Done(msgspec.Struct, frozen=True, tag=True):
    revision: int = 0
    body: bytes = b""


class Conflict(msgspec.Struct, frozen=True, tag=True):
    reason: str
    message: str


class Refused(msgspec.Struct, frozen=True, tag=True):
    status: int
    reason: str
    message: str
    retry: Retry = "never"


class Unknown(msgspec.Struct, frozen=True, tag=True):
    message: str


Outcome = Done | Conflict | Refused | Unknown


class _Meta(msgspec.Struct):
    resourceVersion: str = ""  # noqa: N815 - the wire's name


class _Body(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    reason: str = ""
    message: str = ""


_decode = msgspec.json.Decoder(_Body).decode
# How our own server's objects begin (`api/objects.py`); others are read as a whole.
_HEAD = re.compile(rb'\{"apiVersion":"[^"\\]*","kind":"[^"\\]*","metadata":\{"resourceVersion":"([0-9]+)"')
_MAYBE = frozenset({500, 502, 504})
_LATER = frozenset({429, 503, 507})


def outcome_of(reply: Reply) -> Outcome:
    """A reply as a caller must treat it. 5xx without a known cause leave the outcome open."""
    if reply.status < 300:
        head = _HEAD.match(reply.body)
        if head is not None:
            return Done(int(head[1]), reply.body)
    told = _decode(reply.body)
    if reply.status < 300:
        return Done(int(told.metadata.resourceVersion or 0), reply.body)
    if reply.status == 409:
        return Conflict(told.reason, told.message)
    if reply.status in _MAYBE:
        return Unknown(told.message)
    return Refused(reply.status, told.reason, told.message, "later" if reply.status in _LATER else "never")
