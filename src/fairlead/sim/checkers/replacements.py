"""replacements-follow-releases: nobody is replaced without a release, and once."""

from __future__ import annotations

from fairlead.model.marks import REPLACES
from fairlead.model.views import PODS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation


class ReplacementsFollowReleases:
    """A replacement is made only for a pod whose release is committed, and once."""

    name = "replacements-follow-releases"
    sees = frozenset({PODS.name})

    def __init__(self) -> None:
        self._released: dict[str, bool] = {}  # uid -> whether it is
        self._replaced: dict[str, str] = {}  # uid -> name of the live one that took its place

    def saw(self, sight: SeenChange) -> None:
        if sight.key.resource != PODS.name:
            return
        pod = sight.after
        meta = sight.last.metadata
        self._released[meta.uid] = pod is not None and pod.released
        replaces = meta.annotations.get(REPLACES)
        if not replaces:
            return
        is_live = pod is not None and pod.live
        if sight.before is None and is_live and not self._released.get(replaces, False):
            raise Violation(self.name, f"{sight.key.name} replaces {replaces}, which is not released")
        other = self._replaced.get(replaces)
        if is_live and other not in (None, sight.key.name):
            raise Violation(self.name, f"{sight.key.name} and {other} both replace {replaces}")
        if is_live:
            self._replaced[replaces] = sight.key.name
        elif other == sight.key.name:
            del self._replaced[replaces]

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""
