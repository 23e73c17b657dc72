"""Definitions that the tests in this folder begin from."""

from __future__ import annotations

import copy
from typing import Any

Json = dict[str, Any]
GROUP = "example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRONTABS = f"/apis/{GROUP}/v1/namespaces/default/crontabs"
SPEC: Json = {
    "type": "object",
    "required": ["cronSpec"],
    "properties": {
        "cronSpec": {"type": "string", "pattern": "^[0-9* ]+$"},
        "image": {"type": "string", "default": "idle"},
        "replicas": {"type": "integer", "minimum": 1, "maximum": 10},
    },
}


def version(name: str = "v1", schema: Json | None = None, **more: Any) -> Json:
    schema = schema or {"type": "object", "properties": {"spec": SPEC}}
    return {
        "name": name,
        "served": True,
        "storage": name == "v1",
        "schema": {"openAPIV3Schema": copy.deepcopy(schema)},
        **more,
    }


def definition(*versions: Json, scope: str = "Namespaced", **names: Any) -> Json:
    given = {"plural": "crontabs", "singular": "crontab", "kind": "CronTab", "shortNames": ["ct"], **names}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{given['plural']}.{GROUP}"},
        "spec": {"group": GROUP, "scope": scope, "names": given, "versions": list(versions) or [version()]},
    }


def crontab(name: str = "a", api_version: str = "v1", **spec: Any) -> Json:
    return {
        "apiVersion": f"{GROUP}/{api_version}",
        "kind": "CronTab",
        "metadata": {"name": name},
        "spec": {"cronSpec": "* * * * *", **spec},
    }
