"""What is made of silence: the marks of a node in their order, and that all of them go when it is heard again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairlead.core.times import timestamp
from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.effects import Change, ChangeStatus
from fairlead.model.key import Key
from fairlead.model.marks import NODE_LEASES, SILENT_SINCE
from fairlead.model.policy.evidence_rows import default_spec
from fairlead.model.views import EVIDENCE_POLICIES, LEASES, NODES
from fairlead.reconcile.nodes.health import ALL, node_health_decider
from fairlead.reconcile.nodes.marks import STARTING_SECONDS
from tests.unit.reconcile.nodes.silent_world import SilentWorld
from tests.unit.reconcile.world import Refused

UNREACHABLE = ["unreachable:NoSchedule", "unreachable:NoExecute"]


@pytest.mark.parametrize(
    ("silent_seconds", "taints", "ready"),
    [
        (10, [], "True"),
        (19, [], "True"),
        (20, ["suspect:NoSchedule"], "True"),
        (39, ["suspect:NoSchedule"], "True"),
        (40, UNREACHABLE, "Unknown"),
        (400, UNREACHABLE, "Unknown"),
    ],
)
def test_marks_come_in_their_order_and_all_go_when_it_is_heard(
    silent_seconds: int, taints: list[str], ready: str
) -> None:
    world = SilentWorld({"n1": "a", "n2": "a"})
    world.hush("n1")
    world.run(silent_seconds)
    assert (world.taints("n1"), world.ready("n1")) == (taints, ready)
    assert (world.taints("n2"), world.ready("n2")) == ([], "True")
    world.silenced.clear()
    world.renew()
    world.run(1)
    assert (world.taints("n1"), world.ready("n1")) == ([], "True")
    assert SILENT_SINCE not in world.objects[_node("n1")]["metadata"].get("annotations", {})


def test_each_act_cites_its_row() -> None:
    world = SilentWorld({"n1": "a", "n2": "a"})
    world.hush("n1")
    world.run(41)
    (ready,) = (
        each for each in world.objects[_node("n1")]["status"]["conditions"] if each["type"] == "Ready"
    )
    assert "EvidencePolicy/default row NodeLeaseSilent" in ready["message"]


def test_a_node_without_a_lease_gives_no_evidence() -> None:
    world = SilentWorld({"n1": "a", "n2": "a"})
    world.delete(LEASES, "n1", NODE_LEASES)
    world.edit_status(NODES, "n1", {"conditions": [{"type": "Ready", "status": "False"}]}, "")
    world.run(100)
    assert (world.taints("n1"), world.ready("n1")) == ([], "False")


def test_an_observer_who_is_cut_off_sees_no_silence() -> None:
    world = SilentWorld({"n1": "a", "n2": "a"})
    world.run(20)
    world.deafen()
    world.run(600)  # all renew, and it hears of none
    assert (world.taints("n1"), world.taints("n2")) == ([], [])
    world.deafen(False)
    world.run(30)
    assert (world.taints("n1"), world.taints("n2")) == ([], [])


def test_a_pause_of_the_observer_is_nobodys_silence() -> None:
    """Stopped for ten minutes with everything else, it hears its own lease first."""
    world = SilentWorld({"n1": "a", "n2": "a"})
    world.run(10)
    world.hush("n1", "n2")
    world.tick(600)
    world.run(1)
    assert (world.taints("n1"), world.taints("n2")) == ([], [])


def test_a_mark_commits_only_while_the_lease_is_as_it_was() -> None:
    world = SilentWorld({"n1": "a", "n2": "a"})
    world.hush("n1")
    world.run(19)
    world.tick(1)
    world.hear()
    decision = world.decide(world.deciders[0], next(iter(world._keys(world.deciders[0]))))
    (effect,) = decision.effects
    assert isinstance(effect, Change)
    world.silenced.clear()
    world.renew()
    with pytest.raises(Refused, match="leases"):
        world.apply([effect])


def test_a_plane_that_starts_anew_takes_nothing_back_before_it_hears_more() -> None:
    world = SilentWorld({"n1": "a", "n2": "a"})
    world.hush("n1")
    world.run(50)
    for _ in range(3):
        world.restart()
        world.run(30)
        assert (world.taints("n1"), world.ready("n1")) == (UNREACHABLE, "Unknown")
    world.silenced.clear()
    world.renew()
    world.run(1)
    assert (world.taints("n1"), world.ready("n1")) == ([], "True")


@pytest.mark.parametrize("seconds", [1, 15, 21, 35, 45])
def test_flapping_strands_nothing(seconds: int) -> None:
    world = SilentWorld({"n1": "a", "n2": "a"})
    for _ in range(4):
        world.hush("n1")
        world.run(seconds)
        world.silenced.clear()
        world.renew()
        world.run(2)
    assert (world.taints("n1"), world.ready("n1")) == ([], "True")
    before = world.revision
    world.settle_all()
    assert world.revision == before


def test_changing_the_policy_changes_what_happens_while_it_runs() -> None:
    world = SilentWorld({"n1": "a", "n2": "a"})
    world.hush("n1")
    world.run(6)
    assert world.taints("n1") == []
    spec = default_spec()
    spec["rows"][0]["acts"] = [{"act": "StopPlacement", "afterSeconds": 5}]
    world.edit(EVIDENCE_POLICIES, "default", {"spec": spec}, "")
    world.run(1)
    assert world.taints("n1") == ["suspect:NoSchedule"]
    world.run(100)
    assert (world.taints("n1"), world.ready("n1")) == (["suspect:NoSchedule"], "True"), (
        "no row marks it unknown"
    )


def test_without_the_policy_nodes_are_judged_by_the_built_in_rows_and_that_is_told() -> None:
    world = SilentWorld({"n1": "a", "n2": "a"})
    world.delete(EVIDENCE_POLICIES, "default", "")
    world.hush("n1")
    world.run(100)
    assert world.taints("n1") == ["unreachable:NoSchedule", "unreachable:NoExecute"]
    assert world.ready("n1") == "Unknown"
    node = world.get(NODES, "", "n1")
    assert node is not None
    (told,) = (each.message for each in node.status.conditions if each.type == "Ready")
    assert "(EvidencePolicy/default row NodeLeaseSilent, built in)" in told


def test_a_node_that_says_it_is_not_ready_is_believed_and_again_when_it_is() -> None:
    world = SilentWorld({"n1": "a", "n2": "a"})
    world.run(5)
    _say(world, "n1", "False")
    world.run(1)
    assert world.taints("n1") == ["not-ready:NoSchedule", "not-ready:NoExecute"]
    _say(world, "n1", "True")
    world.run(1)
    assert world.taints("n1") == []


def test_a_node_that_is_short_of_something_gets_nothing_new_and_keeps_what_it_has() -> None:
    world = SilentWorld({"n1": "a", "n2": "a"})
    world.run(1)
    _say(world, "n1", "True", DiskPressure="True", PIDPressure="False")
    (note,) = node_health_decider().decide(world, ALL, world.now).events
    assert note.reason == "NodeUnderPressure"
    assert "DiskPressure" in note.message
    assert "EvidencePolicy/default row NodeNotReady" in note.message
    world.run(1)
    assert (world.taints("n1"), world.taints("n2")) == (["disk-pressure:NoSchedule"], [])
    world.run(5)
    _say(world, "n1", "False", DiskPressure="True")
    world.run(1)
    both = ["disk-pressure:NoSchedule", "not-ready:NoSchedule", "not-ready:NoExecute"]
    assert sorted(world.taints("n1")) == sorted(both)
    _say(world, "n1", "True", DiskPressure="False")
    world.run(1)
    assert world.taints("n1") == []


_FIRST, _BOTH = ["not-ready:NoSchedule"], ["not-ready:NoSchedule", "not-ready:NoExecute"]


@pytest.mark.parametrize(
    ("what", "ready_at", "not_ready_at", "looked_at", "taints", "told"),
    [
        ("it has never been ready", None, 0, 1, _FIRST, []),
        ("nor is it after some seconds", None, 0, STARTING_SECONDS - 2, _FIRST, []),
        ("then somebody is told", None, 0, STARTING_SECONDS + 1, _BOTH, ["NodeNotReady"]),
        ("once", None, 0, 3 * STARTING_SECONDS, _BOTH, ["NodeNotReady"]),
        ("it was ready before", 0, 4, 5, _BOTH, ["NodeNotReady"]),
        ("it was ready long before", 0, 300, 301, _BOTH, ["NodeNotReady"]),
        ("it became ready", 5, 0, 3 * STARTING_SECONDS, [], []),
    ],
)
def test_a_new_node_that_is_not_ready_yet_alarms_nobody_in_its_first_seconds(
    what: str, ready_at: int | None, not_ready_at: int, looked_at: int, taints: list[str], told: list[str]
) -> None:
    """It gets no pods meanwhile, and one that stays as it is is told of all the same."""
    world = SilentWorld({"n1": "a", "n2": "a"})
    warned: dict[tuple[float, str], None] = {}
    world.deciders = (_telling(warned), *world.deciders[1:])
    for second in range(int(looked_at) + 1):
        for at, said in ((not_ready_at, "False"), (ready_at, "True")):
            if at == second and at:
                _say(world, "n1", said)
        if not second and not not_ready_at:
            _say(world, "n1", "False")
        world.run(1)
    assert world.taints("n1") == taints, what
    assert [reason for _, reason in warned] == told, what


def _telling(told: dict[tuple[float, str], None]) -> Decider:
    """Keeps when it tells what. A world may ask more than once for one turn."""
    inner = node_health_decider()

    def decide(view: Reading, key: Key, now: float) -> Decision:
        decision = inner.decide(view, key, now)
        told.update({(now, each.reason): None for each in decision.events if each.type == "Warning"})
        return decision

    return replace(inner, decide=decide)


def test_a_policy_that_never_drives_pods_out_for_it_is_told_of_at_once() -> None:
    spec = default_spec()
    for row in spec["rows"]:
        row["acts"] = [each for each in row["acts"] if each["act"] != "Evict"] or [
            {"act": "Report", "afterSeconds": 0}
        ]
    world = SilentWorld({"n1": "a", "n2": "a"}, spec)
    _say(world, "n1", "False")
    (note,) = node_health_decider().decide(world, ALL, world.now).events
    assert (note.type, note.reason) == ("Warning", "NodeNotReady")


def test_a_human_s_taint_is_dated_and_left() -> None:
    world = SilentWorld({"n1": "a", "n2": "a"})
    world.edit(NODES, "n1", {"spec": {"taints": [{"key": "broken", "effect": "NoExecute"}]}}, "")
    world.hush("n1")
    world.run(1)
    (taint,) = world.objects[_node("n1")]["spec"]["taints"]
    assert taint == {"key": "broken", "effect": "NoExecute", "timeAdded": timestamp(world.now)}
    world.run(45)
    world.silenced.clear()
    world.renew()
    world.run(1)
    assert world.objects[_node("n1")]["spec"]["taints"] == [taint]


def test_what_is_settled_is_not_written_again() -> None:
    world = SilentWorld({"n1": "a", "n2": "a"})
    world.hush("n1")
    world.run(60)
    count = sum(isinstance(each, Change | ChangeStatus) for each in world.writes)
    world.settle_all()
    assert sum(isinstance(each, Change | ChangeStatus) for each in world.writes) == count


def _node(name: str) -> Key:
    return Key(NODES.name, "", name)


def _say(world: SilentWorld, node: str, ready: str, **others: str) -> None:
    said = {**others, "Ready": ready}
    at = timestamp(world.now)
    conditions = [{"type": kind, "status": said[kind], "lastTransitionTime": at} for kind in said]
    world.edit_status(NODES, node, {"conditions": conditions}, "")
