"""The arithmetic of rollouts as tables, and its two promises under any history, crash and readiness."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairlead.core.times import timestamp
from fairlead.decision.effects import Change
from fairlead.model.views import (
    DEPLOYMENTS,
    PODS,
    REPLICASETS,
    Deployment,
    DeploymentSpec,
    Meta,
    ReplicaSet,
    ReplicaSetSpec,
    ReplicaSetStatus,
)
from fairlead.reconcile.deployment.rollout import (
    MAXIMUM,
    RolloutLimits,
    available,
    first_size,
    limits,
    resolve_amount,
    roll_step,
    room,
    scale_sets,
    size,
)
from tests.unit.reconcile.deployment.deploying import (
    BOTH,
    DEPLOYMENT,
    KEY,
    REPLICASET,
    deployed,
    deployment,
    finish,
    image_of,
    live,
    rolling,
    running,
    set_image,
    sizes,
)
from tests.unit.reconcile.world import NOW, World


@pytest.mark.parametrize(
    ("amount", "total", "up", "expected"),
    [
        (2, 10, True, 2),
        ("25%", 10, True, 3),
        ("25%", 10, False, 2),
        ("0%", 10, True, 0),
        ("150%", 2, True, 3),
    ],
)
def test_percentages_are_of_the_total_rounded_as_asked(
    amount: Any, total: int, up: bool, expected: int
) -> None:
    assert resolve_amount(amount, total, up=up) == expected


@pytest.mark.parametrize(
    ("replicas", "strategy", "expected"),
    [
        (10, rolling("25%", "25%"), RolloutLimits(10, 3, 2)),
        (10, {"type": "RollingUpdate"}, RolloutLimits(10, 3, 2)),
        (1, rolling("25%", "25%"), RolloutLimits(1, 1, 0)),
        (3, rolling("0%", "10%"), RolloutLimits(3, 0, 1)),
        (0, rolling("0%", "10%"), RolloutLimits(0, 0, 0)),
        (2, rolling(1, 5), RolloutLimits(2, 1, 2)),
        (4, {"type": "Recreate"}, RolloutLimits(4, 0, 0)),
    ],
)
def test_limits_follow_the_strategy(replicas: int, strategy: Any, expected: RolloutLimits) -> None:
    spec = DeploymentSpec(replicas=replicas, strategy=strategy)
    assert limits(Deployment(Meta("web", "u"), spec)) == expected


def rs(
    name: str, replicas: int, ready: int = -1, has: int = -1, observed: int = 1, maximum: int = 0
) -> ReplicaSet:
    """`ready`: available pods (default all); `has`: pods it reports (default as many as it should have)."""
    has = replicas if has < 0 else has
    status = ReplicaSetStatus(
        replicas=has, available_replicas=has if ready < 0 else ready, observed_generation=observed
    )
    meta = Meta(
        name,
        f"uid-{name}",
        generation=1,
        creation_timestamp=timestamp(NOW + ord(name[0])),
        annotations={MAXIMUM: str(maximum)} if maximum else {},
    )
    return ReplicaSet(meta, ReplicaSetSpec(replicas=replicas), status)


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        ([], 5),
        ([rs("a", 3)], 2),
        ([rs("a", 1, has=3)], 2),
        ([rs("a", 5), rs("b", 5)], 0),
        ([rs("a", 1, observed=0)], 4),
    ],
)
def test_room_counts_what_may_be_alive(sets: list[ReplicaSet], expected: int) -> None:
    assert room(sets, RolloutLimits(4, 1, 1)) == expected


def test_there_is_no_room_while_a_set_has_not_observed_its_size() -> None:
    meta = Meta("a", "u", generation=3)
    late = ReplicaSet(meta, ReplicaSetSpec(replicas=1), ReplicaSetStatus(1, observed_generation=2))
    assert room([late], RolloutLimits(4, 1, 1)) == 0
    assert first_size([late], RolloutLimits(4, 1, 1)) == 0


def test_an_old_set_that_has_reported_nothing_is_not_taken_to_have_nothing_available() -> None:
    bounds = RolloutLimits(1, 1, 0)
    silent = ReplicaSet(Meta("a", "u", generation=1), ReplicaSetSpec(replicas=1), ReplicaSetStatus())
    waiting = rs("b", 1, 0)
    assert roll_step(rs("n", 0), [silent, waiting], bounds) == {"b": 0}
    assert roll_step(rs("n", 0), [waiting, silent], bounds) == {"b": 0}
    assert roll_step(rs("n", 1, 0), [silent], bounds) == {}
    assert roll_step(rs("n", 1, 1), [silent], bounds) == {}


@pytest.mark.parametrize(
    ("new", "olds", "bounds", "expected"),
    [
        (rs("n", 0), [rs("a", 4)], RolloutLimits(4, 1, 1), {"n": 1}),
        (rs("n", 1, 0), [rs("a", 4)], RolloutLimits(4, 1, 1), {"a": 3}),
        (rs("n", 1, 0), [rs("a", 4)], RolloutLimits(4, 1, 0), {}),
        (rs("n", 1), [rs("a", 4)], RolloutLimits(4, 1, 0), {"a": 3}),
        (rs("n", 6), [], RolloutLimits(4, 1, 1), {"n": 4}),
        (rs("n", 4, 0), [rs("a", 1, 0)], RolloutLimits(4, 1, 1), {}),
        (rs("n", 2, 0), [rs("a", 3, 1)], RolloutLimits(4, 1, 3), {"a": 1}),
        (rs("n", 3, 3), [rs("a", 1, 0), rs("b", 1)], RolloutLimits(4, 1, 1), {"a": 0, "b": 0}),
        (rs("n", 1, 0), [rs("a", 2), rs("b", 2)], RolloutLimits(4, 1, 2), {"a": 0}),
        (rs("n", 4), [rs("a", 1), rs("b", 0)], RolloutLimits(4, 1, 1), {"a": 0}),
        (rs("n", 4), [], RolloutLimits(4, 1, 1), {}),
    ],
)
def test_a_step_grows_the_new_set_or_shrinks_old_ones(
    new: ReplicaSet, olds: list[ReplicaSet], bounds: RolloutLimits, expected: dict[str, int]
) -> None:
    assert roll_step(new, olds, bounds) == expected


@pytest.mark.parametrize(
    ("new", "olds", "bounds", "expected"),
    [
        (rs("n", 3), [rs("a", 0)], RolloutLimits(5, 1, 1), {"n": 5}),
        (rs("n", 3), [rs("a", 0, has=2)], RolloutLimits(5, 1, 1), {"n": 4}),
        (rs("n", 0), [rs("a", 0)], RolloutLimits(2, 1, 1), {"n": 2}),
        (None, [rs("a", 2)], RolloutLimits(4, 1, 1), {"a": 4}),
        (rs("n", 4), [rs("a", 1)], RolloutLimits(4, 1, 1), {"a": 0, "n": 4}),
        (rs("n", 5, 0, maximum=13), [rs("a", 8, maximum=13)], RolloutLimits(15, 3, 2), {"a": 11, "n": 7}),
        (rs("n", 5, maximum=13), [rs("a", 8, maximum=13)], RolloutLimits(6, 2, 1), {"a": 5, "n": 3}),
        (rs("n", 1, 0, maximum=4), [rs("a", 3, maximum=4)], RolloutLimits(3, 0, 0), {"a": 3, "n": 0}),
    ],
)
def test_scaling_keeps_the_shares(
    new: ReplicaSet | None, olds: list[ReplicaSet], bounds: RolloutLimits, expected: dict[str, int]
) -> None:
    assert scale_sets(new, olds, bounds, rolling=True) == expected


SETS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=4)
BOUNDS = st.tuples(st.integers(0, 8), st.integers(0, 3), st.integers(0, 3))


@settings(max_examples=100, deadline=None)
@given(SETS, BOUNDS, st.booleans(), st.integers(0, 12))
def test_no_plan_has_too_many_replicas_or_gives_up_availability_that_must_stay(
    numbers: list[tuple[int, int, int]], bound: tuple[int, int, int], scaling: bool, maximum: int
) -> None:
    desired, surge, unavailable = bound
    bounds = RolloutLimits(desired, surge, min(unavailable, desired))
    sets = [
        rs(name, wanted, min(ready, has), has, maximum=maximum)
        for name, (wanted, has, ready) in zip("abcd", numbers, strict=False)
    ]
    new, olds = sets[-1], sets[:-1]
    plan = scale_sets(new, olds, bounds, rolling=True) if scaling else roll_step(new, olds, bounds)
    after = {found.metadata.name: plan.get(found.metadata.name, size(found)) for found in sets}
    before = {found.metadata.name: size(found) for found in sets}
    assert all(number >= 0 for number in after.values())
    alive = sum(max(after[found.metadata.name], found.status.replicas) for found in sets)
    if any(after[name] > before[name] for name in after):
        assert alive <= bounds.maximum
    assert sum(after.values()) <= max(sum(before.values()), bounds.maximum)
    had = sum(map(available, sets))
    left = sum(min(after[found.metadata.name], found.status.available_replicas) for found in sets)
    # Too many replicas must go, even if all that can stay are not available.
    if sum(before.values()) <= bounds.maximum:
        assert left >= min(had, bounds.minimum)


class Watcher:
    """Applies turns effect by effect and checks after each that the promises hold."""

    def __init__(self, world: World) -> None:
        self.world = world

    def planned(self) -> int:
        return sum(map(available, self.world.list(REPLICASETS)))

    def turn(self, decider: Any, name: str, prefix: int = 99) -> None:
        world = self.world
        bounds = limits(deployment(world))
        effects = world.turn(decider, name, prefix=0).effects
        for effect in effects[:prefix]:
            had, alive = self.planned(), live(world)
            world.apply([effect])
            assert live(world) <= max(alive, bounds.maximum)
            if decider is DEPLOYMENT and isinstance(effect, Change):
                assert self.planned() >= min(had, bounds.minimum)
                assert sum(sizes(world).values()) <= bounds.maximum


EVENT = st.one_of(
    st.tuples(st.just("image"), st.integers(1, 3)),
    st.tuples(st.sampled_from(["ready", "unready", "delete", "fail", "stop"]), st.integers(0, 9)),
    st.tuples(st.sampled_from(["deployment", "replicasets"]), st.integers(0, 5)),
    st.tuples(st.just("tick"), st.integers(1, 30)),
)


def _happen(watcher: Watcher, what: str, number: int) -> None:
    world = watcher.world
    pods = [pod.metadata.name for pod in world.list(PODS) if pod.live]
    if what == "image":
        set_image(world, f"v{number}")
    elif what == "tick":
        world.tick(number)
    elif what == "stop":
        world.stop_pods()
    elif what == "deployment":
        watcher.turn(DEPLOYMENT, "web", number)
    elif what == "replicasets":
        for found in world.list(REPLICASETS):
            watcher.turn(REPLICASET, found.metadata.name, number)
    elif what == "scale":
        world.edit(DEPLOYMENTS, "web", {"spec": {"replicas": number}})
    elif pods:
        name = pods[number % len(pods)]
        if what == "delete":
            world.delete(PODS, name)
        elif what == "fail":
            world.set_pod(name, "Failed")
        else:
            world.set_pod(name, "Running", ready=what == "ready")


def _has_converged(world: World) -> None:
    found = deployment(world)
    wanted = found.spec.replicas
    image = found.spec.template["spec"]["containers"][0]["image"]
    by_image = sizes(world)
    assert by_image.pop(image) == wanted
    assert not any(by_image.values())
    assert live(world) == wanted == found.status.replicas == found.status.available_replicas
    assert found.status.observed_generation == found.metadata.generation
    assert len({image_of(each) for each in world.list(REPLICASETS)}) == len(world.list(REPLICASETS))


@settings(deadline=None)
@given(
    st.integers(1, 6),
    st.sampled_from([0, 1, 3, "25%", "50%"]),
    st.sampled_from([0, 1, 2, "25%", "100%"]),
    st.sampled_from([0, 10]),
    st.lists(EVENT, max_size=25),
)
# The only pod is no longer ready, which its set has not reported: the pod that was never made goes, not that one.
@example(
    1,
    1,
    0,
    0,
    [("image", 3), ("deployment", 1), ("image", 2), ("unready", 0), *[("deployment", 1)] * 3],
)
def test_the_promises_hold_after_every_effect_wherever_a_turn_breaks_off_and_it_converges(
    replicas: int, surge: Any, unavailable: Any, min_ready: int, events: list[tuple[str, int]]
) -> None:
    strategy = rolling(surge, unavailable if surge != 0 or unavailable != 0 else 1)
    watcher = Watcher(running(replicas, "v1", strategy=strategy, minReadySeconds=min_ready))
    for what, number in events:
        _happen(watcher, what, number)
    finish(watcher.world)
    _has_converged(watcher.world)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 6),
    st.sampled_from([rolling(1, 0), rolling("25%", "25%"), rolling(0, 2), {"type": "Recreate"}]),
    st.lists(st.one_of(EVENT, st.tuples(st.just("scale"), st.integers(0, 9))), max_size=25),
)
@example(4, rolling(1, 0), [("image", 2), ("deployment", 5), ("scale", 1), ("replicasets", 1), ("scale", 8)])
def test_it_converges_through_any_mix_of_scaling_rollouts_and_broken_off_turns(
    replicas: int, strategy: Any, events: list[tuple[str, int]]
) -> None:
    world = deployed(replicas, "v1", strategy=strategy)
    for what, number in events:
        if what == "deployment":
            world.turn(DEPLOYMENT, "web", prefix=number)
        elif what == "replicasets":
            for found in world.list(REPLICASETS):
                world.turn(REPLICASET, found.metadata.name, prefix=number)
        else:
            _happen(Watcher(world), what, number)
    finish(world)
    _has_converged(world)


def test_the_end_is_the_same_wherever_a_rollout_was_broken_off() -> None:
    def end(broken: int) -> tuple[Any, ...]:
        world = running(3, "v1")
        set_image(world, "v2")
        for _ in range(2):
            world.turn(DEPLOYMENT, "web", prefix=broken)
            for found in world.list(REPLICASETS):
                world.turn(REPLICASET, found.metadata.name, prefix=broken)
        finish(world)
        status = world.objects[KEY]["status"]
        pods = [pod.metadata.name for pod in world.list(PODS)]
        return sizes(world), pods, {key: value for key, value in status.items() if key != "conditions"}

    assert end(0) == end(1) == end(2) == end(99)
    assert world_is_quiet(running(3))


def world_is_quiet(world: World) -> bool:
    before = world.revision
    return world.settle(BOTH) == 0 and world.revision == before
