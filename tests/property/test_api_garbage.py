"""Random families, deleted in random ways: what has lost every owner goes, nothing else does, and it ends."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.inprocess import InProcess
from tests.unit.api.collecting import Collecting
from tests.unit.api.things import CONFIGMAPS, configmap, made

NAMES = [f"c{number}" for number in range(8)]
POLICIES = ("Background", "Foreground", "Orphan")

# For each object: its owners (by position; also ones that come later, so that there are circles) and whether each
# reference blocks.
families = st.lists(
    st.dictionaries(st.integers(0, len(NAMES) - 1), st.booleans(), max_size=3),
    min_size=2,
    max_size=len(NAMES),
)
deletions = st.lists(
    st.tuples(st.integers(0, len(NAMES) - 1), st.sampled_from(POLICIES)), min_size=1, max_size=3
)


def _reference(owner: dict[str, Any], blocks: bool) -> dict[str, Any]:
    metadata = owner["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "blockOwnerDeletion": blocks,
    }


def _grown(plane: InProcess, family: list[dict[int, bool]]) -> dict[str, set[str]]:
    """Make them, then tie them together; returns the owners of each."""
    objects = [made(plane, CONFIGMAPS, configmap(name)) for name in NAMES[: len(family)]]
    tied: dict[str, set[str]] = {}
    for name, owners in zip(NAMES, family, strict=False):
        present = {NAMES[owner]: blocks for owner, blocks in owners.items() if owner < len(objects)}
        references = [_reference(objects[NAMES.index(owner)], blocks) for owner, blocks in present.items()]
        status, _ = plane.patch(f"{CONFIGMAPS}/{name}", {"metadata": {"ownerReferences": references or None}})
        assert status == 200
        tied[name] = set(present)
    return tied


def _left(plane: InProcess) -> set[str]:
    return {entry.key.name for entry in plane.store.list("configmaps", "default")}


def _expected(tied: dict[str, set[str]], name: str, policy: str) -> None:
    """Take one away and whatever follows, as the words of the three policies say."""
    owners = {each: set(of) for each, of in tied.items()}
    if name not in tied:
        return
    doomed = [name]
    while doomed:
        gone = doomed.pop()
        if tied.pop(gone, None) is None:
            continue
        for other in tied.values():
            other.discard(gone)
        if policy == "Orphan" and gone == name:
            continue
        doomed += [other for other, left in tied.items() if not left and gone in owners[other]]


@given(families, deletions)
def test_whatever_has_lost_all_its_owners_goes_and_nothing_else(
    family: list[dict[int, bool]], wanted: list[tuple[int, str]]
) -> None:
    plane = InProcess()
    tied = _grown(plane, family)
    collector = Collecting(plane)
    collector.settle()
    assert _left(plane) == set(tied), "nobody was deleted yet"
    for position, policy in wanted:
        name = NAMES[position]
        status, _ = plane.delete(f"{CONFIGMAPS}/{name}", {"propagationPolicy": policy})
        assert status == (200 if name in tied else 404)
        _expected(tied, name, policy)
        collector.settle()
        assert _left(plane) == set(tied)
        assert collector.everything() == []
    for entry in plane.store.list("configmaps", "default"):
        assert "deletionTimestamp" not in json.loads(entry.data)["metadata"]


@given(families, deletions)
def test_deletions_that_overlap_also_come_to_an_end(
    family: list[dict[int, bool]], wanted: list[tuple[int, str]]
) -> None:
    plane = InProcess()
    _grown(plane, family)
    collector = Collecting(plane)
    for position, policy in wanted:
        plane.delete(f"{CONFIGMAPS}/{NAMES[position]}", {"propagationPolicy": policy})
    collector.settle()
    assert collector.everything() == []
    uids = {entry.uid for entry in plane.store.list("configmaps", "default")}
    for entry in plane.store.list("configmaps", "default"):
        metadata = json.loads(entry.data)["metadata"]
        assert "deletionTimestamp" not in metadata, "nothing holds it, yet it is still there"
        owners = {reference["uid"] for reference in metadata.get("ownerReferences", [])}
        assert owners <= uids, "a reference to an owner that is gone was left behind"
