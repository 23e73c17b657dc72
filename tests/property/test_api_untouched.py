"""No verb changes what the store holds but by a commit: the bytes of every other object stay the very same."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fairlead.api.objects import tree
from fairlead.api.plan import Plan
from fairlead.core.errors import ApiError
from fairlead.model.key import Key
from fairlead.port.request import JSON_PATCH, MERGE_PATCH, Request
from fairlead.store.contract import Entry
from tests.inprocess import InProcess
from tests.samples import SAMPLES
from tests.unit.api.things import KINDS, plane_with_everything, sample

_changes: dict[str, Any] = {
    "label": {"metadata": {"labels": {"new": "label"}}},
    "finalizer": {"metadata": {"finalizers": ["example.com/hold"]}},
    "owner": {"metadata": {"ownerReferences": None}},
    "status": {"status": {"conditions": []}},
    "nothing": {},
}
_verbs = st.sampled_from(
    ["get", "list", "create", "update", "patch", "json", "delete", "deletecollection", "status"]
)
_steps = st.lists(
    st.tuples(st.sampled_from(sorted(SAMPLES)), _verbs, st.sampled_from(sorted(_changes))),
    min_size=1,
    max_size=6,
)


def _request(name: str, verb: str, change: str) -> Request:
    kind, obj = KINDS[name], sample(name)
    space, own = "shop" if kind.namespaced else "", obj["metadata"]["name"]
    address = (kind.group, kind.version, kind.plural, space)
    if verb in ("list", "deletecollection"):
        return Request(verb, *address)
    if verb == "create":
        obj["metadata"]["name"] = f"{own}-2"
        return Request(verb, *address, body=json.dumps(obj).encode())
    if verb == "update":
        obj["metadata"].update(_changes[change].get("metadata", {}))
        return Request(verb, *address, own, body=json.dumps(obj).encode())
    if verb == "json":
        body = json.dumps([{"op": "add", "path": "/metadata/labels/j", "value": "1"}]).encode()
        return Request("patch", *address, own, body=body, content_type=JSON_PATCH)
    if verb in ("patch", "status"):
        subresource = "status" if verb == "status" and "status" in kind.subresources else ""
        body = json.dumps(_changes[change]).encode()
        return Request("patch", *address, own, subresource, body=body, content_type=MERGE_PATCH)
    return Request(verb, *address, own)


def _held(plane: InProcess) -> dict[Key, tuple[int, bytes]]:
    entries: list[Entry] = [entry for kind in KINDS.values() for entry in plane.store.list(kind.resource)]
    return {entry.key: (entry.revision, bytes(entry.data)) for entry in entries}


@given(_steps)
def test_only_what_was_committed_changes(steps: list[tuple[str, str, str]]) -> None:
    plane = plane_with_everything()
    for step in steps:
        before, published = _held(plane), len(plane.published)
        plane.send(_request(*step))
        touched = {change.entry.key for change in plane.published[published:]}
        after = _held(plane)
        assert {key: held for key, held in after.items() if key not in touched} == {
            key: held for key, held in before.items() if key not in touched
        }


@given(_steps)
def test_planning_alone_changes_nothing(steps: list[tuple[str, str, str]]) -> None:
    plane = plane_with_everything()
    before = _held(plane)
    for step in steps:
        try:
            planned = plane.plan(_request(*step))
        except ApiError:
            continue
        assert planned is not None
        assert not isinstance(planned, Plan) or planned.transaction.preconditions
    assert _held(plane) == before


def test_a_tree_is_a_copy() -> None:
    plane = plane_with_everything()
    (entry,) = plane.store.list("pods")
    tree(entry)["spec"]["containers"].clear()
    assert tree(entry)["spec"]["containers"]
