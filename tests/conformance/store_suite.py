"""What every store must do, as plain functions of a harness. `test_store.py` runs each on each journal.

To hold another journal to the contract, give its opener to a Harness and call every function in CHECKS.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairlead.store.contract import (
    OPERATIONS_MAX,
    Absent,
    AtRevision,
    CommitFailed,
    Committed,
    Compacted,
    FutureRevision,
    HasUid,
    Note,
    Precondition,
    PreconditionFailed,
    Retention,
    Transaction,
)
from fairlead.store.machine import StoreLimits
from tests.conformance.store_harness import Harness, delete, key, names, put, story, transact

Check = Callable[[Harness], None]

FORGET = Retention(seconds=0.0)
KEEP = Retention(seconds=1e9)


def committed(harness: Harness, transaction: Transaction) -> list[int]:
    outcome = harness.run(transaction)
    assert isinstance(outcome, Committed), outcome
    return [entry.revision for entry in outcome.entries]


def revisions_are_contiguous_in_a_transaction_and_rise(harness: Harness) -> None:
    assert committed(harness, transact(put(key("a")), put(key("b")))) == [1, 2]
    assert committed(harness, transact(put(key("a")), delete(key("b")))) == [3, 4]
    assert harness.store.revision == 4
    assert story(harness.published) == ["ADDED a@1", "ADDED b@2", "MODIFIED a@3", "DELETED b@4"]


def the_revision_is_joined_into_the_value(harness: Harness) -> None:
    committed(harness, transact(put(key("a"), "one")))
    committed(harness, transact(put(key("a"), "two")))
    entry = harness.store.get(key("a"))
    assert entry is not None
    assert entry.data == b'{"metadata":{"resourceVersion":"2","name":"a"},"value":"two"}'
    assert (entry.revision, entry.previous, entry.uid) == (2, 1, "u1")


def a_deletion_carries_the_last_state_at_its_own_revision(harness: Harness) -> None:
    committed(harness, transact(put(key("a"), "one")))
    committed(harness, transact(delete(key("a"), value="last")))
    change = harness.published[-1]
    assert change.entry.revision == 2
    assert b'"resourceVersion":"2"' in change.entry.data
    assert b'"last"' in change.entry.data
    assert change.before is not None
    assert change.before.revision == 1
    assert harness.store.get(key("a")) is None


def what_is_pending_is_not_read(harness: Harness) -> None:
    ticket = harness.submit(transact(put(key("a"))))
    harness.flush()
    assert harness.store.get(key("a")) is None
    assert harness.store.list("pods") == ()
    assert ticket not in harness.outcomes
    harness.settle()
    assert harness.store.get(key("a")) is not None
    assert isinstance(harness.outcomes[ticket], Committed)


def preconditions_are_judged_against_pending_state(harness: Harness) -> None:
    first = harness.submit(transact(put(key("a")), when=[Absent(key("a"))]))
    second = harness.submit(transact(put(key("a"), uid="u2"), when=[Absent(key("a"))]))
    third = harness.submit(transact(put(key("a"), "x"), when=[AtRevision(key("a"), 1)]))
    assert not harness.outcomes
    harness.settle()
    assert isinstance(harness.outcomes[first], Committed)
    refused = harness.outcomes[second]
    assert isinstance(refused, PreconditionFailed)
    assert refused.precondition == Absent(key("a"))
    assert refused.current is not None
    assert refused.current.revision == 1
    assert isinstance(harness.outcomes[third], Committed)


def a_refusal_waits_for_the_state_it_rests_on(harness: Harness) -> None:
    committed(harness, transact(put(key("a"))))
    harness.submit(transact(put(key("a"), "new"), when=[AtRevision(key("a"), 1)]))
    stale = harness.submit(transact(put(key("a"), "lost"), when=[AtRevision(key("a"), 1)]))
    elsewhere = harness.submit(transact(put(key("b")), when=[HasUid(key("b"), "u1")]))
    assert isinstance(harness.outcomes[elsewhere], PreconditionFailed), (
        "rests on durable state: answered at once"
    )
    harness.flush()
    behind = harness.submit(transact(put(key("a"), "lost"), when=[AtRevision(key("a"), 1)]))
    assert stale not in harness.outcomes
    assert behind not in harness.outcomes
    harness.carry_out()
    for ticket in (stale, behind):
        outcome = harness.outcomes[ticket]
        assert isinstance(outcome, PreconditionFailed)
        assert outcome.current == harness.store.get(key("a"))


def a_refused_transaction_changes_nothing_at_all(harness: Harness) -> None:
    committed(harness, transact(put(key("a"))))
    bad = Transaction((put(key("b")), put(key("a"))), (AtRevision(key("a"), 7),), (Note("audit", b"{}"),))
    assert isinstance(harness.run(bad), PreconditionFailed)
    assert harness.store.get(key("b")) is None
    assert harness.journal.notes("audit", 0, 10) == []
    assert committed(harness, transact(put(key("c")))) == [2]


def each_precondition_says_when_it_does_not_hold(harness: Harness) -> None:
    committed(harness, transact(put(key("a"), uid="u1")))
    cases: list[tuple[Precondition, bool]] = [
        (Absent(key("a")), False),
        (Absent(key("z")), True),
        (AtRevision(key("a"), 1), True),
        (AtRevision(key("a"), 2), False),
        (AtRevision(key("z"), 1), False),
        (HasUid(key("a"), "u1"), True),
        (HasUid(key("a"), "u2"), False),
        (HasUid(key("z"), "u1"), False),
    ]
    for precondition, holds in cases:
        outcome = harness.run(transact(when=[precondition]))
        assert isinstance(outcome, Committed if holds else PreconditionFailed), precondition


def deleting_implies_the_uid(harness: Harness) -> None:
    committed(harness, transact(put(key("a"), uid="u2")))
    for target in (delete(key("a"), uid="u1"), delete(key("z"), uid="u1")):
        outcome = harness.run(transact(target))
        assert isinstance(outcome, PreconditionFailed)
        assert outcome.precondition == HasUid(target.key, "u1")
    assert committed(harness, transact(delete(key("a"), uid="u2"))) == [2]


def an_object_made_anew_is_added_again_without_a_past(harness: Harness) -> None:
    committed(harness, transact(put(key("a"))))
    committed(harness, transact(delete(key("a"))))
    committed(harness, transact(put(key("a"), uid="u2")))
    entry = harness.store.get(key("a"))
    assert entry is not None
    assert (entry.previous, harness.published[-1].type) == (0, "ADDED")


def malformed_transactions_fail_and_write_nothing(harness: Harness) -> None:
    many = [put(key(f"n{number}")) for number in range(OPERATIONS_MAX + 1)]
    twice = [put(key("a")), delete(key("a"))]
    for operations in (many, twice):
        outcome = harness.run(transact(*operations))
        assert isinstance(outcome, CommitFailed)
        assert outcome.reason == "InvalidTransaction"
    assert harness.store.revision == 0
    assert len(committed(harness, transact(*many[:OPERATIONS_MAX]))) == OPERATIONS_MAX


def lists_are_ordered_by_namespace_and_name(harness: Harness) -> None:
    for name, namespace in [("b", "y"), ("a", "y"), ("c", "x"), ("a-1", "y"), ("z", "")]:
        committed(harness, transact(put(key(name, namespace))))
    committed(harness, transact(put(key("n1", "", "nodes"))))
    assert names(harness.store.list("pods")) == ["/z", "x/c", "y/a", "y/a-1", "y/b"]
    assert names(harness.store.list("pods", "y")) == ["y/a", "y/a-1", "y/b"]
    assert names(harness.store.list("nodes")) == ["/n1"]
    assert harness.store.list("leases") == ()
    held = harness.store.list("pods", "y")
    committed(harness, transact(delete(key("a", "y"))))
    assert names(held) == ["y/a", "y/a-1", "y/b"], "a list that was handed out does not change"
    assert names(harness.store.list("pods", "y")) == ["y/a-1", "y/b"]


def the_past_can_be_read_again(harness: Harness) -> None:
    committed(harness, transact(put(key("a"), "one"), put(key("b"))))
    committed(harness, transact(put(key("a"), "two")))
    committed(harness, transact(delete(key("b"))))
    committed(harness, transact(put(key("c"))))
    for _ in range(2):
        store = harness.store
        assert [names(store.list_at("pods", "", revision)) for revision in range(6)] == [
            [],
            ["default/a"],
            ["default/a", "default/b"],
            ["default/a", "default/b"],
            ["default/a"],
            ["default/a", "default/c"],
        ]
        at_one, at_three = store.get_at(key("a"), 1), store.get_at(key("a"), 3)
        assert at_one is not None
        assert b'"one"' in at_one.data
        assert at_three is not None
        assert b'"two"' in at_three.data
        assert store.get_at(key("b"), 4) is None
        assert store.get_at(key("b"), 1) is None
        assert store.get_at(key("c"), 4) is None
        assert store.list_at("pods", "elsewhere", 2) == ()
        harness.restart()  # once from memory, once from the journal


def the_future_cannot_be_read(harness: Harness) -> None:
    committed(harness, transact(put(key("a"))))
    for ask in (
        lambda: harness.store.get_at(key("a"), 2),
        lambda: harness.store.list_at("pods", "", 2),
        lambda: harness.store.changes_after(2, "pods", 10),
        lambda: harness.hub.subscribe("pods", "", None, 2),
    ):
        with pytest.raises(FutureRevision):
            ask()


def changes_are_told_from_any_revision(harness: Harness) -> None:
    committed(harness, transact(put(key("a")), put(key("n", "", "nodes"))))
    committed(harness, transact(put(key("a"), "x")))
    committed(harness, transact(delete(key("a"))))
    for _ in range(2):
        store = harness.store
        assert story(store.changes_after(0, "pods", 10)) == ["ADDED a@1", "MODIFIED a@3", "DELETED a@4"]
        assert story(store.changes_after(1, "pods", 1)) == ["MODIFIED a@3"]
        assert story(store.changes_after(0, "", 10)) == [
            "ADDED a@1",
            "ADDED n@2",
            "MODIFIED a@3",
            "DELETED a@4",
        ]
        befores = [change.before and change.before.revision for change in store.changes_after(0, "pods", 10)]
        assert befores == [None, 1, 3]
        harness.restart()


def everything_survives_a_restart(harness: Harness) -> None:
    committed(harness, Transaction((put(key("a"), "one"), put(key("b"))), (), (Note("audit", b'"first"'),)))
    committed(harness, transact(put(key("a"), "two"), delete(key("b"))))
    before = (harness.store.revision, harness.store.list("pods"))
    harness.submit(transact(put(key("never"))))
    harness.restart()
    assert (harness.store.revision, harness.store.list("pods")) == before
    assert harness.journal.notes("audit", 0, 10) == [(1, 1000.0, Note("audit", b'"first"', 2))]
    assert committed(harness, transact(put(key("c")))) == [5]


def compaction_moves_the_floor_and_keeps_the_present(harness: Harness) -> None:
    for value in ("one", "two", "three"):
        committed(harness, transact(put(key("a"), value)))
    committed(harness, transact(put(key("b")), put(key("n", "", "nodes"))))
    committed(harness, transact(delete(key("b"))))
    harness.compact(FORGET)
    store = harness.store
    assert store.floor("pods") == 6
    assert store.floor("nodes") == 5
    for ask in (
        lambda: store.get_at(key("a"), 5),
        lambda: store.list_at("pods", "", 5),
        lambda: store.changes_after(5, "pods", 10),
        lambda: harness.hub.subscribe("pods", "", None, 5),
    ):
        with pytest.raises(Compacted):
            ask()
    assert store.list_at("nodes", "", 5) == store.list("nodes")
    assert names(store.list_at("pods", "", 6)) == ["default/a"]
    harness.restart()
    assert harness.store.revision == 6, (
        "the newest change was a tombstone, now forgotten: its revision is not"
    )
    assert harness.store.floor("pods") == 6
    assert names(harness.store.list("pods")) == ["default/a"]
    assert harness.journal.versions([1, 2, 3, 4, 6]).keys() == {3}
    assert committed(harness, transact(put(key("a"), "four"))) == [7]
    assert names(harness.store.list_at("pods", "", 6)) == ["default/a"]


def history_is_kept_by_age(harness: Harness) -> None:
    for value in ("one", "two", "three"):
        committed(harness, transact(put(key("a"), value)))
        harness.now += 10.0
    harness.compact(Retention(seconds=25.0))
    assert harness.store.floor("pods") == 1
    assert harness.store.get_at(key("a"), 1) is not None
    with pytest.raises(Compacted):
        harness.store.get_at(key("a"), 0)


def history_is_kept_by_size(harness: Harness) -> None:
    for number in range(10):
        committed(harness, transact(put(key("a"), f"{number:0100d}")))
    size = len(harness.published[-1].entry.data)
    harness.compact(Retention(seconds=1e9, bytes_max=3 * size))
    assert harness.store.floor("pods") == 7
    harness.compact(KEEP)
    assert harness.store.floor("pods") == 7, "floors only rise"
    for number in range(2):
        committed(harness, transact(put(key("a"), f"{number:099d}")))
    harness.compact(Retention(seconds=1e9, bytes_max=3 * size))
    assert harness.store.floor("pods") == 9, "what came after the first compaction counts too"


def what_a_floor_frees_is_still_there_until_the_next_compaction(harness: Harness) -> None:
    committed(harness, transact(put(key("a"), "one")))
    committed(harness, transact(put(key("a"), "two")))
    floors = harness.journal.compact(harness.now, {"": FORGET}, 100)
    assert floors == {"pods": 2}
    assert harness.journal.versions([1]).keys() == {1}
    harness.journal.compact(harness.now, {"": FORGET}, 100)
    assert harness.journal.versions([1, 2]).keys() == {2}


def compaction_does_a_bounded_amount_at_a_time(harness: Harness) -> None:
    for number in range(30):
        committed(harness, transact(put(key("a"), str(number))))
    harness.compact(FORGET, times=1, budget=100)
    assert harness.store.floor("pods") == 30
    before = 30
    for _ in range(7):
        harness.compact(FORGET, times=1, budget=5)
        left = len(harness.journal.versions(range(1, 31)))
        assert before - left <= 5
        before = left
    assert left == 1


def a_failed_append_fails_everyone_and_the_store_recovers(harness: Harness) -> None:
    committed(harness, transact(put(key("a"), "one")))
    for moment, revisions in (("before", [2]), ("after", [4])):
        tickets = [harness.submit(transact(put(key("a"), moment)))]
        harness.flush()
        tickets.append(harness.submit(transact(put(key("b")))))
        tickets.append(harness.submit(transact(put(key("b")), when=[Absent(key("b"))])))
        harness.journal.fail_next = moment
        harness.settle()
        assert [type(harness.outcomes[ticket]) for ticket in tickets] == [CommitFailed] * 3
        assert committed(harness, transact(put(key("c")))) == revisions
        assert harness.store.get(key("b")) is None
    assert story(harness.published) == ["ADDED a@1", "ADDED c@2", "MODIFIED a@3", "MODIFIED c@4"]
    assert harness.published[2].before is not None
    assert harness.published[2].before.revision == 1
    assert story(harness.store.changes_after(0, "pods", 10)) == story(harness.published)


def notes_are_bounded_logs_with_their_own_numbers(harness: Harness) -> None:
    for number in range(5):
        both = (Note("audit", b"%d" % number), Note("other", b"x"))
        assert committed(harness, Transaction(notes=both)) == []
    assert harness.store.revision == 0, "notes are no changes"
    assert harness.journal.notes("audit", 2, 2) == [
        (3, 1000.0, Note("audit", b"2")),
        (4, 1000.0, Note("audit", b"3")),
    ]
    harness.restart()
    committed(harness, Transaction(notes=(Note("audit", b"5"),)))
    assert harness.journal.notes("audit", 5, 9) == [(6, 1000.0, Note("audit", b"5"))]
    assert harness.journal.notes("none", 0, 9) == []


def a_watch_from_the_past_neither_misses_nor_repeats(harness: Harness) -> None:
    for number in range(7):
        committed(harness, transact(put(key(f"old{number}")), put(key("n", "", "nodes"))))
    harness.restart()
    subscription = harness.hub.subscribe("pods", "", None, 2)
    seen = story(harness.hub.take(subscription, 2))
    committed(harness, transact(put(key("new1"))))
    while subscription.ready:
        seen += story(harness.hub.take(subscription, 2))
    committed(harness, transact(put(key("new2"))))
    seen += story(harness.hub.take(subscription))
    assert seen == [f"ADDED old{number}@{2 * number + 1}" for number in range(1, 7)] + [
        "ADDED new1@15",
        "ADDED new2@16",
    ]
    assert harness.hub.progress(subscription) == 16


CHECKS: tuple[Check, ...] = (
    revisions_are_contiguous_in_a_transaction_and_rise,
    the_revision_is_joined_into_the_value,
    a_deletion_carries_the_last_state_at_its_own_revision,
    what_is_pending_is_not_read,
    preconditions_are_judged_against_pending_state,
    a_refusal_waits_for_the_state_it_rests_on,
    a_refused_transaction_changes_nothing_at_all,
    each_precondition_says_when_it_does_not_hold,
    deleting_implies_the_uid,
    an_object_made_anew_is_added_again_without_a_past,
    malformed_transactions_fail_and_write_nothing,
    lists_are_ordered_by_namespace_and_name,
    the_past_can_be_read_again,
    the_future_cannot_be_read,
    changes_are_told_from_any_revision,
    everything_survives_a_restart,
    compaction_moves_the_floor_and_keeps_the_present,
    history_is_kept_by_age,
    history_is_kept_by_size,
    what_a_floor_frees_is_still_there_until_the_next_compaction,
    compaction_does_a_bounded_amount_at_a_time,
    a_failed_append_fails_everyone_and_the_store_recovers,
    notes_are_bounded_logs_with_their_own_numbers,
    a_watch_from_the_past_neither_misses_nor_repeats,
)

# Bounds that force every way of reading history: from memory, and from the journal.
LIMITS = (StoreLimits(), StoreLimits(window_changes_max=1, batch_changes_max=2))
