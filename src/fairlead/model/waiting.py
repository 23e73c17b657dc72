"""What a refused object waits for: one reason for each kind of object that may lift a refusal.

An API refusal names the objects (`core/errors.py`, `lifted_by`). The record of a decision, the conditions of workloads,
`status.progress` and `fairlead explain` all take the reason from here, and its owner from `reasons.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.model.catalog import CATALOG
from fairlead.model.reasons import WAITING_PREFIX

REFUSED = "EffectRefused"  # the reason where nobody says what would have to change
QUOTA_REASONS = frozenset({"WaitingForResourceQuota", "WaitingForPlacementQuota"})


def waiting_reason(addresses: Sequence[str]) -> str:
    """Of a refusal that these objects may lift (RESOURCE/NAMESPACE/NAME): the kind of the first, if that has a name."""
    named = bool(addresses) and not addresses[0].endswith("/")
    kind = CATALOG.of_resource(addresses[0].partition("/")[0]) if named else None
    return f"{WAITING_PREFIX}{kind.kind}" if kind is not None else REFUSED
