"""The SchedulingPolicy controller: says in each policy's status whether the scheduler works with it.

Which one is in use is what PlaneSettings says; the scheduler takes it up from the same mirrors (`control/placing.py`)
before any turn begins. So a turn that sees the choice is a turn of a plane that works with it.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.core.times import timestamp
from fairlead.decision.contract import EFFECTS_MAX, Decision, Reading
from fairlead.decision.effects import ChangeStatus
from fairlead.decision.ensure import ensure_status
from fairlead.model import plane_knobs
from fairlead.model.views import (
    PLANE_SETTINGS,
    SCHEDULING_POLICIES,
    Condition,
    Resource,
    SchedulingPolicy,
    SchedulingPolicyStatus,
    View,
)
from fairlead.store.contract import Key

_NAME = "scheduling-policy"
ALL = Key(SCHEDULING_POLICIES.name, "", "")
_ACTIVE = "Active"
_SCHEDULER = "default-scheduler"


class SchedulingPolicyDecider:
    name = _NAME
    reads: tuple[Resource[View], ...] = (SCHEDULING_POLICIES, PLANE_SETTINGS)

    def keys(self, resource: str, before: View | None, after: View | None) -> Iterable[Key]:
        return (ALL,)

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        settings = view.get(PLANE_SETTINGS, "", plane_knobs.NAME)
        chosen = settings.spec.get("schedulingPolicy") if settings is not None else None
        effects = [
            effect
            for policy in view.list(SCHEDULING_POLICIES)
            if (effect := _status(policy, policy.metadata.name == chosen, now)) is not None
        ]
        return Decision(
            effects=tuple(effects[:EFFECTS_MAX]), again_at=now if len(effects) > EFFECTS_MAX else 0.0
        )


def _status(policy: SchedulingPolicy, active: bool, now: float) -> ChangeStatus | None:
    if policy.metadata.deletion_timestamp:
        return None
    held = "True" if active else "False"
    known = next((each for each in policy.status.conditions if each.type == _ACTIVE), None)
    since = known.last_transition_time if known is not None and known.status == held else timestamp(now)
    reason, message = (
        ("InUse", "the scheduler works with this policy")
        if active
        else ("NotChosen", "PlaneSettings does not name it in spec.schedulingPolicy")
    )
    generation = policy.metadata.generation
    condition = Condition(_ACTIVE, held, reason, message, since, observed_generation=generation)
    wanted = SchedulingPolicyStatus(generation, active, _SCHEDULER if active else "", (condition,))
    return ensure_status(_NAME, SCHEDULING_POLICIES, policy, wanted, ("active",))
