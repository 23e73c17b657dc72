"""Lesson 004's staged repair: grace, committed release, exactly one replacement; and the brake, and at most one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import structs

from fairlead.core.times import parse_time, timestamp
from fairlead.model.key import Key
from fairlead.model.marks import AT_MOST_ONE, FENCES_AFTER, OUT_OF_SERVICE, RELEASED, REPLACES
from fairlead.model.policy.evidence_rows import default_spec
from fairlead.model.views import EVIDENCE_POLICIES, NODES, PODS, STATEFULSETS, Json
from fairlead.reconcile.nodes import marks as node_marks
from fairlead.reconcile.nodes.release import release_decider
from tests.unit.reconcile.nodes.silent_world import SilentWorld
from tests.unit.reconcile.waking import woken
from tests.unit.reconcile.world import selector, template

GRACE = 30
TOLERATIONS = [
    {
        "key": "node.kubernetes.io/unreachable",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": GRACE,
    }
]
AT_MOST: Json = {"annotations": {AT_MOST_ONE: "true"}}


def world_with(
    count: int = 2,
    nodes: dict[str, str] | None = None,
    deadline: int = 0,
    spec: Any = None,
    tolerations: Sequence[Json] = TOLERATIONS,
    **metadata: Any,
) -> SilentWorld:
    """A ReplicaSet whose pods run on the nodes in turn; they tolerate silence for GRACE seconds."""
    nodes = nodes or {"n1": "a", "n2": "a", "n3": "a"}
    world = SilentWorld(nodes, spec, deadline)
    world.replicas("web", count, tolerations, **metadata)
    world.start_on(*nodes)
    return world


def on(world: SilentWorld, node: str) -> list[str]:
    return [name for name, at in world.pods().items() if at == node]


def live(world: SilentWorld) -> list[str]:
    return [pod.metadata.name for pod in world.list(PODS) if pod.live]


def test_grace_then_release_then_exactly_one_replacement() -> None:
    world = world_with(2)
    (gone,) = on(world, "n1")
    world.hush("n1")
    world.run(39)
    assert world.released(gone) == ("", "")
    world.run(1)
    assert world.released(gone) == ("False", "NodeUnknown")
    assert gone in live(world), "it counts until it is released"
    world.run(GRACE - 1, lambda: _no_more_than(world, 2))
    assert world.released(gone) == ("False", "NodeUnknown")
    world.run(2, lambda: _no_more_than(world, 2))
    assert world.released(gone) == ("True", "NodeSilent")
    (new,) = (pod for pod in world.list(PODS) if REPLACES in pod.metadata.annotations)
    original = world.objects[Key(PODS.name, "default", gone)]
    assert new.metadata.annotations[REPLACES] == original["metadata"]["uid"]
    assert len(live(world)) == 2
    world.start_on("n2")
    world.run(100, lambda: _no_more_than(world, 2))
    assert len(world.pods()) == 3, "no second replacement, and the original stays as an object"


def test_what_is_ahead_is_told_with_its_deadline_and_row() -> None:
    world = world_with(2)
    (gone,) = on(world, "n1")
    world.hush("n1")
    world.run(41)
    (condition,) = (
        each
        for each in _pod(world, gone)["status"]["conditions"]
        if each["reason"] == "NodeUnknown" and each["type"] != "Ready"
    )
    assert "released after 2023-11-14T22:14:30Z" in condition["message"], condition["message"]
    assert "EvidencePolicy/default row NodeLeaseSilent" in condition["message"]
    assert _ready(world, gone) == ("False", "NodeUnknown")


def test_a_node_that_returns_within_the_grace_leaves_no_trace() -> None:
    world = world_with(2)
    (pod,) = on(world, "n1")
    world.edit_status(PODS, pod, {"containerStatuses": [{"name": "main", "ready": True}]})
    world.hush("n1")
    world.run(55)
    assert _ready(world, pod) == ("False", "NodeUnknown")
    world.silenced.clear()
    world.renew()
    world.run(2)
    assert world.released(pod) == ("", "")
    assert _ready(world, pod) == ("True", "")
    assert len(world.pods()) == 2


def test_a_mark_that_outlives_a_renewal_says_nothing_about_the_silence_after_it() -> None:
    world = world_with(2)
    (gone,) = on(world, "n1")
    world.hush("n1")
    world.run(45)
    assert world.released(gone) == ("False", "NodeUnknown")
    world.deciders = tuple(
        each for each in world.deciders if each.name != node_marks.NAME
    )  # its write is late
    world.silenced.clear()
    world.renew()
    world.hush("n1")
    world.run(39)
    assert world.released(gone)[0] != "True", "it was heard 39 seconds ago"


def test_a_pod_that_bears_it_for_ever_is_never_released() -> None:
    world = world_with(2, tolerations=[{"operator": "Exists"}])
    (pod,) = on(world, "n1")
    world.hush("n1")
    world.run(400)
    assert world.released(pod) == ("", "")
    assert len(world.pods()) == 2


@pytest.mark.parametrize("prefix", range(4))
def test_a_crash_between_any_two_steps_gives_no_second_replacement(prefix: int) -> None:
    """Decisions are carried out only in part, by leaders who come and go."""
    world = world_with(4)
    world.hush("n1")
    gone = on(world, "n1")
    for _ in range(120):
        world.tick(1)
        world.hear()
        for decider in world.deciders:
            for key in world._keys(decider):
                world.apply(world.decide(decider, key).effects[:prefix])
                _no_more_than(world, 4)
        world.restart() if _ % 7 == 6 else None
    world.run(150, lambda: _no_more_than(world, 4))
    assert [world.released(each)[0] for each in gone] == ["True"] * len(gone)
    replaced = [pod.metadata.annotations.get(REPLACES) for pod in world.list(PODS) if pod.live]
    assert sorted(each for each in replaced if each) == sorted(
        _pod(world, each)["metadata"]["uid"] for each in gone
    )


# The brake


def test_in_a_zone_nodes_are_released_one_after_the_other() -> None:
    nodes = {f"n{number}": "a" for number in range(8)}
    world = world_with(8, nodes)
    world.hush("n0", "n1", "n2")
    at: dict[str, float] = {}

    def note() -> None:
        for name, node in world.pods().items():
            if world.released(name)[0] == "True":
                at.setdefault(node, world.now)

    world.run(110, note)
    assert sorted(at) == ["n0", "n1", "n2"]
    times = sorted(at.values())
    assert [later - earlier for earlier, later in itertools.pairwise(times)] == [
        10.0,
        10.0,
    ]  # six a minute
    assert (world.zone("a")["state"], world.zone("a")["silent"], world.zone("a")["nodes"]) == ("Normal", 3, 8)


@pytest.mark.parametrize(
    ("silent", "others", "state", "reason"),
    [
        (1, 1, "Normal", "FewSilent"),
        (2, 1, "Normal", "FewSilent"),  # fewer than silentNodesMin
        (3, 3, "Normal", "FewSilent"),
        (3, 2, "Slowed", "MuchSilent"),
        (3, 0, "Stopped", "ZoneSilent"),
    ],
)
def test_the_brake_of_a_zone(silent: int, others: int, state: str, reason: str) -> None:
    nodes = {f"n{number}": "a" for number in range(silent + others)} | {"elsewhere": "b"}
    world = world_with(silent + others, nodes)
    world.hush(*(f"n{number}" for number in range(silent)))
    world.run(80)
    zone = world.zone("a")
    assert (zone["state"], zone["reason"]) == (state, reason)
    assert world.zone("b")["state"] == "Normal"
    released = [name for name in world.pods() if world.released(name)[0] == "True"]
    assert bool(released) == (state != "Stopped")
    if state == "Stopped":
        assert {world.released(name) for name in world.pods() if world.pods()[name] != "elsewhere"} == {
            ("False", "Braked")
        }


def in_region(silent: str, **zones: int) -> SilentWorld:
    """Zones of region `eu` with so many nodes, and one node elsewhere; `silent`: `a0 a1 b0`."""
    names = {f"{zone}{number}": f"eu/{zone}" for zone, count in zones.items() for number in range(count)}
    world = world_with(len(names), names | {"elsewhere": "us/x"})
    world.hush(*silent.split())
    world.run(80)
    return world


def region(world: SilentWorld, name: str = "eu") -> Json:
    status = world.objects[Key(EVIDENCE_POLICIES.name, "", "default")]["status"]
    return next(each for each in status["regions"] if each["name"] == name)


@pytest.mark.parametrize(
    ("silent", "state", "reason"),
    [
        ("a0 b0", "Normal", "FewSilent"),
        ("a0 a1 b0", "Normal", "FewSilent"),
        ("a0 a1 b0 b1 c0", "Slowed", "RegionMuchSilent"),
        ("a0 a1 b0 b1 c0 c1", "Stopped", "RegionSilent"),
    ],
)
def test_a_few_silent_nodes_of_each_zone_brake_their_region(silent: str, state: str, reason: str) -> None:
    world = in_region(silent, a=2, b=2, c=2)
    found = region(world)
    assert (found["state"], found["reason"]) == (state, reason)
    assert (found["silent"], found["nodes"]) == (len(silent.split()), 6)
    zone = world.zone("a")
    assert (zone["state"], zone["reason"]) == (state, reason)
    assert ("region eu" in zone["message"]) == (state != "Normal")
    assert (world.zone("x")["state"], region(world, "us")["state"]) == ("Normal", "Normal")
    released = [name for name in world.pods() if world.released(name)[0] == "True"]
    assert bool(released) == (state != "Stopped")


def test_a_zone_is_never_less_braked_than_by_itself() -> None:
    world = in_region("a0 a1 a2", a=3, b=6)
    assert (region(world)["state"], world.zone("a")["state"]) == ("Normal", "Stopped")
    assert (world.zone("a")["reason"], world.zone("b")["state"]) == ("ZoneSilent", "Normal")


def test_shares_of_regions_are_settings_and_nodes_without_one_are_of_none() -> None:
    spec = {**default_spec(), "regions": {"slowedShare": 0.2, "silentNodesMin": 2}}
    nodes = {"a0": "eu/a", "b0": "eu/b", "b1": "eu/b", "b2": "eu/b", "c0": "c", "c1": "c"}
    world = world_with(6, nodes, spec=spec)
    world.hush("a0", "b0")
    world.run(80)
    assert (region(world)["nodes"], region(world)["state"]) == (4, "Slowed")
    assert [world.zone(name)["state"] for name in "abc"] == ["Slowed", "Slowed", "Normal"]
    world.silenced.clear()
    world.renew()
    world.run(5)
    assert [world.zone(name)["state"] for name in "abc"] == ["Normal"] * 3


def test_when_no_node_of_any_zone_is_heard_nothing_is_released() -> None:
    world = world_with(2, {"n1": "a", "n2": "b"})
    world.hush("n1", "n2")
    world.run(300)
    assert {world.zone(name)["reason"] for name in "ab"} == {"NothingHeard"}
    assert {world.released(name) for name in world.pods()} == {("False", "Braked")}
    world.silenced = {"n1"}
    world.renew()
    world.run(15)
    assert world.zone("a")["state"] == "Normal"
    (gone,) = on(world, "n1")
    assert world.released(gone) == ("False", "AwaitingTurn")  # it may come back like the others, only later
    world.run(40)
    assert world.released(gone) == ("True", "NodeSilent")


def test_a_grant_is_good_for_one_silence() -> None:
    spec = default_spec()
    spec["zones"]["releasesPerMinute"] = 1
    nodes = {f"n{number}": "a" for number in range(6)}
    world = world_with(6, nodes, spec=spec)
    world.hush("n0")
    world.run(75)
    assert len(world.zone("a")["released"]) == 1
    given: dict[str, str] = {}

    def note() -> None:
        given.update((each["at"], each["node"]) for each in world.zone("a")["released"])

    world.silenced.clear()
    world.renew()
    world.run(1, note)
    world.stop_pods()
    world.start_on("n0")  # the replacement goes where the original was
    world.hush("n0", "n1")
    world.run(160, note)
    assert [given[at] for at in sorted(given)] == ["n0", "n0", "n1"]
    times = [parse_time(at) for at in sorted(given)]
    assert all(later - earlier >= 60.0 for earlier, later in itertools.pairwise(times)), times


def test_the_state_of_the_zones_outlives_the_observer() -> None:
    nodes = {f"n{number}": "a" for number in range(4)} | {"elsewhere": "b"}
    world = world_with(4, nodes)
    world.hush("n0", "n1", "n2", "n3")
    world.run(60)
    assert world.zone("a")["state"] == "Stopped"
    world.restart()
    world.run(1)
    assert world.zone("a")["state"] == "Stopped", "a new observer has heard no more than the last"


# At most one


def test_at_most_one_waits_until_its_supervisor_has_ended_it() -> None:
    world = world_with(1, deadline=100, **AT_MOST)
    (pod,) = world.pods()
    world.hush("n1")
    world.run(40 + GRACE + 2)
    assert world.released(pod) == ("False", "AwaitingFence")
    world.run(104 - 40 - GRACE - 2)
    assert world.released(pod) == ("False", "AwaitingFence"), "100 s, and a margin of 5"
    world.run(2)
    assert world.released(pod) == ("True", "NodeFenced")
    assert len(live(world)) == 1


def test_at_most_one_whose_supervisor_accepted_no_deadline_waits_for_a_human() -> None:
    """Whatever its node promises, as agents of older versions do."""
    world = world_with(1, **AT_MOST)
    world.edit(NODES, "n1", {"metadata": {"annotations": {FENCES_AFTER: "40s"}}}, "")
    (pod,) = world.pods()
    world.hush("n1")
    world.run(4000)
    assert world.released(pod) == ("False", "AwaitingConfirmation")
    (told,) = (
        each["message"]
        for each in _pod(world, pod)["status"]["conditions"]
        if each["reason"] == "AwaitingConfirmation"
    )
    assert "kubectl taint node n1 node.kubernetes.io/out-of-service=confirmed:NoExecute" in told
    assert len(world.pods()) == 1
    _confirm(world, "n1")
    world.run(1)
    assert pod not in world.pods(), "released and, as nothing runs there, forgotten"
    assert len(live(world)) == 1


def test_a_confirmation_is_not_enough_while_the_node_says_it_is_ready() -> None:
    world = world_with(1, **AT_MOST)
    (pod,) = world.pods()
    _confirm(world, "n1")
    world.run(30)
    assert world.released(pod) == ("", "")


def test_a_confirmation_passes_the_brake() -> None:
    world = world_with(1, {"n1": "a"})
    (pod,) = world.pods()
    world.hush("n1")
    world.run(100)
    assert world.released(pod) == ("False", "Braked")
    _confirm(world, "n1")
    world.run(1)
    assert pod not in world.pods()


def test_where_at_most_one_may_run_a_pod_on_its_way_out_is_not_replaced() -> None:
    world = world_with(1, **AT_MOST)
    (pod,) = world.pods()
    world.delete(PODS, pod)
    world.run(10)
    assert list(world.pods()) == [pod]
    world.stop_pods()
    world.run(1)
    assert len(live(world)) == 1


def test_a_statefulset_gets_its_name_back_once_the_supervisor_has_ended_its_pod() -> None:
    world = SilentWorld({"n1": "a", "n2": "a"}, deadline=60)
    unforgiving = template(tolerations=[{**TOLERATIONS[0], "tolerationSeconds": 0}])
    world.add(
        STATEFULSETS,
        "db",
        spec={"replicas": 1, "serviceName": "db", "selector": selector(), "template": unforgiving},
    )
    world.settle_all()
    world.start_on("n1")
    uid = _pod(world, "db-0")["metadata"]["uid"]
    world.hush("n1")
    world.run(64)
    assert _pod(world, "db-0")["metadata"]["uid"] == uid
    world.run(3)
    assert _pod(world, "db-0")["metadata"]["uid"] != uid


# The node is gone


def test_pods_of_a_deleted_node_are_released_after_a_while_and_forgotten() -> None:
    world = world_with(2)
    (pod,) = on(world, "n1")
    world.delete(NODES, "n1", "")
    world.run(39)
    assert world.released(pod) == ("False", "NodeGone")
    world.run(3)
    assert pod not in world.pods()
    assert len(live(world)) == 2


def test_a_policy_that_comes_later_than_a_node_goes_wakes_its_pods_and_its_status_does_not() -> None:
    world = world_with(2)
    assert on(world, "n1")
    world.delete(NODES, "n1", "")
    world.hear()
    policy = world.get(EVIDENCE_POLICIES, "", "default")
    assert policy is not None
    decider, name = release_decider(), EVIDENCE_POLICIES.name
    assert list(woken(decider, name, None, policy, world)) == [Key(NODES.name, "", "n1")]
    counted = structs.replace(policy, status=structs.replace(policy.status, state="Braked"))
    assert list(woken(decider, name, policy, counted, world)) == []


def test_a_node_that_stays_away_has_its_released_pods_forgotten() -> None:
    spec = default_spec()
    spec["rows"][0]["acts"][3]["afterSeconds"] = 200
    world = world_with(2, spec=spec)
    (pod,) = on(world, "n1")
    world.hush("n1")
    world.run(80)
    assert world.released(pod)[0] == "True"
    world.run(185)
    assert pod in world.pods()
    world.run(12)
    assert pod not in world.pods()
    assert len(live(world)) == 2


def test_a_policy_that_is_being_deleted_holds_until_it_is_gone() -> None:
    world = world_with(2)
    (pod,) = on(world, "n1")
    world.edit(EVIDENCE_POLICIES, "default", {"metadata": {"finalizers": ["example.com/kept"]}}, "")
    world.edit(EVIDENCE_POLICIES, "default", {"metadata": {"deletionTimestamp": timestamp(world.now)}}, "")
    world.hush("n1")
    world.run(80)
    assert world.released(pod) == ("True", "NodeSilent")


def test_a_policy_without_a_row_for_nodes_that_are_gone_is_named_on_their_pods() -> None:
    spec = default_spec()
    spec["rows"] = [row for row in spec["rows"] if row["signal"] != "NodeGone"]
    world = world_with(2, spec=spec)
    (pod,) = on(world, "n1")
    world.delete(NODES, "n1", "")
    world.run(100)
    assert world.released(pod) == ("False", "AwaitingConfirmation")
    conditions = _pod(world, pod)["status"]["conditions"]
    (told,) = (each["message"] for each in conditions if each["type"] == RELEASED)
    assert "no row of EvidencePolicy/default" in told
    assert f"kubectl delete pod {pod} -n default --force" in told


def _no_more_than(world: SilentWorld, count: int) -> None:
    assert len(live(world)) <= count


def _pod(world: SilentWorld, name: str) -> Any:
    return world.objects[Key(PODS.name, "default", name)]


def _ready(world: SilentWorld, name: str) -> tuple[str, str]:
    (found,) = (each for each in _pod(world, name)["status"]["conditions"] if each["type"] == "Ready")
    return found["status"], found.get("reason", "")


def _confirm(world: SilentWorld, node: str) -> None:
    taints = world.objects[Key(NODES.name, "", node)]["spec"].get("taints") or []
    taint = {"key": OUT_OF_SERVICE, "value": "confirmed", "effect": "NoExecute"}
    world.edit(NODES, node, {"spec": {"taints": [*taints, taint]}}, "")


def test_no_node_gets_its_turn_before_the_one_before_is_done() -> None:
    """Whoever carries releases out is held up for minutes: they must not come all at once afterwards."""
    nodes = {f"n{number}": "a" for number in range(8)}
    world = world_with(8, nodes)
    everybody = world.deciders
    world.deciders = tuple(each for each in everybody if each.name != "release")
    world.hush("n0", "n1", "n2")
    world.run(200)
    assert [each["node"] for each in world.zone("a")["released"]] == ["n0"]
    world.deciders = everybody
    world.run(1)
    assert sum(world.released(name)[0] == "True" for name in world.pods()) <= 2
