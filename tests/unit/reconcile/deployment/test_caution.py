"""What holds a rollout back: a deadline that has passed, and pods that are out of reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairlead.core.times import timestamp
from fairlead.decision.effects import Change
from fairlead.model.key import Key
from fairlead.model.policy.evidence_rows import default_spec
from fairlead.model.views import DEPLOYMENTS, EVIDENCE_POLICIES, NODES, PODS, REPLICASETS
from fairlead.reconcile.deployment.rollout import limits
from fairlead.reconcile.nodes.reach import LOOK_AGAIN_SECONDS, is_out_of_reach
from tests.unit.reconcile.deployment.deploying import (
    BOTH,
    DEPLOYMENT,
    KEY,
    condition,
    deployment,
    finish,
    image_of,
    of_image,
    rolling,
    running,
    set_image,
    sizes,
)
from tests.unit.reconcile.waking import woken
from tests.unit.reconcile.world import World

UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
CITED = "EvidencePolicy/default row RolloutDeadline"


def policy(after: int = 0) -> dict[str, Any]:
    spec = default_spec()
    for row in spec["rows"]:
        if row["name"] == "RolloutDeadline":
            row["acts"][0]["afterSeconds"] = after
    return spec


def late(after: int | None = 0, **spec: Any) -> World:
    """A rollout from v1 to v2 whose deadline has passed, none of v2 being ready. `after` None: no row is about it."""
    world = running(4, "v1", strategy=rolling(1, 1), progressDeadlineSeconds=60, **spec)
    world.add(EVIDENCE_POLICIES, "default", spec=policy(after) if after is not None else {"rows": []})
    set_image(world, "v2")
    world.settle(BOTH)
    world.stop_pods()
    world.settle(BOTH)
    world.tick(62)
    world.settle(BOTH)
    assert condition(world, "Progressing")["reason"] == "ProgressDeadlineExceeded"
    assert sizes(world) == {"v1": 3, "v2": 2}
    return world


def make_room(world: World) -> None:
    """Somebody takes an old pod away for good: by its numbers alone the rollout would make a new one for it."""
    world.edit(REPLICASETS, of_image(world, "v1").metadata.name, {"spec": {"replicas": 2}})
    for _ in range(3):
        world.settle(BOTH)
        world.stop_pods()


def test_a_late_rollout_makes_no_more_pods_and_says_by_which_row() -> None:
    world = late()
    assert condition(world, "Progressing")["message"] == (
        f'ReplicaSet "{of_image(world, "v2").metadata.name}" has timed out progressing. The rollout goes no further '
        f"until it progresses or the Deployment is changed ({CITED})."
    )
    make_room(world)
    assert sizes(world) == {"v1": 2, "v2": 2}
    world.tick(10_000)
    assert world.settle(BOTH) == 0


@pytest.mark.parametrize("after", [None, 600])
def test_without_a_row_that_allows_it_or_before_its_time_a_late_rollout_goes_on(after: int | None) -> None:
    world = late(after)
    assert CITED not in condition(world, "Progressing")["message"]
    make_room(world)
    assert sizes(world) == {"v1": 2, "v2": 3}


def test_a_row_with_a_time_pauses_when_it_has_passed() -> None:
    world = late(600)
    again_at = world.decide(DEPLOYMENT, KEY).again_at
    assert again_at == world.now + 600
    world.now = again_at
    world.settle(BOTH)
    assert CITED in condition(world, "Progressing")["message"]
    make_room(world)
    assert sizes(world)["v2"] == 2


def test_becoming_late_is_told_once() -> None:
    world = running(2, "v1", strategy=rolling(1, 0), progressDeadlineSeconds=60)
    world.add(EVIDENCE_POLICIES, "default", spec=policy())
    set_image(world, "v2")
    world.settle(BOTH)
    world.tick(62)
    (note,) = world.decide(DEPLOYMENT, KEY).events
    assert (note.type, note.reason, note.after) == ("Warning", "ProgressDeadlineExceeded", 0)
    assert CITED in note.message
    world.settle(BOTH)
    assert world.decide(DEPLOYMENT, KEY).events == ()


def _ready_one(world: World) -> None:
    name = world.owned(PODS, of_image(world, "v2").metadata.uid)[0].metadata.name
    world.set_pod(name, "Running", ready=True)


@pytest.mark.parametrize(
    ("act", "image"),
    [
        (_ready_one, "v2"),
        (lambda world: set_image(world, "v1"), "v1"),
        (lambda world: set_image(world, "v3"), "v3"),
        (lambda world: world.edit(DEPLOYMENTS, "web", {"spec": {"progressDeadlineSeconds": 90}}), "v2"),
        (lambda world: world.edit(DEPLOYMENTS, "web", {"spec": {"replicas": 5}}), "v2"),
        (lambda world: world.edit(EVIDENCE_POLICIES, "default", {"spec": {"rows": []}}, ""), "v2"),
    ],
    ids=["readiness", "undo", "template", "spec", "scale", "row"],
)
def test_what_is_done_about_it_lets_it_go_on(act: Callable[[World], Any], image: str) -> None:
    world = late()
    make_room(world)
    before = sizes(world)
    act(world)
    world.settle(BOTH)
    assert sizes(world) != before
    assert CITED not in condition(world, "Progressing")["message"]
    finish(world)
    assert {name: size for name, size in sizes(world).items() if size} == {
        image: deployment(world).spec.replicas
    }


def test_after_a_change_it_has_its_time_anew_and_is_paused_again() -> None:
    world = late()
    world.edit(DEPLOYMENTS, "web", {"spec": {"progressDeadlineSeconds": 90}})
    world.settle(BOTH)
    assert condition(world, "Progressing")["reason"] == "ReplicaSetUpdated"
    assert world.decide(DEPLOYMENT, KEY).again_at == world.now + 91
    world.tick(91)
    world.settle(BOTH)
    assert CITED in condition(world, "Progressing")["message"]


def test_a_pod_that_was_ready_in_time_is_progress_also_while_its_set_does_not_say_so() -> None:
    world = running(4, "v1", strategy=rolling(1, 1), progressDeadlineSeconds=60)
    world.add(EVIDENCE_POLICIES, "default", spec=policy())
    set_image(world, "v2")
    world.settle(BOTH)
    world.stop_pods()
    world.settle(BOTH)
    world.tick(30)
    world.start_pods()
    world.tick(32)
    world.settle([DEPLOYMENT])  # who counts the pods is held up
    assert condition(world, "Progressing")["reason"] == "ReplicaSetUpdated"
    world.tick(62)
    world.settle([DEPLOYMENT])
    assert condition(world, "Progressing")["reason"] == "ProgressDeadlineExceeded", "once"


def test_recreate_is_never_held() -> None:
    """Its deadline passes while the last old pod takes its time; nobody would count its end as progress."""
    world = running(1, "v1", strategy={"type": "Recreate"}, progressDeadlineSeconds=60)
    world.add(EVIDENCE_POLICIES, "default", spec=policy())
    set_image(world, "v2")
    world.settle(BOTH)
    world.tick(1000)
    world.settle(BOTH)
    finish(world)
    assert sizes(world) == {"v1": 0, "v2": 1}


def test_a_change_of_the_policy_wakes_the_rollouts_that_are_late() -> None:
    world = late()
    assert list(woken(DEPLOYMENT, EVIDENCE_POLICIES.name, None, None, world)) == [KEY]
    finish_of = running(1)
    assert list(woken(DEPLOYMENT, EVIDENCE_POLICIES.name, None, None, finish_of)) == []


# Out of reach


@pytest.mark.parametrize(
    ("taints", "conditions", "expected"),
    [
        ([], [], False),
        ([UNREACHABLE], [], True),
        ([{**UNREACHABLE, "effect": "NoSchedule"}], [], False),
        ([{"key": "fairlead.dev/suspect", "effect": "NoSchedule"}], [], True),
        ([{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}], [], True),
        ([{"key": "dedicated", "effect": "NoExecute"}], [], False),
        ([], [{"type": "fairlead.dev/Released", "status": "False", "reason": "NodeGone"}], True),
        ([], [{"type": "fairlead.dev/Released", "status": "True"}], True),
    ],
)
def test_pods_are_out_of_reach(taints: list[Any], conditions: list[Any], expected: bool) -> None:
    world = World()
    world.add(NODES, "n", spec={"taints": taints})
    spec = {"containers": [{"name": "a", "image": "a"}], "nodeName": "n"}
    world.add(PODS, "p", spec=spec, status={"conditions": conditions})
    (pod,) = world.list(PODS)
    assert is_out_of_reach(world, pod) is expected


def test_old_pods_are_not_given_up_for_new_ones_whose_node_nobody_hears() -> None:
    world = running(3, "v1", strategy=rolling(1, 0))
    world.add(NODES, "silent", spec={"taints": [UNREACHABLE]})
    set_image(world, "v2")
    world.settle(BOTH)
    world.start_pods(lambda pod: pod["spec"]["containers"][0]["image"] == "v2", node="silent")
    world.settle(BOTH)
    assert of_image(world, "v2").status.available_replicas == 1
    assert sizes(world) == {"v1": 3, "v2": 1}
    assert world.decide(DEPLOYMENT, KEY).again_at == world.now + LOOK_AGAIN_SECONDS
    world.edit(NODES, "silent", {"spec": {"taints": None}}, namespace="")
    world.settle(BOTH)
    assert sizes(world) == {"v1": 2, "v2": 2}


def test_a_rollback_keeps_the_new_pods_that_work_while_the_old_ones_are_out_of_reach() -> None:
    """Half through, then undone; what is left of the old set was on a node that has fallen silent since."""
    world = running(4, "v1", strategy=rolling(1, 1))
    set_image(world, "v2")
    world.settle(BOTH)
    world.stop_pods()
    world.start_pods()
    world.settle(BOTH)
    world.stop_pods()
    world.start_pods()
    world.add(NODES, "silent", spec={"taints": [UNREACHABLE]})
    for pod in world.owned(PODS, of_image(world, "v1").metadata.uid):
        key = Key(PODS.name, "default", pod.metadata.name)
        world.overwrite(key, lambda obj: obj["spec"].update(nodeName="silent"))
        world.set_pod(pod.metadata.name, "Running", ready=True)
    world.settle([BOTH[1]])
    before = sizes(world)["v2"]
    set_image(world, "v1")
    world.settle(BOTH)
    sound = len(
        [pod for pod in world.list(PODS) if pod.live and pod.ready and not is_out_of_reach(world, pod)]
    )
    assert before >= 3
    assert sound >= 3


def test_a_pod_that_never_became_ready_goes_before_one_that_is_only_out_of_reach() -> None:
    """Of three images the second never ran; the only pod that does is on a node that is silent for the moment."""
    world = running(1, "v1", strategy=rolling(1, 0))
    (pod,) = world.list(PODS)
    set_image(world, "v2")
    world.settle(BOTH)
    world.add(NODES, pod.spec.node_name, spec={"taints": [UNREACHABLE]})
    set_image(world, "v3")
    world.settle(BOTH)
    assert sizes(world) == {"v1": 1, "v2": 0, "v3": 1}


NODE_NAMES = ("a", "b", "c")
EVENT = st.one_of(
    st.tuples(st.just("image"), st.integers(1, 3)),
    st.tuples(st.sampled_from(["ready", "unready", "delete", "stop"]), st.integers(0, 9)),
    st.tuples(st.sampled_from(["silent", "heard", "release"]), st.integers(0, 2)),
    st.tuples(st.sampled_from(["deployment", "replicasets"]), st.integers(0, 5)),
    st.tuples(st.just("tick"), st.integers(1, 90)),
)


class Recovery:
    """Whatever happens, no write of the Deployment's plans for fewer sound pods than must stay, if there are as many."""

    def __init__(self, world: World) -> None:
        self.world = world

    def planned(self) -> int:
        """Sound pods left once each set has the size it was told; a set takes down the others first."""
        world, total = self.world, 0
        for found in world.list(REPLICASETS):
            pods = world.owned(PODS, found.metadata.uid)
            sound = sum(pod.live and pod.ready and not is_out_of_reach(world, pod) for pod in pods)
            total += min(found.spec.replicas, sound)
        return total

    def turn(self, prefix: int) -> None:
        floor = limits(deployment(self.world)).minimum
        for effect in self.world.turn(DEPLOYMENT, "web", prefix=0).effects[:prefix]:
            had = self.planned()
            self.world.apply([effect])
            if isinstance(effect, Change) and effect.resource == REPLICASETS.name:
                assert self.planned() >= min(had, floor)

    def happen(self, what: str, number: int) -> None:
        world = self.world
        pods = [pod for pod in world.list(PODS) if pod.live]
        if what == "image":
            set_image(world, f"v{number}")
        elif what == "tick":
            world.tick(number)
        elif what == "stop":
            world.stop_pods()
        elif what == "deployment":
            self.turn(number)
        elif what == "replicasets":
            for found in world.list(REPLICASETS):
                world.turn(BOTH[1], found.metadata.name, prefix=number)
        elif what in ("silent", "heard"):
            taints = [UNREACHABLE] if what == "silent" else None
            world.edit(NODES, NODE_NAMES[number], {"spec": {"taints": taints}}, namespace="")
        elif what == "release":
            for pod in pods:
                if pod.spec.node_name == NODE_NAMES[number]:
                    mark = {
                        "type": "fairlead.dev/Released",
                        "status": "True",
                        "lastTransitionTime": timestamp(world.now),
                    }
                    world.edit_status(PODS, pod.metadata.name, {"conditions": [mark]})
        elif pods:
            pod = pods[number % len(pods)]
            if what == "delete":
                world.delete(PODS, pod.metadata.name)
            else:
                node = pod.spec.node_name or NODE_NAMES[number % 3]
                world.set_pod(pod.metadata.name, "Running", ready=what == "ready", node=node)


@settings(deadline=None)
@given(
    st.integers(1, 6),
    st.sampled_from([rolling(1, 0), rolling(0, 1), rolling("25%", "25%"), rolling(2, 2)]),
    st.booleans(),
    st.lists(EVENT, max_size=30),
)
@example(
    3, rolling(1, 0), True,
    [("image", 2), ("deployment", 5), ("replicasets", 5), ("ready", 3), ("replicasets", 5), ("silent", 0),
     ("deployment", 5), ("replicasets", 5), ("deployment", 5)],
)  # fmt: skip
def test_no_step_of_a_rollout_or_its_undoing_gives_up_the_only_sound_capacity(
    replicas: int, strategy: Any, with_policy: bool, events: list[tuple[str, int]]
) -> None:
    world = running(replicas, "v1", strategy=strategy, progressDeadlineSeconds=60)
    for name in NODE_NAMES:
        world.add(NODES, name, spec={})
    if with_policy:
        world.add(EVIDENCE_POLICIES, "default", spec=policy())
    recovery = Recovery(world)
    for what, number in events:
        recovery.happen(what, number)
    for name in NODE_NAMES:
        world.edit(NODES, name, {"spec": {"taints": None}}, namespace="")
    set_image(world, "v9")  # whatever held it, a new template goes on
    finish(world)
    found = {image_of(each): each.spec.replicas for each in world.list(REPLICASETS) if each.spec.replicas}
    assert found == {"v9": replicas}
