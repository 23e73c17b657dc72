"""The judge of the kill test is itself judged: each way to break a promise must be noticed."""

from __future__ import annotations

import pytest

from tests.e2e.history import Event, History, Object, Write


def kept(name: str, revision: int, marker: str, uid: str = "u1", content: str = "c") -> Object:
    return {
        "metadata": {"name": name, "uid": uid, "resourceVersion": str(revision)},
        "data": {"marker": marker, "content": content},
    }


CREATED, CHANGED, GONE = kept("a", 5, "m1"), kept("a", 7, "m2"), kept("a", 9, "m2")
EVENTS = (Event("ADDED", CREATED), Event("MODIFIED", CHANGED), Event("DELETED", GONE))
WRITES = (
    Write("m1", "a", "acknowledged", content="c", answered=CREATED),
    Write("m2", "a", "acknowledged", expected=5, content="c", answered=CHANGED),
    Write("m3", "a", "acknowledged", deletes="u1"),
    Write("m4", "a", "refused", content="c"),
    Write("m5", "a", "unknown", content="c"),
)


def judged(events: tuple[Event, ...], writes: tuple[Write, ...], newest_before: int = 4) -> list[str]:
    history = History()
    for event in events:
        history.observe(event)
    history.settle(writes, newest_before)
    return history.problems


def test_kept_promises_are_not_complained_about() -> None:
    assert judged(EVENTS, WRITES) == []


@pytest.mark.parametrize(
    ("events", "writes", "complaint"),
    [
        (EVENTS[:1], WRITES[:2], "acknowledged write m2 of a at 7 is lost"),
        (EVENTS[:2], WRITES[:3], "acknowledged deletion of a (u1) is lost"),
        ((*EVENTS[:2], EVENTS[1]), WRITES[:2], "repeated or out of order"),
        ((EVENTS[1], EVENTS[0]), (), "repeated or out of order"),
        (EVENTS[1:], (), "a creation is missing"),
        ((EVENTS[0], Event("ADDED", kept("a", 8, "m8", "u2"))), (), "a deletion is missing"),
        ((EVENTS[0], Event("MODIFIED", kept("a", 8, "m8", "u2"))), (), "changed its uid"),
        ((EVENTS[0], Event("MODIFIED", kept("a", 8, "m1"))), (), "write m1 happened twice: at 5 and 8"),
        (EVENTS, (Write("m2", "a", "refused"),), "was refused, but happened"),
        (EVENTS, (Write("m2", "a", "unknown", content="cc"),), "is there in part only"),
        (EVENTS, (Write("m2", "a", "unknown", expected=4, content="c"),), "expected 4, but replaced 5"),
        (
            EVENTS,
            (Write("m1", "a", "acknowledged", answered=kept("a", 5, "m1", "u9")),),
            "otherwise than it was kept",
        ),
        (
            EVENTS,
            (Write("m2", "a", "acknowledged", expected=6, answered=CHANGED),),
            "expected 6, but replaced 5",
        ),
    ],
)
def test_a_broken_promise_is_noticed(
    events: tuple[Event, ...], writes: tuple[Write, ...], complaint: str
) -> None:
    assert any(complaint in problem for problem in judged(events, writes)), judged(events, writes)


def test_a_revision_that_was_in_use_before_the_restart_is_noticed() -> None:
    assert "write m1 got revision 5, but 6 was in use already" in judged(EVENTS, WRITES[:1], newest_before=6)


@pytest.mark.parametrize("listed", [[], [CREATED], [CHANGED, kept("b", 6, "m6")]])
def test_a_list_that_differs_from_the_events_is_noticed(listed: list[Object]) -> None:
    history = History()
    for event in EVENTS[:2]:
        history.observe(event)
    history.compare([CHANGED], 8)
    assert history.problems == []
    history.compare(listed, 8)
    assert history.problems
