"""The records of coupling: who writes what somebody else decides on, by the form it takes.

    shared field           one writes a field that another decides on
    shared capacity        the field is room or an allowance: who takes it leaves less to others
    shared API budget      retries are paid from one purse, and one breaker holds all back; requests of one priority
                           level wait for the same seats
    cache lag              a decision is made on a copy; it is older than what there is
    label mutation         labels that others select by, and what admission makes of an object before it is stored
    overlapping ownership  both write the field
    aligned timers         periods that coincide: what one does at its tick meets what the others do at theirs

Made by `declared.py`, `observed.py` and `timers.py`; joined by `answer.py`; drawn by `drawing.py`.
"""

from __future__ import annotations

import msgspec

SHARED_FIELD = "shared field"
SHARED_CAPACITY = "shared capacity"
API_BUDGET = "shared API budget"
CACHE_LAG = "cache lag"
LABEL_MUTATION = "label mutation"
OVERLAP = "overlapping ownership"

CONTROLLER, ADMISSION, POLICY, PERSON, PROGRAM, AGENT = (
    "controller", "admission", "policy", "person", "program", "agent",
)  # fmt: skip


class Coupling(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One writer, one reader, one resource. `declared`: the sources say so; `writes`: so many were seen on this plane,
    the last by `last_user` to `last_object`; `lag`: so many objects are newer than the copy that the reader has."""

    form: str
    writer: str
    sort: str  # of the writer
    resource: str
    fields: tuple[str, ...]
    reader: str
    declared: bool = False
    writes: int = 0
    per_minute: float = 0.0
    last: str = ""
    last_user: str = ""
    last_object: str = ""
    lag: int = 0


class Timer(msgspec.Struct, frozen=True, rename="camel"):
    """What a controller does every so many seconds, or after so many. `spread`: seconds over which it is dealt out,
    or the share by which it is jittered; 0: at the very tick."""

    controller: str
    what: str
    seconds: float
    spread: float = 0.0


class CopyLag(msgspec.Struct, frozen=True, rename="camel"):
    """The copy that decisions are made on. `revision`: up to which it shows the resource; `newest`: of its objects as
    stored; `behind`: how many of those are newer than the copy."""

    resource: str
    revision: int
    newest: int
    behind: int
