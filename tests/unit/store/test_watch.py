"""The watch hub: who gets what, frames, selectors, hand-over from the past, and the cut of who is too slow."""

from __future__ import annotations

import msgspec
import pytest

from fairlead.model.key import Key
from fairlead.store.contract import ADDED, DELETED, MODIFIED, CommittedChange, Entry, Put, Transaction
from fairlead.store.events import Append, Appended, Flush, Publish, Submitted
from fairlead.store.machine import Store, StoreLimits
from fairlead.store.memory import MemoryJournal
from fairlead.store.watch import Hub, frame, seen_through, with_revision


class Plant:
    """A store whose publishing is in the test's hands."""

    def __init__(self, **bounds: int) -> None:
        self.journal = MemoryJournal()
        self.store = Store(self.journal.recover(), self.journal, StoreLimits(window_changes_max=0))
        self.hub = Hub(self.store, **bounds)

    def commit(
        self, *names: str, namespace: str = "default", resource: str = "pods"
    ) -> tuple[CommittedChange, ...]:
        """Durable and readable, but not published yet."""
        puts = tuple(Put(Key(resource, namespace, name), "u", b'{"r":"', b'"}') for name in names)
        self.store.handle(Submitted(1, Transaction(puts)))
        (append,) = self.store.handle(Flush(1.0))
        assert isinstance(append, Append)
        self.journal.append(append.batch)
        publish = self.store.handle(Appended())[0]
        assert isinstance(publish, Publish)
        return publish.changes


def taken(plant: Plant, subscription: object) -> list[str]:
    return [change.entry.key.name for change in plant.hub.take(subscription)]  # type: ignore[arg-type]


def test_a_change_goes_to_those_who_watch_its_resource_and_namespace() -> None:
    plant = Plant()
    everywhere = plant.hub.subscribe("pods", "", None, 0)
    here = plant.hub.subscribe("pods", "here", None, 0)
    there = plant.hub.subscribe("pods", "there", None, 0)
    nodes = plant.hub.subscribe("nodes", "", None, 0)
    assert plant.hub.publish(plant.commit("a", namespace="here")) == [everywhere, here]
    assert plant.hub.publish(plant.commit("n", namespace="", resource="nodes")) == [nodes]
    assert taken(plant, everywhere) == ["a"]
    assert taken(plant, here) == ["a"]
    assert not there.ready
    assert taken(plant, nodes) == ["n"]


def test_changes_of_several_places_in_one_commit_go_each_to_its_own_and_wake_in_the_order_of_the_changes() -> (
    None
):
    plant = Plant()
    nodes = plant.hub.subscribe("nodes", "", None, 0)
    there = plant.hub.subscribe("pods", "there", None, 0)
    here = plant.hub.subscribe("pods", "here", None, 0)
    everywhere = plant.hub.subscribe("pods", "", None, 0)
    changes = [
        change
        for name, namespace, resource in (
            ("a", "here", "pods"), ("n", "", "nodes"), ("b", "here", "pods"), ("c", "there", "pods"),
            ("d", "there", "jobs"), ("e", "here", "pods"),
        )
        for change in plant.commit(name, namespace=namespace, resource=resource)
    ]  # fmt: skip
    assert plant.hub.publish(changes) == [everywhere, here, nodes, there]
    assert taken(plant, everywhere) == ["a", "b", "c", "e"]
    assert taken(plant, here) == ["a", "b", "e"]
    assert taken(plant, there) == ["c"]
    assert taken(plant, nodes) == ["n"]


def test_who_unsubscribed_gets_nothing_and_leaves_nothing_behind() -> None:
    plant = Plant()
    first = plant.hub.subscribe("pods", "", None, 0)
    second = plant.hub.subscribe("pods", "", None, 0)
    plant.hub.unsubscribe(first)
    plant.hub.unsubscribe(first)
    assert plant.hub.publish(plant.commit("a")) == [second]
    plant.hub.unsubscribe(second)
    assert len(plant.hub) == 0
    assert plant.hub._index == {}


def test_a_frame_is_encoded_once_and_shared() -> None:
    plant = Plant()
    watchers = [plant.hub.subscribe("pods", "", None, 0) for _ in range(2)]
    plant.hub.publish(plant.commit("a"))
    first, second = (frame(plant.hub.take(watcher)[0]) for watcher in watchers)
    assert first is second
    assert first == b'{"type":"ADDED","object":{"r":"1"}}\n'


@pytest.mark.parametrize("bounds", [{"buffer_changes_max": 3}, {"buffer_bytes_max": 3 * len(b'{"r":"1"}')}])
def test_a_subscriber_that_does_not_keep_up_is_cut_and_its_buffer_dropped(bounds: dict[str, int]) -> None:
    plant = Plant(**bounds)
    slow = plant.hub.subscribe("pods", "", None, 0)
    brisk = plant.hub.subscribe("pods", "", None, 0)
    for name in "abc":
        plant.hub.publish(plant.commit(name))
        assert taken(plant, brisk) == [name]
    assert not slow.cut
    assert slow in plant.hub.publish(plant.commit("d")), "it is woken to learn of the cut"
    assert (slow.cut, slow.ready, plant.hub.take(slow), plant.hub.cuts) == (True, True, [], 1)
    assert plant.hub.publish(plant.commit("e")) == [brisk]
    assert taken(plant, brisk) == ["d", "e"]
    assert not brisk.cut


def test_taking_makes_room_in_the_buffer() -> None:
    plant = Plant(buffer_changes_max=2, buffer_bytes_max=2 * len(b'{"r":"1"}'))
    subscription = plant.hub.subscribe("pods", "", None, 0)
    for name in "abcdefgh":
        plant.hub.publish(plant.commit(name))
        assert len(plant.hub.take(subscription, 1)) == 1
    assert not subscription.cut


def test_what_was_read_in_the_past_is_not_repeated_when_it_is_published() -> None:
    plant = Plant()
    plant.hub.publish(plant.commit("a"))
    subscription = plant.hub.subscribe("pods", "", None, 0)
    committed = plant.commit("b")
    assert taken(plant, subscription) == ["a", "b"], "durable is readable, published or not"
    assert plant.hub.publish(committed) == []
    assert taken(plant, subscription) == []
    plant.hub.publish(plant.commit("c"))
    assert taken(plant, subscription) == ["c"]


def test_while_it_is_behind_nothing_is_buffered_and_nothing_missed() -> None:
    plant = Plant(catch_up_changes_max=2, buffer_changes_max=1)
    plant.hub.publish(plant.commit("a", "b", "c"))
    subscription = plant.hub.subscribe("pods", "", None, 0)
    seen = taken(plant, subscription)
    plant.hub.publish(plant.commit("d", "e", "f"))
    assert not subscription.cut
    while subscription.ready:
        seen += taken(plant, subscription)
    assert seen == list("abcdef")


def test_a_stretch_without_matches_is_empty_but_not_the_end() -> None:
    plant = Plant(catch_up_changes_max=2)
    plant.hub.publish(plant.commit("a", "b", "c", "wanted"))
    subscription = plant.hub.subscribe("pods", "", lambda entry: entry.key.name == "wanted", 0)
    assert taken(plant, subscription) == []
    assert subscription.ready
    assert taken(plant, subscription) == ["wanted"]


def test_a_bookmark_names_only_what_was_published_and_taken() -> None:
    plant = Plant()
    subscription = plant.hub.subscribe("pods", "", None, 0)
    nodes = plant.hub.subscribe("nodes", "", None, 0)
    committed = plant.commit("a")
    assert plant.hub.progress(subscription) == 0
    plant.hub.publish(committed)
    assert plant.hub.progress(subscription) == 0
    assert plant.hub.progress(nodes) == 1
    plant.hub.take(subscription)
    assert plant.hub.progress(subscription) == 1


def version(revision: int, label: str) -> Entry:
    data = b'{"kind":"Pod","metadata":{"name":"a","resourceVersion":"%d"},"label":"%b"}' % (
        revision,
        label.encode(),
    )
    return Entry(Key("pods", "default", "a"), "u", revision, data, revision - 1)


IN, OUT = "in", "out"


@pytest.mark.parametrize(
    ("kind", "before", "after", "expected"),
    [
        (ADDED, None, IN, ADDED),
        (ADDED, None, OUT, None),
        (MODIFIED, IN, IN, MODIFIED),
        (MODIFIED, OUT, IN, ADDED),
        (MODIFIED, IN, OUT, DELETED),
        (MODIFIED, OUT, OUT, None),
        (DELETED, IN, IN, DELETED),
        (DELETED, OUT, OUT, None),
        (DELETED, IN, OUT, DELETED),
        (DELETED, None, IN, DELETED),
        (MODIFIED, None, IN, ADDED),
    ],
)
def test_a_selector_turns_changes_into_what_its_watcher_sees(
    kind: str, before: str | None, after: str, expected: str | None
) -> None:
    change = CommittedChange(kind, version(2, after), version(1, before) if before else None)
    seen = seen_through(change, lambda entry: entry.data.endswith(b'"in"}'))
    assert (seen and seen.type) == expected
    if seen is not None:
        assert seen.entry.revision == 2
        assert b'"resourceVersion":"2"' in seen.entry.data


def test_what_stops_matching_is_deleted_in_its_last_matching_state_at_the_new_revision() -> None:
    change = CommittedChange(MODIFIED, version(2, OUT), version(1, IN))
    seen = seen_through(change, lambda entry: entry.data.endswith(b'"in"}'))
    assert seen is not None
    assert seen.entry.data == b'{"kind":"Pod","metadata":{"name":"a","resourceVersion":"2"},"label":"in"}'
    assert frame(seen).startswith(b'{"type":"DELETED","object":{"kind":"Pod"')


def test_another_revision_is_set_where_it_belongs_and_nowhere_else() -> None:
    data = (
        b'{"spec":{"resourceVersion":"7","n":1.50},'
        b'"metadata":{"labels":{"resourceVersion":"7"},"resourceVersion":"7"}}'
    )
    changed = with_revision(data, 8)
    assert changed == data[: data.rindex(b"7")] + b'8"}}'
    assert msgspec.json.decode(changed)["metadata"]["resourceVersion"] == "8"
