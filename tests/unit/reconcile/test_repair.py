"""Repair: what is clear is removed once it is due, what is not is told and left, and nothing else is touched."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.times import timestamp
from fairlead.decision.contract import EFFECTS_MAX, SETTLED, Waiting
from fairlead.decision.effects import Delete
from fairlead.ledger import repair
from fairlead.model.key import Key
from fairlead.model.marks import GIVEN_UP
from fairlead.model.policy.evidence_rows import default_spec
from fairlead.model.policy.plane_knobs import SECTIONS
from fairlead.model.premise import Premise
from fairlead.model.views import EVIDENCE_POLICIES, JOBS, LEASES, NODES, PLANE_SETTINGS, PODS
from fairlead.reconcile.repair import ALL, repair_decider
from tests.unit.reconcile.waking import woken
from tests.unit.reconcile.world import NOW, World

NODE_GONE = Premise(Key("nodes", "", "gone"), 0)
DECIDER = repair_decider()
TRACKING = "batch.kubernetes.io/job-tracking"
LEASE_NS = "kube-node-lease"


def world(**knobs: Any) -> World:
    found = World()
    found.add(NODES, "here", spec={})
    found.add(EVIDENCE_POLICIES, "default", spec=default_spec())
    if knobs:
        found.add(PLANE_SETTINGS, "default", spec={"repair": knobs})
    return found


def pod(found: World, name: str = "one", node: str = "here", phase: str = "Running", **meta: Any) -> None:
    spec = {"containers": [{"name": "a", "image": "a"}]}
    status = {
        "phase": phase,
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": timestamp(NOW)}],
    }
    found.add(PODS, name, metadata=meta, spec=spec | ({"nodeName": node} if node else {}), status=status)


def owner(kind: str, version: str) -> list[dict[str, Any]]:
    return [{"apiVersion": version, "kind": kind, "name": "x", "uid": "u-x", "controller": True}]


def turn(found: World) -> Any:
    decision = found.decide(DECIDER, ALL)
    found.apply(decision.effects)
    return decision


def deleting(found: World, name: str, ago: float, **meta: Any) -> None:
    """As one whose grace was over so long ago."""
    gone = {"deletionTimestamp": timestamp(found.now - ago), "deletionGracePeriodSeconds": 30, **meta}
    found.overwrite(Key("pods", "default", name), lambda obj: obj["metadata"].update(gone))


def exists(found: World, name: str = "one") -> bool:
    return Key("pods", "default", name) in found.objects


def test_nothing_left_over_is_settled_and_looked_at_again() -> None:
    found = world()
    pod(found)
    pod(found, "ended", phase="Succeeded")
    pod(found, "waits", node="", phase="Pending")
    decision = turn(found)
    assert (decision.verdict, decision.effects, decision.events) == (SETTLED, (), ())
    assert decision.again_at == found.now + 20


def test_an_ended_pod_on_a_missing_node_is_marked_and_removed_when_its_time_is_over() -> None:
    found = world()
    pod(found, node="gone", phase="Failed")
    turn(found)
    (mark,) = [each for each in found.list(PODS)[0].status.conditions if each.type == "fairlead.dev/Leftover"]
    assert "Node gone is gone" in mark.message
    assert "(repair rule EndedPodOnMissingNode)" in mark.message
    assert turn(found).again_at == found.now + 20
    found.tick(39)
    assert turn(found).again_at == found.now + 1
    assert exists(found)
    found.tick(1)
    decision = turn(found)
    (delete,) = decision.effects
    assert isinstance(delete, Delete)
    assert (delete.grace_seconds, delete.premises) == (0, (NODE_GONE,))
    (note,) = decision.events
    assert (note.reason, note.after) == ("Repaired", 0)
    assert note.message.endswith("it is removed (repair rule EndedPodOnMissingNode)")
    assert not exists(found)


def test_an_ended_pod_on_a_missing_node_goes_also_if_its_deletion_was_asked_for() -> None:
    found = world()
    pod(found, node="lost", phase="Failed")
    deleting(found, "one", ago=5.0)
    turn(found)
    assert exists(found)  # marked: its time runs from here on
    found.tick(repair.MISSING_NODE_SECONDS + 1)
    turn(found)
    assert not exists(found)


def test_a_node_that_comes_back_takes_the_mark_away_and_starts_the_time_anew() -> None:
    found = world()
    pod(found, node="gone", phase="Failed")
    turn(found)
    found.add(NODES, "gone", spec={})
    turn(found)
    assert [each.type for each in found.list(PODS)[0].status.conditions] == ["Ready"]
    found.delete(NODES, "gone", namespace="")
    found.tick(1000)
    turn(found)
    assert turn(found).effects == ()
    assert exists(found)


def test_pods_that_have_not_ended_are_for_the_evidence_to_decide() -> None:
    found = world()
    pod(found, node="gone")
    found.tick(10_000)
    assert turn(found).effects == ()
    found.edit(EVIDENCE_POLICIES, "default", {"spec": {"rows": []}}, "")
    decision = turn(found)
    assert decision.effects == ()
    (note,) = decision.events
    assert (note.type, note.reason) == ("Warning", "RepairNeedsSomebody")
    assert "repair rule PodOnMissingNode" in note.message
    assert "kubectl delete pod one -n default --grace-period=0 --force" in note.message


def test_ended_pods_beyond_the_limit_go_earliest_first() -> None:
    found = world(endedPodsMax=2)
    for name in ("c", "a", "d", "b"):
        pod(found, name, phase="Succeeded")
        found.tick(10)
    pod(found, "runs")
    turn(found)
    assert sorted(each.metadata.name for each in found.list(PODS)) == ["b", "d", "runs"]
    assert turn(found).effects == ()


def test_without_a_limit_all_ended_pods_are_kept() -> None:
    found = world(endedPodsMax=0)
    for number in range(5):
        pod(found, f"p{number}", phase="Succeeded")
    assert turn(found).effects == ()


def test_many_take_several_turns() -> None:
    found = world(endedPodsMax=1)
    for number in range(EFFECTS_MAX + 6):
        pod(found, f"p{number:02}", phase="Succeeded")
    decision = turn(found)
    assert (len(decision.effects), decision.again_at) == (EFFECTS_MAX, found.now)
    turn(found)
    assert len(found.list(PODS)) == 1


@pytest.mark.parametrize(
    ("owners", "removed"),
    [
        ([], True),
        (owner("ReplicaSet", "apps/v1"), True),
        (owner("Job", "batch/v1"), False),
        (owner("Job", "example.com/v1"), False),
        (owner("Pipeline", "example.com/v1"), False),
    ],
)
def test_the_finalizer_of_a_job_is_removed_from_a_pod_that_is_of_none(
    owners: list[Any], removed: bool
) -> None:
    found = world()
    pod(found, finalizers=[TRACKING, "example.com/other"], ownerReferences=owners)
    decision = turn(found)
    left = found.list(PODS)[0].metadata.finalizers
    assert left == (("example.com/other",) if removed else (TRACKING, "example.com/other"))
    assert len(decision.events) == removed


@pytest.mark.parametrize(
    ("name", "owners", "ago", "removed"),
    [
        ("gone", [], 3600, True),
        ("gone", [], 3599, False),
        ("here", [], 100_000, False),
        ("gone", owner("Node", "v1"), 100_000, False),
    ],
)
def test_a_lease_that_is_nobodys_goes_an_hour_after_its_last_renewal(
    name: str, owners: list[Any], ago: float, removed: bool
) -> None:
    found = world()
    spec = {"renewTime": timestamp(NOW - ago)}
    found.add(LEASES, name, LEASE_NS, metadata={"ownerReferences": owners}, spec=spec)
    found.add(LEASES, "gone", "default", spec=spec)
    effects = turn(found).effects
    assert len(effects) == removed
    if removed:
        assert (effects[0].namespace, effects[0].premises) == (LEASE_NS, (NODE_GONE,))
    elif name == "gone" and not owners:
        assert turn(found).again_at == found.now + 1


def test_unknown_finalizers_are_told_and_left() -> None:
    found = world()
    pod(found)
    deleting(found, "one", 299, finalizers=["example.com/backup"])
    assert turn(found).events == ()
    found.tick(1)
    decision = turn(found)
    assert (decision.effects, exists(found)) == ((), True)
    (note,) = decision.events
    assert "it waits for example.com/backup (repair rule UnknownFinalizer)" in note.message
    assert note.occasion == turn(found).events[0].occasion
    assert isinstance(decision.verdict, Waiting)
    assert decision.verdict.message == "1 left to people (UnknownFinalizer): fairlead repair"


@pytest.mark.parametrize("finalizer", sorted(repair.OURS))
def test_finalizers_that_a_controller_removes_are_not_told(finalizer: str) -> None:
    found = world()
    pod(found)
    deleting(found, "one", 9999, finalizers=[finalizer])
    assert turn(found).events == ()


def test_a_pod_that_its_node_does_not_end_is_told_and_left() -> None:
    found = world()
    pod(found)
    deleting(found, "one", 300)
    decision = turn(found)
    assert (decision.effects, exists(found)) == ((), True)
    assert "repair rule NodeDoesNotEndPod" in decision.events[0].message


def test_a_pod_that_waits_for_a_human_is_told_with_what_to_do() -> None:
    found = world()
    pod(found)
    waiting = {
        "type": "fairlead.dev/Released",
        "status": "False",
        "reason": "AwaitingConfirmation",
        "lastTransitionTime": timestamp(NOW),
    }
    found.edit_status(PODS, "one", {"conditions": [waiting]})
    silent = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    found.edit(NODES, "here", {"spec": {"taints": [silent]}}, namespace="")
    (note,) = turn(found).events
    assert "kubectl taint node here node.kubernetes.io/out-of-service=confirmed:NoExecute" in note.message


def test_turned_off_it_only_reports() -> None:
    found = world(automatic=0, endedPodsMax=1, everySeconds=5)
    for name in ("a", "b"):
        pod(found, name, phase="Succeeded")
    pod(found, "tracked", finalizers=[TRACKING])
    before = found.revision
    decision = turn(found)
    assert (decision.effects, found.revision) == ((), before)
    assert decision.verdict == Waiting(
        "LeftoversFound", "2 only reported (EndedPodsOverLimit, JobFinalizerLeft): fairlead repair"
    )
    assert decision.again_at == found.now + 5
    assert list(woken(DECIDER, PLANE_SETTINGS.name, None, None)) == [ALL]
    found.edit(PLANE_SETTINGS, "default", {"spec": {"repair": {"automatic": 1}}}, namespace="")
    assert len(turn(found).effects) == 2


def test_whatever_is_found_ends_in_rest() -> None:
    """What is clear goes for good, and does not come back under another rule."""
    found = world(endedPodsMax=1)
    for number in range(4):
        pod(
            found, f"gone-{number}", node="gone", phase="Failed", finalizers=[TRACKING] if number == 2 else []
        )
        pod(found, f"here-{number}", phase="Succeeded")
    for _ in range(20):
        turn(found)
        found.tick(10)
    assert found.decide(DECIDER, ALL).verdict == SETTLED
    assert len(found.list(PODS)) == 1


def test_its_first_look_needs_no_event_and_every_rule_has_its_words() -> None:
    assert DECIDER.initial_keys == (ALL,)
    assert {knob.name for knob in SECTIONS["repair"].knobs} == {"automatic", "everySeconds", "endedPodsMax"}
    assert all(rule.act and not rule.remedy for rule in repair.CLEAR)
    assert all(rule.remedy and not rule.act for rule in repair.AMBIGUOUS)


# A finalizer that was taken away by hand is no clean-up


def job(found: World, succeeded: int, **spec: Any) -> None:
    """With the uid that `owner` names."""
    template = {"spec": {"containers": [{"name": "a", "image": "a"}], "restartPolicy": "Never"}}
    found.add(JOBS, "x", spec={"template": template, **spec})

    def count(obj: dict[str, Any]) -> None:
        obj["metadata"]["uid"] = "u-x"
        obj["status"] = {"succeeded": succeeded}

    found.overwrite(Key(JOBS.name, "default", "x"), count)


@pytest.mark.parametrize(("counted", "told"), [(2, 0), (1, 1), (0, 2)])
def test_pods_that_ended_well_and_were_let_go_are_no_more_than_their_job_has_counted(
    counted: int, told: int
) -> None:
    found = world()
    job(found, counted)
    for name in ("one", "two"):
        pod(found, name, phase="Succeeded", ownerReferences=owner("Job", "batch/v1"))
    decision = turn(found)
    notes = [note for note in decision.events if repair.NOT_COUNTED.cited in note.message]
    assert len(notes) == told
    assert not decision.effects
    for note in notes:
        assert f"has counted {counted} of 2" in note.message
        assert f'"finalizers":["{TRACKING}"]' in note.message


def test_what_still_has_its_finalizer_waits_to_be_counted() -> None:
    found = world()
    job(found, 0)
    pod(found, phase="Succeeded", ownerReferences=owner("Job", "batch/v1"), finalizers=[TRACKING])
    assert turn(found).verdict == SETTLED


def test_indexed_jobs_let_go_of_pods_that_they_do_not_count() -> None:
    found = world()
    job(found, 0, completionMode="Indexed", completions=1)
    pod(found, phase="Succeeded", ownerReferences=owner("Job", "batch/v1"))
    assert turn(found).verdict == SETTLED


def test_a_pod_that_its_job_gave_up_may_end_well_before_it_is_deleted() -> None:
    found = world()
    job(found, 0)
    marked = {GIVEN_UP: "true"}
    pod(found, phase="Succeeded", ownerReferences=owner("Job", "batch/v1"), annotations=marked)
    assert turn(found).verdict == SETTLED


def test_a_job_that_is_being_deleted_lets_go_of_what_it_has_not_counted() -> None:
    found = world()
    job(found, 0)

    def leave(obj: dict[str, Any]) -> None:
        obj["metadata"].update(deletionTimestamp=timestamp(NOW), finalizers=["foregroundDeletion"])

    found.overwrite(Key(JOBS.name, "default", "x"), leave)
    pod(found, phase="Succeeded", ownerReferences=owner("Job", "batch/v1"))
    assert turn(found).verdict == SETTLED
