"""POST: a new object, under the name it brings or one made from generateName."""

from __future__ import annotations

import copy

from fairlead.api import body, options
from fairlead.api.attempt import Attempt
from fairlead.api.desk import Desk
from fairlead.api.objects import key_of
from fairlead.api.plan import Again, Context, Plan
from fairlead.api.status import invalid
from fairlead.api.writing import admit_and_validate, exists_already, plan_create, stamp_new
from fairlead.core import ids
from fairlead.core.errors import BadRequest
from fairlead.core.problems import Problems, shown
from fairlead.model.kind import Json, Kind
from fairlead.port.request import Reply, Request

_NAME_ATTEMPTS_MAX = 8


def create(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply | Plan:
    level = options.field_validation(request.query)
    options.check_field_manager(request.query)
    obj = body.read_json(desk, request)
    body.check_identity(obj, kind.api_version, kind.kind)
    warnings = body.check_structure(desk, kind.schema, obj, level, body.json_text(request), kind)
    metadata = obj.get("metadata") or {}
    if metadata.get("resourceVersion"):
        raise BadRequest("metadata.resourceVersion should not be set on objects to be created; remove it")
    if kind.namespaced:
        _check_namespace(metadata, request.namespace)
    return _named(desk, request, kind, context, obj, warnings, 0)


def _named(
    desk: Desk, request: Request, kind: Kind, context: Context, obj: Json, warnings: list[str], tries: int
) -> Reply | Plan:
    metadata = obj.setdefault("metadata", {})
    if kind.name_of is not None and not metadata.get("name"):
        metadata["name"] = kind.name_of(obj)
    prefix = metadata.get("generateName", "")
    generated = not metadata.get("name") and bool(prefix)
    name = ids.generated_name(prefix, context.entropy, tries) if generated else metadata.get("name", "")
    if not name:
        problems = Problems()
        problems.required("metadata.name", "name or generateName is required")
        raise invalid(kind, "", problems)
    key = key_of(kind, request.namespace, name)
    # Each try begins from the client's own words: defaults and admission must not see a former try's.
    new: Json = {**obj, "metadata": dict(metadata)} if not generated else copy.deepcopy(obj)
    stamp_new(kind, new, name, request.namespace, ids.uid(context.entropy), context.now)
    attempt = Attempt(
        kind, "create", "", key, context, desk.read, new, None, None,
        dry_run=options.dry_run(request.query), warnings=list(warnings),
    )  # fmt: skip
    admit_and_validate(desk, attempt)

    def taken() -> Reply | Plan | Again:
        if generated and tries < _NAME_ATTEMPTS_MAX:
            return _named(desk, request, kind, context, obj, warnings, tries + 1)
        raise exists_already(kind, key, generated=generated)

    return plan_create(desk, request, attempt, taken)


def _check_namespace(metadata: Json, namespace: str) -> None:
    given = metadata.get("namespace")
    if given and given != namespace:
        raise BadRequest(
            f"the namespace of the provided object does not match the namespace sent on the request: "
            f"metadata.namespace is {shown(given)}, the request is for {shown(namespace)}"
        )
