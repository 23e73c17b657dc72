"""The PlaneSettings controller: says in its status that the plane works with the spec.

Taking settings up is the plane's own doing (`control/plane.py`): it reads them from the mirror that this view shows,
before any turn begins. So a turn that sees a spec is a turn of a plane that works with it, unless the spec cannot be
used; what that means is judged by the same table (`model/plane_knobs.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.core.problems import Problems
from fairlead.core.times import timestamp
from fairlead.decision.contract import NOTHING, SETTLED, Decision, Reading, Stuck
from fairlead.decision.ensure import ensure_status
from fairlead.model import plane_knobs
from fairlead.model.views import PLANE_SETTINGS, Condition, PlaneSettings, PlaneSettingsStatus, Resource, View
from fairlead.store.contract import Key

_NAME = "plane-settings"
_APPLIED = "Applied"


class PlaneSettingsDecider:
    name = _NAME
    reads: tuple[Resource[View], ...] = (PLANE_SETTINGS,)

    def keys(self, resource: str, before: View | None, after: View | None) -> Iterable[Key]:
        if not isinstance(after, PlaneSettings):
            return ()
        return (Key(PLANE_SETTINGS.name, "", after.metadata.name),)

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        found = view.get(PLANE_SETTINGS, "", key.name)
        if found is None or found.metadata.deletion_timestamp:
            return NOTHING
        problems = Problems()
        plane_knobs.check(found.spec, problems)
        wanted = PlaneSettingsStatus(found.metadata.generation, (_condition(found, problems, now),))
        status = ensure_status(_NAME, PLANE_SETTINGS, found, wanted)
        verdict = Stuck("Invalid", problems.summary()) if problems else SETTLED
        return Decision(verdict, (status,) if status is not None else ())


def _condition(found: PlaneSettings, problems: Problems, now: float) -> Condition:
    status, reason, message = "True", "InUse", "the leading plane works with these settings"
    if problems:
        status, reason, message = "False", "Invalid", f"the settings before stay in use: {problems.summary()}"
    since = timestamp(now)
    for before in found.status.conditions:
        if before.type == _APPLIED and before.status == status:
            since = before.last_transition_time
    generation = found.metadata.generation
    return Condition(_APPLIED, status, reason, message, since, observed_generation=generation)
