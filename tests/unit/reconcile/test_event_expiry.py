"""Which Events go, and when: those of the living stay, few of each; those of the gone for a while."""

from __future__ import annotations

import json

import pytest

from fairlead.core.times import timestamp
from fairlead.model.key import Key
from fairlead.reconcile.event_expiry import EventExpiry, EventsKept, Involved
from fairlead.store.contract import ADDED, DELETED, MODIFIED, CommittedChange, Entry

NOW = 1_700_000_000.0
TTL = 3600.0


def entry(name: str, revision: int, about: str = "gone", at: float = NOW, last: float | None = None) -> Entry:
    event = {
        "metadata": {"creationTimestamp": timestamp(at)},
        "lastTimestamp": last and timestamp(last),
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": f"pod-{about}", "uid": about},
    }
    return Entry(Key("events", "default", name), f"uid-{name}", revision, json.dumps(event).encode())


class Expiry(EventExpiry):
    """Everything lives whose uid says so."""

    def __init__(self, **more: int) -> None:
        super().__init__(EventsKept(TTL, **more), lambda about: about.uid.startswith("live"))


def due(expiry: EventExpiry, now: float, limit: int = 100) -> list[str]:
    return [request.name for request in expiry.due(now, limit)]


def seen(expiry: EventExpiry, *changes: tuple[str, str, int, float], about: str = "gone") -> None:
    for kind, name, revision, now in changes:
        expiry.observe(CommittedChange(kind, entry(name, revision, about), None), now)


def went(expiry: EventExpiry, uid: str, now: float, resource: str = "pods", name: str = "x") -> None:
    gone = Entry(Key(resource, "" if resource == "nodes" else "default", name), uid, 99, b"{}")
    expiry.observe(CommittedChange(DELETED, gone, None), now)


def test_an_event_of_what_is_gone_goes_when_it_was_not_written_for_so_long() -> None:
    expiry = Expiry()
    seen(expiry, (ADDED, "a", 1, NOW), (ADDED, "b", 2, NOW + 10))
    assert due(expiry, NOW + TTL - 1) == []
    assert due(expiry, NOW + TTL) == ["a"]
    assert due(expiry, NOW + TTL + 10) == ["a", "b"]


def test_an_event_of_what_lives_stays_and_goes_a_while_after_its_object() -> None:
    expiry = Expiry()
    seen(expiry, (ADDED, "a", 1, NOW), about="live-1")
    assert due(expiry, NOW + 1000 * TTL) == []
    went(expiry, "live-2", NOW + TTL)
    assert due(expiry, NOW + 1000 * TTL) == [], "another object went"
    went(expiry, "live-1", NOW + 9 * TTL)
    assert due(expiry, NOW + 10 * TTL - 1) == []
    assert due(expiry, NOW + 10 * TTL) == ["a"]


def test_nodes_may_be_known_by_their_names() -> None:
    expiry = Expiry()
    seen(expiry, (ADDED, "a", 1, NOW), about="live-node")
    went(expiry, "its-uid", NOW, "nodes", "live-node")
    assert due(expiry, NOW + TTL) == ["a"]


def test_each_object_has_its_newest_few() -> None:
    expiry = Expiry(per_object=2)
    seen(expiry, *((ADDED, f"e{number}", number + 1, NOW) for number in range(4)), about="live-1")
    seen(expiry, (ADDED, "other", 9, NOW), about="live-2")
    assert due(expiry, NOW) == ["e0", "e1"]
    seen(expiry, (MODIFIED, "e0", 10, NOW + 1), about="live-1")
    assert due(expiry, NOW + 1) == ["e1", "e2"], "what was written again is among the newest"


def test_history_has_a_bound_of_its_own() -> None:
    expiry = Expiry(gone_max=2)
    seen(expiry, (ADDED, "old", 1, NOW), about="live-1")
    seen(expiry, *((ADDED, f"e{number}", number + 2, NOW) for number in range(3)))
    assert due(expiry, NOW) == ["e0"]


def test_where_there_are_too_many_in_all_those_of_the_gone_go_first() -> None:
    expiry = Expiry(events_max=3)
    seen(expiry, *((ADDED, f"l{number}", number + 1, NOW) for number in range(3)), about="live-1")
    seen(expiry, *((ADDED, f"g{number}", number + 5, NOW) for number in range(1)))
    assert due(expiry, NOW) == ["g0"]
    seen(expiry, (ADDED, "l3", 20, NOW), (ADDED, "l4", 21, NOW), about="live-2")
    assert due(expiry, NOW) == ["g0", "l0", "l1"]


def test_one_that_is_written_again_stays() -> None:
    expiry = Expiry()
    seen(expiry, (ADDED, "a", 1, NOW), (ADDED, "b", 2, NOW + 1), (MODIFIED, "a", 3, NOW + 100))
    assert due(expiry, NOW + TTL + 1) == ["b"]


def test_a_deletion_is_bound_to_the_version_that_expired() -> None:
    expiry = Expiry()
    seen(expiry, (ADDED, "a", 17, NOW))
    (request,) = expiry.due(NOW + TTL, 100)
    assert (request.verb, request.plural, request.namespace) == ("delete", "events", "default")
    assert json.loads(request.body)["preconditions"] == {"resourceVersion": "17"}


def test_what_was_removed_is_forgotten_altogether() -> None:
    expiry = Expiry(per_object=1)
    seen(expiry, (ADDED, "a", 1, NOW), (ADDED, "b", 2, NOW), (DELETED, "a", 3, NOW), (DELETED, "b", 4, NOW))
    assert due(expiry, NOW + 2 * TTL) == []
    assert [expiry._known, expiry._of, expiry._gone, expiry._surplus] == [{}, {}, {}, {}]


def test_a_few_go_at_a_time() -> None:
    expiry = Expiry()
    seen(expiry, *((ADDED, f"e{number}", number + 1, NOW) for number in range(10)))
    assert due(expiry, NOW + TTL, limit=3) == ["e0", "e1", "e2"]


def test_after_a_restart_events_tell_themselves_how_old_they_are() -> None:
    expiry = Expiry()
    old, renewed = entry("old", 1, at=NOW - TTL), entry("renewed", 3, at=NOW - TTL, last=NOW - 5)
    copied = entry("copied", 2, at=NOW - 10, last=NOW - 10 * TTL)  # written a moment ago, about the past
    alive = entry("alive", 4, "live-1", at=NOW - 9 * TTL)
    expiry.learn([renewed, old, copied, alive])
    assert due(expiry, NOW) == ["old"]
    assert due(expiry, NOW + TTL) == ["old", "copied", "renewed"]


@pytest.mark.parametrize("data", [b"", b"{", b'{"involvedObject": 3}', b"\xff"])
def test_what_cannot_be_read_goes_like_that_of_the_gone(data: bytes) -> None:
    expiry = Expiry()
    expiry.observe(CommittedChange(ADDED, Entry(Key("events", "d", "e"), "u", 1, data), None), NOW)
    assert due(expiry, NOW + TTL) == ["e"]


def test_objects_without_a_uid_are_told_apart_by_name() -> None:
    assert (
        Involved(kind="Pod", namespace="a", name="x").label
        != Involved(kind="Pod", namespace="b", name="x").label
    )
