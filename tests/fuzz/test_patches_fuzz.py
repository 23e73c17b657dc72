"""Sequences of patches of all four kinds, by two managers, on objects of any kind: whatever they say, nothing is lost.

A patch that is refused leaves every byte as it was. One that is taken leaves an object that is still itself, of the
right structure, and that can be read in every form. No other object changes.
"""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.model import structure
from fairlead.model.key import Key
from fairlead.port.request import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Reply, Request
from tests.conftest import SOAK
from tests.inprocess import InProcess
from tests.samples import SAMPLES
from tests.unit.api.things import KINDS, METADATA, TABLE, collection, made, need, sample

Json = dict[str, Any]
# In the namespace of the samples; what ends there would end everything.
_PATCHED = sorted(set(SAMPLES) - {"Namespace"})
_words = st.sampled_from(
    [
        "",
        "a",
        "web",
        "x/y",
        "-1",
        "10%",
        "1Gi",
        "Always",
        "2026-01-01T00:00:00Z",
        "é",
        "\u0000",
        "x" * 300,
        "$patch",
    ]
)
_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _words
)
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner, max_size=3),
    max_leaves=5,
)
_directives: st.SearchStrategy[Any] = st.sampled_from(
    [
        {"$patch": "delete"}, {"$patch": "replace"}, {"$patch": "merge"}, {"$patch": "nonsense"}, {"$patch": None},
        {"$retainKeys": ["name"]}, {"$retainKeys": "name"}, {"$setElementOrder/containers": [{"name": "web"}]},
        {"$setElementOrder/finalizers": ["a"]}, {"$deleteFromPrimitiveList/finalizers": ["a", 1]},
    ]
).map(copy.deepcopy)  # fmt: skip


def _paths(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(tree, dict | list):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            found += _paths(value, (*path, key))
    return found


_PATHS = {name: _paths(sample(name)) for name in _PATCHED}


@st.composite
def part(draw: st.DrawFn, name: str) -> Json:
    """Some branches of a sample, each cut off somewhere and ending in a value, a directive or what was there."""
    tree: Json = {}
    for path in draw(st.lists(st.sampled_from(_PATHS[name]), min_size=1, max_size=3)):
        there: Any = sample(name)
        parent = tree
        for step in path[:-1]:
            there = there[step]
            if not isinstance(step, str):
                break
            inner = parent.setdefault(step, {})
            if not isinstance(inner, dict):
                break
            parent = inner
        else:
            there = there[path[-1]] if isinstance(path[-1], str) else there
        if isinstance(there, dict | list) and draw(st.booleans()):
            there = [draw(_directives), *there] if isinstance(there, list) else {**there, **draw(_directives)}
        parent[str(path[-1])] = draw(st.just(there) | _values | _directives)
    return tree


def _pointer(path: tuple[Any, ...]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


@st.composite
def operations(draw: st.DrawFn, name: str) -> list[Json]:
    found: list[Json] = []
    for _ in range(draw(st.integers(1, 4))):
        pointer = draw(
            st.sampled_from(_PATHS[name]).map(_pointer)
            | st.sampled_from(_PATHS[name]).map(lambda path: _pointer((*path, "-")))
            | st.sampled_from(["", "/", "/metadata", "/spec/-", "~", "/a~2"])
        )
        found.append(
            {
                "op": draw(st.sampled_from(["add", "replace", "remove", "test", "move", "copy", "nothing"])),
                "path": pointer,
                "from": draw(st.sampled_from(_PATHS[name]).map(_pointer)),
                "value": draw(_values),
            }
        )
    return found


@st.composite
def requests(draw: st.DrawFn, name: str) -> Request:
    kind, own = KINDS[name], SAMPLES[name]["metadata"]["name"]
    media = draw(st.sampled_from([JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH]))
    body: Any = draw(operations(name)) if media == JSON_PATCH else draw(part(name))
    query = {"fieldManager": draw(st.sampled_from(["one", "two"]))}
    if media == APPLY_PATCH:
        body = {"apiVersion": kind.api_version, "kind": kind.kind, **body}
        body["metadata"] = {
            **(body["metadata"] if isinstance(body.get("metadata"), dict) else {}),
            "name": own,
        }
        if draw(st.booleans()):
            query["force"] = "true"
    if draw(st.integers(0, 9)) == 0:
        body = draw(_values)
    sub = draw(st.sampled_from(["", *(each for each in kind.subresources if each in ("status", "scale"))]))
    namespace = "shop" if kind.namespaced else ""
    return Request(
        verb="patch", group=kind.group, version=kind.version, plural=kind.plural, namespace=namespace,
        name=own, subresource=sub, query=query, body=json.dumps(body).encode(), content_type=media,
    )  # fmt: skip


def _plane(name: str) -> InProcess:
    """The object that is patched, and some others."""
    plane = InProcess()
    for each in dict.fromkeys(("Namespace", "ConfigMap", "Secret", "Deployment", name)):
        need(plane, KINDS[each], "shop")
        made(plane, collection(KINDS[each], "shop"), sample(each))
    return plane


def _held(plane: InProcess) -> dict[Key, bytes]:
    return {entry.key: entry.data for kind in KINDS.values() for entry in plane.store.list(kind.resource)}


@settings(max_examples=4000 if SOAK else 60)
@given(st.data())
def test_no_sequence_of_patches_loses_anything(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(_PATCHED))
    kind, plane = KINDS[name], _plane(name)
    own = SAMPLES[name]["metadata"]["name"]
    key = Key(kind.resource, "shop" if kind.namespaced else "", own)
    for request in data.draw(st.lists(requests(name), min_size=1, max_size=5)):
        before = _held(plane)
        reply = plane.send(request)
        assert isinstance(reply, Reply)
        answer, after = json.loads(reply.body), _held(plane)
        assert reply.status < 500, answer
        if reply.status >= 400:
            assert (answer["kind"], answer["status"], answer["code"]) == ("Status", "Failure", reply.status)
            assert after == before
            continue
        if key not in after:
            # Its deletion was waiting for the finalizers that this patch took away.
            assert b"deletionTimestamp" in before[key]
            return
        _is_itself(plane, name, json.loads(before.pop(key)), json.loads(after.pop(key)))
        assert after.keys() == before.keys()
        changed = {each.resource for each in after if after[each] != before[each]}
        assert changed <= {"namespaces"}, "but for the namespace, with whose revision quotas are kept in step"


def _is_itself(plane: InProcess, name: str, old: Json, new: Json) -> None:
    kind = KINDS[name]
    for field in ("name", "namespace", "uid", "creationTimestamp"):
        assert new["metadata"].get(field) == old["metadata"].get(field)
    assert (new["kind"], new["apiVersion"]) == (kind.kind, kind.api_version)
    unknown: list[str] = []
    assert not structure.check(plane.desk.tables, kind.schema, new, unknown=unknown)
    assert unknown == []
    for entry in new["metadata"].get("managedFields") or ():
        assert entry["manager"]
        assert entry["operation"] in ("Apply", "Update")
        assert isinstance(entry["fieldsV1"], dict)
    for accept in ("application/json", TABLE, METADATA):
        read = Request(verb="get", group=kind.group, version=kind.version, plural=kind.plural, namespace=new["metadata"].get("namespace", ""),
                       name=new["metadata"]["name"], accept=accept)  # fmt: skip
        reply = plane.send(read)
        assert isinstance(reply, Reply)
        assert reply.status == 200
