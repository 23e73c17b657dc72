"""A mirror joined to a real store and its hub in one process, as the plane joins them."""

from __future__ import annotations

from typing import Any

from fairlead.cache.events import Broke, Event, Expired, Framed, Instruction, Listed, Marked
from fairlead.cache.mirror import Mirror
from fairlead.model.key import Key
from fairlead.model.views import PODS, Pod
from fairlead.port.driving import Follow, ListAll, Started, WakeAt, Woke
from fairlead.store.contract import Compacted, Entry, Put, Remove, Retention, Transaction
from fairlead.store.memory import MemoryJournal
from fairlead.store.watch import Hub, Subscription
from tests.conformance.store_harness import Harness
from tests.unit.cache.objects import shown


def stored(kind: type[Any], name: str) -> Any:
    head = b'{"kind":"Pod","metadata":{"name":"%b","uid":"u","resourceVersion":"' % name.encode()
    return kind(Key("pods", "default", name), "u", head, b'"}}')


class Joined:
    """The smallest driver: in-process subscriptions, so no attempt numbers."""

    def __init__(self) -> None:
        journal = MemoryJournal()
        self.store = Harness(lambda: journal)
        self.mirror: Mirror[Pod] = Mirror(PODS)
        self.subscription: Subscription | None = None
        self.asked: list[Instruction] = []
        self.now = 0.0

    @property
    def hub(self) -> Hub:
        return self.store.hub

    def commit(self, *operations: Put | Remove) -> None:
        self.store.run(Transaction(operations))

    def tell(self, event: Event) -> None:
        for instruction in self.mirror.handle(event):
            self.asked.append(instruction)
            match instruction:
                case ListAll(name):
                    reader = self.store.store
                    self.tell(Listed(reader.revision, tuple(reader.list(name)), self.now))
                case Follow(name, since):
                    try:
                        self.subscription = self.hub.subscribe(name, "", None, since)
                    except Compacted:
                        self.tell(Expired(self.now))
                case WakeAt(at):
                    self.now = at

    def pump(self) -> None:
        subscription = self.subscription
        assert subscription is not None
        while subscription.ready:
            for change in self.hub.take(subscription):
                self.tell(Framed(change.type, change.entry, self.now))
        self.tell(Marked(self.hub.progress(subscription), self.now))

    def hang_up(self) -> None:
        assert self.subscription is not None
        self.hub.unsubscribe(self.subscription)
        self.tell(Broke("Closed", self.now))

    def wake(self) -> None:
        self.tell(Woke(self.now))

    def in_store(self) -> dict[str, int]:
        entries: list[Entry] = list(self.store.store.list("pods"))
        return {entry.key.name: entry.revision for entry in entries}


def test_it_follows_a_store_through_writes_breaks_and_compaction() -> None:
    joined = Joined()
    joined.commit(stored(Put, "a"), stored(Put, "b"))
    joined.tell(Started(0.0))
    assert shown(joined.mirror) == {"a": 1, "b": 2}

    joined.commit(stored(Put, "b"), stored(Put, "c"))
    joined.commit(stored(Remove, "a"))
    joined.commit(Put(Key("nodes", "", "n"), "u", b'{"r":"', b'"}'))
    joined.pump()
    assert shown(joined.mirror) == joined.in_store() == {"b": 3, "c": 4}
    assert joined.mirror.passed(6)

    joined.hang_up()
    joined.commit(stored(Put, "d"))
    joined.wake()
    joined.pump()
    assert shown(joined.mirror) == joined.in_store() == {"b": 3, "c": 4, "d": 7}
    assert joined.mirror.lists == 1

    joined.hang_up()
    joined.commit(stored(Remove, "b"), stored(Put, "d"))
    joined.store.now += 10.0
    joined.store.compact(Retention(seconds=0.0, bytes_max=0))
    joined.wake()
    assert joined.mirror.trouble == "Expired"
    joined.wake()
    joined.pump()
    assert shown(joined.mirror) == joined.in_store() == {"c": 4, "d": 9}
    assert (joined.mirror.lists, joined.mirror.behind) == (2, 0)
