"""What the mutating admission policies of a plane write, read from their expressions without running them. Pure.

`Object{metadata: Object.metadata{labels: {...}}}` names its fields by structure, `JSONPatch{path:
"/metadata/labels/x"}` by a path; a path that is computed is told as `*`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.decision.footprint import ANY
from fairlead.model.cel.errors import ExpressionError
from fairlead.model.cel.parser import parse
from fairlead.model.cel.syntax import Binary, Literal, Struct, SyntaxNode, children

Json = dict[str, Any]
_KEYED = ("metadata.annotations", "metadata.labels")
_EVERYTHING = frozenset({ANY})


def policy_writes(spec: Json) -> dict[str, frozenset[str]]:
    """Fields by resource, of the spec of a MutatingAdmissionPolicy."""
    written: set[str] = set()
    for mutation in spec.get("mutations") or ():
        for part in ("applyConfiguration", "jsonPatch"):
            if part in mutation:
                written |= expression_writes(str(mutation[part].get("expression", "")))
    rules = (spec.get("matchConstraints") or {}).get("resourceRules") or ()
    return {resource: frozenset(written) for rule in rules for resource in _resources(rule)}


def expression_writes(text: str) -> frozenset[str]:
    try:
        tree = parse(text)
    except ExpressionError:
        return _EVERYTHING
    return frozenset(_written(tree))


def _written(node: SyntaxNode) -> Iterator[str]:
    if isinstance(node, Struct) and node.name == "JSONPatch":
        yield from (_of_pointer(each.value) for each in node.fields if each.name == "path")
        return
    if isinstance(node, Struct) and node.name.split(".")[0] == "Object":
        above = node.name.split(".")[1:]
        for field in node.fields:
            path = [*above, field.name]
            if isinstance(field.value, Struct):
                yield from _written(field.value)
            else:
                yield ".".join(path[:2])
        return
    for each in children(node):
        yield from _written(each)


def _of_pointer(node: SyntaxNode) -> str:
    if not isinstance(node, Literal) or not isinstance(node.value, str):
        # "/metadata/labels/" + key: what it begins with is known.
        return _of_pointer(node.left) if isinstance(node, Binary) else ANY
    parts = [part.replace("~1", "/").replace("~0", "~") for part in node.value.split("/")[1:]]
    field = ".".join(parts[:2])
    key = parts[2] if len(parts) > 2 and field in _KEYED[:1] else ""
    return f"{field}[{key}]" if key else field or ANY


def _resources(rule: Json) -> Iterator[str]:
    for group in rule.get("apiGroups") or ():
        for plural in rule.get("resources") or ():
            name = str(plural).partition("/")[0]
            yield ANY if ANY in (name, group) else f"{name}.{group}" if group else name
