"""One time of leading of one plane, and the numbers of what is decided in it.

    TERM-N      the id of a decision: in its record, and with every request that it leads to, so that the audit line and
                the Event that come of it name it too

The name of a term is made of who leads and since when, so that no two times of leading share one. `plane.py` begins
it, controllers and the scheduler draw from it (`health.py`). Its first line of the log says which version decides, and
with which controllers: records name their term and need not repeat that.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from fairlead.core import codec
from fairlead.core.times import microtime
from fairlead.decision.decider import Decider
from fairlead.port.capabilities import Capabilities

PLANE = "plane"  # who writes the line that opens a term


class Term:
    __slots__ = ("_decided", "identity", "name")

    def __init__(self) -> None:
        self.name = "00000000"  # nobody leads yet
        self.identity = ""
        self._decided = 0

    def begin(self, identity: str, fence: int, now: float) -> None:
        """`fence`: the revision that leading rests on; 0 where there are no fences."""
        self.identity = identity
        told = f"{identity}/{fence}/{microtime(now)}"
        self.name = blake2b(told.encode(), digest_size=4).hexdigest()
        self._decided = 0

    def next_id(self) -> str:
        self._decided += 1
        return f"{self.name}-{self._decided}"

    def opening(self, identity: str, version: str, flags: Sequence[str], now: float) -> bytes:
        line: dict[str, Any] = {
            "time": microtime(now),
            "controller": PLANE,
            "term": self.name,
            "identity": identity,
            "version": version,
            "flags": list(flags),
        }
        return codec.encode(line)


def flags_of(able: Capabilities, deciders: Sequence[Decider], *, schedules: bool) -> tuple[str, ...]:
    """What may make a plane decide otherwise than another of its version: what the API can do, who decides."""
    told = {
        "fencing": able.fencing,
        "premises": able.premises,
        "charging": able.charging,
        "together": able.together,
        "collects": able.collects,
        "scheduler": schedules,
    }
    # Of one that has keys of its own, such as nodes to pretend, how many.
    controllers = (
        f"controller/{each.name}" + (f"={number}" if (number := len(each.initial_keys)) > 1 else "")
        for each in deciders
    )
    return (*(name for name, is_so in told.items() if is_so), *controllers)
