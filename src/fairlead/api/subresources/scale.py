"""The scale subresource: the number of replicas of anything that has one, under one type for all kinds."""

from __future__ import annotations

import copy
from typing import Any

from fairlead.api import body, options
from fairlead.api.changing import change
from fairlead.api.desk import Desk
from fairlead.api.finding import find
from fairlead.api.objects import tree
from fairlead.api.plan import Again, Context, Plan
from fairlead.api.status import invalid
from fairlead.api.verbs.patch import patched
from fairlead.api.writing import modified
from fairlead.core import codec
from fairlead.core.problems import Problems
from fairlead.model.kind import Json, Kind, Scale
from fairlead.model.selectors import from_object
from fairlead.port.request import Reply, Request
from fairlead.store.contract import Entry, Outcome

API_VERSION, KIND = "autoscaling/v1", "Scale"


def get(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply:
    return Reply(200, codec.encode(_scale_of(kind, tree(find(desk, kind, request)))))


def update(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply | Plan:
    asked = body.read_json(desk, request)
    body.check_identity(asked, API_VERSION, KIND)
    level = options.field_validation(request.query)
    body.check_structure(desk, KIND, asked, level, body.json_text(request))
    current = find(desk, kind, request)
    return _replace(desk, request, kind, context, current, asked)


def patch(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply | Plan:
    current = find(desk, kind, request)
    scale = _scale_of(kind, tree(current))
    asked, _ = patched(desk, request, KIND, scale, options.field_validation(request.query))
    return _replace(desk, request, kind, context, current, asked)


def _replace(
    desk: Desk, request: Request, kind: Kind, context: Context, current: Entry, asked: Json
) -> Reply | Plan:
    """Change the parent's number, then answer with the Scale of what was stored."""
    paths = _paths(kind)
    revision = (asked.get("metadata") or {}).get("resourceVersion")
    if revision and revision != str(current.revision):
        raise modified(kind, current.key)
    replicas = (asked.get("spec") or {}).get("replicas", 0)
    if replicas < 0:
        problems = Problems()
        problems.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid(kind, request.name, problems)
    old = tree(current)
    new = copy.deepcopy(old)
    parent = new
    for name in paths.spec_replicas[:-1]:
        parent = parent.setdefault(name, {})
    parent[paths.spec_replicas[-1]] = replicas
    if not revision:
        new["metadata"].pop("resourceVersion", None)
    return _as_scale(kind, change(desk, request, kind, context, current, old, new, []))


def _as_scale(kind: Kind, step: Reply | Plan) -> Reply | Plan:
    if isinstance(step, Reply):
        return Reply(
            step.status, codec.encode(_scale_of(kind, codec.decode(step.body))), warnings=step.warnings
        )
    inner = step.finish

    def finish(outcome: Outcome) -> Reply | Plan | Again:
        result = inner(outcome)
        return result if isinstance(result, Again) else _as_scale(kind, result)

    return Plan(step.transaction, finish)


def _paths(kind: Kind) -> Scale:
    assert kind.scale is not None
    return kind.scale


def _scale_of(kind: Kind, obj: Json) -> Json:
    paths, metadata = _paths(kind), obj["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": KIND,
        "apiVersion": API_VERSION,
        "metadata": {field: metadata[field] for field in kept if field in metadata},
        "spec": {"replicas": _at(obj, paths.spec_replicas) or 0},
        "status": {
            "replicas": _at(obj, paths.status_replicas) or 0,
            "selector": str(from_object(_at(obj, paths.selector))),
        },
    }


def _at(obj: Json, path: tuple[str, ...]) -> Any:
    value: Any = obj
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value
