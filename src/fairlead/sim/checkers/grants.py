"""Nothing is done under a grant that has ended, was revoked, or was never approved.

In worlds with grants, somebody who has no role of their own (the origin `user NAME` of a write) creates ConfigMaps as
often as they are let. Each must find, in what is committed before it, an approved grant of theirs that ends later than
the server's clock said when the request was taken up, which is the object's creationTimestamp. So a revocation and a
deletion count from their own revision on, and an end by the clock of the server, whichever way that was set.
"""

from __future__ import annotations

from fairlead.model.kinds.accessgrant import APPROVED, KIND
from fairlead.sim.checkers.contract import LATE, AccessGrant, CommittedObjects, SeenChange
from fairlead.sim.violation import Violation

BY_USER = "user "  # as `sim/people.py` says who wrote
_RESOURCE = KIND.resource


class GrantsEnd:
    name = "grants-end"
    sees = frozenset({_RESOURCE, "configmaps"})

    def __init__(self) -> None:
        self._grants: dict[str, AccessGrant] = {}

    def saw(self, sight: SeenChange) -> None:
        if sight.key.resource == _RESOURCE:
            if sight.after is None:
                self._grants.pop(sight.key.name, None)
            else:
                self._grants[sight.key.name] = sight.after
        elif sight.key.resource == "configmaps" and sight.before is None:
            origin = sight.origin.removeprefix(LATE)
            if origin.startswith(BY_USER):
                self._judge(sight, origin.removeprefix(BY_USER))

    def _judge(self, sight: SeenChange, user: str) -> None:
        at = sight.last.metadata.creation_timestamp
        told = []
        for name, grant in self._grants.items():
            if grant.spec.subject.name != user:
                continue
            decision, ends = grant.status.decision, grant.status.expires_at or ""
            if decision == APPROVED and at < ends:  # both are whole seconds of the same form
                return
            told.append(f"{name} is {decision or 'not decided'}{f' and ended at {ends}' if ends else ''}")
        raise Violation(
            self.name,
            f"{user} created configmap {sight.key.name} at {at}, and no grant allows it:"
            f" {'; '.join(told) or 'there is none'}",
        )

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Writes are judged as they come."""
