"""Server-side apply while somebody else writes or deletes: it is judged against what is stored in the end."""

from __future__ import annotations

from fairlead.store.contract import CommitOutcome, Transaction
from tests.differential.asking import Ask, apply, force, merge
from tests.differential.objects import CM, cm
from tests.differential.rows import Plane, owners


def _meanwhile(plane: Plane, *asks: Ask) -> None:
    """Before each of the next commits, somebody else gets one of these requests in."""
    commit, pending = plane.commit, list(asks)

    def with_others(transaction: Transaction) -> CommitOutcome:
        if pending:
            plane.commit = commit  # type: ignore[method-assign]
            assert plane.ask(pending.pop(0))[0] in (200, 201)
            plane.commit = with_others  # type: ignore[method-assign]
        return commit(transaction)

    plane.commit = with_others  # type: ignore[method-assign]


def test_what_others_write_meanwhile_is_kept() -> None:
    plane = Plane()
    plane.ask(apply(cm({"a": "1"})))
    _meanwhile(plane, merge(CM, {"data": {"b": "1"}}), merge(CM, {"data": {"c": "1"}}))
    status, body = plane.ask(apply(cm({"a": "2"})))
    assert (status, body["data"]) == (200, {"a": "2", "b": "1", "c": "1"})
    assert owners(body) == {"one Apply": {".data.a"}, "two Update": {".data.b", ".data.c"}}


def test_a_field_taken_meanwhile_is_a_conflict() -> None:
    plane = Plane()
    plane.ask(apply(cm({"a": "1"})))
    _meanwhile(plane, merge(CM, {"data": {"a": "9"}}))
    status, body = plane.ask(apply(cm({"a": "2"})))
    assert status == 409
    assert body["details"]["causes"][0]["field"] == ".data.a"
    assert plane.get(CM)[1]["data"] == {"a": "9"}


def test_a_field_taken_meanwhile_is_taken_back_by_force() -> None:
    plane = Plane()
    plane.ask(apply(cm({"a": "1"})))
    _meanwhile(plane, merge(CM, {"data": {"a": "9"}}))
    status, body = plane.ask(force(cm({"a": "2"})))
    assert (status, body["data"]) == (200, {"a": "2"})
    assert owners(body) == {"one Apply": {".data.a"}}


def test_an_object_made_meanwhile_is_applied_to() -> None:
    plane = Plane()
    _meanwhile(plane, apply(cm({"b": "1"}), "two"))
    status, body = plane.ask(apply(cm({"a": "1"})))
    assert (status, body["data"]) == (200, {"a": "1", "b": "1"})
    assert owners(body) == {"one Apply": {".data.a"}, "two Apply": {".data.b"}}


def test_an_object_made_meanwhile_with_another_value_is_a_conflict() -> None:
    plane = Plane()
    _meanwhile(plane, apply(cm({"a": "9"}), "two"))
    status, _ = plane.ask(apply(cm({"a": "1"})))
    assert status == 409
    assert plane.get(CM)[1]["data"] == {"a": "9"}


def test_an_object_deleted_meanwhile_is_made_anew() -> None:
    plane = Plane()
    plane.ask(apply(cm({"a": "1", "b": "1"}), "two"))
    _meanwhile(plane, Ask("DELETE", CM, None))
    status, body = plane.ask(apply(cm({"a": "1"})))
    assert (status, body["data"]) == (201, {"a": "1"})
    assert owners(body) == {"one Apply": {".data.a"}}


def test_what_is_being_deleted_goes_when_its_last_finalizer_is_left_out() -> None:
    plane = Plane()
    plane.ask(apply(cm({"a": "1"}, finalizers=["example.com/a"])))
    plane.ask(Ask("DELETE", CM, None))
    assert plane.get(CM)[0] == 200
    assert plane.ask(apply(cm({"a": "1"})))[0] == 200
    assert plane.get(CM)[0] == 404
