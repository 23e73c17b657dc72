"""Which SchedulingPolicy is in use: the function as a table, what the statuses say of it, and what the scheduler does."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from fairlead.model.key import Key
from fairlead.model.policy.in_use import policy_in_use, problem_of, to_keep
from fairlead.model.views import (
    PLANE_SETTINGS,
    SCHEDULING_POLICIES,
    Meta,
    PlaneSettings,
    PlaneSettingsStatus,
    SchedulingPolicy,
)
from fairlead.reconcile.plane_settings import plane_settings_decider
from fairlead.reconcile.scheduling_policy import ALL, scheduling_policy_decider
from tests.unit.control.test_placing import Scheduler
from tests.unit.reconcile.waking import woken
from tests.unit.reconcile.world import World

Json = dict[str, Any]
MOST = {"scoring": {"strategy": "MostAllocated", "resources": [{"name": "cpu"}]}}
UNKNOWN = {"plugins": [{"name": "Nonesuch"}]}


def policy(name: str, spec: Json | None = None, uid: str = "", generation: int = 1) -> SchedulingPolicy:
    return SchedulingPolicy(Meta(name, uid or f"uid-{name}", generation=generation), spec or {})


def settings(named: str, kept: SchedulingPolicy | None = None) -> PlaneSettings:
    status = PlaneSettingsStatus(scheduling_policy=to_keep(kept))
    return PlaneSettings(Meta("default", "u"), {"schedulingPolicy": named} if named else {}, status)


A, B, BROKEN = policy("a", MOST), policy("b"), policy("broken", UNKNOWN)
CASES: dict[str, tuple[PlaneSettings | None, tuple[SchedulingPolicy, ...], SchedulingPolicy | None, str]] = {
    "no settings": (None, (A,), None, ""),
    "none is named": (settings("", A), (A,), None, ""),
    "the one that is named": (settings("a"), (A, B), A, ""),
    "whatever was kept": (settings("b", A), (A, B), B, ""),
    "missing, none kept": (settings("x"), (A,), None, "does not exist"),
    "missing, one kept": (settings("x", A), (A, B), A, "does not exist"),
    "missing, the kept one deleted": (settings("x", A), (), A, "does not exist"),
    "itself deleted": (settings("a", A), (), A, "does not exist"),
    "missing, the kept one changed since": (
        settings("x", A),
        (policy("a", generation=2),),
        policy("a", generation=2),
        "does not exist",
    ),
    "missing, a namesake of the kept one": (
        settings("x", A),
        (policy("a", uid="other"),),
        A,
        "does not exist",
    ),
    "invalid": (settings("broken", A), (A, BROKEN), A, "cannot be used: spec.plugins[0].name"),
    "its new generation is invalid": (
        settings("a", A),
        (policy("a", UNKNOWN, generation=2),),
        A,
        "cannot be used: spec.plugins[0].name",
    ),
    "the kept one is invalid, too": (settings("x", BROKEN), (), None, "does not exist"),
}


@pytest.mark.parametrize("case", CASES)
def test_which_policy_is_in_use(case: str) -> None:
    given, there, wanted, problem = CASES[case]
    found = policy_in_use(given, {each.metadata.name: each for each in there}.get)
    assert found.problem.startswith(problem)
    assert bool(found.problem) == bool(problem)
    if wanted is None:
        assert found.policy is None
    else:
        assert found.is_this(wanted)
        assert found.policy is not None
        assert found.policy.spec == wanted.spec


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"scoring": {"strategy": "Random"}}, 'spec.scoring.strategy: Unsupported value: "Random"'),
        ({"plugins": "all"}, "its spec is not of the form of a SchedulingPolicy"),
        ({"plugins": [{"name": "NodeAffinity", "weight": -1}]}, "spec.plugins[0].weight: Invalid value: -1"),
    ],
)
def test_a_stored_policy_that_cannot_be_used_is_told_with_its_field(spec: Json, told: str) -> None:
    assert told in problem_of(policy("p", spec))


def statuses(world: World) -> dict[str, tuple[bool, str, str]]:
    world.apply(world.decide(scheduling_policy_decider(), ALL).effects)
    found = {}
    for each in world.list(SCHEDULING_POLICIES):
        assert isinstance(each, SchedulingPolicy)
        found[each.metadata.name] = (
            each.status.active, each.status.observed_by, each.status.conditions[0].reason,
        )  # fmt: skip
    return found


def told(world: World) -> tuple[str, str, str, Json]:
    world.turn(plane_settings_decider(), "default", "")
    found = world.get(PLANE_SETTINGS, "", "default")
    assert isinstance(found, PlaneSettings)
    (each,) = (one for one in found.status.conditions if one.type == "SchedulingPolicy")
    return each.status, each.reason, each.message, found.status.scheduling_policy


def test_the_status_tells_which_policy_is_in_use_and_keeps_it() -> None:
    world = World()
    world.add(SCHEDULING_POLICIES, "v3", spec=MOST)
    world.add(PLANE_SETTINGS, "default", spec={"schedulingPolicy": "v3"})
    status, reason, message, kept = told(world)
    assert (status, reason, message) == (
        "True",
        "InUse",
        "the scheduler works with policy v3 (generation 1)",
    )
    assert (kept["name"], kept["spec"]) == ("v3", MOST)
    world.edit(PLANE_SETTINGS, "default", {"spec": {"schedulingPolicy": "v9"}}, "")
    status, reason, message, kept = told(world)
    assert (status, reason, kept["name"]) == ("False", "NotFound", "v3")
    assert (
        message == "SchedulingPolicy v9 does not exist; until it can be used, v3 (generation 1) stays in use"
    )
    assert statuses(world) == {"v3": (True, "default-scheduler", "Kept")}
    world.add(SCHEDULING_POLICIES, "v9", spec=MOST)
    v9 = Key(SCHEDULING_POLICIES.name, "", "v9")  # as another version of the API may have let it pass
    world.overwrite(v9, lambda policy: policy.update(spec=UNKNOWN))
    assert told(world)[1] == "Invalid"
    assert statuses(world) == {"v3": (True, "default-scheduler", "Kept"), "v9": (False, "", "Invalid")}
    world.delete(SCHEDULING_POLICIES, "v3", "")
    assert told(world)[3] == kept, "also when it is no object any more"
    assert world.decide(plane_settings_decider(), Key(PLANE_SETTINGS.name, "", "default")).effects == ()


def test_what_is_kept_is_replaced_and_not_mixed_with_what_was() -> None:
    world = World()
    world.add(SCHEDULING_POLICIES, "v3", spec=MOST)
    world.add(SCHEDULING_POLICIES, "v4", spec={"scoring": {"strategy": "LeastAllocated"}})
    world.add(PLANE_SETTINGS, "default", spec={"schedulingPolicy": "v3"})
    assert told(world)[3]["spec"] == MOST
    world.edit(PLANE_SETTINGS, "default", {"spec": {"schedulingPolicy": "v4"}}, "")
    assert told(world)[3]["spec"] == {"scoring": {"strategy": "LeastAllocated"}}


def test_only_a_change_of_its_spec_makes_a_policy_news() -> None:
    decider, name = plane_settings_decider(), SCHEDULING_POLICIES.name
    status = structs.replace(A, status=structs.replace(A.status, active=True))
    assert not tuple(woken(decider, name, A, status))
    for before, after in ((None, A), (A, None), (A, policy("a", generation=2)), (A, policy("a", uid="o"))):
        assert len(tuple(woken(decider, name, before, after))) == 1


def stored(name: str, **parts: Any) -> Json:
    return {"metadata": {"name": name, "generation": 1, **parts.pop("metadata", {})}, **parts}


def test_a_scheduler_that_starts_works_with_what_was_kept() -> None:
    kept = {"name": "gone", "uid": "g", "generation": 7, "spec": MOST}
    scheduler = Scheduler()
    scheduler.show(
        PLANE_SETTINGS.name,
        stored("default", spec={"schedulingPolicy": "gone"}, status={"schedulingPolicy": kept}),
    )
    scheduler.placer.lead(scheduler.now)
    assert scheduler.placer.policy.identity == ("gone", "g", 7)


def test_a_namesake_of_the_policy_in_use_is_taken_up() -> None:
    scheduler = Scheduler()
    kept = {"name": "p", "uid": "one", "generation": 1, "spec": MOST}
    scheduler.show(
        PLANE_SETTINGS.name,
        stored("default", spec={"schedulingPolicy": "p"}, status={"schedulingPolicy": kept}),
    )
    scheduler.show(SCHEDULING_POLICIES.name, stored("p", metadata={"uid": "one"}, spec=MOST))
    assert scheduler.placer.policy.uid == "one"
    scheduler.show(SCHEDULING_POLICIES.name, stored("p", metadata={"uid": "one"}, spec=MOST), gone=True)
    assert scheduler.placer.policy.uid == "one"
    scheduler.show(SCHEDULING_POLICIES.name, stored("p", metadata={"uid": "two"}, spec={}))
    assert scheduler.placer.policy.uid == "two"
