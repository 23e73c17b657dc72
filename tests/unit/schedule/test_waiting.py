"""The queue of pods without a node: order, back-off, what wakes whom, and that no wake-up is lost."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model.key import Key
from fairlead.model.views import Meta, Pod, PodSpec
from fairlead.schedule import waiting as module
from fairlead.schedule.waiting import State, WaitingPods, WaitingSettings

FIT = frozenset({"NodeResourcesFit"})
ROOM = frozenset({"nodes", "pods.deleted"})


def pod(name: str, priority: int = 0, uid: str = "") -> Pod:
    return Pod(Meta(name=name, namespace="d", uid=uid or name), PodSpec(priority=priority))


def key(name: str) -> Key:
    return Key("pods", "d", name)


def put(queue: WaitingPods, name: str, now: float = 0.0, priority: int = 0, **more: Any) -> None:
    queue.put(key(name), pod(name, priority, **more), now, True)


def names(queue: WaitingPods, now: float) -> list[str]:
    found = []
    while (taken := queue.pop(now)) is not None:
        found.append(taken.pod.metadata.name)
    return found


def refuse(queue: WaitingPods, name: str, now: float, causes: frozenset[str] = ROOM) -> None:
    queue.refused(key(name), name, FIT, causes, now, 0.5)


def state(queue: WaitingPods, name: str) -> State:
    entry = queue.get(key(name))
    assert entry is not None
    return entry.state


def test_the_more_important_come_first_and_among_equals_who_came_first() -> None:
    queue = WaitingPods()
    for place, (name, priority) in enumerate((("a", 0), ("b", 5), ("c", 0), ("d", 5))):
        put(queue, name, float(place), priority)
    assert [queue.position(key(name)) for name in "bdac"] == [0, 1, 2, 3]
    assert names(queue, 10.0) == ["b", "d", "a", "c"]
    assert queue.position(key("a")) == -1


def test_a_priority_that_rises_while_it_waits_moves_it_forward() -> None:
    queue = WaitingPods()
    put(queue, "a")
    put(queue, "b")
    put(queue, "b", 1.0, 7)
    assert names(queue, 1.0) == ["b", "a"]


def test_back_off_doubles_up_to_its_bound() -> None:
    queue = WaitingPods(WaitingSettings(1.0, 10.0, 300.0))
    put(queue, "a")
    now, waits = 0.0, []
    for _ in range(6):
        assert names(queue, now) == ["a"]
        queue.put_back(key("a"), "a", now, 0.5)
        ready = queue.next_ready_at(now)
        assert ready is not None
        waits.append(ready - now)
        assert names(queue, ready - 0.01) == []
        now = ready
    assert waits == pytest.approx([1, 2, 4, 8, 10, 10])


@pytest.mark.parametrize(("cause", "woken"), [("nodes", True), ("pods.deleted", True), ("pods.added", False)])
def test_a_cause_wakes_only_who_waits_for_it(cause: str, woken: bool) -> None:
    queue = WaitingPods()
    put(queue, "a")
    names(queue, 0.0)
    refuse(queue, "a", 0.0)
    queue.caused(cause, 5.0)
    assert names(queue, 5.0) == (["a"] if woken else [])


def test_who_is_woken_within_its_back_off_rests_until_it_is_over() -> None:
    queue = WaitingPods()
    put(queue, "a")
    names(queue, 0.0)
    refuse(queue, "a", 0.0)
    queue.caused("nodes", 0.1)
    assert state(queue, "a") is State.RESTING
    assert names(queue, 0.9) == []
    assert names(queue, 1.0) == ["a"]


def test_who_waits_long_is_tried_anyhow_and_counted() -> None:
    queue = WaitingPods(WaitingSettings(flush_seconds=60.0))
    put(queue, "a")
    names(queue, 0.0)
    refuse(queue, "a", 0.0)
    assert queue.next_ready_at(1.0) == 60.0
    assert names(queue, 59.0) == []
    assert names(queue, 60.0) == ["a"]
    assert queue.flushed == 1


@pytest.mark.parametrize("flush", [20.0, 200.0])
def test_how_long_pods_wait_at_most_can_be_changed_while_they_wait(flush: float) -> None:
    queue = WaitingPods(WaitingSettings(flush_seconds=60.0))
    put(queue, "a")
    names(queue, 0.0)
    refuse(queue, "a", 0.0)
    queue.apply(WaitingSettings(flush_seconds=flush))
    assert queue.next_ready_at(1.0) == flush
    assert names(queue, flush - 1) == []
    assert names(queue, flush) == ["a"]
    assert queue.flushed == 1


def test_the_age_of_who_waits_longest() -> None:
    queue = WaitingPods()
    assert queue.oldest_since() == 0.0
    put(queue, "a", now=7.0)
    put(queue, "b", now=9.0)
    names(queue, 10.0)
    assert queue.oldest_since() == 7.0
    queue.gone(key("a"))
    assert queue.oldest_since() == 9.0


def test_a_timer_of_a_former_wait_wakes_nobody() -> None:
    queue = WaitingPods(WaitingSettings(flush_seconds=60.0))
    put(queue, "a")
    names(queue, 0.0)
    refuse(queue, "a", 0.0)
    queue.caused("nodes", 50.0)
    names(queue, 50.0)
    refuse(queue, "a", 50.0)
    assert names(queue, 60.0) == []
    assert queue.next_ready_at(60.0) == 110.0
    queue.gone(key("a"))
    assert queue.next_ready_at(60.0) is None


def test_who_is_gone_is_not_put_back_nor_is_its_namesake() -> None:
    queue = WaitingPods()
    put(queue, "a")
    names(queue, 0.0)
    put(queue, "a", 1.0, uid="another")
    assert names(queue, 1.0) == ["a"]
    queue.put_back(key("a"), "a", 1.0, 0.5)
    queue.refused(key("a"), "a", FIT, ROOM, 1.0, 0.5)
    assert state(queue, "a") is State.TAKEN
    queue.gone(key("a"))
    queue.caused("nodes", 2.0)
    assert len(queue) == 0


def test_a_change_that_does_not_matter_keeps_the_pod_and_wakes_nobody() -> None:
    queue = WaitingPods()
    put(queue, "a")
    names(queue, 0.0)
    refuse(queue, "a", 0.0)
    changed = msgspec.structs.replace(pod("a"), metadata=Meta("a", "a", "d", resource_version="7"))
    queue.put(key("a"), changed, 20.0, False)
    assert names(queue, 20.0) == []
    queue.put(key("a"), changed, 20.0, True)
    taken = queue.pop(20.0)
    assert taken is not None
    assert taken.pod is changed
    assert (taken.attempts, taken.woken_by) == (2, "PodUpdated")


@pytest.mark.parametrize("happens", ["caused", "changed"])
def test_what_happens_while_it_is_tried_is_weighed_when_it_is_refused(happens: str) -> None:
    queue = WaitingPods()
    put(queue, "a")
    names(queue, 0.0)
    if happens == "caused":
        queue.caused("nodes", 0.1)
    else:
        put(queue, "a", 0.1)
    refuse(queue, "a", 0.2)
    assert state(queue, "a") is State.RESTING
    assert names(queue, 2.0) == ["a"]
    refuse(queue, "a", 2.0)
    assert state(queue, "a") is State.WAITING  # nothing has happened since


_NAMES = st.sampled_from("ab")
_CAUSES = st.sampled_from(("nodes", "pods.deleted", "pods.added", "quotas"))
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), _NAMES),
        st.tuples(st.just("pop"), st.just("")),
        st.tuples(st.just("refused"), _NAMES),
        st.tuples(st.just("put back"), _NAMES),
        st.tuples(st.just("gone"), _NAMES),
        st.tuples(st.just("caused"), _CAUSES),
        st.tuples(st.just("later"), st.sampled_from(("0.5", "3", "20"))),
    ),
    max_size=60,
)


@settings(max_examples=120)
@given(_STEPS, st.sampled_from((4, 1024)))
def test_no_cause_is_lost_and_nobody_is_tried_twice_at_once(steps: Any, kept: int) -> None:
    """A model: for each pod whether it is being tried, and whether something that helps it has happened since it was
    last taken. Whoever waits has nothing of that kind behind it."""
    former, module.CAUSES_KEPT = module.CAUSES_KEPT, kept
    try:
        _run(WaitingPods(WaitingSettings(1.0, 10.0, 1e9)), steps)
    finally:
        module.CAUSES_KEPT = former


def _run(queue: WaitingPods, steps: Any) -> None:
    now = 0.0
    tried: set[str] = set()
    helped: set[str] = set()
    for what, which in steps:
        if what == "put":
            if which in tried:
                helped.add(which)
            put(queue, which, now)
        elif what == "pop":
            taken = queue.pop(now)
            if taken is not None:
                name = taken.pod.metadata.name
                assert name not in tried
                tried.add(name)
                helped.discard(name)
        elif what == "refused" and which in tried:
            refuse(queue, which, now)
            tried.discard(which)
        elif what == "put back" and which in tried:
            queue.put_back(key(which), which, now, 0.5)
            tried.discard(which)
        elif what == "gone":
            queue.gone(key(which))
            tried.discard(which)
            helped.discard(which)
        elif what == "caused":
            queue.caused(which, now)
            if which in ROOM:
                helped.update(name for name in "ab" if key(name) in queue)
        elif what == "later":
            now += float(which)
        for name in "ab":
            if key(name) in queue and state(queue, name) is State.WAITING:
                assert name not in helped
    for name in sorted(tried):
        refuse(queue, name, now)
    ready = set(names(queue, now + 100.0))
    assert helped <= ready
