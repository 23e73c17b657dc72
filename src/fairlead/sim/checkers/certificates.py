"""A certificate request is approved or denied by who may, once, and for good.

In these worlds that is administrators (and the signer of the plane, of which there is none in a simulated run): nobody
else's write may change Approved or Denied. A decision that is there stays, until the request is gone.
"""

from __future__ import annotations

from typing import Any

from fairlead.model.kinds.certificatesigningrequest import APPROVED, DENIED, KIND
from fairlead.sim.checkers.contract import LATE, CommittedObjects, SeenChange
from fairlead.sim.checkers.grants import BY_USER
from fairlead.sim.violation import Violation

_DECISIONS = (APPROVED, DENIED)


class CertificatesAreApproved:
    name = "certificates-are-approved"

    def saw(self, sight: SeenChange) -> None:
        if sight.key.resource != KIND.resource or sight.after is None:
            return
        before, after = _decided(sight.before), _decided(sight.after)
        if before == after:
            return
        if before:
            told = f"was {'/'.join(before)} and is {'/'.join(after) or 'undecided'}"
            raise Violation(self.name, f"certificate request {sight.key.name} {told}")
        if sight.origin.removeprefix(LATE).startswith(BY_USER):
            told = f"{sight.origin} decided {'/'.join(after)} of certificate request {sight.key.name}"
            raise Violation(self.name, f"{told}, without a right to it")

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Decisions are judged as they come."""


def _decided(view: Any) -> tuple[str, ...]:
    conditions = (view.status.get("conditions") if view is not None else None) or ()
    return tuple(sorted(each["type"] for each in conditions if each["type"] in _DECISIONS))
