"""Which Events go, and when."""

from __future__ import annotations

import json

from fairlead.core.times import timestamp
from fairlead.model.key import Key
from fairlead.reconcile.event_expiry import EventExpiry
from fairlead.store.contract import ADDED, DELETED, MODIFIED, CommittedChange, Entry

NOW = 1_700_000_000.0
TTL = 3600.0


def entry(
    name: str, revision: int, resource: str = "events", at: float = NOW, last: float | None = None
) -> Entry:
    event = {"metadata": {"creationTimestamp": timestamp(at)}, "lastTimestamp": last and timestamp(last)}
    return Entry(Key(resource, "default", name), f"uid-{name}", revision, json.dumps(event).encode())


def due(expiry: EventExpiry, now: float, limit: int = 100) -> list[str]:
    return [request.name for request in expiry.due(now, limit)]


def seen(expiry: EventExpiry, *changes: tuple[str, str, int, float]) -> None:
    for kind, name, revision, now in changes:
        expiry.observe(CommittedChange(kind, entry(name, revision), None), now)


def test_an_event_goes_when_it_was_not_written_for_so_long() -> None:
    expiry = EventExpiry(TTL)
    seen(expiry, (ADDED, "a", 1, NOW), (ADDED, "b", 2, NOW + 10))
    assert due(expiry, NOW + TTL - 1) == []
    assert due(expiry, NOW + TTL) == ["a"]
    assert due(expiry, NOW + TTL + 10) == ["a", "b"]


def test_one_that_is_written_again_stays() -> None:
    expiry = EventExpiry(TTL)
    seen(expiry, (ADDED, "a", 1, NOW), (ADDED, "b", 2, NOW + 1), (MODIFIED, "a", 3, NOW + 100))
    assert due(expiry, NOW + TTL + 1) == ["b"]


def test_a_deletion_is_bound_to_the_version_that_expired() -> None:
    expiry = EventExpiry(TTL)
    seen(expiry, (ADDED, "a", 17, NOW))
    (request,) = expiry.due(NOW + TTL, 100)
    assert (request.verb, request.plural, request.namespace) == ("delete", "events", "default")
    assert json.loads(request.body)["preconditions"] == {"resourceVersion": "17"}


def test_what_is_gone_is_forgotten_and_other_kinds_are_none_of_ours() -> None:
    expiry = EventExpiry(TTL)
    seen(expiry, (ADDED, "a", 1, NOW), (DELETED, "a", 2, NOW))
    expiry.observe(CommittedChange(ADDED, entry("web", 3, "pods"), None), NOW)
    assert due(expiry, NOW + 2 * TTL) == []


def test_a_few_go_at_a_time() -> None:
    expiry = EventExpiry(TTL)
    seen(expiry, *((ADDED, f"e{number}", number + 1, NOW) for number in range(10)))
    assert due(expiry, NOW + TTL, limit=3) == ["e0", "e1", "e2"]


def test_the_oldest_go_when_there_are_too_many() -> None:
    expiry = EventExpiry(TTL, events_max=3)
    seen(expiry, *((ADDED, f"e{number}", number + 1, NOW) for number in range(5)))
    assert due(expiry, NOW) == ["e0", "e1"]


def test_after_a_restart_events_tell_themselves_how_old_they_are() -> None:
    expiry = EventExpiry(TTL)
    old, renewed = entry("old", 1, at=NOW - TTL), entry("renewed", 3, at=NOW - TTL, last=NOW - 5)
    copied = entry("copied", 2, at=NOW - 10, last=NOW - 10 * TTL)  # written a moment ago, about the past
    expiry.learn([renewed, old, copied])
    assert due(expiry, NOW) == ["old"]
    assert due(expiry, NOW + TTL) == ["old", "copied", "renewed"]
