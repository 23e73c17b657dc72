"""Which SchedulingPolicy the scheduler works with: a pure function of the PlaneSettings and the policies there are.

The scheduler asks it (`control/placing.py`), those who tell of it (`reconcile/plane_settings.py`,
`reconcile/scheduling_policy.py`), and whoever runs an attempt of the past again (`explain/sources.py`): on the same
objects all come to the same.

    PlaneSettings names none              what is built in
    it names one that can be used         that one
    it names one that is missing, or      the last one that could be used, as `status.schedulingPolicy` keeps it, spec
    cannot be used                        and all; if that exists as an object, as it is now. Nothing kept: built in

Because what is kept is stored, it outlives restarts, and the object it came from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fairlead.core.problems import Problems
from fairlead.model.kinds import schedulingpolicy
from fairlead.model.views import Meta, PlaneSettings, SchedulingPolicy

Json = dict[str, Any]
MISSING = "does not exist"
STRATEGIES = ("LeastAllocated", "MostAllocated")


class InUse(NamedTuple):
    """`policy` None: what is built in. `problem`: why it is not the one that is named, as the end of a sentence."""

    policy: SchedulingPolicy | None
    named: str = ""
    problem: str = ""

    @property
    def told(self) -> str:
        """`packing (generation 2)`"""
        if self.policy is None:
            return "the built-in policy"
        return f"{self.policy.metadata.name} (generation {self.policy.metadata.generation})"

    def is_this(self, found: SchedulingPolicy) -> bool:
        """The very same, also in its spec."""
        return self.policy is not None and _identity(self.policy) == _identity(found)


def policy_in_use(
    settings: PlaneSettings | None, policies: Callable[[str], SchedulingPolicy | None]
) -> InUse:
    named = str(settings.spec.get("schedulingPolicy") or "") if settings is not None else ""
    if settings is None or not named:
        return InUse(None)
    found = policies(named)
    problem = MISSING if found is None else problem_of(found)
    if not problem:
        return InUse(found, named)
    return InUse(_kept(settings.status.scheduling_policy, policies), named, problem)


def to_keep(policy: SchedulingPolicy | None) -> Json:
    """What the status of the PlaneSettings says of the policy in use."""
    if policy is None:
        return {}
    meta = policy.metadata
    return {"name": meta.name, "uid": meta.uid, "generation": meta.generation, "spec": policy.spec}


def problem_of(found: SchedulingPolicy) -> str:
    """Why it cannot be used, though it is stored: by another version, or out of a backup of one. "": it can."""
    problems = Problems()
    try:
        schedulingpolicy.check(found.spec, problems)
        strategy = (found.spec.get("scoring") or {}).get("strategy")
    except (AttributeError, KeyError, TypeError, ValueError):
        return "cannot be used: its spec is not of the form of a SchedulingPolicy"
    if strategy and strategy not in STRATEGIES:
        problems.unsupported("spec.scoring.strategy", strategy, STRATEGIES)
    return f"cannot be used: {problems.summary()}" if problems else ""


def _kept(kept: Json, policies: Callable[[str], SchedulingPolicy | None]) -> SchedulingPolicy | None:
    name = kept.get("name")
    if not name:
        return None
    there = policies(name)
    if there is not None and there.metadata.uid == kept.get("uid") and not problem_of(there):
        return there
    meta = Meta(name, str(kept.get("uid") or ""), generation=int(kept.get("generation") or 0))
    found = SchedulingPolicy(meta, kept.get("spec") or {})
    return None if problem_of(found) else found


def _identity(policy: SchedulingPolicy) -> tuple[str, str, int]:
    return policy.metadata.name, policy.metadata.uid, policy.metadata.generation
