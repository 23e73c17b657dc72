"""How each value of a kind merges: the field tables as server-side apply reads them.

A `Rule` says of one value whether it is owned as a whole (atomic), by its fields, or by its items, and how the steps
to those are spelt. Rules are made when first needed and follow the tables, whose custom types come and go.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any, NamedTuple

from fairlead.model.apply.elements import field_element, key_element, value_element
from fairlead.model.fields import Field, FieldTables, ListOf, MapOf, ObjectType, Ref, Scalar, Type

_SHAPELESS = frozenset({"any"})
# Kubernetes' structs hold these by value: they are there also where nobody has set anything in them, and so they are
# never added or removed as such. Of all others being there is something that can be owned.
_BY_VALUE = frozenset(
    {"ObjectMeta", "ListMeta", "DeploymentStrategy", "StatefulSetUpdateStrategy", "DaemonSetUpdateStrategy",
     "ResourceRequirements", "EventSource", "NodeSystemInfo", "NodeDaemonEndpoints", "DaemonEndpoint"}
)  # fmt: skip
_BY_VALUE_ENDINGS = ("Spec", "Status")
_NO_KEYS = (dict, list)
_STEPS_KEPT = 256
_RULES_MIN = 256  # before any are looked through


class Mode(Enum):
    LEAF = "leaf"  # a scalar, or anything atomic
    FIELDS = "fields"  # an object of known fields
    MAP = "map"  # an object of free keys
    KEYED = "keyed"  # a list whose items have keys
    SET = "set"  # a list of scalars that are different from each other
    ANY = "any"  # not typed: objects by their keys, all else as a whole


class Member(NamedTuple):
    """One step down."""

    element: str
    rule: MergeRule
    given: bool = False  # there even where it is not written down
    free: bool = False  # not a known field: having the key is itself something to own


class MergeRule:
    """`members`: by name, of objects; `item`: of MAP, KEYED and SET; `keys`: of KEYED, sorted, with their defaults."""

    __slots__ = ("_steps", "is_leaf", "is_list", "item", "keys", "members", "mode", "strict")

    def __init__(
        self,
        mode: Mode,
        item: MergeRule | None = None,
        keys: tuple[tuple[str, Any], ...] = (),
        *,
        strict: bool = False,
    ) -> None:
        self.mode = mode
        self.is_leaf = mode is Mode.LEAF
        self.is_list = mode in (Mode.KEYED, Mode.SET)
        self.strict = strict  # values may be of no type: see `equal.py`
        self.item: MergeRule = item if item is not None else self
        self.keys = keys
        self.members: Members = Members(self.item)
        self._steps: dict[str, str] = {}

    def element_of(self, item: Any) -> str | None:
        """The step to an item of a list of this rule; None if it has none, which the structure should prevent."""
        if self.mode is Mode.SET:
            return None if type(item) in _NO_KEYS else value_element(item)
        if type(item) is not dict:
            return None
        keys = self.keys
        if len(keys) == 1:
            only = item.get(keys[0][0])
            if type(only) is str:  # most are
                return self._steps.get(only) or self._step(only)
        found = []
        for name, default in keys:
            value = item.get(name, default)
            if value is None or type(value) in _NO_KEYS:
                return None
            found.append((name, value))
        return key_element(found)

    def _step(self, only: str) -> str:
        step = key_element(((self.keys[0][0], only),))
        if len(self._steps) < _STEPS_KEPT:
            self._steps[only] = step
        return step

    def indexed(self, items: list[Any]) -> tuple[list[str | None], dict[str, Any]]:
        """The steps to all items, and the items by step; of several with the same step there is the list of them,
        as `DuplicateItems`."""
        steps: list[str | None] = []
        found: dict[str, Any] = {}
        for item in items:
            step = self.element_of(item)
            steps.append(step)
            if step is None:
                continue
            if step not in found:
                found[step] = item
            elif isinstance(found[step], DuplicateItems):
                found[step].append(item)
            else:
                found[step] = DuplicateItems((found[step], item))
        return steps, found

    def knows(self, name: str) -> bool:
        """Whether this is a field of the type, not one of its free keys."""
        return self.mode is Mode.FIELDS and not self.members[name].free

    def below(self, element: str) -> MergeRule:
        """The rule of what a step leads to."""
        return self.members[element[2:]].rule if element[:2] == "f:" else self.item


class DuplicateItems(list[Any]):
    """Items of a list that should be different from each other and are not."""


class Members(dict[str, Member]):
    """The steps to the keys of an object, each found out when it is first asked for: types may hold themselves. Only
    fields of the type are kept; clients make up the other names."""

    __slots__ = ("_item", "_rules", "type")

    def __init__(
        self, item: MergeRule | None, rules: Rules | None = None, found: ObjectType | None = None
    ) -> None:
        super().__init__()
        self._item = item
        self._rules = rules
        self.type = found

    def __missing__(self, name: str) -> Member:
        if self.type is not None and self._rules is not None:
            field = self.type.fields.get(name)
            if field is not None:
                member = self[name] = self._rules.member_of(field, "/" in self.type.name)
                return member
        return Member(field_element(name), self._item or ANY, free=True)


LEAF = MergeRule(Mode.LEAF)
ANY = MergeRule(Mode.ANY, strict=True)


class Rules:
    """The rules of all types, one per table."""

    __slots__ = ("_built_in", "_enough", "_found", "tables")

    def __init__(self, tables: FieldTables) -> None:
        self.tables = tables
        self._built_in: Rules | None = None  # of the types that all servers share
        if tables.trunk is not tables:
            if tables.trunk.rules is None:
                tables.trunk.rules = Rules(tables.trunk)
            self._built_in = tables.trunk.rules
        self._found: dict[str, MergeRule] = {}
        self._enough = _RULES_MIN

    def of(self, type_name: str) -> MergeRule:
        """The rule of an object of this type. One that was replaced in the tables gets a rule of its own."""
        if self._built_in is not None and "/" not in type_name:
            return self._built_in.of(type_name)
        found = self._found.get(type_name)
        known = self.tables[type_name]
        if found is None or found.members.type is not known:
            found = MergeRule(Mode.FIELDS, strict="/" in type_name)
            found.members = Members(ANY, self, known)
            if len(self._found) >= self._enough:
                self._forget_gone()
            self._found[type_name] = found
        return found

    def _forget_gone(self) -> None:
        """Those of custom kinds that are no longer defined, or otherwise; now and then, as they become many."""
        types = self.tables.types
        self._found = {
            name: rule for name, rule in self._found.items() if types.get(name) is rule.members.type
        }
        self._enough = max(_RULES_MIN, 2 * len(self._found))

    def member_of(self, field: Field, custom: bool = False) -> Member:
        rule = self._rule(field.type, field, custom)
        given = False
        if rule.mode is Mode.FIELDS and isinstance(field.type, Ref):
            name = field.type.name
            given = name in _BY_VALUE or (name.isalnum() and name.endswith(_BY_VALUE_ENDINGS))
        elif rule.mode in (Mode.KEYED, Mode.SET):
            given = field.required
        return Member(field_element(field.name), rule, given)

    def _rule(self, kind: Type, field: Field | None, custom: bool) -> MergeRule:
        list_type = field.list_type if field is not None else ""
        if isinstance(kind, Scalar):
            return ANY if kind.name in _SHAPELESS and list_type != "atomic" else LEAF
        if list_type == "atomic":
            return LEAF
        if isinstance(kind, Ref):
            known = self.tables[kind.name]
            return LEAF if known.atomic else self.of(kind.name)
        if isinstance(kind, MapOf):
            return MergeRule(Mode.MAP, self._rule(kind.value, None, custom), strict=custom)
        return self._list_rule(kind, field, custom)

    def _list_rule(self, kind: ListOf, field: Field | None, custom: bool) -> MergeRule:
        """A list without a word about it is atomic; strategic merge's words count where there are no others."""
        if field is None:
            return LEAF
        keys = field.list_keys
        list_type = field.list_type
        if not list_type and "merge" in field.strategy:
            list_type, keys = ("map", (field.merge_key,)) if field.merge_key else ("set", ())
        if list_type == "set":
            return MergeRule(Mode.SET, LEAF, strict=custom)
        if list_type == "map" and keys:
            return MergeRule(
                Mode.KEYED,
                self._rule(kind.item, None, custom),
                tuple(self._keys(kind.item, keys)),
                strict=custom,
            )
        return LEAF

    def _keys(self, item: Type, names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        fields = self.tables[item.name].fields if isinstance(item, Ref) else {}
        for name in sorted(names):
            field = fields.get(name)
            yield name, _default(field) if field is not None and field.default else None


def _default(field: Field) -> Any:
    """A default as a value of its field's type."""
    kind = field.type
    if isinstance(kind, Scalar) and kind.name in ("int32", "int64") and field.default.lstrip("-").isdecimal():
        return int(field.default)
    if isinstance(kind, Scalar) and kind.name == "boolean":
        return field.default == "true"
    return field.default
