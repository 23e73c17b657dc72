"""What a schema makes of an object before it is judged: nulls, unknown fields, defaults. As Kubernetes does it.

Called through the functions that `kinds.py` puts into a custom Kind, for what clients send and for what is read from
the store. Everything works in place; trees are at most `codec.DEPTH_MAX` deep.
"""

from __future__ import annotations

from typing import Any

from fairlead.core import codec
from fairlead.model.custom.schema import MISSING, SchemaNode

#: bound: objects | unknown fields of a custom object named | dropped unnamed
UNKNOWN_FIELDS_MAX = 100
_META = frozenset({"apiVersion", "kind", "metadata"})


def prune(value: Any, node: SchemaNode, unknown: list[str], path: str = "", *, root: bool = True) -> None:
    """Drop fields that the schema does not know; their paths are added to `unknown`, the first hundred of them."""
    if type(value) is dict:
        meta = root or node.embedded
        for key in list(value):
            if meta and key in _META:
                continue
            below = node.properties.get(key) or node.values
            if below is not None:
                prune(value[key], below, unknown, codec.field_path(path, key), root=False)
            elif not node.preserve and not node.open:
                del value[key]
                if len(unknown) < UNKNOWN_FIELDS_MAX:
                    unknown.append(codec.field_path(path, key))
    elif type(value) is list:
        if node.items is not None:
            for index, item in enumerate(value):
                prune(item, node.items, unknown, f"{path}[{index}]", root=False)
        elif not node.preserve:
            for index, item in enumerate(value):
                prune(item, _NOTHING, unknown, f"{path}[{index}]", root=False)


def drop_nulls(value: Any, node: SchemaNode) -> None:
    """A null in place of a field that may not be null counts as absent, unless a default will take its place."""
    if type(value) is dict:
        for key in list(value):
            below = node.properties.get(key) or node.values
            if below is None:
                continue
            if value[key] is None:
                if not below.nullable and below.default is MISSING:
                    del value[key]
            else:
                drop_nulls(value[key], below)
    elif type(value) is list and node.items is not None:
        for item in value:
            drop_nulls(item, node.items)


def fill_defaults(value: Any, node: SchemaNode) -> None:
    """Put in the defaults of what is absent. A default of a field is filled in where its parent is there."""
    if type(value) is dict:
        for key, below in node.properties.items():
            if below.default is not MISSING and (
                key not in value or (value[key] is None and not below.nullable)
            ):
                value[key] = codec.clone(below.default)
        for key, each in value.items():
            below_or_none = node.properties.get(key) or node.values
            if below_or_none is None:
                continue
            if each is None and not below_or_none.nullable and below_or_none.default is not MISSING:
                value[key] = each = codec.clone(below_or_none.default)
            if below_or_none.defaults_below:
                fill_defaults(each, below_or_none)
    elif type(value) is list and node.items is not None:
        items = node.items
        for index, each in enumerate(value):
            if each is None and not items.nullable and items.default is not MISSING:
                value[index] = codec.clone(items.default)
            if items.defaults_below:
                fill_defaults(value[index], items)


_NOTHING = SchemaNode({"type": "object"})
