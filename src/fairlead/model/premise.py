"""An object at a revision that a write rests on: the write commits only while the object is still so.

Effects carry premises (`decision/effects.py`), and a leader adds its fence to each of its writes (`control/plane.py`);
the API makes preconditions of the write's transaction of them (`api/fencing.py`). Their text, the query parameter
`fence`, is read and written by `wire/routes.py` alone.
"""

from __future__ import annotations

import msgspec

from fairlead.model.key import Key


class Premise(msgspec.Struct, frozen=True, gc=False):
    """`revision` 0: there is no such object."""

    key: Key
    revision: int


Premises = tuple[Premise, ...]
