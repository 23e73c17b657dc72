"""Which ReplicaSets a quota refuses pods, so that an old pod may go before a new one is there (docs/adr/0017).

Used by `availability.py` and `sound_capacity.py`, which allow it for as long as a set says so and GRACE_SECONDS more:
who acts on it may not have heard. A quota of the namespace that allows no pod at all makes no room for one: nothing is
allowed then.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.model.reasons import WAITING_FOR
from fairlead.model.views import ResourceQuota
from fairlead.model.waiting import QUOTA_REASONS
from fairlead.sim.checkers.contract import SeenChange
from fairlead.sim.checkers.live_children import GRACE_SECONDS

_STILL, _LONG_AGO = float("inf"), float("-inf")


class RefusedSets:
    def __init__(self) -> None:
        self._until: dict[str, float] = {}  # by uid
        # By namespace its quotas that allow no pod, and since when.
        self._closed: dict[str, dict[str, float]] = {}

    def saw_set(self, sight: SeenChange) -> None:
        uid = sight.last.metadata.uid
        if any(
            each.type == WAITING_FOR and each.status == "True" and each.reason in QUOTA_REASONS
            for each in sight.last.status.conditions
        ):
            self._until[uid] = _STILL
        elif self._until.get(uid) == _STILL:
            self._until[uid] = sight.seconds

    def saw_quota(self, sight: SeenChange) -> None:
        closed = self._closed.setdefault(sight.key.namespace, {})
        if sight.after is not None and _allows_none(sight.after):
            closed.setdefault(sight.last.metadata.uid, sight.seconds)
        else:
            closed.pop(sight.last.metadata.uid, None)

    def is_any_refused(self, uids: Iterable[str], namespace: str, seconds: float) -> bool:
        earlier = seconds - GRACE_SECONDS
        if any(since < earlier for since in self._closed.get(namespace, {}).values()):
            return False
        return any(self._until.get(uid, _LONG_AGO) > earlier for uid in uids)


def _allows_none(quota: ResourceQuota) -> bool:
    """Of pods of any sort."""
    spec = quota.spec
    is_scoped = bool(spec.scopes or spec.scope_selector)
    return not is_scoped and "0" in (spec.hard.get("pods"), spec.hard.get("count/pods"))
