"""POST: a new object, under the name it brings or one made from generateName."""

from __future__ import annotations

import copy

import msgspec

from fairlead.api import body, options
from fairlead.api.apply.managing import manager_of, taken_out
from fairlead.api.attempt import Attempt, Manager
from fairlead.api.audit.rules import object_target
from fairlead.api.brakes.judging import concerns_creates
from fairlead.api.desk import Desk
from fairlead.api.objects import key_of
from fairlead.api.plan import AGAIN, Again, Context, Plan
from fairlead.api.repeated_creates import Like, RecordedReads, RepeatedCreate, like
from fairlead.api.spec_cache import CachedSpec
from fairlead.api.spec_split import SplitBody, split_body
from fairlead.api.status import invalid
from fairlead.api.tables import render_one
from fairlead.api.writing import admit_and_validate, commit_error, exists_already, plan_create, stamp_new
from fairlead.core import ids
from fairlead.core.errors import BadRequest
from fairlead.core.problems import Problems, show
from fairlead.model import structure
from fairlead.model.kind import Json, Kind
from fairlead.model.shapes import fits
from fairlead.port.request import JSON, Reply, Request
from fairlead.store.contract import Absent, CommitOutcome, Committed, PreconditionFailed, Transaction

#: bound: requests | names tried for one `generateName` | 409 AlreadyExists
_NAME_ATTEMPTS_MAX = 8
_METADATA = "ObjectMeta"


def create(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply | Plan:
    # Then each is looked at for itself.
    judged = (desk.policies.active and desk.policies.concern(kind)) or (
        desk.brakes.any and concerns_creates(desk.brakes, kind, request.namespace, context)
    )
    same = like(request, kind, context) if not judged else None
    repeated = desk.repeats.find(same, desk.sound) if same is not None else None
    if same is not None and repeated is not None:
        return _repeat(desk, request, kind, context, same, repeated)
    level = options.field_validation(request.query)
    options.check_field_manager(request.query)
    parts = _parts(desk, request, kind) if not judged else None
    known = _known(desk, request, kind, parts)
    warnings: list[str] = []
    if parts is not None and known is not None:
        obj: Json = {"metadata": parts.metadata, "spec": known.spec}
    else:
        obj = body.read_json(desk, request)
        body.check_identity(obj, kind.api_version, kind.kind)
        warnings = body.check_structure(desk, kind.schema, obj, level, body.json_text(request), kind)
        if warnings or level == "Ignore":
            parts = same = None  # what is doubtful is judged each time
    metadata = obj.get("metadata") or {}
    manager = manager_of(request, context, taken_out(metadata))
    if metadata.get("resourceVersion"):
        raise BadRequest("metadata.resourceVersion should not be set on objects to be created; remove it")
    if kind.namespaced:
        _check_namespace(metadata, request.namespace)
    asked = _Asked(
        desk=desk,
        request=request,
        kind=kind,
        context=context,
        obj=obj,
        warnings=warnings,
        parts=parts,
        known=known,
        manager=manager,
        same=same if parts is not None or kind.free_texts else None,
    )
    return _named(asked, 0)


def _repeat(
    desk: Desk, request: Request, kind: Kind, context: Context, same: Like, repeated: RepeatedCreate
) -> Plan:
    """What a create like it led to, under this name."""
    key = key_of(kind, request.namespace, same.name)
    put, absent = repeated.put(key, context, same.free), Absent(key)
    notes = desk.audit.accepted(context, "create", object_target(kind, key, put.uid), 201)

    def finish(outcome: CommitOutcome) -> Reply | Plan | Again:
        if isinstance(outcome, Committed):
            data = outcome.entries[-1].data
            return render_one(request, kind, data, context.now, 201, repeated.warnings)
        if isinstance(outcome, PreconditionFailed):
            if outcome.precondition == absent:
                raise exists_already(kind, key)
            return AGAIN
        raise commit_error(outcome)

    return Plan(Transaction((put,), (absent, *repeated.preconditions), notes), finish)


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A create whose body was read."""

    desk: Desk
    request: Request
    kind: Kind
    context: Context
    obj: Json
    warnings: list[str]
    parts: SplitBody | None  # the object with its spec as it came, if nothing is doubtful
    known: CachedSpec | None  # what became of such a spec before
    manager: Manager | None
    same: Like | None  # what others may repeat


def _parts(desk: Desk, request: Request, kind: Kind) -> SplitBody | None:
    """The object with its spec as it came, if such a spec may be known and nothing is wrong with the rest."""
    if kind.beside_spec is None or body.media_type(request.content_type) not in ("", JSON):
        return None
    parts = split_body(request.body, kind)
    if parts is None or not fits(desk.tables, _METADATA, parts.metadata):
        return None
    if b"null" in request.body:
        structure.drop_nulls(parts.metadata)
    return parts


def _known(desk: Desk, request: Request, kind: Kind, parts: SplitBody | None) -> CachedSpec | None:
    if parts is None:
        return None
    return desk.spec_cache.find(kind, request.namespace, parts.spec, desk.chain.rests_on(kind, desk.read))


def _named(asked: _Asked, tries: int) -> Reply | Plan:
    """The object under its name; under another where a generated one turned out to be taken."""
    desk, request, kind, context = asked.desk, asked.request, asked.kind, asked.context
    known, parts = asked.known, asked.parts
    metadata = asked.obj.setdefault("metadata", {})
    if kind.name_of is not None and not metadata.get("name"):
        metadata["name"] = kind.name_of(asked.obj)
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
        new: Json = {**asked.obj, "metadata": dict(metadata)}
    else:
        new = copy.deepcopy(asked.obj)
    stamp_new(kind, new, name, request.namespace, ids.uid(context.entropy), context.now)
    if known is not None:
        new["status"] = known.status.copy()
    reads = RecordedReads(desk.sound) if asked.same is not None else None
    attempt = Attempt(
        kind=kind, verb="create", subresource="", key=key, context=context, read=reads or desk.sound, new=new,
        old=None, current=None, spec=known.encoded if known is not None else None, manager=asked.manager,
        spec_fields=known.fields if known is not None else b"", dry_run=options.dry_run(request.query),
        warnings=list(asked.warnings),
    )  # fmt: skip
    rests_on = desk.chain.rests_on(kind, reads or desk.read) if parts is not None else ()
    admit_and_validate(desk, attempt)
    if known is not None:
        attempt.warnings.extend(known.warnings)
    elif parts is not None:
        desk.spec_cache.keep(kind, request.namespace, parts.spec, new, attempt.spec_fields, rests_on)
    if asked.same is not None and reads is not None:
        desk.repeats.learn(asked.same, attempt, reads)

    def taken() -> Reply | Plan | Again:
        if generated and tries < _NAME_ATTEMPTS_MAX:
            return _named(asked, tries + 1)
        raise exists_already(kind, key, generated=generated)

    return plan_create(desk, request, attempt, taken)


def _check_namespace(metadata: Json, namespace: str) -> None:
    given = metadata.get("namespace")
    if given and given != namespace:
        raise BadRequest(
            f"the namespace of the provided object does not match the namespace sent on the request: "
            f"metadata.namespace is {show(given)}, the request is for {show(namespace)}"
        )
