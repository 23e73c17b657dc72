"""Objects against sets of fields: what an object covers, in what two of them differ, one without some of its fields.

All of it goes by the rules of `rules.py`. Called by `managers.py` and `api/apply/managing.py`. Trees that come out
share what they can with those that went in; nobody changes either.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from fairlead.model.apply.elements import SELF
from fairlead.model.apply.equal import same
from fairlead.model.apply.rules import DuplicateItems, Member, MergeRule, Mode
from fairlead.model.apply.sets import MEMBER, NOTHING, FieldSet, is_member

ABSENT: Final = object()  # not there, which null is


class TreeDifference(NamedTuple):
    """`changed`: added, or there before with another value; `removed`: there no longer."""

    changed: FieldSet
    removed: FieldSet

    def __bool__(self) -> bool:
        return bool(self.changed or self.removed)


def collect_fields(rule: MergeRule, tree: Any) -> FieldSet:
    """The fields that a configuration names: its leaves, its items, and what is empty."""
    found: FieldSet = {}
    if rule.is_list:
        if type(tree) is list:
            _, items = rule.indexed(tree)
            for step, item in items.items():
                below = None if isinstance(item, DuplicateItems) else collect_fields(rule.item, item)
                found[step] = {SELF: MEMBER, **below} if below else MEMBER
    elif not rule.is_leaf and type(tree) is dict:
        for name, value in tree.items():
            step, below_rule, _, free = rule.members[name]
            if _is_leaf(below_rule, value):
                found[step] = MEMBER
                continue
            below = collect_fields(below_rule, value)
            if free:
                found[step] = {SELF: MEMBER, **below} if below else MEMBER
            elif below:
                found[step] = below
    return found


def _is_leaf(rule: MergeRule, value: Any) -> bool:
    if rule.is_leaf:
        return True
    if rule.is_list:
        return type(value) is not list
    return not (type(value) is dict and value)


def collect_all(rule: MergeRule, value: Any) -> FieldSet:
    """All of something that was not there before, or is not any more, itself included."""
    found: FieldSet = {SELF: MEMBER}
    if rule.is_leaf:
        return MEMBER
    if rule.is_list:
        if type(value) is list:
            for step, item in rule.indexed(value)[1].items():
                found[step] = MEMBER if isinstance(item, DuplicateItems) else collect_all(rule.item, item)
    elif type(value) is dict:
        for name, below in value.items():
            member = rule.members[name]
            found[member.element] = collect_all(member.rule, below)
    return found if len(found) > 1 else MEMBER


def compare(rule: MergeRule, old: Any, new: Any) -> TreeDifference:
    """Of two objects of the same kind."""
    changed: FieldSet = {}
    removed: FieldSet = {}
    _compare_fields(rule, old, new, changed, removed)
    return TreeDifference(changed, removed)


def compare_field(name: str, rule: MergeRule, old: Any, new: Any) -> TreeDifference:
    """The same, of one field of theirs and nothing else."""
    changed: FieldSet = {}
    removed: FieldSet = {}
    before, after = old.get(name, ABSENT), new.get(name, ABSENT)
    if before is ABSENT or after is ABSENT:
        if before is not after:
            _compare(rule.members[name], before, after, changed, removed)
    elif before is not after:
        member = rule.members[name]
        _compare_present(member.element, member.rule, before, after, changed, removed)
    return TreeDifference(changed, removed)


def _compare_fields(rule: MergeRule, old: Any, new: Any, changed: FieldSet, removed: FieldSet) -> None:
    members, strict, seen = rule.members, rule.strict, 0
    for name, after in new.items():
        before = old.get(name, ABSENT)
        if before is ABSENT:
            member = members[name]
            if member.rule.is_leaf:  # most are
                changed[member.element] = MEMBER
            else:
                _compare(member, ABSENT, after, changed, removed)
            continue
        seen += 1
        if before is after or (before == after and (not strict or same(before, after))):
            continue
        member = members[name]
        if member.rule.is_leaf:
            changed[member.element] = MEMBER
        else:
            _compare_present(member.element, member.rule, before, after, changed, removed)
    if seen < len(old):
        for name, before in old.items():
            if name not in new:
                _compare(members[name], before, ABSENT, changed, removed)


def _compare(member: Member, before: Any, after: Any, changed: FieldSet, removed: FieldSet) -> None:
    """Two values of which one is absent."""
    step, rule, given, _ = member
    if given:
        empty: Any = [] if rule.is_list else {}
        before, after = (empty if before is ABSENT else before), (empty if after is ABSENT else after)
    if before is ABSENT:
        changed[step] = collect_all(rule, after)
    elif after is ABSENT:
        removed[step] = collect_all(rule, before)
    else:
        _compare_present(step, rule, before, after, changed, removed)


def _compare_present(
    step: str, rule: MergeRule, before: Any, after: Any, changed: FieldSet, removed: FieldSet
) -> None:
    if rule.is_leaf:
        changed[step] = MEMBER
        return
    more: FieldSet = {}
    less: FieldSet = {}
    if rule.is_list:
        both = type(before) is list and type(after) is list
        if both:
            _compare_items(rule, before, after, more, less)
    else:
        both = type(before) is dict and type(after) is dict
        if both:
            _compare_fields(rule, before, after, more, less)
    if not both:
        # Null, or not typed, and of another sort than before.
        more = {SELF: MEMBER, **collect_all(rule, after)}
        less = {
            name: node
            for name, node in collect_all(rule, before).items()
            if name != SELF and name not in more
        }
    if more:
        changed[step] = more if len(more) > 1 or SELF not in more else MEMBER
    if less:
        removed[step] = less


def _compare_items(rule: MergeRule, before: Any, after: Any, changed: FieldSet, removed: FieldSet) -> None:
    if len(before) == len(after) and rule.mode is Mode.KEYED:
        # Most often the items are the same ones in the same order, and most of them have not changed.
        pairs: dict[str | None, tuple[Any, Any]] = {}
        for old, new in zip(before, after, strict=True):
            if old is new or (old == new and (not rule.strict or same(old, new))):
                continue
            step = rule.element_of(new)
            if step is None or step in pairs or rule.element_of(old) != step:
                pairs[None] = old, new
                break
            pairs[step] = old, new
        if None not in pairs:
            for step, (old, new) in pairs.items():
                _compare_present(step or "", rule.item, old, new, changed, removed)
            return
    _, olds = rule.indexed(before)
    _, news = rule.indexed(after)
    for step, new in news.items():
        old = olds.get(step)
        if old is None:
            changed[step] = MEMBER if isinstance(new, DuplicateItems) else collect_all(rule.item, new)
        elif old != new or (rule.strict and not same(old, new)):
            if isinstance(old, DuplicateItems) or isinstance(new, DuplicateItems):
                changed[step] = MEMBER
            else:
                _compare_present(step, rule.item, old, new, changed, removed)
    for step, old in olds.items():
        if step not in news:
            removed[step] = MEMBER if isinstance(old, DuplicateItems) else collect_all(rule.item, old)


def remove_fields(rule: MergeRule, tree: Any, fields: FieldSet) -> Any:
    """The tree without these fields. What is left with nothing in it is ABSENT: see `drop_absent`."""
    if rule.is_list and type(tree) is list:
        items = [_item_without(rule, item, fields) for item in tree]
        left: Any = [item for item in items if item is not ABSENT]
        return left if left or not tree else ABSENT
    if rule.is_leaf or type(tree) is not dict:
        return tree
    kept: dict[str, Any] = {}
    for name, value in tree.items():
        member = rule.members[name]
        node = fields.get(member.element)
        if node is None:
            kept[name] = value
        elif not is_member(node):
            kept[name] = remove_fields(member.rule, value, node)
    return kept if kept or not tree else ABSENT


def _item_without(rule: MergeRule, item: Any, fields: FieldSet) -> Any:
    step = rule.element_of(item)
    node = fields.get(step) if step is not None else None
    if node is None:
        return item
    return ABSENT if is_member(node) else remove_fields(rule.item, item, node)


def drop_absent(rule: MergeRule, tree: Any, owned: FieldSet) -> Any:
    """The tree without what nothing was left of, unless it is itself owned: then it is empty."""
    if type(tree) is list:
        if not rule.is_list:
            return tree
        items = [
            drop_absent(rule.item, each, owned.get(rule.element_of(each) or "", NOTHING)) for each in tree
        ]
        return [each for each in items if each is not ABSENT]
    if rule.is_leaf or type(tree) is not dict or not tree:
        return tree
    kept: dict[str, Any] = {}
    for name, value in tree.items():
        member = rule.members[name]
        node = owned.get(member.element)
        left = ABSENT if value is ABSENT else drop_absent(member.rule, value, node or NOTHING)
        if left is not ABSENT:
            kept[name] = left
        elif node is not None and is_member(node):
            kept[name] = [] if member.rule.is_list else {}
    return kept or ABSENT


def add_parents(rule: MergeRule, fields: FieldSet, *, objects: bool = False) -> FieldSet:
    """The set with every known field as a member that something below is a member of; `objects`: only such as are
    objects of known fields."""
    found: FieldSet = {}
    for step, below in fields.items():
        if not below:
            found[step] = MEMBER
            continue
        inner_rule = rule.below(step)
        inner = add_parents(inner_rule, below, objects=objects)
        if step[:2] == "f:" and rule.knows(step[2:]) and (not objects or inner_rule.mode is Mode.FIELDS):
            inner[SELF] = MEMBER
        found[step] = inner
    return found
