"""Strategic merge patch: a merge patch that knows from the field tables how each list merges.

Called by `api/` for application/strategic-merge-patch+json: what `kubectl apply`, `edit` and `patch` send.

- Objects merge field by field; null removes a field. `$patch: replace` takes the patch instead of merging,
  `$patch: delete` empties, `$retainKeys` first drops every field that it does not name.
- A list with strategy merge and a merge key merges its items by that key; `$patch: delete` in an item removes
  the item with its key, an item `{"$patch": "replace"}` makes the other items replace the whole list.
- A list of scalars with strategy merge is a set; `$deleteFromPrimitiveList/<field>` takes values out.
- Any other list is replaced.
- A merged list is in the order of `$setElementOrder/<field>` or else of the patch; see `ordering.py` for the
  items that only the server has.

Fields outside the tables merge as in a merge patch. Only known directives are accepted.
"""

from __future__ import annotations

from typing import Any

from fairlead.core.codec import clone, field_path
from fairlead.core.errors import BadRequest
from fairlead.core.problems import show
from fairlead.model.fields import Field, FieldTables, ListOf, MapOf, ObjectType, Ref, Type
from fairlead.model.kind import Json
from fairlead.model.patch.ordering import ordered, out_of_order, places

_PATCH = "$patch"
_RETAIN = "$retainKeys"
_DELETE_FROM = "$deleteFromPrimitiveList/"
_SET_ORDER = "$setElementOrder/"
_NAMES = (str, int, float, bool)
_NAMELESS = object()


def strategic(current: Json, patch: Json, schema: ObjectType, tables: FieldTables) -> Json:
    """`current` with `patch` merged into it, as a new tree. `schema` is the table of the object's kind."""
    if patch.get(_PATCH) == "delete":
        raise _wrong("", "$patch: delete at the top would delete the object: use DELETE for that")
    return _Merge(tables).objects(current, patch, schema, None, "")


class _Merge:
    """One merge. Holds the tables only, so that they need not be handed down every call."""

    __slots__ = ("tables",)

    def __init__(self, tables: FieldTables) -> None:
        self.tables = tables

    def objects(
        self, current: Json, patch: Json, schema: ObjectType | None, values: Type | None, path: str
    ) -> Json:
        """Two objects: of a type in the tables (`schema`), or with free keys and values of one type."""
        directive = patch.get(_PATCH)
        if directive == "delete":
            return {}
        if directive == "replace":
            current = {}
        elif directive not in (None, "merge"):
            raise _unknown_patch(path, directive)
        if _RETAIN in patch:
            current = _retained(current, patch, path)
        fields = schema.fields if schema is not None else {}
        directed = _directed(patch) if schema is not None else ()
        merged: Json = {key: clone(value) for key, value in current.items() if key not in patch}
        for key, change in patch.items():
            if key[:1] == "$" and _is_directive(key, schema, path):
                continue
            if change is not None and key not in directed:
                field = fields.get(key)
                shape = field.type if field is not None else values
                merged[key] = self._value(current.get(key), change, shape, field, field_path(path, key))
        for name in directed:
            self._directed_list(merged, name, current, patch, fields.get(name), field_path(path, name))
        return _as_before(merged, current)

    def _value(self, value: Any, change: Any, shape: Type | None, field: Field | None, path: str) -> Any:
        if type(change) is dict:
            if type(value) is not dict or (field is not None and "replace" in field.strategy):
                value = {}
            return self._inner(value, change, shape, path)
        if type(change) is not list:
            return change
        if field is None or "merge" not in field.strategy:
            item = shape.item if isinstance(shape, ListOf) else None
            return [self._fresh(each, item, f"{path}[{index}]") for index, each in enumerate(change)]
        return self._list(value if type(value) is list else [], change, field, None, path)

    def _inner(self, value: Json, change: Json, shape: Type | None, path: str) -> Json:
        schema = self.tables[shape.name] if isinstance(shape, Ref) else None
        return self.objects(value, change, schema, shape.value if isinstance(shape, MapOf) else None, path)

    def _fresh(self, item: Any, shape: Type | None, path: str) -> Any:
        """An item of a list that is replaced: nothing to merge with, but directives don't stay."""
        if type(item) is dict and item.get(_PATCH) is not None:
            raise _wrong(path, "this list is always replaced as a whole: $patch has no place in it")
        return self._value(None, item, shape, None, path)

    def _directed_list(
        self, merged: Json, name: str, current: Json, patch: Json, field: Field | None, path: str
    ) -> None:
        """A list that a `$deleteFromPrimitiveList/` or `$setElementOrder/` of this patch speaks of."""
        if field is None or "merge" not in field.strategy or not isinstance(field.type, ListOf):
            raise _wrong(path, "a directive for lists needs a list that merges, and this field is none")
        removed = _list_of(patch, _DELETE_FROM + name, path)
        order = _list_of(patch, _SET_ORDER + name, path)
        if removed and field.merge_key:
            raise _wrong(path, "$deleteFromPrimitiveList is for lists of scalars: use $patch: delete")
        if name in patch and patch[name] is None:
            return
        change, before = _list_of(patch, name, path) or [], current.get(name)
        if type(before) is not list and not change:
            return
        kept = before if type(before) is list else []
        if removed:
            gone = set(_scalars(removed, path))
            kept = [item for item in _scalars(kept, path) if item not in gone]
        merged[name] = self._list(kept, change, field, order, path)

    def _list(
        self, value: list[Any], change: list[Any], field: Field, order: list[Any] | None, path: str
    ) -> list[Any]:
        """Two lists that merge."""
        if field.merge_key:
            return self._keyed(value, change, field, order, path)
        wanted = _scalars(change, path)
        merged = list(dict.fromkeys([*_scalars(value, path), *wanted]))
        if order is not None:
            wanted = _follows(list(dict.fromkeys(wanted)), _scalars(order, path), path)
        return ordered(merged, merged, wanted, value)

    def _keyed(
        self, value: list[Any], change: list[Any], field: Field, order: list[Any] | None, path: str
    ) -> list[Any]:
        """Items matched by their merge key; of several with one key the first is meant."""
        merge_key = field.merge_key
        shape = field.type.item if isinstance(field.type, ListOf) else None
        plain, deleted, replace = _split(change, merge_key, path)
        kept = [] if replace else [item for item in value if _name(item, merge_key) not in deleted]
        before = [_name(item, merge_key) for item in kept]
        merged, names, position = clone(kept), list(before), places(before)
        for item in plain:
            name = item[merge_key]
            here = f"{path}[{merge_key}={show(name)}]"
            index = position.setdefault(name, len(merged))
            if index == len(merged):
                merged.append({})
                names.append(name)
            merged[index] = self._inner(merged[index], item, shape, here)
        wanted = [item[merge_key] for item in plain]
        if order is not None:
            wanted = _follows(wanted, [_order_name(item, merge_key, path) for item in order], path)
        return ordered(merged, names, wanted, before)


def _wrong(path: str, message: str) -> BadRequest:
    return BadRequest(f"strategic merge patch: {path + ': ' if path else ''}{message}")


def _unknown_patch(path: str, directive: Any) -> BadRequest:
    return _wrong(path, f"unknown $patch {show(directive)}: use delete, replace or merge")


def _is_directive(key: str, schema: ObjectType | None, path: str) -> bool:
    """Whether a key that starts with $ is an instruction. Among free keys it may as well be data."""
    if key in (_PATCH, _RETAIN):
        return True
    if schema is None:
        return False
    if key.startswith((_DELETE_FROM, _SET_ORDER)):
        return True
    known = "$patch, $retainKeys, $deleteFromPrimitiveList/<field>, $setElementOrder/<field>"
    raise _wrong(path, f"unknown directive {show(key)}: use one of {known}")


def _directed(patch: Json) -> tuple[str, ...]:
    """The lists that directives of this patch speak of, each once."""
    found = [key.partition("/")[2] for key in patch if key.startswith((_DELETE_FROM, _SET_ORDER))]
    return tuple(dict.fromkeys(found))


def _retained(current: Json, patch: Json, path: str) -> Json:
    """`current` without the fields that $retainKeys leaves out."""
    keys = patch[_RETAIN]
    if type(keys) is not list or not all(type(key) is str for key in keys):
        raise _wrong(path, f"$retainKeys must be a list of field names, got {show(keys)}")
    retained = set(keys)
    stray = [key for key in patch if key[:1] != "$" and patch[key] is not None and key not in retained]
    if stray:
        raise _wrong(path, f"$retainKeys must name every field that the patch sets: add {', '.join(stray)}")
    return {key: value for key, value in current.items() if key in retained}


def _list_of(patch: Json, name: str, path: str) -> list[Any] | None:
    values = patch.get(name)
    if values is not None and type(values) is not list:
        raise _wrong(path, f"{name} must be a list, got {show(values)}")
    return values


def _scalars(values: list[Any], path: str) -> list[Any]:
    for value in values:
        if type(value) not in _NAMES:
            raise _wrong(path, f"must be a list of scalars, got {show(value)} in it")
    return values


def _split(change: list[Any], merge_key: str, path: str) -> tuple[list[Json], set[Any], bool]:
    """Items to merge, names to delete, and whether the list is to be replaced."""
    plain: list[Json] = []
    deleted: set[Any] = set()
    replace = False
    for index, item in enumerate(change):
        here = f"{path}[{index}]"
        if type(item) is not dict:
            raise _wrong(here, f"must be an object with the merge key {merge_key!r}, got {show(item)}")
        directive = item.get(_PATCH)
        if directive == "replace":
            # As in Kubernetes, the item that carries it is a mark only and not part of the list.
            replace = True
            continue
        if directive not in (None, "delete", "merge"):
            raise _unknown_patch(here, directive)
        if type(item.get(merge_key)) not in _NAMES:
            raise _wrong(here, f"the merge key {merge_key!r} is missing: it says which item is meant")
        if directive == "delete":
            deleted.add(item[merge_key])
        else:
            plain.append(item)
    return plain, deleted, replace


def _name(item: Any, merge_key: str) -> Any:
    """What an item is called; items without a usable merge key equal no patched item."""
    name = item.get(merge_key) if type(item) is dict else None
    return name if type(name) in _NAMES else _NAMELESS


def _order_name(item: Any, merge_key: str, path: str) -> Any:
    name = _name(item, merge_key)
    if name is _NAMELESS:
        raise _wrong(path, f"items of $setElementOrder must have the merge key {merge_key!r}")
    return name


def _follows(patched: list[Any], order: list[Any], path: str) -> list[Any]:
    """`order`, which the patch's items must be part of."""
    stray = out_of_order(patched, order)
    if stray is not None:
        raise _wrong(
            path, f"the patch's items must be in $setElementOrder, in its order: {show(stray)} is not"
        )
    return order


def _as_before(merged: Json, current: Json) -> Json:
    """Fields where they were, new ones after them."""
    if not current:
        return merged
    result = {key: merged[key] for key in current if key in merged}
    result.update(merged)
    return result
