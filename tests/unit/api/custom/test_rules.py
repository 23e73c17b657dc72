"""Rules in CEL of custom kinds: what they see, what they say, and which are refused with the definition."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.custom import rule_costs
from tests.inprocess import InProcess
from tests.unit.api.custom.definitions import CRDS, CRONTABS, Json, crontab, definition, version

TEXT: Json = {"type": "string"}
NUMBER: Json = {"type": "integer"}


def ruled(*rules: str | Json, **properties: Json) -> Json:
    given = [each if isinstance(each, dict) else {"rule": each} for each in rules]
    return {"type": "object", "properties": properties, "x-kubernetes-validations": given}


def serving(spec: Json) -> InProcess:
    plane = InProcess()
    status, told = plane.post(CRDS, definition(version(schema=_whole(spec))))
    assert status == 201, told
    return plane


def _whole(spec: Json) -> Json:
    return {"type": "object", "properties": {"spec": spec}}


def refused(spec: Json) -> list[str]:
    status, told = InProcess().post(CRDS, definition(version(schema=_whole(spec))))
    assert status == 422
    return [f"{each['field']}: {each['message']}" for each in told["details"]["causes"]]


def causes(reply: tuple[int, Any]) -> list[tuple[str, str]]:
    return [(each["field"], each["message"]) for each in reply[1]["details"]["causes"]]


def made(**spec: Any) -> Json:
    found = crontab()
    found["spec"] = spec
    return found


def test_a_rule_must_hold_of_what_is_written() -> None:
    plane = serving(ruled("self.least <= self.most", least=NUMBER, most=NUMBER))
    reply = plane.post(CRONTABS, made(least=3, most=2))
    assert reply[0] == 422
    assert causes(reply) == [("spec", 'Invalid value: "object": failed rule: self.least <= self.most')]
    assert plane.post(CRONTABS, made(least=1, most=2))[0] == 201
    assert plane.patch(f"{CRONTABS}/a", {"spec": {"least": 5}})[0] == 422


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"message": "no"}, ("spec", 'Invalid value: "object": no')),
        ({"messageExpression": "'has ' + string(self.n)"}, ("spec", 'Invalid value: "object": has 1')),
        ({"message": "no", "messageExpression": "''"}, ("spec", 'Invalid value: "object": no')),
        ({"message": "no", "reason": "FieldValueForbidden"}, ("spec", "Forbidden: no")),
        ({"message": "no", "reason": "FieldValueRequired"}, ("spec", "Required value: no")),
        ({"message": "no", "reason": "FieldValueDuplicate"}, ("spec", 'Duplicate value: "object": no')),
        ({"message": "no", "fieldPath": ".n"}, ("spec.n", 'Invalid value: "object": no')),
    ],
)
def test_what_is_said_of_a_rule_that_does_not_hold(more: Json, expected: tuple[str, str]) -> None:
    plane = serving(ruled({"rule": "self.n > 5", **more}, n=NUMBER))
    assert causes(plane.post(CRONTABS, made(n=1))) == [expected]


def test_a_rule_without_a_value_does_not_hold() -> None:
    plane = serving(ruled("self.n > 5", n=NUMBER))
    assert causes(plane.post(CRONTABS, made())) == [
        ("spec", 'Invalid value: "object": no such key: n evaluating rule: self.n > 5')
    ]


def test_rules_stand_at_every_depth() -> None:
    item = {**ruled("self.a != ''", a=TEXT)}
    plane = serving(
        {
            "type": "object",
            "properties": {
                "n": {**NUMBER, "x-kubernetes-validations": [{"rule": "self % 2 == 0"}]},
                "items": {"type": "array", "items": item},
                "by": {"type": "object", "additionalProperties": item},
            },
        }
    )
    reply = plane.post(CRONTABS, made(n=3, items=[{"a": "x"}, {"a": ""}], by={"k": {"a": ""}}))
    assert sorted(field for field, _ in causes(reply)) == ["spec.by.k", "spec.items[1]", "spec.n"]
    assert ("spec.n", "Invalid value: 3: failed rule: self % 2 == 0") in causes(reply)


def test_a_rule_about_the_change_looks_at_what_was() -> None:
    unchanging = {
        **TEXT,
        "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "is immutable"}],
    }
    plane = serving({"type": "object", "properties": {"fixed": unchanging, "free": TEXT}})
    assert plane.post(CRONTABS, made(fixed="a"))[0] == 201
    assert plane.patch(f"{CRONTABS}/a", {"spec": {"free": "x"}})[0] == 200
    reply = plane.patch(f"{CRONTABS}/a", {"spec": {"fixed": "b"}})
    assert causes(reply) == [("spec.fixed", 'Invalid value: "b": is immutable')]
    assert plane.patch(f"{CRONTABS}/a", {"spec": {"fixed": None}})[0] == 200
    assert plane.patch(f"{CRONTABS}/a", {"spec": {"fixed": "c"}})[0] == 200  # it was not there before


def test_a_rule_may_ask_whether_there_was_anything() -> None:
    rule = {"rule": "oldSelf.hasValue() || self.n == 1", "optionalOldSelf": True, "message": "begins at 1"}
    plane = serving(ruled(rule, n=NUMBER))
    assert causes(plane.post(CRONTABS, made(n=2))) == [("spec", 'Invalid value: "object": begins at 1')]
    assert plane.post(CRONTABS, made(n=1))[0] == 201
    assert plane.patch(f"{CRONTABS}/a", {"spec": {"n": 2}})[0] == 200


def test_items_of_a_keyed_list_are_compared_by_their_key() -> None:
    item = {**ruled("self.port == oldSelf.port", name=TEXT, port=NUMBER), "required": ["name"]}
    keyed = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    }
    plane = serving({"type": "object", "properties": {"ports": keyed}})
    a, b = {"name": "a", "port": 1}, {"name": "b", "port": 2}
    assert plane.post(CRONTABS, made(ports=[a, b]))[0] == 201
    assert plane.patch(f"{CRONTABS}/a", {"spec": {"ports": [b, {"name": "c", "port": 3}, a]}})[0] == 200
    reply = plane.patch(f"{CRONTABS}/a", {"spec": {"ports": [{"name": "b", "port": 9}]}})
    assert [field for field, _ in causes(reply)] == ["spec.ports[0]"]


def test_what_stands_is_not_judged_again_when_something_else_changes() -> None:
    plane = serving({"type": "object", "properties": {"old": TEXT, "free": TEXT}})
    assert plane.post(CRONTABS, made(old="bad"))[0] == 201
    stricter = {**TEXT, "x-kubernetes-validations": [{"rule": "self != 'bad'"}]}
    _, current = plane.get(f"{CRDS}/crontabs.example.com")
    schema = _whole({"type": "object", "properties": {"old": stricter, "free": TEXT}})
    current["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    assert plane.put(f"{CRDS}/crontabs.example.com", current)[0] == 200
    assert plane.patch(f"{CRONTABS}/a", {"spec": {"free": "x"}})[0] == 200
    assert plane.patch(f"{CRONTABS}/a", {"spec": {"old": "good"}})[0] == 200
    assert plane.patch(f"{CRONTABS}/a", {"spec": {"old": "bad"}})[0] == 422


@pytest.mark.parametrize(
    ("rule", "value", "status"),
    [
        ("self.at < timestamp('2025-01-01T00:00:00Z')", {"at": "2024-01-01T00:00:00Z"}, 201),
        ("self.__for__ >= duration('1h')", {"for": "90m"}, 201),
        ("self.share * 2.0 == 2.0", {"share": 1}, 201),
        ("self.set == ['b', 'a']", {"set": ["a", "b"]}, 201),
        ("self.set + ['a', 'c'] == ['a', 'b', 'c']", {"set": ["a", "b"]}, 201),
        ("self.list == ['b', 'a']", {"list": ["a", "b"]}, 422),
        ("type(self.either) == int ? self.either > 0 : self.either.endsWith('%')", {"either": "5%"}, 201),
        ("self.metadata_name == 'x'", {"metadata_name": "x"}, 201),
    ],
)
def test_values_have_the_types_that_the_schema_says(rule: str, value: Json, status: int) -> None:
    spec = ruled(
        rule,
        at={"type": "string", "format": "date-time"},
        share={"type": "number"},
        set={"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
        list={"type": "array", "items": TEXT},
        either={"x-kubernetes-int-or-string": True},
        metadata_name=TEXT,
        **{"for": {"type": "string", "format": "duration"}},
    )
    assert serving(spec).post(CRONTABS, made(**value))[0] == status


def test_the_root_sees_the_name() -> None:
    plane = InProcess()
    schema = ruled("self.metadata.name.startsWith('a')", spec={"type": "object"})
    assert plane.post(CRDS, definition(version(schema=schema)))[0] == 201
    assert plane.post(CRONTABS, crontab("abc"))[0] == 201
    assert plane.post(CRONTABS, crontab("xyz"))[0] == 422


AT = "spec.versions[0].schema.openAPIV3Schema.properties[spec]"


@pytest.mark.parametrize(
    ("spec", "field", "why"),
    [
        (ruled("self.a =="), f"{AT}.x-kubernetes-validations[0].rule", "Syntax error"),
        (ruled("self.b == 'x'", a=TEXT), f"{AT}.x-kubernetes-validations[0].rule", "undefined field 'b'"),
        (
            ruled("self.a + 1 == 2", a=TEXT),
            f"{AT}.x-kubernetes-validations[0].rule",
            "applied to '(string, int)'",
        ),
        (
            ruled("self.a", a=TEXT),
            f"{AT}.x-kubernetes-validations[0].rule",
            "must evaluate to bool, not to string",
        ),
        (
            ruled({"rule": "true", "messageExpression": "1"}),
            f"{AT}.x-kubernetes-validations[0].messageExpression",
            "must evaluate to string",
        ),
        (
            ruled({"rule": "true", "reason": "Odd"}),
            f"{AT}.x-kubernetes-validations[0].reason",
            "Unsupported value",
        ),
        (ruled({"rule": "true\n&& true"}), f"{AT}.x-kubernetes-validations[0].message", "line breaks"),
        (
            {"type": "object", "properties": {"l": {"type": "array", "items": ruled("self == oldSelf")}}},
            f"{AT}.properties[l].items.x-kubernetes-validations[0].rule",
            "uncorrelatable",
        ),
        (
            {"type": "object", "allOf": [{"x-kubernetes-validations": [{"rule": "true"}]}]},
            f"{AT}.allOf[0].x-kubernetes-validations",
            "Forbidden",
        ),
        (
            ruled({"rule": "true", "optionalOldSelf": True}),
            f"{AT}.x-kubernetes-validations[0].optionalOldSelf",
            "oldSelf is not used",
        ),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused_with_the_definition(spec: Json, field: str, why: str) -> None:
    assert any(each.startswith(f"{field}: ") and why in each for each in refused(spec)), refused(spec)


def test_a_hostile_rule_is_refused_when_it_is_written_and_ends_where_it_is_not() -> None:
    rule = "self.n.all(a, self.n.all(b, self.n.all(c, a + b + c >= 0)))"
    (told,) = [
        each for each in refused(ruled(rule, n={"type": "array", "items": NUMBER})) if "spec]" in each
    ][:1]
    assert "estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule" in told
    plane = serving(ruled(rule, n={"type": "array", "items": NUMBER, "maxItems": 60}))
    reply = plane.post(CRONTABS, made(n=list(range(60))))
    assert reply[0] == 422
    assert "cost limit exceeded" in causes(reply)[0][1]


def test_a_rule_that_is_stored_is_not_estimated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = "self.n.all(a, self.n.all(b, a + b >= 0))"
    dear = ruled(rule, n={"type": "array", "items": NUMBER})
    with monkeypatch.context() as patched:
        patched.setattr(rule_costs, "RULE_COST_MAX", 1 << 62)
        patched.setattr(rule_costs, "SCHEMA_COST_MAX", 1 << 62)
        plane = serving(dear)
    name = plane.get(CRDS)[1]["items"][0]["metadata"]["name"]
    assert plane.patch(f"{CRDS}/{name}", {"metadata": {"labels": {"a": "b"}}})[0] == 200
    changed = version(schema=_whole({**dear, "description": "another"}))
    assert plane.patch(f"{CRDS}/{name}", {"spec": {"versions": [changed]}})[0] == 422


def test_a_write_of_the_status_is_judged_too() -> None:
    plane = InProcess()
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object"}, "status": ruled("self.n >= 0", n=NUMBER)},
    }
    made_of = definition(version(schema=schema, subresources={"status": {}}))
    assert plane.post(CRDS, made_of)[0] == 201
    assert plane.post(CRONTABS, made())[0] == 201
    assert plane.patch(f"{CRONTABS}/a/status", {"status": {"n": -1}})[0] == 422
    assert plane.patch(f"{CRONTABS}/a/status", {"status": {"n": 1}})[0] == 200
