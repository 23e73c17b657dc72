"""Objects inside objects (`x-kubernetes-embedded-resource`): they have an apiVersion, a kind and proper metadata.

Used by `kinds.py`: `trim_embedded` drops what is no metadata, `check_embedded` says what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.core.problems import Problems
from fairlead.model import structure
from fairlead.model.custom.schema import SchemaNode
from fairlead.model.fields import FieldTables
from fairlead.model.names import name_problems


def _embedded(value: Any, node: SchemaNode, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if type(value) is dict:
        if node.embedded:
            yield path, value
        prefix = f"{path}." if path else ""
        for key, item in value.items():
            below = node.properties.get(key) or node.values
            if below is not None and type(item) in (dict, list):
                yield from _embedded(item, below, prefix + key)
    elif type(value) is list and node.items is not None:
        for index, item in enumerate(value):
            yield from _embedded(item, node.items, f"{path}[{index}]")


def trim_embedded(obj: Any, node: SchemaNode, tables: FieldTables) -> None:
    known = tables["ObjectMeta"].fields
    for _, each in _embedded(obj, node, ""):
        metadata = each.get("metadata")
        if isinstance(metadata, dict):
            for key in [key for key in metadata if key not in known]:
                del metadata[key]
            structure.drop_nulls(metadata)


def check_embedded(obj: Any, node: SchemaNode, path: str, problems: Problems) -> None:
    for at, each in _embedded(obj, node, path):
        for field in ("apiVersion", "kind"):
            value = each.get(field)
            if value is not None and not isinstance(value, str):
                problems.invalid(f"{at}.{field}", value, "must be a string")
            elif not value:
                problems.required(f"{at}.{field}", "must not be empty")
        metadata = each.get("metadata")
        if metadata is not None and not isinstance(metadata, dict):
            problems.invalid(f"{at}.metadata", metadata, "must be an object")
            continue
        name = (metadata or {}).get("name")
        if isinstance(name, str) and name:
            for wrong in name_problems("path-segment", name):
                problems.invalid(f"{at}.metadata.name", name, wrong)
