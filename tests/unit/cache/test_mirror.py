"""The mirror machine: its transition table, what it refuses, how it relists and how it tries again."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.cache.events import (
    Broke,
    Changed,
    Event,
    Expired,
    Framed,
    Instruction,
    Listed,
    ListFailed,
    Marked,
)
from fairlead.cache.mirror import Mirror, MirrorBackoff, MirrorPhase
from fairlead.model.key import Key
from fairlead.model.views import PODS, Pod, Resource, Stored
from fairlead.port.driving import Follow, ListAll, Started, WakeAt, Woke
from fairlead.store.contract import ADDED, DELETED, MODIFIED, Entry
from fairlead.store.damage import stand_in
from tests.unit.cache.objects import entry, name_of, shown, unreadable

NOW = 1000.0
LONG_AFTER = NOW + 10_000.0
LISTED = Listed(10, (entry("a", 4), entry("b", 7)), NOW)

PATHS: dict[MirrorPhase, list[Event]] = {
    MirrorPhase.IDLE: [],
    MirrorPhase.LISTING: [Started(NOW)],
    MirrorPhase.FOLLOWING: [Started(NOW), LISTED],
    MirrorPhase.RESTING: [Started(NOW), LISTED, Expired(NOW)],
    MirrorPhase.PAUSING: [Started(NOW), LISTED, Broke("Closed", NOW)],
}
# Listing again with something to lose: only here can a list be older than the copy.
RELISTING: list[Event] = [Started(NOW), LISTED, Expired(NOW), Woke(LONG_AFTER)]
EVENTS: list[Event] = [
    Started(NOW),
    Listed(10, (), NOW),
    Listed(9, (), NOW),
    ListFailed("Timeout", NOW),
    Framed(ADDED, entry("c", 11), NOW),
    Marked(12, NOW),
    Broke("Closed", NOW),
    Expired(NOW),
    Woke(NOW),
    Woke(LONG_AFTER),
]


def mirror_after(events: list[Event], pace: MirrorBackoff | None = None) -> Mirror[Pod]:
    mirror = Mirror(PODS, pace)
    for event in events:
        mirror.handle(event)
    return mirror


def following(*entries: Entry, revision: int = 10) -> Mirror[Pod]:
    return mirror_after([Started(NOW), Listed(revision, entries, NOW)])


def changes(instructions: tuple[Instruction, ...]) -> list[tuple[str, str, str]]:
    """(name, revision before, revision after); "" where there is none."""
    seen = []
    for each in instructions:
        if isinstance(each, Changed):
            before: Any = each.before
            after: Any = each.after
            seen.append(
                (
                    each.key.name,
                    before.metadata.resource_version if before else "",
                    after.metadata.resource_version if after else "",
                )
            )
    return seen


def test_the_transition_table_in_the_docstring_is_what_the_machine_does() -> None:
    lines = [line.strip() for line in (Mirror.__doc__ or "").splitlines() if line.strip().startswith("|")]
    header, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    documented = {
        (row[0], event): set(cell.split()) - {"-"}
        for row in rows
        for event, cell in zip(header[1:], row[1:], strict=True)
    }
    observed: dict[tuple[str, str], set[str]] = {}
    for phase, path in [*PATHS.items(), (MirrorPhase.LISTING, RELISTING)]:
        for event in EVENTS:
            mirror = mirror_after(path)
            assert mirror.phase is phase
            reached = observed.setdefault((phase.name, type(event).__name__), set())
            before = (mirror.phase, mirror.revision, shown(mirror), mirror.failures)
            answer = mirror.handle(event)
            if answer or (mirror.phase, mirror.revision, shown(mirror), mirror.failures) != before:
                reached.add(mirror.phase.name)
    assert observed == documented


ASKS: list[tuple[list[Event], Event, Instruction]] = [
    ([], Started(NOW), ListAll("pods", 1)),
    (PATHS[MirrorPhase.LISTING], LISTED, Follow("pods", 10, 2)),
    (PATHS[MirrorPhase.LISTING], ListFailed("Timeout", NOW), WakeAt(NOW + 0.1, "pods")),
    (PATHS[MirrorPhase.LISTING], Expired(NOW), WakeAt(NOW + 0.1, "pods")),
    (RELISTING, Listed(9, (), NOW), WakeAt(NOW + 0.2, "pods")),
    (RELISTING, Listed(10, (), NOW), Follow("pods", 10, 4)),
    (PATHS[MirrorPhase.FOLLOWING], Broke("Closed", NOW), WakeAt(NOW + 0.1, "pods")),
    (PATHS[MirrorPhase.FOLLOWING], Expired(NOW), WakeAt(NOW + 0.1, "pods")),
    (PATHS[MirrorPhase.RESTING], Woke(NOW), WakeAt(NOW + 0.1, "pods")),
    (PATHS[MirrorPhase.RESTING], Woke(LONG_AFTER), ListAll("pods", 3)),
    (PATHS[MirrorPhase.PAUSING], Woke(NOW + 0.05), WakeAt(NOW + 0.1, "pods")),
    (PATHS[MirrorPhase.PAUSING], Woke(LONG_AFTER), Follow("pods", 10, 3)),
]


@pytest.mark.parametrize(("path", "event", "asked"), ASKS)
def test_each_phase_asks_for_what_it_waits_for(path: list[Event], event: Event, asked: Instruction) -> None:
    assert mirror_after(path).handle(event)[-1] == asked


def test_a_first_list_adds_everything_and_is_followed_from_its_revision() -> None:
    mirror = mirror_after([Started(NOW)])
    assert not mirror.synced
    assert not mirror.passed(0)
    answer = mirror.handle(LISTED)
    assert changes(answer) == [("a", "", "4"), ("b", "", "7")]
    assert answer[-1] == Follow("pods", 10, 2)
    assert mirror.synced
    assert (mirror.revision, mirror.passed(10), mirror.passed(11)) == (10, True, False)


def test_frames_move_the_copy_and_say_what_was_before() -> None:
    mirror = following(entry("a", 4))
    assert changes(mirror.handle(Framed(ADDED, entry("b", 12), NOW))) == [("b", "", "12")]
    assert changes(mirror.handle(Framed(MODIFIED, entry("a", 13), NOW))) == [("a", "4", "13")]
    assert changes(mirror.handle(Framed(DELETED, entry("b", 14), NOW))) == [("b", "12", "")]
    assert shown(mirror) == {"a": 13}
    assert mirror.revision == 14


@pytest.mark.parametrize(
    "frame",
    [
        Framed(ADDED, entry("b", 12), NOW),
        Framed(MODIFIED, entry("a", 9), NOW),
        Framed(MODIFIED, entry("a", 13), NOW),
        Framed(ADDED, entry("gone", 11), NOW),
        Framed(DELETED, entry("b", 10), NOW),
        Framed(MODIFIED, entry("b", 15), NOW),
    ],
    ids=[
        "the same again",
        "an older version",
        "the known version",
        "deleted since",
        "an older deletion",
        "the newest again",
    ],
)
def test_a_duplicate_or_late_frame_does_nothing(frame: Framed) -> None:
    mirror = following(entry("a", 4))
    for each in (
        Framed(ADDED, entry("gone", 11), NOW),
        Framed(ADDED, entry("b", 12), NOW),
        Framed(MODIFIED, entry("a", 13), NOW),
        Framed(DELETED, entry("gone", 14), NOW),
        Framed(MODIFIED, entry("b", 15), NOW),
    ):
        mirror.handle(each)
    assert mirror.handle(frame) == ()
    assert (shown(mirror), mirror.revision, mirror.ignored) == ({"a": 13, "b": 15}, 15, 1)


@pytest.mark.parametrize(
    "late",
    [
        Framed(ADDED, entry("z", 99), NOW, attempt=2),
        Marked(99, NOW, attempt=2),
        Broke("Closed", NOW, attempt=2),
        Expired(NOW, attempt=2),
        Listed(99, (), NOW, attempt=1),
        ListFailed("Timeout", NOW, attempt=1),
    ],
    ids=lambda event: type(event).__name__,
)
def test_what_comes_of_a_call_that_was_given_up_has_no_effect(late: Event) -> None:
    mirror = mirror_after(PATHS[MirrorPhase.PAUSING])
    assert mirror.handle(Woke(LONG_AFTER)) == (Follow("pods", 10, 3),)
    assert mirror.handle(late) == ()
    assert (mirror.phase, mirror.revision, shown(mirror)) == (MirrorPhase.FOLLOWING, 10, {"a": 4, "b": 7})
    assert mirror.handle(Framed(ADDED, entry("c", 11), NOW, attempt=3)) != ()


def test_a_late_frame_ahead_of_the_copy_is_heard_of_so_that_the_copy_is_known_to_be_behind() -> None:
    mirror = mirror_after([*PATHS[MirrorPhase.PAUSING], Woke(LONG_AFTER)])
    mirror.handle(Framed(ADDED, entry("z", 15), NOW, attempt=2))
    assert (mirror.newest_seen, mirror.behind) == (15, 5)


def test_a_relist_becomes_the_differences_deletions_first() -> None:
    mirror = mirror_after(RELISTING)
    answer = mirror.handle(Listed(20, (entry("b", 15), entry("c", 12)), NOW))
    assert changes(answer) == [("a", "4", ""), ("b", "7", "15"), ("c", "", "12")]
    assert answer[-1] == Follow("pods", 20, 4)


def test_a_relist_of_a_store_that_lost_changes_brings_back_what_was_before_them() -> None:
    mirror = mirror_after(RELISTING)
    answer = mirror.handle(Listed(20, (entry("a", 4), entry("b", 3)), NOW))
    assert changes(answer) == [("b", "7", "3")]
    assert mirror.revision_of(entry("b", 3).key) == 3


@pytest.mark.parametrize("how", ["frame", "list"])
def test_what_is_deleted_leaves_nothing_behind(how: str) -> None:
    mirror = following(entry("a", 4))
    if how == "frame":
        mirror.handle(Framed(DELETED, entry("a", 11), NOW))
    else:
        for event in (Expired(NOW), Woke(LONG_AFTER), Listed(20, (), NOW)):
            mirror.handle(event)
    assert (len(mirror.index), mirror._revisions) == (0, {})


def test_a_relist_that_says_nothing_new_changes_nothing() -> None:
    mirror = mirror_after(RELISTING)
    assert mirror.handle(Listed(20, LISTED.entries, NOW)) == (Follow("pods", 20, 4),)


def test_an_object_that_was_replaced_under_its_name_is_gone_before_the_new_one_comes() -> None:
    mirror = mirror_after(RELISTING)
    answer = mirror.handle(Listed(20, (entry("a", 15, uid="other"), entry("b", 7)), NOW))
    assert changes(answer) == [("a", "4", ""), ("a", "", "15")]


def test_a_list_older_than_the_copy_is_refused_and_asked_for_again() -> None:
    mirror = mirror_after(RELISTING)
    assert mirror.handle(Listed(9, (entry("a", 4),), NOW)) == (WakeAt(NOW + 0.2, "pods"),)
    assert (shown(mirror), mirror.revision, mirror.trouble) == ({"a": 4, "b": 7}, 10, "StaleList")
    assert mirror.handle(Woke(LONG_AFTER)) == (ListAll("pods", 4),)


def test_a_bookmark_moves_the_revision_forward_only() -> None:
    mirror = following()
    assert mirror.handle(Marked(15, NOW)) == ()
    assert mirror.passed(15)
    mirror.handle(Marked(12, NOW))
    assert mirror.revision == 15
    assert mirror.handle(Broke("Closed", NOW)) != ()
    assert mirror.handle(Woke(LONG_AFTER)) == (Follow("pods", 15, 3),)


def test_a_frame_moves_the_revision_to_its_own_only_whatever_was_heard_of() -> None:
    mirror = following()
    mirror.heard_of(30)
    mirror.handle(Framed(ADDED, entry("a", 12), NOW))
    assert (mirror.revision, mirror.newest_seen, mirror.behind, mirror.passed(13)) == (12, 30, 18, False)
    mirror.heard_of(20)
    assert mirror.newest_seen == 30


@pytest.mark.parametrize(
    "said", [Framed(ADDED, entry("c", 11), NOW), Marked(11, NOW)], ids=["frame", "bookmark"]
)
def test_delays_double_to_a_bound_and_start_over_after_a_watch_that_delivered(said: Event) -> None:
    mirror = mirror_after([Started(NOW), LISTED], MirrorBackoff(1.0, 5.0, 0.0))
    delays = []
    for _ in range(5):
        (wake,) = mirror.handle(Broke("Closed", NOW))
        assert isinstance(wake, WakeAt)
        delays.append(wake.at - NOW)
        mirror.handle(Woke(wake.at))
    assert delays == [1.0, 2.0, 4.0, 5.0, 5.0]
    mirror.handle(said)
    assert mirror.handle(Broke("Closed", NOW)) == (WakeAt(NOW + 1.0, "pods"),)


def test_a_list_alone_does_not_start_the_delays_over() -> None:
    mirror = mirror_after([Started(NOW)], MirrorBackoff(1.0, 60.0, 0.0))
    delays = []
    for revision in (10, 20, 30):
        mirror.handle(Listed(revision, (), NOW))
        (wake,) = mirror.handle(Expired(NOW))
        assert isinstance(wake, WakeAt)
        delays.append(wake.at - NOW)
        mirror.handle(Woke(wake.at))
    assert delays == [1.0, 2.0, 4.0]


def test_a_watch_that_held_for_long_without_a_word_starts_the_delays_over() -> None:
    mirror = mirror_after(
        [Started(NOW), ListFailed("Timeout", NOW), Woke(LONG_AFTER)], MirrorBackoff(1.0, 60.0, 0.0)
    )
    mirror.handle(Listed(10, (), LONG_AFTER))
    assert mirror.failures == 1
    assert mirror.handle(Broke("Closed", LONG_AFTER + 60)) == (WakeAt(LONG_AFTER + 61, "pods"),)


@pytest.mark.parametrize(("chance", "delay"), [(0.0, 5.0), (0.5, 10.0), (0.75, 12.5)])
def test_chance_that_came_with_the_last_wake_spreads_the_next_delay(chance: float, delay: float) -> None:
    mirror = mirror_after([Started(NOW, chance)], MirrorBackoff(10.0, 60.0, 0.5))
    assert mirror.handle(ListFailed("Timeout", NOW)) == (WakeAt(NOW + delay, "pods"),)
    mirror.handle(Woke(LONG_AFTER, 0.5))
    assert mirror.handle(ListFailed("Timeout", NOW)) == (WakeAt(NOW + 20.0, "pods"),)


def test_trouble_is_shown_until_it_follows_again() -> None:
    mirror = mirror_after(PATHS[MirrorPhase.PAUSING])
    assert mirror.trouble == "Closed"
    mirror.handle(Woke(LONG_AFTER))
    assert mirror.trouble == ""


def test_an_object_that_cannot_be_decoded_is_kept_as_metadata_and_reported() -> None:
    mirror = following()
    assert mirror.handle(Framed(ADDED, unreadable("bad", 11, labels={"app": "x"}), NOW)) == ()
    (report,) = mirror.troubled()
    assert (report.key, report.revision) == (Key("pods", "default", "bad"), 11)
    assert report.metadata.labels == {"app": "x"}
    assert "nodeName" in report.message
    assert (shown(mirror), mirror.revision) == ({}, 11)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b'{"metadata":{}}', b'{"metadata":"\xff"}', b"[" * 100_000], ids=range(6)
)
def test_no_bytes_can_stop_a_mirror(data: bytes) -> None:
    mirror = following()
    key = Key("pods", "default", "bad")
    assert mirror.handle(Framed(ADDED, Entry(key, "u", 11, data), NOW)) == ()
    assert (mirror.unreadable[key].metadata.name, mirror.unreadable[key].metadata.uid) == ("bad", "u")
    assert changes(mirror.handle(Framed(ADDED, entry("good", 12), NOW))) == [("good", "", "12")]


def test_an_object_that_becomes_unreadable_is_gone_for_readers_until_it_is_readable_again() -> None:
    mirror = following(entry("a", 4))
    assert changes(mirror.handle(Framed(MODIFIED, unreadable("a", 11), NOW))) == [("a", "4", "")]
    assert mirror.handle(Framed(MODIFIED, unreadable("a", 12), NOW)) == ()
    assert changes(mirror.handle(Framed(MODIFIED, entry("a", 13), NOW))) == [("a", "", "13")]
    assert mirror.troubled() == ()


@pytest.mark.parametrize("how", ["frame", "list"])
def test_an_unreadable_object_that_is_deleted_is_no_longer_reported(how: str) -> None:
    mirror = following(unreadable("a", 4))
    assert len(mirror.troubled()) == 1
    if how == "frame":
        assert mirror.handle(Framed(DELETED, unreadable("a", 11), NOW)) == ()
    else:
        mirror.handle(Expired(NOW))
        mirror.handle(Woke(LONG_AFTER))
        assert mirror.handle(Listed(20, (), NOW)) == (Follow("pods", 20, 4),)
    assert mirror.troubled() == ()


def test_an_unreadable_object_that_did_not_change_is_not_decoded_again_by_a_relist() -> None:
    mirror = following(unreadable("a", 4))
    kept = mirror.unreadable[Key("pods", "default", "a")]
    for event in (Expired(NOW), Woke(LONG_AFTER), Listed(20, (unreadable("a", 4),), NOW)):
        mirror.handle(event)
    assert mirror.unreadable[Key("pods", "default", "a")] is kept


def test_what_is_reported_to_people_is_bounded_and_in_order() -> None:
    mirror = following(*(unreadable(f"p{number:02}", 5) for number in reversed(range(40))))
    assert [report.key.name for report in mirror.troubled(3)] == ["p00", "p01", "p02"]
    assert len(mirror.troubled()) == 16


def test_a_changed_instruction_carries_the_very_views_that_readers_get() -> None:
    mirror = following()
    (changed,) = mirror.handle(Framed(ADDED, entry("a", 11), NOW))
    assert isinstance(changed, Changed)
    assert changed.after is mirror.index.get(changed.key)
    assert name_of(changed.after) == "a"


AS_STORED: Resource[Any] = Resource("pods", "v1", "Pod", Stored)


@pytest.mark.parametrize("resource", [PODS, AS_STORED])
def test_a_stand_in_is_not_shown_and_one_whose_mark_stands_elsewhere_is_the_clients_own(
    resource: Resource[Any],
) -> None:
    mirror = Mirror(resource)
    key = Key("pods", "default", "a")
    marked = entry("b", 5)
    data = marked.data.replace(
        b'"labels":{}', b'"labels":{},"annotations":{"fairlead.dev/damaged":"so they say"}'
    )
    for event in (Started(NOW), Listed(4, (entry("a", 4),), NOW)):
        mirror.handle(event)
    mirror.handle(Framed(MODIFIED, stand_in(key, 5, "uid-a", "its bytes are others", b""), NOW))
    mirror.handle(Framed(ADDED, Entry(marked.key, marked.uid, 6, data), NOW))
    assert [each.damaged for each in mirror.unreadable.values()] == [True]
    assert mirror.index.get(key) is None
    assert mirror.index.get(marked.key) is not None
    mirror.handle(Framed(MODIFIED, entry("a", 7), NOW))
    assert not mirror.unreadable
    assert mirror.index.get(key) is not None


@pytest.mark.parametrize("resource", [PODS, AS_STORED])
def test_what_is_being_deleted_is_known_by_the_version_that_first_said_so(resource: Resource[Any]) -> None:
    mirror = Mirror(resource)
    mirror.handle(Started(NOW))
    mirror.handle(Listed(4, (entry("a", 4), entry("b", 3)), NOW))
    leaving = entry("a", 5).data.replace(b'"labels"', b'"deletionTimestamp":"2026-01-01T00:00:00Z","labels"')
    key = Key("pods", "default", "a")
    for revision in (5, 6):
        mirror.handle(Framed(MODIFIED, Entry(key, "uid-a", revision, leaving), NOW))
        assert mirror.deleting == {key: 5}
    mirror.handle(Framed(MODIFIED, entry("a", 7), NOW))  # as after a restore: another object's state
    assert mirror.deleting == {}
    mirror.handle(Framed(MODIFIED, Entry(key, "uid-a", 8, leaving), NOW))
    mirror.handle(Framed(DELETED, Entry(key, "uid-a", 9, leaving), NOW))
    assert mirror.deleting == {}
