"""What a caller learns of its request: four answers, and what may be done after each.

Done      it happened; `revision` is the object's now (0 where the answer tells none)
Conflict  it did not happen, because the state had moved: read again, decide again
Refused   it did not happen and will not if repeated as it is; `retry` says whether later may help, `lifted_by` which
          objects (RESOURCE/NAMESPACE/NAME; any of the resource there if the name is empty) must change first
Unknown   nobody knows whether it happened: look, never repeat

What rests on an object that is damaged in the store did not happen, though the answer is 500: it waits for that object.
"""

from __future__ import annotations

import re

import msgspec

from fairlead.core.errors import CURRENT_VERSION, FENCED, LIFTED_BY, Retry, StorageReadError
from fairlead.port.request import Reply


class Done(msgspec.Struct, frozen=True, tag=True):
    revision: int = 0
    body: bytes = b""
    each: tuple[
        bool, ...
    ] = ()  # of several bindings, which were made; the others were not, for reasons not told


class Conflict(msgspec.Struct, frozen=True, tag=True):
    reason: str
    message: str
    revision: int = 0  # of the object that is not as the write took it to be, as it is now; 0: not told
    premise: str = ""  # its key, RESOURCE/NAMESPACE/NAME, if it is not the one that the write was about


class Refused(msgspec.Struct, frozen=True, tag=True):
    status: int
    reason: str
    message: str
    retry: Retry = "never"
    lifted_by: tuple[str, ...] = ()
    name: str = ""  # of the object that is meant, where the answer names it


class Unknown(msgspec.Struct, frozen=True, tag=True):
    message: str


Outcome = Done | Conflict | Refused | Unknown


class _Meta(msgspec.Struct):
    resourceVersion: str = ""  # noqa: N815 - the wire's name


class _Cause(msgspec.Struct):
    reason: str = ""
    message: str = ""
    field: str = ""


class _Details(msgspec.Struct):
    name: str = ""
    causes: list[_Cause] | None = None


class _Body(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    reason: str = ""
    message: str = ""
    details: _Details | None = None

    def causes(self, reason: str) -> list[_Cause]:
        found = self.details.causes if self.details is not None else None
        return [each for each in found or () if each.reason == reason]


_decode = msgspec.json.Decoder(_Body).decode
# How our own server's objects begin (`api/objects.py`); others are read as a whole.
_HEAD = re.compile(rb'\{"apiVersion":"[^"\\]*","kind":"[^"\\]*","metadata":\{"resourceVersion":"([0-9]+)"')
_MAYBE = frozenset({500, 502, 504})
_LATER = frozenset({429, 503, 507})


def outcome_of(reply: Reply) -> Outcome:
    """A reply as a caller must treat it. 5xx without a known cause leave the outcome open."""
    if reply.each:
        return Done(each=reply.each)
    if reply.status < 300:
        head = _HEAD.match(reply.body)
        if head is not None:
            return Done(int(head[1]), reply.body)
    told = _decode(reply.body)
    if reply.status < 300:
        return Done(int(told.metadata.resourceVersion or 0), reply.body)
    if reply.status == 409:
        newest = [each.message for each in told.causes(CURRENT_VERSION) if each.message.isdecimal()]
        fenced = told.causes(FENCED)
        premise = fenced[0].field if fenced else ""
        return Conflict(told.reason, told.message, int(newest[0]) if newest else 0, premise)
    is_damaged = told.reason == StorageReadError.reason  # what it rests on is: nothing was done
    if reply.status in _MAYBE and not is_damaged:
        return Unknown(told.message)
    lifted_by = tuple(each.field for each in told.causes(LIFTED_BY) if each.field.count("/") == 2)
    is_later = reply.status in _LATER or (is_damaged and not lifted_by)
    return Refused(
        status=reply.status,
        reason=told.reason,
        message=told.message,
        retry="later" if is_later else "never",
        lifted_by=lifted_by,
        name=told.details.name if told.details is not None else "",
    )
