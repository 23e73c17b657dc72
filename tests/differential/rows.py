"""A row of a table: requests in their order, and what must be stored, owned or refused after the last of them.

Used by every test of this folder. Rows are written from the documentation of Kubernetes' API, not from our code, and
go through the whole API (`tests/inprocess.py`). Between two requests a minute passes, so that a time in managedFields
tells which request it comes from.

Owned fields are written as Kubernetes writes them in conflicts: `.spec.containers[name="web"].image`, an item of a
set `.metadata.finalizers[="example.com/a"]`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from fairlead.api.access.users import User
from fairlead.api.plan import Context
from tests.differential.asking import Ask
from tests.differential.quota import ROW
from tests.inprocess import ADMIN, InProcess

Json = dict[str, Any]

MINUTE = 60.0
DONE = (200, 201)
REFUSED = (400, 422)


class Absent:
    """Stands for a field that is not there."""

    def __repr__(self) -> str:
        return "ABSENT"


class Empty:
    """Stands for a field that is not there or has nothing in it: clients must not tell the two apart."""

    def __eq__(self, other: object) -> bool:
        return other is ABSENT or (isinstance(other, dict | list) and not other)

    def __repr__(self) -> str:
        return "EMPTY"


ABSENT = Absent()
EMPTY = Empty()


class AtLeast(str):
    """Fields that must be owned; there may be others."""

    __slots__ = ()


class Not(str):
    """Fields that must not be owned; there must be others."""

    __slots__ = ()


class AnyOrder:
    """A list whose order is not what the row is about."""

    def __init__(self, *items: Any) -> None:
        self.items = sorted(items, key=repr)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list) and sorted(other, key=repr) == self.items

    def __repr__(self) -> str:
        return f"{self.items} in any order"


@dataclass(frozen=True)
class Row:
    """`rule` says what the row shows; the last of `asks` is judged, the others must be done."""

    rule: str
    asks: tuple[Ask, ...]
    want: Mapping[str, Any] = field(default_factory=dict)  # path -> the exact value stored there
    owns: Mapping[str, str] | None = None  # "MANAGER OPERATION [SUBRESOURCE]" -> fields; all entries
    status: int | tuple[int, ...] = DONE
    message: str = ""
    causes: frozenset[tuple[str, str]] = frozenset()  # (message, field) of each conflict
    times: Mapping[str, int] = field(default_factory=dict)  # entry -> the request it is from, counted from 1
    answer: Mapping[str, Any] = field(default_factory=dict)  # path -> the exact value in the answer
    unchanged: bool = False  # the last request leaves the stored object as it was, revision included

    def __repr__(self) -> str:
        return self.rule


class Plane(InProcess):
    """An API that hears a User-Agent."""

    agent = "agent/1.0"

    def context(self, user: User = ADMIN) -> Context:
        return msgspec.structs.replace(super().context(user), user_agent=self.agent)

    def ask(self, ask: Ask) -> tuple[int, Any]:
        self.now += MINUTE
        self.agent = ask.agent
        return self.request(ask.method, ask.target, ask.body, content_type=ask.media)


# Looking


def found(obj: Any, path: str) -> Any:
    """What is at a path: `spec.ports[0].port`, `spec.ports[*].port`; ABSENT if nothing is."""
    if not path:
        return obj
    step, _, rest = path.partition(".")
    name, bracket, index = step.rstrip("]").partition("[")
    if not isinstance(obj, dict) or name not in obj:
        return ABSENT
    value = obj[name]
    if not bracket:
        return found(value, rest)
    if index == "*":
        return [found(each, rest) for each in value]
    return found(value[int(index)], rest) if int(index) < len(value) else ABSENT


def same(got: Any, wanted: Any) -> bool:
    """Whether two values are one in JSON, where true is not 1."""
    if isinstance(wanted, Absent | Empty | AnyOrder) or got is ABSENT:
        return bool(wanted == got)
    return json.dumps(got, sort_keys=True) == json.dumps(wanted, sort_keys=True)


def owned(fields: Json, path: str = "") -> Iterator[str]:
    """The fields that a fieldsV1 names."""
    for key, inside in fields.items():
        if key == ".":
            yield path
            continue
        kind, _, text = key.partition(":")
        here = path + _element(kind, text)
        if inside:
            yield from owned(inside, here)
        else:
            yield here


def _element(kind: str, text: str) -> str:
    if kind == "f":
        return f".{text}"
    value = json.loads(text)
    if kind == "k":
        keys = ",".join(f"{name}={json.dumps(each)}" for name, each in sorted(value.items()))
        return f"[{keys}]"
    return f"[={json.dumps(value)}]" if kind == "v" else f"[{value}]"


def entry_name(entry: Json) -> str:
    return " ".join(filter(None, (entry["manager"], entry["operation"], entry.get("subresource", ""))))


def owners(obj: Json) -> dict[str, set[str]]:
    """Who owns what, from an object's managedFields."""
    return {entry_name(each): set(owned(each["fieldsV1"])) for each in managed(obj)}


def managed(obj: Json) -> list[Json]:
    entries: list[Json] = obj["metadata"].get("managedFields", [])
    return entries


# Judging


def check(row: Row, record_property: Callable[[str, object], None]) -> None:
    plane = Plane()
    *before, last = row.asks
    for ask in before:
        status, body = plane.ask(ask)
        assert status in DONE, f"before the request in question: {status} {body}"
    at = last.stored_at
    earlier = None if at.endswith("/") else plane.get(at)
    status, body = plane.ask(last)
    allowed = (row.status,) if isinstance(row.status, int) else row.status
    assert status in allowed, f"{status}, expected {row.status}: {json.dumps(body)[:600]}"
    if at.endswith("/") and status == 201:  # the server made the name
        at += body["metadata"]["name"]
    stored = plane.get(at)
    if row.unchanged or (status not in DONE):
        assert same(stored, earlier), "the request should have changed nothing"
    _check_answer(row, body)
    if stored[0] == 200:
        _check_object(row, stored[1])
    else:
        assert not row.want, f"nothing is stored: {stored}"
        assert not row.owns
    record_property(ROW, row.rule)


def _check_answer(row: Row, body: Any) -> None:
    for path, value in row.answer.items():
        got = found(body, path)
        assert same(got, value), f"answered {path}: {got!r}, expected {value!r}"
    if row.message:
        assert body["message"] == row.message
    if row.causes:
        assert body["reason"] == "Conflict"
        told = body["details"]["causes"]
        assert {each["reason"] for each in told} == {"FieldManagerConflict"}
        assert {(each["message"], each["field"]) for each in told} == row.causes
        assert len(told) == len(row.causes)


def _check_object(row: Row, stored: Json) -> None:
    for path, value in row.want.items():
        got = found(stored, path)
        assert same(got, value), f"{path}: {got!r}, expected {value!r}"
    if row.owns is not None:
        _check_owners(row.owns, owners(stored))
    for name, request in row.times.items():
        entry = next(each for each in managed(stored) if entry_name(each) == name)
        assert entry["time"] == moment(request), (
            f"{name}: {entry['time']}, expected that of request {request}"
        )


def _check_owners(wanted: Mapping[str, str], got: Mapping[str, set[str]]) -> None:
    assert sorted(got) == sorted(wanted), f"entries: {got}"
    for name, text in wanted.items():
        fields, has = set(text.split()), got[name]
        if isinstance(text, AtLeast):
            assert fields <= has, f"{name} lacks {sorted(fields - has)}, has {sorted(has)}"
        elif isinstance(text, Not):
            assert has, f"{name} owns nothing"
            assert not fields & has, f"{name} owns {sorted(fields & has)}"
        else:
            assert has == fields, f"{name}: {sorted(has)}, expected {sorted(fields)}"


def moment(request: int) -> str:
    """The time of a request, as managedFields tell it."""
    minutes = 480 + request  # time starts at eight in the morning
    return f"2027-01-15T{minutes // 60:02}:{minutes % 60:02}:00Z"
