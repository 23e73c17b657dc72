"""A priority that an override gives: whom it helps, for how long, and that nothing of it is left afterwards."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from fairlead.core.times import timestamp
from fairlead.ledger.override import premise_of
from fairlead.model.key import Key
from fairlead.model.views import OVERRIDES, Owner, Pod, SchedulerOverride
from fairlead.schedule.contract import SchedulingAttempt
from fairlead.schedule.cycle import Cycle
from fairlead.schedule.registry import default_policy
from fairlead.schedule.snapshot import Snapshot
from fairlead.schedule.waiting import State, WaitingPods
from tests.unit.schedule.clusters import cluster, node, pod, viewed

NOW = 1_800_000_000.0


def rush(
    value: int, *raised: Pod, lasts: float = 60.0, policy: str = "", name: str = "rush"
) -> SchedulerOverride:
    changes = {"priorityClassName": "urgent", "priorityReplicas": 2}
    spec = {
        "target": "replicaset/web",
        "expiresAt": timestamp(NOW + lasts),
        "changes": changes,
        "priority": {"value": value, "preemptionPolicy": policy or "PreemptLowerPriority"},
    }
    named = [
        {"namespace": "default", "name": each.metadata.name, "uid": each.metadata.uid} for each in raised
    ]
    meta = {"name": name, "namespace": "default", "uid": name}
    return viewed({"metadata": meta, "spec": spec, "status": {"raised": named}}, SchedulerOverride)


def web(name: str, on: str = "", cpu: str = "3", priority: int = 0, **more: Any) -> Pod:
    made = pod(name, on, cpu, priority=priority, **more)
    owner = Owner(api_version="apps/v1", kind="ReplicaSet", name="web", uid="web", controller=True)
    return structs.replace(made, metadata=structs.replace(made.metadata, owner_references=(owner,)))


def batch(name: str, on: str = "") -> Pod:
    return pod(name, on, "3", priority=100)


def laid(
    snapshot: Snapshot, override: SchedulerOverride, before: SchedulerOverride | None = None
) -> Snapshot:
    snapshot.observe(OVERRIDES.name, before, override)
    return snapshot


def tried(snapshot: Snapshot, found: Pod) -> SchedulingAttempt:
    return Cycle(snapshot, default_policy()).place(found, assume=False)


def full() -> Snapshot:
    return cluster((node("a"),), (batch("batch", "a"),))


def test_who_is_raised_pushes_out_what_is_above_its_own_priority_until_the_end() -> None:
    waits = web("w")
    snapshot = laid(full(), rush(1000, waits))
    assert [each.key.name for each in tried(snapshot, waits).victims] == ["batch"]
    assert not snapshot.expire(NOW + 59)
    assert snapshot.expire(NOW + 60)
    assert tried(snapshot, waits).victims == ()


def test_another_pod_of_the_target_has_its_own() -> None:
    snapshot = laid(full(), rush(1000, web("w")))
    assert tried(snapshot, web("other")).victims == ()
    assert snapshot.facts_for(web("other")).own is None


def test_a_namesake_of_one_that_was_raised_is_not() -> None:
    known = web("w")
    again = structs.replace(known, metadata=structs.replace(known.metadata, uid="another"))
    assert tried(laid(full(), rush(1000, known)), again).victims == ()


def test_one_that_is_not_to_preempt_only_comes_first() -> None:
    waits = web("w")
    snapshot = laid(full(), rush(1000, waits, policy="Never"))
    attempt = tried(snapshot, waits)
    assert (attempt.victims, snapshot.priority_of(waits)) == ((), 1000)


def test_those_who_made_room_do_not_take_it_back_before_the_end() -> None:
    there = web("w", "a")
    snapshot = cluster((node("a"),), (there,))
    assert [each.key.name for each in tried(snapshot, batch("back")).victims] == ["w"]
    laid(snapshot, rush(1000, there))
    assert tried(snapshot, batch("back")).victims == ()
    snapshot.expire(NOW + 60)
    assert [each.key.name for each in tried(snapshot, batch("back")).victims] == ["w"]


def test_a_claim_counts_with_what_its_pod_has_now_also_if_only_assumed() -> None:
    waits = web("w")
    snapshot = laid(cluster((node("a"),)), rush(1000, waits))
    snapshot.nominate(waits, "a")
    assert tried(snapshot, batch("back")).victims == ()
    snapshot.expire(NOW + 60)
    (victim,) = tried(snapshot, batch("back")).victims
    assert (victim.key.name, victim.nominated) == ("w", True)
    assert snapshot.assumed[victim.key].facts.priority == 0
    snapshot.forget(victim.key, waits.metadata.uid)
    assert not snapshot.placed


def test_below_their_own_it_holds_for_all_that_wait_and_for_none_that_has_a_node() -> None:
    there, waits = web("there", "a", priority=500), web("w", priority=500)
    snapshot = laid(cluster((node("a"),), (there,)), rush(-5))
    assert (snapshot.priority_of(waits), snapshot.priority_of(there)) == (-5, 500)
    assert tried(snapshot, pod("other", cpu="3", priority=400)).victims == ()
    snapshot.expire(NOW + 60)
    assert snapshot.priority_of(waits) == 500


def test_what_it_says_of_others_is_taken_up_and_taken_back() -> None:
    first, second = web("first"), web("second")
    before, after = rush(1000, first), rush(1000, second)
    snapshot = laid(laid(full(), before), after, before)
    assert (snapshot.priority_of(first), snapshot.priority_of(second)) == (0, 1000)
    snapshot.observe(OVERRIDES.name, after, None)
    assert (snapshot.priority_of(second), bool(snapshot.priorities)) == (0, False)


def test_evictions_rest_on_the_override_only_where_the_priority_is_its() -> None:
    raised, override = web("w"), rush(1000, web("w"))
    snapshot = laid(full(), override)
    assert snapshot.priorities.premises_of(snapshot.facts_for(raised)) == (premise_of(override),)
    assert snapshot.priorities.premises_of(snapshot.facts_for(web("other"))) == ()
    lowered = laid(full(), rush(-5))
    assert lowered.priorities.premises_of(lowered.facts_for(web("w"))) == ()


def test_the_queue_is_in_the_new_order_and_wakes_who_was_raised() -> None:
    snapshot = full()
    queue = WaitingPods(priority_of=snapshot.priority_of)
    pods = [web("w"), batch("b"), web("refused")]
    keys = [Key("pods", "default", each.metadata.name) for each in pods]
    queue.put(keys[2], pods[2], 0.0, True)
    assert queue.pop(0.0) is not None
    queue.refused(keys[2], pods[2].metadata.uid, frozenset({"x"}), frozenset({"nodes"}), 0.0, 0.5)
    for key, each in zip(keys[:2], pods[:2], strict=True):
        queue.put(key, each, 5.0, True)
    assert [queue.position(each) for each in keys] == [1, 0, -1]
    laid(snapshot, rush(1000, pods[0], pods[2]))
    queue.reorder(snapshot.priorities.raised, 6.0)
    entry = queue.get(keys[2])
    assert entry is not None
    assert entry.state is State.ACTIVE
    found = []
    while (taken := queue.pop(6.0)) is not None:
        found.append(taken.pod.metadata.name)
    assert found == ["refused", "w", "b"]
