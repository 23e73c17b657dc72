"""A status names a generation that existed: never one to come, and it never goes back. At rest it is the newest, and
every object whose status can name one has it."""

from __future__ import annotations

from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation


class ObservedGeneration:
    name = "observed-generation"

    def saw(self, sight: SeenChange) -> None:
        after = sight.after
        observed = _observed(after)
        if not observed:
            return
        if observed > after.metadata.generation:
            raise Violation(self.name, f"{_named(sight)} observed {observed} of {after.metadata.generation}")
        before = sight.before
        if before is not None and before.metadata.uid == after.metadata.uid and _observed(before) > observed:
            raise Violation(self.name, f"{_named(sight)} observed {_observed(before)}, and then {observed}")

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        for key, view in objects.all():
            observed = _observed(view)
            tells = hasattr(getattr(view, "status", None), "observed_generation")
            if tells and observed != view.metadata.generation:
                raise Violation(
                    self.name,
                    f"at rest {key.resource} {key.name} is at {view.metadata.generation}, its status at {observed}",
                )


def _observed(view: object) -> int:
    return int(getattr(getattr(view, "status", None), "observed_generation", 0))


def _named(sight: SeenChange) -> str:
    return f"{sight.key.resource} {sight.key.name}"
