"""Defaults of a schema, which must be right by the schema themselves. Called by `structural.py` and `sound_schemas.py`
once nothing else is wrong with it."""

from __future__ import annotations

from typing import Any

from fairlead.core import codec
from fairlead.core.problems import Problems
from fairlead.model.custom.schema import MISSING, SchemaNode
from fairlead.model.custom.shaping import fill_defaults, prune
from fairlead.model.custom.validating import Walk, judge, judge_lists
from fairlead.model.kind import Json


def check_defaults(
    schema: Json, node: SchemaNode, path: str, problems: Problems, walk: Walk, *, inside_meta: bool
) -> None:
    """A default is an object like any other: pruned it must stay as it is, and nothing may be wrong with it."""
    if node.default is not MISSING:
        _default(node, path, problems, walk, inside_meta)
    for name, each in (schema.get("properties") or {}).items():
        meta = inside_meta or (name == "metadata" and (node.embedded or path.endswith("openAPIV3Schema")))
        check_defaults(
            each, node.properties[name], f"{path}.properties[{name}]", problems, walk, inside_meta=meta
        )
    if node.values is not None:
        at = f"{path}.additionalProperties"
        check_defaults(
            schema["additionalProperties"], node.values, at, problems, walk, inside_meta=inside_meta
        )
    if node.items is not None:
        check_defaults(schema["items"], node.items, f"{path}.items", problems, walk, inside_meta=inside_meta)


def _default(node: SchemaNode, path: str, problems: Problems, walk: Walk, inside_meta: bool) -> None:
    at = f"{path}.default"
    if inside_meta:
        problems.forbidden(at, "must not be set in top-level metadata")
        return
    value: Any = [node.default]  # held in something, so that it can be replaced
    unknown: list[str] = []
    holder = SchemaNode({"type": "array"})
    holder.items = node
    copy = codec.clone(value)
    prune(copy, holder, unknown, root=False)
    if unknown:
        problems.invalid(at, node.default, f"must not have unknown fields: {', '.join(unknown)[:200]}")
    fill_defaults(copy, holder)
    found = Problems()
    judge(copy[0], node, found, walk)
    judge_lists(copy[0], node, "", found)
    for cause in found.causes:
        where = f"{at}.{cause.field}" if cause.field and cause.field != "<nil>" else at
        problems.extend([type(cause)(cause.reason, cause.message, where)])
