"""CustomResourceDefinitions of a given size, shaped like those that people install. Used by `bench/definitions.py`.

    described   one version, wide and deep, every field with a few lines of text: operators of databases and of monitoring
    versions    four versions that differ in one field, no text: what generators make of the API of a cloud
    bare        as many schemas as fit: short names, types and nothing else, thirty levels deep; nobody writes such

The first two hold what makes a schema costly: patterns, enums, defaults, alternatives, list maps, integers or strings,
rules. The same size gives the same definition.
"""

from __future__ import annotations

import json
import random
from typing import Any

Json = dict[str, Any]
SHAPES = ("described", "versions", "bare")
GROUP = "bench.example.com"
_WORDS = (
    "name", "reference", "selector", "policy", "target", "source", "volume", "storage", "class", "timeout",
    "interval", "endpoint", "secret", "key", "value", "labels", "match", "expressions", "affinity",
    "weight", "term", "topology", "container", "image", "resources", "limits", "requests", "probe", "port",
    "path", "host", "scheme", "header", "query", "remote", "write", "read", "config", "relabel", "action",
    "regex", "separator", "modulus", "certificate", "issuer", "duration", "renew", "before", "usage",
    "algorithm", "encoding", "size", "rotation", "private", "subject", "organization", "country",
)  # fmt: skip
_PATTERNS = (
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
    r"^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$",
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
    r"^https?://.+$",
)
_SMALLEST = 300  # bytes of a field that is always taken, so that there is an end
_BARE_LEVELS = 28
_BARE_BYTES_MAX = 650_000  # of one version: it may hold only so many schemas
_EITHER = [{"type": "integer"}, {"type": "string"}]


class _Schemas:
    """Draws schemas until they are as large as wanted."""

    def __init__(self, seed: str, described: bool) -> None:
        self._draw = random.Random(seed)
        self._described = described
        self._names = 0

    def of_size(self, size: int) -> Json:
        properties: Json = {}
        left = size
        while left > 0:
            name, schema = self._field(0)
            taken = len(json.dumps({name: schema}, separators=(",", ":"))) - 1
            if name not in properties and taken < max(left, _SMALLEST):
                properties[name] = schema
                left -= taken
        return {"type": "object", "properties": properties}

    def _name(self) -> str:
        self._names += 1
        first, *others = self._draw.sample(_WORDS, self._draw.choice((1, 2, 2, 3)))
        return (
            first
            + "".join(each.title() for each in others)
            + (str(self._names) if self._names % 3 == 0 else "")
        )

    def _text(self) -> Json:
        if not self._described:
            return {}
        words = self._draw.choices(_WORDS, k=self._draw.choice((4, 6, 9, 14, 25)))
        return {"description": " ".join(words).capitalize() + "."}

    def _field(self, depth: int) -> tuple[str, Json]:
        return self._name(), {**self._text(), **self._schema(depth)}

    def _schema(self, depth: int) -> Json:
        draw = self._draw.random()
        if depth < 9 and draw < (0.55 if depth < 4 else 0.2):
            return self._object(depth)
        if depth < 9 and draw < (0.75 if depth < 4 else 0.3):
            return self._list(depth)
        return self._leaf(draw)

    def _object(self, depth: int) -> Json:
        fields = dict(self._field(depth + 1) for _ in range(self._draw.choice((2, 3, 5, 8))))
        found: Json = {"type": "object", "properties": fields}
        names = list(fields)
        if self._draw.random() < 0.4:
            found["required"] = names[:1]
        if self._draw.random() < 0.05 and len(names) > 1:
            found["oneOf"] = [{"required": [names[0]]}, {"required": [names[1]]}]
        if self._draw.random() < 0.05:
            found["x-kubernetes-map-type"] = "atomic"
        if self._draw.random() < 0.02:
            found["x-kubernetes-validations"] = [{"rule": f"has(self.{names[0]})", "message": "must be set"}]
        return found

    def _list(self, depth: int) -> Json:
        draw = self._draw.random()
        if draw < 0.3:
            return {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
        items = self._object(depth + 1)
        if draw < 0.6:
            items.pop("x-kubernetes-map-type", None)
            items["properties"]["key"] = {"type": "string", **self._text()}
            items["required"] = ["key"]
            return {
                "type": "array",
                "items": items,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["key"],
            }
        return {"type": "array", "items": items}

    def _leaf(self, draw: float) -> Json:
        choice = self._draw.randrange(12)
        if choice < 4:
            return {"type": "string"}
        if choice == 4:
            return {
                "type": "string",
                "pattern": self._draw.choice(_PATTERNS),
                "maxLength": 253,
                "minLength": 1,
            }
        if choice == 5:
            return {"type": "string", "enum": ["Always", "IfNotPresent", "Never"], "default": "Always"}
        if choice == 6:
            return {"type": "boolean", "default": draw > 0.9}
        if choice == 7:
            return {"type": "integer", "format": "int32", "minimum": 0, "maximum": 65535}
        if choice == 8:
            return {"type": "object", "additionalProperties": {"type": "string"}}
        if choice == 9:
            return {"anyOf": _EITHER, "pattern": _PATTERNS[2], "x-kubernetes-int-or-string": True}
        if choice == 10:
            return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        return {"type": "integer", "format": "int64"}


def _bare(size: int) -> Json:
    """Chains of objects with two leaves at each level."""
    chain: Json = {"type": "string"}
    for _ in range(_BARE_LEVELS):
        chain = {
            "type": "object",
            "properties": {"a": chain, "b": {"type": "string"}, "c": {"type": "string"}},
        }
    each = len(json.dumps(chain, separators=(",", ":"))) + 10
    return {"type": "object", "properties": {f"f{number}": chain for number in range(size // each + 1)}}


def _names(shape: str, size: int) -> list[str]:
    if shape == "versions":
        return ["v1", "v1beta2", "v1beta1", "v1alpha1"]
    if shape == "bare":
        return [f"v{number + 1}" for number in range(size // _BARE_BYTES_MAX + 1)]
    return ["v1"]


def definition(shape: str, size: int) -> Json:
    """About `size` bytes as compact JSON."""
    names = _names(shape, size)
    each = size // len(names)
    versions = []
    for index, name in enumerate(names):
        schemas = _Schemas(f"{shape}{size}", described=shape == "described")
        draw = _bare if shape == "bare" else schemas.of_size
        spec, status = draw(each * 4 // 5), draw(each // 5)
        spec["properties"][f"since{index}"] = {"type": "string"}
        properties = {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        }
        versions.append(
            {
                "name": name,
                "served": True,
                "storage": not index,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
                "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
                ],
            }
        )
    plural = f"{shape}{size // 1000}k"
    kind = plural.capitalize()
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": plural, "kind": kind, "listKind": f"{kind}List"},
            "versions": versions,
        },
    }


def schemas_in(tree: Any) -> int:
    """How many schemas it holds."""
    if isinstance(tree, list):
        return sum(map(schemas_in, tree))
    if not isinstance(tree, dict):
        return 0
    return ("type" in tree or "anyOf" in tree) + sum(map(schemas_in, tree.values()))
