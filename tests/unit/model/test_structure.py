"""Structure checks: what is right passes, what is wrong is named with path, value and remedy."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.errors import Cause
from fairlead.core.problems import PROBLEMS_MAX, Problems
from fairlead.model.files import load_tables
from fairlead.model.shapes import fits, shape
from fairlead.model.structure import UNKNOWN_MAX, _Walk, check, drop_nulls, drop_unknown
from tests.samples import SAMPLES

TABLES = load_tables()
Json = dict[str, Any]


def clean(type_name: str, obj: Any) -> bool:
    """Whether the walk finds nothing wrong."""
    return not any(walk(type_name, obj))


def walk(type_name: str, obj: Any) -> tuple[Problems, Problems, list[str]]:
    decode, values, unknown = Problems(), Problems(), list[str]()
    _Walk(TABLES, decode, values, unknown).object(TABLES[type_name], obj, "")
    return decode, values, unknown


def changed(kind: str, path: str, value: Any) -> Json:
    """A copy of a sample with the value at a dotted path replaced; numbers are list indexes."""
    obj = copy.deepcopy(SAMPLES[kind])
    at: Any = obj
    *parents, last = path.split("/")
    for part in parents:
        at = at[int(part)] if isinstance(at, list) else at[part]
    at[int(last) if isinstance(at, list) else last] = value
    return obj


def told(kind: str, obj: Any) -> tuple[list[Cause], list[Cause], list[str]]:
    values, unknown = Problems(), list[str]()
    decode = check(TABLES, kind, obj, unknown=unknown, values=values)
    return decode.causes, values.causes, unknown


@pytest.mark.parametrize("kind", SAMPLES)
def test_samples_pass_both_ways(kind: str) -> None:
    assert fits(TABLES, kind, SAMPLES[kind])
    assert clean(kind, SAMPLES[kind])
    assert told(kind, SAMPLES[kind]) == ([], [], [])


@pytest.mark.parametrize("kind", SAMPLES)
def test_samples_pass_as_bytes(kind: str) -> None:
    msgspec.json.decode(msgspec.json.encode(SAMPLES[kind]), type=shape(TABLES, kind))


@pytest.mark.parametrize(
    ("schema", "at"),
    [
        ({"items": {"items": {"type": 5}}}, "items.items.type"),
        ({"properties": {"a": {"properties": {"b": {"type": 5}}}}}, "properties[a].properties[b].type"),
        ({"allOf": [{"allOf": [None]}]}, "allOf[0].allOf[0]"),
        ({"not": {"not": []}}, "not.not"),
    ],
)
def test_a_type_that_holds_itself_is_looked_at_as_deep_as_it_goes(schema: Any, at: str) -> None:
    assert not fits(TABLES, "JSONSchemaProps", schema)
    decode, values, unknown = told("JSONSchemaProps", schema)
    assert ([cause.field for cause in decode], values, unknown) == ([at], [], [])
    assert fits(TABLES, "JSONSchemaProps", {"items": {"items": {"type": "a"}}, "properties": {"a": None}})
    assert not fits(TABLES, "JSONSchemaProps", {"items": {"items": {"unheardOf": 1}}})


WRONG_TYPES: list[tuple[str, str, Any, str, str]] = [
    ("Pod", "spec", [], "spec", "Invalid value: []: must be an object"),
    ("Pod", "spec/containers", {}, "spec.containers", "Invalid value: {}: must be a list"),
    ("Pod", "spec/containers/0", None, "spec.containers[0]", "Invalid value: null: must be an object"),
    ("Pod", "spec/containers/0/name", 7, "spec.containers[0].name", "Invalid value: 7: must be a string"),
    ("Pod", "spec/hostNetwork", "yes", "spec.hostNetwork", 'Invalid value: "yes": must be true or false'),
    ("Pod", "metadata/labels", ["a"], "metadata.labels", 'Invalid value: ["a"]: must be an object'),
    ("Pod", "metadata/labels/app", 1, "metadata.labels[app]", "Invalid value: 1: must be a string"),
    (
        "Pod",
        "spec/containers/0/ports/0/containerPort",
        "http",
        "spec.containers[0].ports[0].containerPort",
        'Invalid value: "http": must be an integer between -2147483648 and 2147483647',
    ),
    (
        "Deployment",
        "spec/replicas",
        2**31,
        "spec.replicas",
        "Invalid value: 2147483648: must be an integer between -2147483648 and 2147483647",
    ),
    (
        "Deployment",
        "spec/replicas",
        2.0,
        "spec.replicas",
        "Invalid value: 2.0: must be an integer between -2147483648 and 2147483647",
    ),
    (
        "Pod",
        "spec/terminationGracePeriodSeconds",
        2**63,
        "spec.terminationGracePeriodSeconds",
        "Invalid value: 9223372036854775808: must be an integer of at most 64 bits",
    ),
    (
        "Pod",
        "spec/containers/0/resources/limits/cpu",
        "lots",
        "spec.containers[0].resources.limits[cpu]",
        'Invalid value: "lots": quantities must match the regular expression '
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
    (
        "Service",
        "spec/ports/0/targetPort",
        True,
        "spec.ports[0].targetPort",
        "Invalid value: true: must be an integer or a string",
    ),
    (
        "Secret",
        "data/token",
        "no base64!",
        "data[token]",
        'Invalid value: "no base64!": must be text in base64',
    ),
    (
        "Lease",
        "spec/renewTime",
        "2026-02-29T00:00:00Z",
        "spec.renewTime",
        'Invalid value: "2026-02-29T00:00:00Z": parsing time "2026-02-29T00:00:00Z" as '
        '"2006-01-02T15:04:05Z07:00": day is out of range for month',
    ),
    (
        "Event",
        "lastTimestamp",
        5,
        "lastTimestamp",
        'Invalid value: 5: must be a time in the form of RFC 3339, such as "2006-01-02T15:04:05Z"',
    ),
]


@pytest.mark.parametrize(("kind", "path", "value", "field", "message"), WRONG_TYPES)
def test_a_wrong_type_cannot_be_decoded(kind: str, path: str, value: Any, field: str, message: str) -> None:
    decode, values, unknown = told(kind, changed(kind, path, value))
    assert [(cause.field, cause.message) for cause in decode] == [(field, message)]
    assert (values, unknown) == ([], [])


@pytest.mark.parametrize(
    ("kind", "path", "value", "field", "message"),
    [
        ("Pod", "spec/containers", None, "spec.containers", "Required value"),
        ("Pod", "spec/containers/0", {"image": "x"}, "spec.containers[0].name", "Required value"),
        ("CronJob", "spec", {"jobTemplate": {}}, "spec.schedule", "Required value"),
        (
            "Pod",
            "spec/restartPolicy",
            "Sometimes",
            "spec.restartPolicy",
            'Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
        ),
        (
            "Node",
            "spec/taints/0/effect",
            "",
            "spec.taints[0].effect",
            'Unsupported value: "": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
        ),
        (
            "StatefulSet",
            "spec/volumeClaimTemplates",
            [{"spec": {"accessModes": ["Often"]}}],
            "spec.volumeClaimTemplates[0].spec.accessModes[0]",
            'Unsupported value: "Often": supported values: "ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", '
            '"ReadWriteOncePod"',
        ),
    ],
)
def test_a_missing_or_unsupported_value_is_invalid(
    kind: str, path: str, value: Any, field: str, message: str
) -> None:
    decode, values, unknown = told(kind, changed(kind, path, value))
    assert [(cause.field, cause.message) for cause in values] == [(field, message)]
    assert (decode, unknown) == ([], [])


def test_every_mistake_is_named_at_once() -> None:
    pod = changed("Pod", "spec/containers/0/nmae", "web")
    pod["spec"]["containers"][0]["ports"][0]["containerPort"] = "x"
    pod["spec"]["restartPolicy"] = "Maybe"
    pod["specc"] = {"deep": 1}
    del pod["spec"]["containers"][1]["name"]
    decode, values, unknown = told("Pod", pod)
    assert [cause.field for cause in decode] == ["spec.containers[0].ports[0].containerPort"]
    assert sorted(cause.field for cause in values) == ["spec.containers[1].name", "spec.restartPolicy"]
    assert sorted(unknown) == ["spec.containers[0].nmae", "specc"]


def test_without_a_place_for_values_they_are_among_the_returned() -> None:
    problems = check(TABLES, "Pod", changed("Pod", "spec/restartPolicy", "Maybe"), unknown=[])
    assert [cause.field for cause in problems.causes] == ["spec.restartPolicy"]


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("Pod", "metadata/creationTimestamp", None),
        ("Pod", "spec/restartPolicy", ""),
        ("Pod", "spec/nodeSelector", {"a": None}),
        ("Pod", "spec/containers/0/resources/limits/cpu", 2),
        ("Pod", "spec/containers/0/resources/limits/cpu", 0.5),
        ("Pod", "spec/containers/0/resources/limits/cpu", " 1 "),
        ("Pod", "spec/containers/0/resources/limits/cpu", "1e1000"),
        ("Secret", "data/token", "c2Vj\ncmV0\n"),
        ("Secret", "data/token", ""),
        ("Lease", "spec/renewTime", "2024-02-29T00:00:00+05:30"),
        ("Lease", "spec/renewTime", "2026-01-02T03:04:05Z"),
        ("Service", "spec/ports/0/targetPort", 8080),
        ("Pod", "metadata/managedFields", [{"fieldsV1": {"f:spec": {"f:x": {}}}}]),
    ],
)
def test_what_kubernetes_accepts_is_accepted(kind: str, path: str, value: Any) -> None:
    assert told(kind, changed(kind, path, value)) == ([], [], [])


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("Pod", "metadata/creationTimestamp", None),
        ("Pod", "spec/restartPolicy", ""),
        ("Pod", "spec/nodeSelector", {"a": None}),
        ("Pod", "spec/containers/0/resources/limits/cpu", 2),
        ("Lease", "spec/renewTime", "2024-02-29T00:00:00.123456+05:30"),
    ],
)
def test_what_clients_send_every_day_takes_the_fast_way(kind: str, path: str, value: Any) -> None:
    assert fits(TABLES, kind, changed(kind, path, value))


@pytest.mark.parametrize("obj", [None, [], "Pod", 3])
def test_what_is_no_object_is_refused(obj: Any) -> None:
    (cause,) = told("Pod", obj)[0]
    assert cause.message.endswith("must be an object")


def test_findings_are_bounded() -> None:
    pod = copy.deepcopy(SAMPLES["Pod"])
    pod.update({f"x{number}": 1 for number in range(1000)})
    pod["spec"]["tolerations"] = [7] * 1000
    decode, _, unknown = told("Pod", pod)
    assert (len(decode), len(unknown)) == (PROBLEMS_MAX, UNKNOWN_MAX)


def test_list_meta_may_carry_a_field_named_like_a_python_keyword() -> None:
    assert fits(TABLES, "ListMeta", {"continue": "token"})
    assert told("ListMeta", {"continue": 1})[0][0].field == "continue"


def test_nulls_are_dropped_from_objects_at_every_depth_and_kept_in_lists() -> None:
    obj = {"a": None, "b": {"c": None, "d": [None, {"e": None, "f": 1}]}, "g": 0, "h": ""}
    drop_nulls(obj)
    assert obj == {"b": {"d": [None, {"f": 1}]}, "g": 0, "h": ""}


def test_nulls_are_dropped_however_deep_the_nesting() -> None:
    obj: Json = {}
    for _ in range(50_000):
        obj = {"a": obj, "b": None}
    drop_nulls(obj)
    assert "b" not in obj["a"]["a"]


LEAVES = st.sampled_from(
    [None, True, 0, -1, 2**31, 2**62, 1.5, "", "x", "Always", "100m", "1Gi", "2026-01-02T03:04:05Z", "YWI="]
) | st.sampled_from([[], {}, [None], [1], ["x"], {"x": 1}, {"x": None}, {"name": "x"}])


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key, item in value.items():
            found += _places(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += _places(item, (*path, index))
    return found


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, Json]:
    kind = draw(st.sampled_from(sorted(SAMPLES)))
    obj = copy.deepcopy(SAMPLES[kind])
    for _ in range(draw(st.integers(1, 3))):
        *parents, last = draw(st.sampled_from(_places(obj)))
        at: Any = obj
        for part in parents:
            at = at[part]
        action = draw(st.sampled_from(["replace", "remove", "add"]))
        if action == "replace":
            at[last] = copy.deepcopy(draw(LEAVES))
        elif action == "remove":
            del at[last]
        elif isinstance(at, dict):
            at[draw(st.sampled_from(["spec", "name", "status", "foo", "value", "type"]))] = copy.deepcopy(
                draw(LEAVES)
            )
        else:
            at.append(copy.deepcopy(draw(LEAVES)))
        if not _places(obj):
            break
    return kind, obj


@given(mutated())
def test_the_fast_way_accepts_exactly_what_the_walk_finds_nothing_wrong_with(case: tuple[str, Json]) -> None:
    kind, obj = case
    assert fits(TABLES, kind, obj) == clean(kind, obj)


@given(st.from_regex(r"\A[+-]?[0-9.]{0,4}[eEinumkKMGTP]{0,2}[-+]?[0-9]{0,4}\Z"))
def test_a_quantity_that_fits_is_a_quantity(text: str) -> None:
    obj = {"hard": {"cpu": text}}
    assert clean("ResourceQuotaSpec", obj) or not fits(TABLES, "ResourceQuotaSpec", obj)


@given(
    st.datetimes().map(lambda moment: moment.isoformat() + "Z"),
    st.integers(0, 26),
    st.characters(codec="ascii"),
)
def test_a_time_that_fits_is_a_time(text: str, position: int, character: str) -> None:
    for candidate in (text, text[:position] + character + text[position + 1 :]):
        obj = {"creationTimestamp": candidate}
        assert clean("ObjectMeta", obj) or not fits(TABLES, "ObjectMeta", obj)
    assert fits(TABLES, "ObjectMeta", {"creationTimestamp": text})


def test_unknown_fields_are_dropped_wherever_they_are_and_nothing_else_is() -> None:
    obj: dict[str, Any] = {
        "bogus": 1,
        "metadata": {"name": "a", "labels": {"free": "key"}, "nope": {}},
        "spec": {
            "containers": [{"name": "a", "imagee": "b", "resources": {"limits": {"cpu": "1"}, "x": 1}}],
            "nodeSelector": {"any": "thing"},
        },
    }
    drop_unknown(TABLES, "Pod", obj)
    assert obj == {
        "metadata": {"name": "a", "labels": {"free": "key"}},
        "spec": {
            "containers": [{"name": "a", "resources": {"limits": {"cpu": "1"}}}],
            "nodeSelector": {"any": "thing"},
        },
    }
