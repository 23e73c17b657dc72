"""The PlaneSettings controller: says in its status that the plane works with the spec, and keeps there the
SchedulingPolicy in use, so that it can stay in use when the one that is named later on cannot be.

Taking settings up is the plane's own doing (`control/plane.py`): it reads them from the mirror that this view shows,
before any turn begins. So a turn that sees a spec is a turn of a plane that works with it, unless the spec cannot be
used; what that means is judged by the same table (`model/policy/plane_knobs.py`). Which policy is in use is the same
function of the same objects here and in the scheduler (`model/policy/in_use.py`).
"""

from __future__ import annotations

from typing import Any

from msgspec import structs

from fairlead.core.problems import Problems
from fairlead.core.times import timestamp
from fairlead.decision.contract import NOTHING, SETTLED, Decision, Reading, Stuck
from fairlead.decision.decider import Decider, Wake
from fairlead.decision.ensure import ensure_status
from fairlead.decision.predicates import PRESENT
from fairlead.decision.wakes import always, changed, itself
from fairlead.model.key import Key
from fairlead.model.patch.merge import patch_between
from fairlead.model.policy import plane_knobs
from fairlead.model.policy.in_use import MISSING, InUse, policy_in_use, to_keep
from fairlead.model.views import (
    PLANE_SETTINGS,
    SCHEDULING_POLICIES,
    Condition,
    PlaneSettings,
    PlaneSettingsStatus,
    SchedulingPolicy,
)

Json = dict[str, Any]
_NAME = "plane-settings"
_APPLIED, _POLICY = "Applied", "SchedulingPolicy"


def plane_settings_decider() -> Decider:
    in_use = Key(PLANE_SETTINGS.name, "", plane_knobs.NAME)
    return Decider(
        name=_NAME,
        reads=(PLANE_SETTINGS, SCHEDULING_POLICIES),
        wakes=(
            Wake(PLANE_SETTINGS, itself, when=PRESENT),
            Wake(SCHEDULING_POLICIES, changed(_version_of, always(in_use))),
        ),
        decide=_decide,
    )


def _decide(view: Reading, key: Key, now: float) -> Decision:
    found = view.get(PLANE_SETTINGS, "", key.name)
    if found is None or found.metadata.deletion_timestamp:
        return NOTHING
    problems = Problems()
    plane_knobs.check(found.spec, problems)
    conditions = [_applied(found, problems, now)]
    in_use = policy_in_use(found, lambda name: view.get(SCHEDULING_POLICIES, "", name))
    if in_use.named:
        conditions.append(_policy(found, in_use, now))
    wanted = PlaneSettingsStatus(found.metadata.generation, tuple(conditions), to_keep(in_use.policy))
    status = ensure_status(_NAME, PLANE_SETTINGS, found, wanted)
    if status is not None and wanted.scheduling_policy and "schedulingPolicy" in status.patch["status"]:
        whole = patch_between(found.status.scheduling_policy, wanted.scheduling_policy)
        patch = {"status": {**status.patch["status"], "schedulingPolicy": whole}}
        status = structs.replace(status, patch=patch)
    verdict = Stuck("Invalid", problems.summary()) if problems else SETTLED
    return Decision(verdict, (status,) if status is not None else ())


def _applied(found: PlaneSettings, problems: Problems, now: float) -> Condition:
    status, reason, message = "True", "InUse", "the leading plane works with these settings"
    if problems:
        status, reason, message = "False", "Invalid", f"the settings before stay in use: {problems.summary()}"
    return _condition(found, _APPLIED, status, reason, message, now)


def _policy(found: PlaneSettings, in_use: InUse, now: float) -> Condition:
    if not in_use.problem:
        return _condition(
            found, _POLICY, "True", "InUse", f"the scheduler works with policy {in_use.told}", now
        )
    reason = "NotFound" if in_use.problem == MISSING else "Invalid"
    message = (
        f"SchedulingPolicy {in_use.named} {in_use.problem}; until it can be used, {in_use.told} stays in use"
    )
    return _condition(found, _POLICY, "False", reason, message, now)


def _version_of(policy: SchedulingPolicy | None) -> object:
    """Statuses are written when policies come into use: that is no news."""
    return (policy.metadata.uid, policy.metadata.generation) if policy is not None else None


def _condition(
    found: PlaneSettings, kind: str, status: str, reason: str, message: str, now: float
) -> Condition:
    since = timestamp(now)
    for before in found.status.conditions:
        if before.type == kind and before.status == status:
            since = before.last_transition_time
    generation = found.metadata.generation
    return Condition(kind, status, reason, message, since, observed_generation=generation)
