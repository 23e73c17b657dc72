"""A custom kind with a bit of everything that schemas of custom kinds can say, and an object of it."""

from __future__ import annotations

from typing import Any

GROUP_PATH = "apis/sea.example.com/v1"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ADDRESS = "/apis/sea.example.com/v1/namespaces/{}/tides"

_SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["height"],
    "properties": {
        "height": {"type": "integer", "minimum": 0, "maximum": 20},
        "unit": {"type": "string", "enum": ["m", "ft"], "default": "m"},
        "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 12, "nullable": True},
        "gate": {"x-kubernetes-int-or-string": True},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "whole": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
        "days": {
            "type": "array",
            "x-kubernetes-list-type": "set",
            "items": {"type": "string"},
            "maxItems": 7,
        },
        "ports": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "port": {"type": "integer", "default": 1}},
            },
        },
        "one": {"type": "number", "oneOf": [{"minimum": 5}, {"maximum": 3}]},
    },
}
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "tides.sea.example.com"},
    "spec": {
        "group": "sea.example.com",
        "scope": "Namespaced",
        "names": {"plural": "tides", "singular": "tide", "kind": "Tide", "shortNames": ["td"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.height", "statusReplicasPath": ".status.height"},
                },
                "additionalPrinterColumns": [
                    {"name": "Height", "type": "integer", "jsonPath": ".spec.height"}
                ],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": _SPEC,
                            "status": {"type": "object", "properties": {"height": {"type": "integer"}}},
                        },
                    }
                },
            }
        ],
    },
}
TIDE: dict[str, Any] = {
    "apiVersion": "sea.example.com/v1",
    "kind": "Tide",
    "metadata": {"name": "spring"},
    "spec": {"height": 3, "gate": "north", "ports": [{"name": "a"}], "free": {"a": [1]}},
}
