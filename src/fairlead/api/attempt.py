"""A write on its way through the API: what admission sees and may change, and what will be committed.

Made by a verb, passed down the admission chain, turned into one Transaction by `writing.py`. Admission may
change `new`, add warnings, and add preconditions and operations that must commit together with the write.
"""

from __future__ import annotations

import msgspec

from fairlead.api.plan import Context
from fairlead.model.kind import Json, Kind
from fairlead.store.contract import Entry, Key, Operation, Precondition, Reader


class Attempt(msgspec.Struct):
    kind: Kind
    verb: str  # create, update, patch, delete
    subresource: str
    key: Key
    context: Context
    read: Reader
    new: Json | None  # for a delete: the object with its deletion begun
    old: Json | None  # None for a create
    current: Entry | None
    spec: msgspec.Raw | None = None  # the bytes of its spec, where that is known to be right (`api/alike.py`)
    dry_run: bool = False
    warnings: list[str] = []
    preconditions: list[Precondition] = []
    # Committed before the write itself: the audit line names the revision of a transaction's last change.
    operations: list[Operation] = []
