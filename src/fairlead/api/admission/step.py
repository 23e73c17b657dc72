"""One step of the admission chain, as data: what it is called, which writes it sees, what it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from fairlead.api.attempt import Attempt


@dataclass(frozen=True, slots=True)
class AdmissionStep:
    """`admit` may change `attempt.new`, add warnings, preconditions or operations, or raise Forbidden. `does`: for
    people (docs/concepts/api-requests.md)."""

    name: str
    admit: Callable[[Attempt], None]
    verbs: frozenset[str]
    resources: frozenset[str] | None = None  # None: all
    subresources: bool = False  # also sees writes to subresources
    # Given where all it does is to the spec of a new object, and follows from that spec, its namespace and the objects
    # of these resources alone (`api/spec_cache.py`).
    of_spec: tuple[str, ...] | None = None
    does: str = field(kw_only=True)

    def sees(self, resource: str, verb: str, subresource: str) -> bool:
        return (
            verb in self.verbs
            and (self.resources is None or resource in self.resources)
            and (self.subresources or not subresource)
        )
