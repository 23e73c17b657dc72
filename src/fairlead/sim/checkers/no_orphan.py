"""At rest every owner that is named exists: nothing is left of what was deleted, and nothing waits for deletion."""

from __future__ import annotations

from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation


class NoOrphan:
    name = "no-orphan"
    sees: frozenset[str] = frozenset()

    def saw(self, sight: SeenChange) -> None:
        """Orphans are allowed on the way: their collection takes time."""

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        uids = {view.metadata.uid for _, view in objects.all()}
        for key, view in objects.all():
            meta = view.metadata
            for owner in meta.owner_references:
                if owner.uid not in uids:
                    raise Violation(
                        self.name,
                        f"{key.resource} {key.name} belongs to {owner.kind} {owner.name}, which is gone",
                    )
            if meta.deletion_timestamp:
                raise Violation(self.name, f"{key.resource} {key.name} is deleted but does not go")
