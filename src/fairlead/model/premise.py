"""An object at a revision that a write rests on: the write commits only while the object is still so.

Effects carry premises (`decision/effects.py`), and a leader adds its fence to each of its writes (`control/plane.py`);
the API makes preconditions of the write's transaction of them (`api/fencing.py`). Their text, the query parameter
`fence`, is read and written by `wire/routes.py` alone.
"""

from __future__ import annotations

import msgspec

from fairlead.model.key import Key

#: bound: requests | objects named by one `fence` | 400
FENCES_MAX = 64


class Premise(msgspec.Struct, frozen=True, gc=False):
    """`revision` 0: there is no such object; or, with a `uid`, there is this very one, whatever became of it.
    `until`: and the server's clock has not reached this instant, in seconds since the epoch; 0: whenever."""

    key: Key
    revision: int
    uid: str = ""
    until: float = 0.0


Premises = tuple[Premise, ...]
