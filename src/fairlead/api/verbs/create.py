"""POST: a new object, under the name it brings or one made from generateName."""

from __future__ import annotations

import copy

from fairlead.api import alike, body, options
from fairlead.api.attempt import Attempt, Manager
from fairlead.api.desk import Desk
from fairlead.api.managing import manager_of, taken_out
from fairlead.api.objects import key_of
from fairlead.api.plan import Again, Context, Plan
from fairlead.api.status import invalid
from fairlead.api.writing import admit_and_validate, exists_already, plan_create, stamp_new
from fairlead.core import ids
from fairlead.core.errors import BadRequest
from fairlead.core.problems import Problems, shown
from fairlead.model import structure
from fairlead.model.kind import Json, Kind
from fairlead.model.shapes import fits
from fairlead.port.request import JSON, Reply, Request

_NAME_ATTEMPTS_MAX = 8
_METADATA = "ObjectMeta"


def create(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply | Plan:
    level = options.field_validation(request.query)
    options.check_field_manager(request.query)
    parts = _parts(desk, request, kind)
    known = _known(desk, request, kind, parts)
    warnings: list[str] = []
    if parts is not None and known is not None:
        obj: Json = {"metadata": parts.metadata, "spec": known.spec}
    else:
        obj = body.read_json(desk, request)
        body.check_identity(obj, kind.api_version, kind.kind)
        warnings = body.check_structure(desk, kind.schema, obj, level, body.json_text(request), kind)
        if warnings or level == "Ignore":
            parts = None  # what is doubtful is judged each time
    metadata = obj.get("metadata") or {}
    manager = manager_of(request, context, taken_out(metadata))
    if metadata.get("resourceVersion"):
        raise BadRequest("metadata.resourceVersion should not be set on objects to be created; remove it")
    if kind.namespaced:
        _check_namespace(metadata, request.namespace)
    return _named(desk, request, kind, context, obj, warnings, 0, parts, known, manager)


def _parts(desk: Desk, request: Request, kind: Kind) -> alike.Body | None:
    """The object with its spec as it came, if such a spec may be known and nothing is wrong with the rest."""
    if kind.beside_spec is None or body.media_type(request.content_type) not in ("", JSON):
        return None
    parts = alike.peeled(request.body, kind)
    if parts is None or not fits(desk.tables, _METADATA, parts.metadata):
        return None
    if b"null" in request.body:
        structure.drop_nulls(parts.metadata)
    return parts


def _known(desk: Desk, request: Request, kind: Kind, parts: alike.Body | None) -> alike.Taken | None:
    if parts is None:
        return None
    return desk.alike.taken(kind, request.namespace, parts.spec, desk.chain.rests_on(kind, desk.read))


def _named(
    desk: Desk,
    request: Request,
    kind: Kind,
    context: Context,
    obj: Json,
    warnings: list[str],
    tries: int,
    parts: alike.Body | None,
    known: alike.Taken | None,
    manager: Manager | None,
    managed: bytes = b"",
) -> Reply | Plan:
    """`known`: what became of such a spec before; without, this one is remembered if it came in `parts`. `managed`:
    whose fields are whose, if that is not for `manager` to become."""
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
    if known is not None or not generated:
        new: Json = {**obj, "metadata": dict(metadata)}
    else:
        new = copy.deepcopy(obj)
    stamp_new(kind, new, name, request.namespace, ids.uid(context.entropy), context.now)
    if known is not None:
        new["status"] = known.status.copy()
    attempt = Attempt(
        kind, "create", "", key, context, desk.sound, new, None, None,
        spec=known.encoded if known is not None else None, managed=managed, manager=manager,
        spec_fields=known.fields if known is not None else b"",
        dry_run=options.dry_run(request.query), warnings=list(warnings),
    )  # fmt: skip
    rests_on = desk.chain.rests_on(kind, desk.read) if known is None and parts is not None else ()
    admit_and_validate(desk, attempt)
    if known is not None:
        attempt.warnings.extend(known.warnings)
    elif parts is not None:
        desk.alike.take(kind, request.namespace, parts.spec, new, attempt.spec_fields, rests_on)

    def taken() -> Reply | Plan | Again:
        if generated and tries < _NAME_ATTEMPTS_MAX:
            return _named(desk, request, kind, context, obj, warnings, tries + 1, parts, known, manager)
        raise exists_already(kind, key, generated=generated)

    return plan_create(desk, request, attempt, taken)


def _check_namespace(metadata: Json, namespace: str) -> None:
    given = metadata.get("namespace")
    if given and given != namespace:
        raise BadRequest(
            f"the namespace of the provided object does not match the namespace sent on the request: "
            f"metadata.namespace is {shown(given)}, the request is for {shown(namespace)}"
        )
