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
from fairlead.model.views import (
    PLANE_SETTINGS,
    SCHEDULING_POLICIES,
    Condition,
    PlaneSettings,
    PlaneSettingsStatus,
    Resource,
    SchedulingPolicy,
    View,
)
from fairlead.store.contract import Key

_NAME = "plane-settings"
_APPLIED, _POLICY = "Applied", "SchedulingPolicy"


class PlaneSettingsDecider:
    name = _NAME
    reads: tuple[Resource[View], ...] = (PLANE_SETTINGS, SCHEDULING_POLICIES)

    def keys(self, resource: str, before: View | None, after: View | None) -> Iterable[Key]:
        if isinstance(before or after, SchedulingPolicy) and (before is None or after is None):
            return (Key(PLANE_SETTINGS.name, "", plane_knobs.NAME),)
        if not isinstance(after, PlaneSettings):
            return ()
        return (Key(PLANE_SETTINGS.name, "", after.metadata.name),)

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        found = view.get(PLANE_SETTINGS, "", key.name)
        if found is None or found.metadata.deletion_timestamp:
            return NOTHING
        problems = Problems()
        plane_knobs.check(found.spec, problems)
        conditions = [_applied(found, problems, now)]
        policy = found.spec.get("schedulingPolicy")
        if policy and not problems:
            exists = view.get(SCHEDULING_POLICIES, "", policy) is not None
            conditions.append(_policy(found, policy, exists, now))
        wanted = PlaneSettingsStatus(found.metadata.generation, tuple(conditions))
        status = ensure_status(_NAME, PLANE_SETTINGS, found, wanted)
        verdict = Stuck("Invalid", problems.summary()) if problems else SETTLED
        return Decision(verdict, (status,) if status is not None else ())


def _applied(found: PlaneSettings, problems: Problems, now: float) -> Condition:
    status, reason, message = "True", "InUse", "the leading plane works with these settings"
    if problems:
        status, reason, message = "False", "Invalid", f"the settings before stay in use: {problems.summary()}"
    return _condition(found, _APPLIED, status, reason, message, now)


def _policy(found: PlaneSettings, name: str, exists: bool, now: float) -> Condition:
    if exists:
        return _condition(found, _POLICY, "True", "InUse", f"the scheduler works with policy {name}", now)
    message = f"there is no SchedulingPolicy {name}; the policy in use stays until there is"
    return _condition(found, _POLICY, "False", "NotFound", message, now)


def _condition(
    found: PlaneSettings, kind: str, status: str, reason: str, message: str, now: float
) -> Condition:
    since = timestamp(now)
    for before in found.status.conditions:
        if before.type == kind and before.status == status:
            since = before.last_transition_time
    generation = found.metadata.generation
    return Condition(kind, status, reason, message, since, observed_generation=generation)
