"""The garbage collector takes nothing that has an owner left, and nothing that its owner was to leave behind.

No owner comes back, so none can have been overlooked.

Judged at the revision of the deletion, by the owners' uids. An owner that is there counts also while it is being
deleted, unless it waits for its dependents (deleted in the foreground). What it owned when it was deleted without its
dependents is not garbage. What others delete is their own affair.
"""

from __future__ import annotations

from fairlead.model.metadata import FOREGROUND, ORPHAN
from fairlead.reconcile.garbage import NAME
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation

_BY_COLLECTOR = f"{NAME} of plane-"


class CollectedJustly:
    name = "collected-justly"

    def __init__(self) -> None:
        self._there: dict[str, bool] = {}  # uids of all objects; whether it goes and waits for its dependents
        self._owned: dict[str, dict[str, None]] = {}  # uids of owners, and of what names them
        self._freed: dict[str, dict[str, None]] = {}  # the same, as of their deletion without dependents

    def saw(self, sight: SeenChange) -> None:
        meta = sight.last.metadata
        goes = sight.after is None or bool(meta.deletion_timestamp)
        went = sight.before is not None and bool(sight.before.metadata.deletion_timestamp)
        if goes and not went and meta.owner_references and _BY_COLLECTOR in sight.origin:
            for owner in meta.owner_references:
                if self._there.get(owner.uid) is False:
                    raise Violation(
                        self.name,
                        f"{sight.origin} deleted {sight.key.name}, whose owner {owner.kind} {owner.name} is there",
                    )
                if meta.uid in self._freed.get(owner.uid, ()):
                    raise Violation(
                        self.name,
                        f"{sight.origin} deleted {sight.key.name}, which {owner.kind} {owner.name} was to leave behind",
                    )
        for owner in meta.owner_references:
            self._owned.setdefault(owner.uid, {})[meta.uid] = None
        if goes and not went and ORPHAN in meta.finalizers:
            self._freed[meta.uid] = dict(self._owned.get(meta.uid, {}))
        if sight.after is None:
            self._there.pop(meta.uid, None)
            self._owned.pop(meta.uid, None)
        else:
            self._there[meta.uid] = bool(meta.deletion_timestamp) and FOREGROUND in meta.finalizers

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """What is left over is for `no-orphan` to find."""
