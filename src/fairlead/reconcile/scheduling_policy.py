"""The SchedulingPolicy controller: says in each policy's status whether the scheduler works with it.

Which one is in use follows from PlaneSettings and the policies (`model/policy/in_use.py`); the scheduler takes it up
from the same mirrors (`control/placing.py`) before any turn begins. So a turn that sees the choice is a turn of a plane
that works with it, be it the one that is named or one that stays in use because that cannot be.
"""

from __future__ import annotations

from fairlead.core.times import timestamp
from fairlead.decision.contract import Decision, Reading, in_batches
from fairlead.decision.decider import Decider, Wake
from fairlead.decision.effects import ChangeStatus
from fairlead.decision.ensure import ensure_status
from fairlead.decision.wakes import always
from fairlead.model.key import Key
from fairlead.model.policy import plane_knobs
from fairlead.model.policy.in_use import InUse, policy_in_use
from fairlead.model.views import (
    PLANE_SETTINGS,
    SCHEDULING_POLICIES,
    Condition,
    SchedulingPolicy,
    SchedulingPolicyStatus,
)

_NAME = "scheduling-policy"
ALL = Key(SCHEDULING_POLICIES.name, "", "")
_ACTIVE = "Active"
_SCHEDULER = "default-scheduler"


def scheduling_policy_decider() -> Decider:
    return Decider(
        name=_NAME,
        reads=(SCHEDULING_POLICIES, PLANE_SETTINGS),
        wakes=(Wake(SCHEDULING_POLICIES, always(ALL)), Wake(PLANE_SETTINGS, always(ALL))),
        decide=_decide,
    )


def _decide(view: Reading, key: Key, now: float) -> Decision:
    settings = view.get(PLANE_SETTINGS, "", plane_knobs.NAME)
    in_use = policy_in_use(settings, lambda name: view.get(SCHEDULING_POLICIES, "", name))
    return in_batches((_status(each, in_use, now) for each in view.list(SCHEDULING_POLICIES)), now)


def _status(policy: SchedulingPolicy, in_use: InUse, now: float) -> ChangeStatus | None:
    if policy.metadata.deletion_timestamp:
        return None
    active = in_use.is_this(policy)
    held = "True" if active else "False"
    known = next((each for each in policy.status.conditions if each.type == _ACTIVE), None)
    since = known.last_transition_time if known is not None and known.status == held else timestamp(now)
    reason, message = _why(policy, active, in_use)
    generation = policy.metadata.generation
    condition = Condition(_ACTIVE, held, reason, message, since, observed_generation=generation)
    wanted = SchedulingPolicyStatus(generation, active, _SCHEDULER if active else "", (condition,))
    return ensure_status(_NAME, SCHEDULING_POLICIES, policy, wanted, ("active",))


def _why(policy: SchedulingPolicy, active: bool, in_use: InUse) -> tuple[str, str]:
    named = policy.metadata.name == in_use.named
    if active and named:
        return "InUse", "the scheduler works with this policy"
    if active:
        return "Kept", f"PlaneSettings names {in_use.named}, which {in_use.problem}: this one stays in use"
    if named:
        return "Invalid", f"it {in_use.problem}; {in_use.told} stays in use"
    return "NotChosen", "PlaneSettings does not name it in spec.schedulingPolicy"
