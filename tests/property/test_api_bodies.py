"""Whatever is sent, the API answers: no exception but ApiError leaves it, no answer is a server's failure, and
what it holds stays readable and consistent."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.kind import Kind
from fairlead.port.request import JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Reply, Request
from tests.inprocess import InProcess
from tests.samples import SAMPLES
from tests.unit.api.things import KINDS, plane_with_everything, sample

Json = dict[str, Any]

_words = st.sampled_from(
    ["", "web", "a/b", "-1", "10%", "1Gi", "All", "\u0000", "é", "x" * 300, "2026-01-01T00:00:00Z", "orphan"]
)
_scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False),
    _words, st.text(max_size=8),
)  # fmt: skip
_values = st.recursive(
    _scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | _words, inner, max_size=3)
    ),
    max_leaves=6,
)


def _paths(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(tree, dict):
        for key, value in tree.items():
            found += _paths(value, (*path, key))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            found += _paths(value, (*path, index))
    return found


_PATHS = {name: _paths(it) for name, it in SAMPLES.items()}


@st.composite
def mutated(draw: st.DrawFn, name: str) -> Json:
    """A sample with up to three places overwritten, removed or added to."""
    obj: Json = sample(name)
    for path in draw(st.lists(st.sampled_from(_PATHS[name]), min_size=1, max_size=3)):
        parent: Any = obj
        for step in path[:-1]:
            if not isinstance(parent, dict | list) or (isinstance(parent, dict) and step not in parent):
                break
            if isinstance(parent, list) and (not isinstance(step, int) or step >= len(parent)):
                break
            parent = parent[step]
        _change(draw, parent, path[-1])
    return obj


def _change(draw: st.DrawFn, parent: Any, step: Any) -> None:
    if isinstance(parent, dict):
        if draw(st.booleans()):
            parent[step] = draw(_values)
        elif draw(st.booleans()):
            parent.pop(step, None)
        else:
            parent[draw(_words)] = draw(_values)
    elif isinstance(parent, list):
        parent.append(draw(_values))


def _address(kind: Kind, name: str = "", subresource: str = "") -> tuple[str, str, str, str, str, str]:
    return (kind.group, kind.version, kind.plural, "shop" if kind.namespaced else "", name, subresource)


def _send(plane: InProcess, request: Request) -> Reply:
    reply = plane.send(request)
    assert isinstance(reply, Reply)
    answer = json.loads(reply.body)
    assert reply.status < 500, answer
    if reply.status >= 400:
        assert (answer["kind"], answer["status"], answer["code"]) == ("Status", "Failure", reply.status)
        assert answer["message"]
    return reply


def _still_consistent(plane: InProcess) -> None:
    """Every object can be listed, knows its revision and says under which name it is kept."""
    for kind in KINDS.values():
        for accept in (JSON, "application/json;as=Table;v=v1;g=meta.k8s.io"):
            reply = plane.send(Request("list", kind.group, kind.version, kind.plural, accept=accept))
            assert isinstance(reply, Reply)
            assert reply.status == 200
        for entry in plane.store.list(kind.resource):
            metadata = json.loads(entry.data)["metadata"]
            assert (metadata["name"], metadata.get("namespace", "")) == (entry.key.name, entry.key.namespace)
            assert (metadata["uid"], metadata["resourceVersion"]) == (entry.uid, str(entry.revision))


@given(st.data())
def test_creates_and_updates_of_broken_samples_are_answered(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(SAMPLES)))
    kind, plane = KINDS[name], plane_with_everything()
    obj = data.draw(mutated(name))
    own = SAMPLES[name]["metadata"]["name"]
    fresh = copy.deepcopy(obj)
    if isinstance(fresh.get("metadata"), dict):
        fresh["metadata"]["name"] = "another"
    level = {"fieldValidation": data.draw(st.sampled_from(["Ignore", "Warn", "Strict"]))}
    _send(plane, Request("create", *_address(kind), query=level, body=json.dumps(fresh).encode()))
    _send(plane, Request("update", *_address(kind, own), query=level, body=json.dumps(obj).encode()))
    for subresource in kind.subresources:
        verb = "create" if subresource in ("binding", "eviction") else "update"
        _send(plane, Request(verb, *_address(kind, own, subresource), body=json.dumps(obj).encode()))
    _still_consistent(plane)


@given(st.data())
def test_patches_with_anything_in_them_are_answered(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(SAMPLES)))
    kind, plane = KINDS[name], plane_with_everything()
    own = SAMPLES[name]["metadata"]["name"]
    subresource = data.draw(
        st.sampled_from(["", *(s for s in kind.subresources if s in ("status", "scale"))])
    )
    whole = data.draw(mutated(name))
    kept = data.draw(st.lists(st.sampled_from(sorted(whole) or [""]), max_size=3))
    part = {field: whole.get(field) for field in kept} if kept else data.draw(_values)
    path = "/" + "/".join(str(step) for step in data.draw(st.sampled_from(_PATHS[name])))
    operation = {
        "op": data.draw(st.sampled_from(["add", "replace", "remove", "test", "move", "copy"])),
        "path": path, "from": path, "value": data.draw(_values),
    }  # fmt: skip
    for media, change in ((MERGE_PATCH, part), (STRATEGIC_PATCH, part), (JSON_PATCH, [operation])):
        body = json.dumps(change).encode()
        _send(plane, Request("patch", *_address(kind, own, subresource), body=body, content_type=media))
    _still_consistent(plane)


_OPTION_FIELDS = [
    "gracePeriodSeconds", "propagationPolicy", "orphanDependents", "preconditions", "dryRun", "kind", "apiVersion",
]  # fmt: skip


@given(st.data())
def test_deletions_with_any_options_are_answered(data: st.DataObject) -> None:
    plane = plane_with_everything()
    kind = KINDS[data.draw(st.sampled_from(["Pod", "Node", "ConfigMap", "Deployment"]))]
    own = SAMPLES[kind.kind]["metadata"]["name"]
    body = data.draw(st.dictionaries(st.sampled_from(_OPTION_FIELDS), _values, max_size=4))
    query = data.draw(
        st.dictionaries(
            st.sampled_from(
                ["gracePeriodSeconds", "propagationPolicy", "dryRun", "labelSelector", "fieldSelector"]
            ),
            _words
            | st.sampled_from(
                ["0", "30", "9999999999999999999", "Orphan", "a=b,c in (d)", "metadata.name=x"]
            ),
            max_size=2,
        )
    )
    raw = json.dumps(body).encode() if data.draw(st.booleans()) else b""
    if kind.kind == "Pod":
        bind = {"target": {"name": "node-1"}}
        _send(plane, Request("create", *_address(kind, own, "binding"), body=json.dumps(bind).encode()))
        evict = {"deleteOptions": body}
        _send(
            plane,
            Request("create", *_address(kind, own, "eviction"), query=query, body=json.dumps(evict).encode()),
        )
    _send(plane, Request("delete", *_address(kind, own), query=query, body=raw))
    _send(plane, Request("deletecollection", *_address(kind), query=query, body=raw))
    _still_consistent(plane)


@given(st.data())
def test_lists_and_watches_with_any_options_are_answered(data: st.DataObject) -> None:
    plane = plane_with_everything()
    kind = KINDS[data.draw(st.sampled_from(sorted(KINDS)))]
    texts = _words | st.sampled_from(
        ["0", "1", "5", "99999", "true", "Exact", "NotOlderThan", "WyJhIiwgMV0=", "WzEsIiIsIiJd"]
    )
    names = [
        "resourceVersion", "resourceVersionMatch", "limit", "continue", "labelSelector", "fieldSelector",
        "sendInitialEvents", "allowWatchBookmarks", "timeoutSeconds", "includeObject",
    ]  # fmt: skip
    query = data.draw(st.dictionaries(st.sampled_from(names), texts, max_size=4))
    accept = data.draw(
        st.sampled_from([JSON, "", "application/json;as=Table;v=v1;g=meta.k8s.io", "text/*", ";;", ","])
    )
    for verb in ("list", "watch"):
        step = plane.send(Request(verb, *_address(kind), query=query, accept=accept))
        if isinstance(step, Reply):
            assert (
                step.status < 500
                or json.loads(step.body)["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
            )


_REVIEWS = [
    ("authorization.k8s.io", "selfsubjectaccessreviews"), ("authorization.k8s.io", "subjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"), ("authentication.k8s.io", "tokenreviews"),
    ("authentication.k8s.io", "selfsubjectreviews"),
]  # fmt: skip
_ASKED = [
    "resourceAttributes",
    "nonResourceAttributes",
    "user",
    "groups",
    "namespace",
    "token",
    "uid",
    "extra",
]
_ATTRIBUTES = [
    "verb",
    "resource",
    "namespace",
    "name",
    "group",
    "subresource",
    "path",
    "fieldSelector",
    "labelSelector",
]


@given(st.data())
def test_questions_with_anything_in_them_are_answered(data: st.DataObject) -> None:
    group, plural = data.draw(st.sampled_from(_REVIEWS))
    attributes = st.dictionaries(st.sampled_from(_ATTRIBUTES), _values, max_size=4)
    spec = data.draw(st.dictionaries(st.sampled_from(_ASKED), _values | attributes, max_size=3) | _values)
    _send(InProcess(), Request("create", group, "v1", plural, body=json.dumps({"spec": spec}).encode()))
