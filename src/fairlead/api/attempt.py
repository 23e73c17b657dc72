"""A write on its way through the API: what admission sees and may change, and what will be committed.

Made by a verb, passed down the admission chain, turned into one Transaction by `writing.py`. Admission may
change `new`, add warnings, and add preconditions and operations that must commit together with the write.
"""

from __future__ import annotations

import msgspec

from fairlead.api.plan import Context
from fairlead.core.errors import Cause, Forbidden
from fairlead.model.key import Key
from fairlead.model.kind import Json, Kind
from fairlead.store.contract import Entry, Operation, Precondition, Reader


class Manager(msgspec.Struct, frozen=True):
    """Who writes, by the name that metadata.managedFields has for them, and what they sent as managedFields."""

    name: str
    sent: list[Json] | None = None


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
    spec: msgspec.Raw | None = (
        None  # the bytes of its spec, where that is known to be right (`api/spec_cache.py`)
    )
    # The object that was sent to a subresource which takes one of another kind (`api/subresource_kinds.py`), but for a
    # Scale.
    sent: Json | None = None
    addressed: str = ""  # the subresource that was asked for, where it is treated like `subresource`
    # metadata.managedFields is in neither tree. As bytes: what is stored, and what will be (`api/apply/managing.py`).
    managed_before: bytes = b""
    managed: bytes = b""
    manager: Manager | None = None  # whose write it is; None: nobody comes to own anything by it
    spec_fields: bytes = b""  # which fields of its spec they come to own with a create
    dry_run: bool = False
    warnings: list[str] = []
    preconditions: list[Precondition] = []
    # Committed before the write itself: the audit line names the revision of a transaction's last change.
    operations: list[Operation] = []
    # What the audit line tells of admission policies: who changed the object or would have refused it, and their words.
    policies: list[str] = []
    annotations: dict[str, str] = {}

    @property
    def address(self) -> str:
        """The subresource that was asked for."""
        return self.addressed or self.subresource

    def forbidden(self, why: str, *causes: Cause) -> Forbidden:
        """To be raised by a step that does not let it pass."""
        kind, name = self.kind, self.key.name
        message = f'{kind.resource} "{name}" is forbidden: {why}'
        return Forbidden(message, causes=causes, group=kind.group, kind=kind.plural, name=name)
