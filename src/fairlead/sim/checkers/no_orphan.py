"""At rest every owner that is named exists: nothing is left of what was deleted, and nothing waits for deletion.

Of an owner of a kind that is not served nobody can tell the end: what names one is a person's to judge, as `fairlead
repair` says (OwnerOfUnknownKind).
"""

from __future__ import annotations

from fairlead.model.catalog import CATALOG
from fairlead.model.views.common import Owner
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation

_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


class NoOrphan:
    name = "no-orphan"
    sees: frozenset[str] = frozenset()

    def saw(self, sight: SeenChange) -> None:
        """Orphans are allowed on the way: their collection takes time."""

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        uids = {view.metadata.uid for _, view in objects.all()}
        groups = {key.name.partition(".")[2] for key in objects.of(_DEFINITIONS)}  # of custom kinds
        for key, view in objects.all():
            meta = view.metadata
            for owner in meta.owner_references:
                if owner.uid not in uids and _is_served(owner, groups):
                    raise Violation(
                        self.name,
                        f"{key.resource} {key.name} belongs to {owner.kind} {owner.name}, which is gone",
                    )
            if meta.deletion_timestamp:
                raise Violation(self.name, f"{key.resource} {key.name} is deleted but does not go")


def _is_served(owner: Owner, groups: set[str]) -> bool:
    group, _, version = owner.api_version.rpartition("/")
    return not group or group in groups or CATALOG.find_kind(group, version, owner.kind) is not None
