"""Nobody takes a lease before it ran out: another holder comes only when its term has passed since the last renewal.

Judged by true time, at the commits: whoever takes a lease counts from when it read it, which is never before the
renewal was committed, and clocks that are ahead or behind run as fast as others, but for `_DRIFT_SHARE`, which is
all the allowance there is. A lease that nobody holds is free, and so is one that was deleted. One that is seen for
the first time may be restored, and older than it seems: its term is judged from the next renewal on. The fence is no
lease, though it is kept as one: it changes when the holder of the lease does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fairlead.control.leadership import FENCE
from fairlead.model.key import Key
from fairlead.model.marks import AGENT_INSTANCE
from fairlead.model.views import LEASES
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.faults import CLOCK_DRIFT
from fairlead.sim.violation import Violation

_DRIFT_SHARE = CLOCK_DRIFT


class _Term(NamedTuple):
    holder: str
    renewed_at: float
    seconds: int


class LeasesRunOut:
    name = "leases-run-out"
    sees = frozenset({LEASES.name})

    def __init__(self) -> None:
        self._terms: dict[Key, _Term] = {}

    def saw(self, sight: SeenChange) -> None:
        key, lease = sight.key, sight.after
        if key.resource != LEASES.name or key.name == FENCE:
            return
        if lease is None:
            self._terms.pop(key, None)
            return
        term = self._terms.get(key)
        holder = _holder(lease)
        is_new = sight.before is None
        self._terms[key] = _Term("" if is_new else holder, sight.seconds, lease.spec.lease_duration_seconds)
        if term is None or not term.holder or holder in ("", term.holder):
            return
        passed = sight.seconds - term.renewed_at
        if passed < term.seconds * (1.0 - _DRIFT_SHARE):
            raise Violation(
                self.name,
                f"{holder} took {key.name} {passed:.3f} s after {term.holder} renewed it for {term.seconds} s",
            )

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""


def _holder(lease: Any) -> str:
    """Of a node's lease the agent, as far as agents of one node's name tell themselves apart."""
    return lease.metadata.annotations.get(AGENT_INSTANCE, "") or str(lease.spec.holder_identity)
