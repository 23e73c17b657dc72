"""The scale subresource: the number of replicas of anything that has one, under one type for all kinds."""

from __future__ import annotations

from typing import Any

import msgspec

from fairlead.api import body, options
from fairlead.api.changing import before, change
from fairlead.api.desk import Desk
from fairlead.api.finding import find
from fairlead.api.objects import named_by, plain
from fairlead.api.plan import Again, Context, Plan
from fairlead.api.status import invalid
from fairlead.api.subresource_kinds import SCALE, number_at, scale_of, scale_paths, set_replicas
from fairlead.api.tables import render_one
from fairlead.api.verbs.apply import configuration, conflict, owned_replicas
from fairlead.api.verbs.patch import apply_patch, check_media
from fairlead.core import codec
from fairlead.core.problems import Problems
from fairlead.model.apply.applying import ConflictsError
from fairlead.model.apply.elements import field_element
from fairlead.model.kind import Json, Kind
from fairlead.port.request import APPLY_PATCH, JSON, Reply, Request
from fairlead.store.contract import CommitOutcome, Entry

_REPLICAS = (field_element("spec"), field_element("replicas"))


def get(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply:
    entry = find(desk, kind, request)
    return _shown(request, kind, entry.data, context.now, 200, ())


def update(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply | Plan:
    asked = body.read_json(desk, request)
    body.check_identity(asked, SCALE.api_version, SCALE.kind)
    level = options.field_validation(request.query)
    warnings = body.check_structure(desk, SCALE.schema, asked, level, body.json_text(request))
    return _replace(desk, request, kind, context, find(desk, kind, request), asked, warnings)


def patch(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply | Plan:
    current = find(desk, kind, request)
    if check_media(request) == APPLY_PATCH:
        return _apply(desk, request, kind, context, current)
    options.check_patch(request.query)
    scale = scale_of(kind, plain(current)[0])
    asked, warnings = apply_patch(desk, request, SCALE.schema, scale, options.field_validation(request.query))
    return _replace(desk, request, kind, context, current, asked, warnings)


def _apply(desk: Desk, request: Request, kind: Kind, context: Context, current: Entry) -> Reply | Plan:
    """A Scale that is applied: of it no more than the number of replicas can be owned. One that does not name it
    leaves the number as it is, and to others."""
    config = configuration(request, SCALE.api_version, SCALE.kind)
    level = options.field_validation(request.query)
    warnings = body.check_structure(desk, SCALE.schema, config, level)
    old, managed = plain(current)
    path = scale_paths(kind).spec_replicas
    replicas = (config.get("spec") or {}).get("replicas")
    fields: Any = replicas
    for name in reversed(path):
        fields = {name: fields}
    try:
        named = fields if replicas is not None else {}
        owned = owned_replicas(desk, request, kind, context, old, managed, named)
    except ConflictsError as error:
        raise conflict(_as_of_scale(error)) from None
    if replicas is None:
        config = {**config, "spec": {"replicas": number_at(old, path)}}
    return _replace(
        desk, request, kind, context, current=current, asked=config, warnings=warnings, owned=owned
    )


def _as_of_scale(error: ConflictsError) -> ConflictsError:
    """The owners as a Scale would show them: of its own field, in its own version."""
    return ConflictsError(
        [(msgspec.structs.replace(who, api_version=SCALE.api_version), _REPLICAS) for who, _ in error.found]
    )


def _replace(
    desk: Desk,
    request: Request,
    kind: Kind,
    context: Context,
    current: Entry,
    asked: Json,
    warnings: list[str],
    owned: bytes | None = None,
) -> Reply | Plan:
    """Change the parent's number, then answer with the Scale of what was stored."""
    replicas = (asked.get("spec") or {}).get("replicas", 0)
    if replicas < 0:
        problems = Problems()
        problems.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid(SCALE, request.name, problems)
    new = named_by(asked, plain(current)[0])
    set_replicas(kind, new, replicas)
    as_json = msgspec.structs.replace(request, accept=JSON)
    step = change(desk, as_json, kind, context, before(current), new, warnings, owned)
    return _as_scale(request, kind, context, step)


def _as_scale(request: Request, kind: Kind, context: Context, step: Reply | Plan) -> Reply | Plan:
    if isinstance(step, Reply):
        return _shown(request, kind, step.body, context.now, step.status, step.warnings)
    inner = step.finish

    def finish(outcome: CommitOutcome) -> Reply | Plan | Again:
        result = inner(outcome)
        return result if isinstance(result, Again) else _as_scale(request, kind, context, result)

    return Plan(step.transaction, finish)


def _shown(
    request: Request, kind: Kind, data: bytes, now: float, status: int, warnings: tuple[str, ...]
) -> Reply:
    scale = codec.encode(scale_of(kind, codec.decode(data)))
    return render_one(request, SCALE, scale, now, status, warnings)
