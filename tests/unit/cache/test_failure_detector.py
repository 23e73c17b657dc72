"""When things were heard: silence is counted by the observer's own clock, and only while it could hear."""

from __future__ import annotations

import json

import pytest

from fairlead.cache.events import Broke, Framed, Listed, Marked
from fairlead.cache.mirror import Mirror
from fairlead.cache.view import MirrorView, NotMirrored
from fairlead.decision.failure_detector import PAUSE_SECONDS_MAX, FailureDetector
from fairlead.model.key import Key
from fairlead.model.views import LEASES, Lease
from fairlead.port.driving import Started, Woke
from fairlead.store.contract import ADDED, DELETED, MODIFIED, Entry

NODES = "kube-node-lease"


def entry(name: str, revision: int, namespace: str = NODES) -> Entry:
    body = {"metadata": {"name": name, "namespace": namespace, "uid": name, "resourceVersion": str(revision)}}
    return Entry(Key(LEASES.name, namespace, name), name, revision, json.dumps(body).encode())


def mirror(*names: str) -> Mirror[Lease]:
    made: Mirror[Lease] = Mirror(LEASES)
    made.failure_detector = FailureDetector()
    made.handle(Started(100.0))
    made.handle(Listed(5, tuple(entry(name, 3) for name in names), 100.0))
    return made


def silence(made: Mirror[Lease], name: str) -> float | None:
    assert made.failure_detector is not None
    found = made.failure_detector.sighting(Key(LEASES.name, NODES, name))
    return None if found is None else found.silent_seconds


def test_silence_grows_with_what_else_is_heard_and_ends_with_a_renewal() -> None:
    made = mirror("n1", "n2")
    made.handle(Framed(MODIFIED, entry("n2", 6), 110.0))
    assert (silence(made, "n1"), silence(made, "n2")) == (10.0, 0.0)
    made.handle(Marked(7, 118.0))  # a bookmark is a sign of life of the server too
    assert (silence(made, "n1"), silence(made, "n2")) == (18.0, 8.0)
    made.handle(Framed(MODIFIED, entry("n1", 8), 120.0))
    assert silence(made, "n1") == 0.0


def test_nothing_heard_is_no_silence() -> None:
    made = mirror("n1")
    made.handle(Broke("cut", 105.0))
    assert silence(made, "n1") == 0.0


@pytest.mark.parametrize(
    ("pause", "counted"), [(5.0, 5.0), (PAUSE_SECONDS_MAX, PAUSE_SECONDS_MAX), (600.0, PAUSE_SECONDS_MAX)]
)
def test_a_long_pause_counts_as_a_short_one(pause: float, counted: float) -> None:
    made = mirror("n1")
    made.handle(Marked(6, 100.0 + pause))
    assert silence(made, "n1") == counted
    made.handle(Marked(7, 101.0 + pause))
    assert silence(made, "n1") == counted + 1.0


def test_a_list_that_shows_the_same_version_is_no_renewal() -> None:
    made = mirror("n1", "n2")
    made.handle(Broke("cut", 101.0))
    made.handle(Woke(140.0))
    made.handle(Marked(5, 104.0))
    made.handle(Listed(9, (entry("n1", 3), entry("n2", 8)), 104.0))
    assert silence(made, "n1") == 4.0


def test_what_is_gone_is_not_silent() -> None:
    made = mirror("n1", "n2")
    made.handle(Framed(DELETED, entry("n1", 6), 130.0))
    assert silence(made, "n1") is None
    assert made.failure_detector is not None
    assert list(made.failure_detector.silent(NODES, 1.0).names) == ["n2"]


def test_who_is_silent_in_a_namespace_and_how_soon_the_next_may_be() -> None:
    made = mirror("n2", "n1", "n3")
    made.handle(Framed(ADDED, entry("leader", 6, "kube-system"), 102.0))
    made.handle(Framed(MODIFIED, entry("n3", 7), 108.0))
    made.handle(Marked(8, 112.0))
    assert made.failure_detector is not None
    found = made.failure_detector.silent(NODES, 10.0)
    assert list(found.names) == ["n1", "n2"]
    assert found.next_seconds == 6.0
    assert made.failure_detector.silent(NODES, 1.0).next_seconds == 0.0


def test_a_view_remembers_what_was_asked_about_silence() -> None:
    made = mirror("n1", "n2")
    made.handle(Framed(MODIFIED, entry("n2", 6), 110.0))
    view = MirrorView({LEASES.name: made})
    assert view.heard() == {}
    assert view.sighting(LEASES, NODES, "gone") is None
    view.silent(LEASES, NODES, 5.0)
    assert view.heard() == {
        "sightings": {f"{LEASES.name}/{NODES}/gone": None},
        "silent": [
            {
                "resource": LEASES.name,
                "namespace": NODES,
                "seconds": 5.0,
                "next": 5.0,
                "names": {"n1": [100.0, 10.0]},
            }
        ],
    }
    assert view.reads() == {LEASES.name: (6, 6)}


def test_who_asks_must_have_said_so() -> None:
    plain: Mirror[Lease] = Mirror(LEASES)
    with pytest.raises(NotMirrored, match="dated"):
        MirrorView({LEASES.name: plain}).sighting(LEASES, NODES, "n1")
