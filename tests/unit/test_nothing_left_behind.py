"""Objects, namespaces and custom kinds that came and went are not remembered: a plane that lives for long does not grow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from fairlead.api import admission
from fairlead.api.admission import AdmissionChain
from fairlead.control.write_loops import WriteLoops, WriteLoopSettings
from fairlead.model.apply.rules import Rules
from fairlead.model.fields import Field, FieldTables, ObjectType, Scalar
from fairlead.model.key import Key
from fairlead.model.served import Served
from fairlead.port.request import Request
from fairlead.store.contract import (
    ADDED,
    DELETED,
    Batch,
    CommittedChange,
    Compacted,
    Entry,
    Recovered,
    Retention,
)
from fairlead.store.durable import Durable
from fairlead.store.memory import MemoryJournal
from fairlead.wire import tally as tally_module
from fairlead.wire.exchange import Exchange
from fairlead.wire.handler import Handler
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver
from tests.unit.control.test_plane import DEPLOYMENTS, deployment
from tests.unit.control.test_write_loops import status


def test_controllers_forget_their_writes_once_they_are_shown_also_where_a_key_has_no_further_turn() -> None:
    api = InProcess()
    driver = Driver(api)
    for number in range(3):
        wanted = deployment(2)
        wanted["metadata"]["name"] = f"web-{number}"
        api.post(DEPLOYMENTS, wanted)
    driver.run(30)
    assert driver.live_pods()
    for number in range(3):
        api.delete(f"{DEPLOYMENTS}/web-{number}?propagationPolicy=Background")
    driver.run(60)
    assert driver.live_pods() == []
    kept = {
        each.decider.name: (dict(each.own_writes.unseen), each._causes) for each in driver.plane.controllers
    }
    assert {name: each for name, each in kept.items() if any(each)} == {}


def test_the_chain_remembers_a_bounded_number_of_kinds() -> None:
    chain = AdmissionChain()
    expected = chain.names_of_steps("pods", "create", "")
    for number in range(3 * admission._CASES_KEPT):
        kind = SimpleNamespace(resource=f"widgets{number}.example.com")
        chain.names_of_steps(kind.resource, "create", "")
        chain.rests_on(cast(Any, kind), cast(Any, None))
    assert max(len(chain._cases), len(chain._resources)) <= admission._CASES_KEPT
    assert chain.names_of_steps("pods", "create", "") == expected


def test_rules_of_types_that_are_no_longer_defined_go() -> None:
    tables = FieldTables({"Pod": ObjectType("Pod", {"spec": Field("spec", Scalar("any"))})})
    rules = Rules(tables)
    stays = rules.of("Pod")
    for number in range(2_000):
        name = f"example.com/Widget{number}"
        tables.add([ObjectType(name, {"size": Field("size", Scalar("int32"))})])
        assert rules.of(name) is rules.of(name)
        tables.drop([name])
    assert len(rules._found) < 600
    assert rules.of("Pod") is stays


class Resources(Served):
    """A catalog with one custom kind after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.now = ""

    def find(self, group: str, version: str, plural: str) -> Any:
        return SimpleNamespace(plural=plural) if plural in (self.now, "pods") else None

    def __iter__(self) -> Any:
        return iter([SimpleNamespace(plural=self.now), SimpleNamespace(plural="pods")])

    def define(self, plural: str) -> None:
        self.now = plural
        self.changes += 1


def counting(catalog: Resources) -> Handler:
    serves = lambda asked: catalog.find(asked.group, asked.version, asked.plural) is not None  # noqa: E731
    api = SimpleNamespace(serves=serves, desk=SimpleNamespace(catalog=catalog))
    return Handler(cast(Any, SimpleNamespace(api=api)), cast(Any, None), cast(Any, None))


EXCHANGE = Exchange(cast(Any, None), b"GET", b"/", {})


def asked(resource: str, verb: str = "get") -> Request:
    return Request(verb, "example.com", "v1", resource)


def test_requests_for_custom_kinds_that_are_gone_make_room_for_those_that_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tally_module, "_COUNTED_MAX", 20)
    catalog = Resources()
    handler = counting(catalog)
    handler.count(EXCHANGE, asked("pods"), 200)
    for number in range(100):
        catalog.define(f"widgets{number}")
        for _ in range(2):
            handler.count(EXCHANGE, asked(f"widgets{number}"), 200)
        assert handler.tally.requests["get", f"widgets{number}", 200] == 2
        assert len(handler.tally.requests) <= 20
        assert len(handler.tally.latencies.seconds) <= 20
    assert handler.tally.requests["get", "pods", 200] == 1


def test_where_too_many_kinds_are_there_the_rest_is_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally_module, "_COUNTED_MAX", 20)
    handler = counting(Resources())
    for code in range(200, 300):
        handler.count(EXCHANGE, asked("pods"), code)
    assert sum(handler.tally.requests.values()) == 100
    assert sum(count for (_, name, _), count in handler.tally.requests.items() if name == "other") == 80


def test_writes_are_remembered_for_a_window_only() -> None:
    loops = WriteLoops(WriteLoopSettings(window_seconds=10.0))
    for number in range(500):
        loops.wrote("deployment", status({"ready": 1}, f"web-{number}"), float(number))
        assert len(loops._written) <= 10


def churned(journal: MemoryJournal, durable: Durable, resource: str, revision: int) -> None:
    """One object that comes and goes, at this revision and the next."""
    made = Entry(Key(resource, "default", "a"), "u", revision, b"made")
    gone = Entry(made.key, "u", revision + 1, b"made", revision)
    changes = (CommittedChange(ADDED, made, None), CommittedChange(DELETED, gone, made))
    journal.append(Batch(changes, (), float(revision)))
    durable.apply(changes)


def test_recent_changes_go_when_history_does_and_what_is_told_stays_right() -> None:
    journal = MemoryJournal()
    durable = Durable(Recovered(0, (), {}, 0.0), journal, 4096, 10**6)
    for number in range(10):
        churned(journal, durable, f"widgets{number}.example.com", 2 * number + 1)
    churned(journal, durable, "pods", 21)
    assert len(durable._windows) == 11
    # Up to the tenth revision all is too old; then all but the newest.
    durable.move_floors(journal.compact(110.5, {"": Retention(100.0, 10**6)}, 1000))
    assert sorted(durable._windows) == ["pods", *(f"widgets{number}.example.com" for number in range(5, 10))]
    assert [each.entry.revision for each in durable.changes_after(10, "widgets5.example.com", 9)] == [11, 12]
    durable.move_floors(journal.compact(1000.0, {"": Retention(100.0, 10**6)}, 1000))
    assert durable._windows == {}
    with pytest.raises(Compacted):
        durable.changes_after(20, "pods", 9)
    assert durable.changes_after(22, "pods", 9) == ()
    churned(journal, durable, "pods", 23)
    assert [each.entry.revision for each in durable.changes_after(22, "pods", 9)] == [23, 24]
    with pytest.raises(Compacted):
        durable.changes_after(21, "pods", 9)
