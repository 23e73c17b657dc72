"""Whatever is sent as a definition or as an object of one, the answer is one of the API's own: nothing raises."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.inprocess import InProcess
from tests.unit.api.custom.definitions import CRDS, CRONTABS, SPEC, Json, crontab, definition, version

LEAVES: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, 0, -1, 2**70, 1.5, True, False, "", "a", "(", ".spec.x", "object", "array", "integer", [], {}, ["a"]),
        *([{}], {"a": 1}, {"type": "object"}, {"type": "array", "items": {"type": "string"}}, [{"type": "integer"}]),
    ]
)  # fmt: skip
WORDS = st.sampled_from(
    [
        "type",
        "properties",
        "items",
        "additionalProperties",
        "default",
        "enum",
        "pattern",
        "required",
        "anyOf",
        "not",
        "nullable",
        "minimum",
        "maxLength",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-int-or-string",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-preserve-unknown-fields",
        "metadata",
        "spec",
        "status",
        "subresources",
        "scale",
        "selectableFields",
        "names",
        "$ref",
    ]
)
LISTED: Json = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
    "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}},
}
SCHEMA: Json = {
    "type": "object",
    "properties": {
        "spec": SPEC,
        "listed": LISTED,
        "map": {
            "type": "object",
            "additionalProperties": {"type": "object", "properties": {"listed": LISTED}},
        },
        "held": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
        "either": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
    },
}
SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
DEFINITION = definition(
    version(schema=SCHEMA, subresources={"status": {}, "scale": SCALE}), version("v1beta1")
)
OBJECT = {
    **crontab(replicas=2),
    "listed": [{"k": "a"}],
    "map": {"m": {"listed": [{"k": "b"}]}},
    "held": {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}},
    "either": "5%",
}


def places(tree: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    below = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in below:
        yield (*above, key)
        yield from places(value, (*above, key))


@st.composite
def mutated(draw: st.DrawFn, original: Json) -> Json:
    found: Any = copy.deepcopy(original)
    for _ in range(draw(st.integers(1, 3))):
        *parents, last = draw(st.sampled_from(list(places(found)) or [("metadata",)]))
        at = found
        for part in parents:
            at = at[part]
        if draw(st.booleans()) and isinstance(at, dict):
            at[draw(WORDS)] = copy.deepcopy(draw(LEAVES))
        else:
            at[last] = copy.deepcopy(draw(LEAVES))
    return found  # type: ignore[no-any-return]


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(mutated(DEFINITION), st.lists(mutated(OBJECT), min_size=1, max_size=3))
def test_no_definition_and_no_object_breaks_anything(wanted: Json, objects: list[Json]) -> None:
    plane = InProcess()
    status, _ = plane.post(CRDS, wanted)
    assert status < 500
    if status != 201:
        plane.post(CRDS, DEFINITION)
    plane.post(CRONTABS, OBJECT)
    for each in objects:
        answers = [plane.post(CRONTABS, each)[0], plane.get(CRONTABS)[0]]
        for address in ("a", "a/status", "a/scale"):
            answers.append(plane.patch(f"{CRONTABS}/{address}", each, "merge-patch")[0])
        assert [answer for answer in answers if answer >= 500] == []
