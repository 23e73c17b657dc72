"""One configuration applied to an object: the merge, what is removed, who is in the way, and who owns what after.

The heart of server-side apply. Pure; `api/verbs/apply.py` calls it with the object as it is and stores the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from fairlead.core.errors import FairleadError
from fairlead.model.apply.equal import same
from fairlead.model.apply.managers import ManagedFieldsEntry, Who, sort_entries
from fairlead.model.apply.merging import merge
from fairlead.model.apply.rules import MergeRule
from fairlead.model.apply.sets import NOTHING, FieldSet, Path, intersection, minus, path_text, paths, union
from fairlead.model.apply.trees import (
    ABSENT,
    TreeDifference,
    add_parents,
    collect_all,
    collect_fields,
    compare,
    drop_absent,
    remove_fields,
)
from fairlead.model.apply.versions import Versions

Filter = Callable[[FieldSet], FieldSet]


class ConflictsError(FairleadError):
    """Others own what this would change. `found`: each owner with each field."""

    def __init__(self, found: Sequence[tuple[Who, Path]]) -> None:
        super().__init__(_message(found))
        self.found = tuple(found)


class Applied(NamedTuple):
    tree: Any  # the very same as before if nothing changed
    entries: tuple[ManagedFieldsEntry, ...]


def apply_configuration(
    rule: MergeRule,
    live: Any,
    config: Any,
    entries: Sequence[ManagedFieldsEntry],
    who: Who,
    now: str,
    kept: Filter,
    *,
    force: bool = False,
    allowed: FieldSet = NOTHING,
    versions: Versions | None = None,
) -> Applied:
    """Raises ConflictsError unless `force`, or all that is in the way is in `allowed`. `kept` takes from a set what
    nobody can own here. `versions`: of a kind that has others with other fields."""
    mine = kept(collect_fields(rule, config))
    last = next((each for each in entries if each.who.same(who)), None)
    others = [each for each in entries if each is not last]
    tree = merge(rule, live, config)
    if last is not None and last.fields:
        known = [_in_this_version(each, tree, kept, versions) for each in (last, *others)]
        # Once more: a list that is applied as empty may have lost its last item just now, and gone with it.
        tree = merge(rule, _pruned(rule, tree, known[0], mine, known[1:]), config)
    this = _kept(compare(rule, live, tree), kept)
    changes = [_changes(each, live, tree, this, kept, versions) for each in others]
    if not force:
        _check_conflicts(others, changes, allowed)
    after = [
        each.with_fields(minus(minus(each.fields, its.changed), its.removed))
        for each, its in zip(others, changes, strict=True)
    ]
    unchanged = same(tree, live)  # an order of items is owned by nobody, and a change all the same
    if mine:
        settled = unchanged and last is not None and last.fields == mine and last.who == who
        after.append(last if settled and last is not None else ManagedFieldsEntry(who, now, mine))
    return Applied(live if unchanged else tree, sort_entries(each for each in after if each.fields))


def _in_this_version(
    entry: ManagedFieldsEntry, tree: Any, kept: Filter, versions: Versions | None
) -> FieldSet:
    if versions is None:
        return entry.fields
    return kept(versions.fields(entry.who.api_version, entry.fields, tree))


def _changes(
    entry: ManagedFieldsEntry,
    live: Any,
    tree: Any,
    this: TreeDifference,
    kept: Filter,
    versions: Versions | None,
) -> TreeDifference:
    """As the version of the entry has it; `this`: as the one that is written in."""
    found = versions.difference(entry.who.api_version, live, tree) if versions is not None else None
    return this if found is None else _kept(found, kept)


def _kept(found: TreeDifference, kept: Filter) -> TreeDifference:
    return TreeDifference(kept(found.changed), kept(found.removed))


def _pruned(rule: MergeRule, tree: Any, last: FieldSet, mine: FieldSet, others: Sequence[FieldSet]) -> Any:
    """The merged tree without what the applier named last time, does not name now, and nobody else owns."""
    # An applier that gave an object the last field that anybody owns takes it along, with what defaults had added to
    # it. In maps and lists, what nobody owns stays.
    last = add_parents(rule, last, objects=True)
    owned = mine
    for each in others:
        owned = union(owned, each)
    there = collect_all(rule, tree)
    left = collect_all(rule, remove_fields(rule, tree, last))
    # Fields that go with the applier's own, but belong to somebody else, are given back ...
    left = collect_all(rule, remove_fields(rule, tree, minus(there, union(left, add_parents(rule, owned)))))
    # ... and that which nobody owns, and the applier did not.
    pruned = drop_absent(rule, remove_fields(rule, tree, intersection(minus(there, left), last)), owned)
    return pruned if pruned is not ABSENT else {}


def _check_conflicts(
    others: Sequence[ManagedFieldsEntry], changes: Sequence[TreeDifference], allowed: FieldSet
) -> None:
    found: list[tuple[Who, Path]] = []
    both = sorted(
        zip(others, changes, strict=True), key=lambda one: (one[0].who.manager, one[0].who.operation)
    )
    for each, its in both:
        for path in paths(intersection(each.fields, its.changed)):
            found.append((each.who, path))
    if allowed and found:
        left = minus(_set_of(found), allowed)
        members = set(paths(left))
        found = [(who, path) for who, path in found if path in members]
    if found:
        raise ConflictsError(found)


def _set_of(found: Sequence[tuple[Who, Path]]) -> FieldSet:
    fields: FieldSet = {}
    for _, path in found:
        node: FieldSet = {}
        for element in reversed(path):
            node = {element: node}
        fields = union(fields, node)
    return fields


def _message(found: Sequence[tuple[Who, Path]]) -> str:
    """In Kubernetes' words, which kubectl adds its advice to."""
    if len(found) == 1:
        who, path = found[0]
        return f"Apply failed with 1 conflict: conflict with {who.text()}: {path_text(path)}"
    lines: list[str] = []
    before = ""
    for who, path in found:
        if who.text() != before:
            before = who.text()
            lines.append(f"conflicts with {before}:")
        lines.append(f"- {path_text(path)}")
    return f"Apply failed with {len(found)} conflicts: " + "\n".join(lines)
