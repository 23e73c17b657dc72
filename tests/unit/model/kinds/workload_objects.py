"""Small objects and shorthands for the tests of the workload and policy kinds."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from fairlead.core.problems import Problems
from fairlead.model.kind import Json, Kind

NOW = 1_700_000_000.0
UID = "2c5b9c4e-0000-4000-8000-000000000001"


def template(**pod: Any) -> Json:
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "nginx:1.27"}], **pod},
    }


def workload(kind: Kind, **spec: Any) -> Json:
    """An owner of pods that is right as it is; `spec` adds to it or replaces."""
    base: Json = {"selector": {"matchLabels": {"app": "web"}}, "template": template()}
    return whole(kind, spec={**base, **spec})


def whole(kind: Kind, name: str = "web", **fields: Any) -> Json:
    metadata: Json = {"name": name, "uid": UID, "creationTimestamp": "2023-11-14T22:12:20Z"}
    if kind.namespaced:
        metadata["namespace"] = "default"
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **fields}


def defaulted(kind: Kind, obj: Json) -> Json:
    """A copy with the defaults filled in; filling them in twice must change nothing."""
    once = deepcopy(obj)
    kind.defaults(once)
    twice = deepcopy(once)
    kind.defaults(twice)
    assert twice == once
    return once


def mistakes(kind: Kind, obj: Json) -> list[str]:
    """What is wrong with an object, as `path: message`, after defaults."""
    problems = Problems()
    kind.validate(defaulted(kind, obj), problems)
    return texts(problems)


def update_mistakes(kind: Kind, new: Json, old: Json) -> list[str]:
    problems = Problems()
    kind.validate_update(defaulted(kind, new), defaulted(kind, old), problems)
    return texts(problems)


def status_mistakes(kind: Kind, status: Json, before: Json | None = None, **spec: Any) -> list[str]:
    problems = Problems()
    kind.validate_status(
        whole(kind, spec=spec, status=status), whole(kind, spec=spec, status=before or {}), problems
    )
    return texts(problems)


def texts(problems: Problems) -> list[str]:
    return [f"{cause.field}: {cause.message}" for cause in problems.causes]


def row(kind: Kind, obj: Json) -> dict[str, Any]:
    """The cells of an object by column, at NOW."""
    return {column.name: column.cell(obj, NOW) for column in kind.columns}


def shown(kind: Kind, *, wide: bool = False) -> list[str]:
    """The names of the columns as kubectl heads them."""
    return [column.name.upper() for column in kind.columns if wide or column.priority == 0]
