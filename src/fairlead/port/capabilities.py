"""What the API at the other end can do beyond Kubernetes' own, as data. The plane takes it and acts accordingly.

Fairlead's own server can do all of it; Kubernetes none. `runtime/remote/discovering.py` finds out which it is, the
simulator's worlds say it. What is missing is replaced by something weaker (`control/read_before_write.py`), never left
out silently.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Capabilities:
    fencing: bool  # a leader's write is refused in the transaction once another has taken over (laws.md 6)
    premises: bool  # so is one whose effect was decided on an object that has changed since
    charging: bool  # a binding charges placement quotas and uses its reservation in its own transaction
    lacks: frozenset[str] = frozenset()  # resources not served there: as if there were no objects of them
    collects: bool = True  # it collects garbage and empties deleted namespaces itself
    together: bool = False  # bindings that were decided together can be one request
    # What a namespace there may hold, as (group, version, plural): kinds that the plane does not know included.
    namespaced: tuple[tuple[str, str, str], ...] = ()

    @property
    def complete(self) -> bool:
        return self.fencing and self.premises and self.charging


FAIRLEAD = Capabilities(fencing=True, premises=True, charging=True, together=True)
KUBERNETES = Capabilities(fencing=False, premises=False, charging=False, collects=False)
