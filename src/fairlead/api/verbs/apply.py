"""PATCH with an applied configuration: server-side apply, of an object, its status or its scale.

What the configuration names is set and owned, what it no longer names is removed, and what others own stays, or is a
conflict that names them. What is not there is created. `verbs/patch.py` and `subresources/scale.py` come here.
"""

from __future__ import annotations

from fairlead.api import body, options
from fairlead.api.access.contract import Attributes, require
from fairlead.api.apply.last_applied import ANNOTATION, allowed_by, with_last_applied
from fairlead.api.apply.managing import encoded_entries, stored_entries
from fairlead.api.apply.ownable import filter_of
from fairlead.api.attempt import Attempt
from fairlead.api.changing import before, change
from fairlead.api.desk import Desk
from fairlead.api.finding import find, not_found
from fairlead.api.objects import key_of
from fairlead.api.plan import AGAIN, Context, Plan
from fairlead.api.writing import DROPPED_EMPTY, admit_and_validate, drop_empty, plan_create, stamp_new
from fairlead.core import codec, ids, yaml_text
from fairlead.core.errors import BadRequest, Cause, Conflict
from fairlead.core.problems import Problems, show
from fairlead.core.times import timestamp
from fairlead.model import structure
from fairlead.model.apply.applying import Applied, ConflictsError, apply_configuration
from fairlead.model.apply.elements import UndecodableError
from fairlead.model.apply.managers import (
    APPLY,
    BEFORE_FIRST_APPLY,
    UPDATE,
    ManagedFieldsEntry,
    Who,
    record_update,
)
from fairlead.model.apply.merging import check_configuration
from fairlead.model.apply.sets import MEMBER, NOTHING, minus, path_text
from fairlead.model.apply.trees import TreeDifference, compare
from fairlead.model.kind import Json, Kind
from fairlead.model.shapes import fits
from fairlead.port.query import parse_flag
from fairlead.port.request import Reply, Request

_IDENTITY = ("name", "namespace", "uid", "resourceVersion")
_SHOWN_MAX = 16  # of the fields that the schema does not have
_KUBECTL = "kubectl"  # whose annotation of client-side apply is kept up, as Kubernetes does


def apply(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply | Plan:
    """Of an object or its status. Raises Conflict with every field that is in the way."""
    try:
        return _apply(desk, request, kind, context)
    except ConflictsError as error:
        raise conflict(error) from None


def _apply(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply | Plan:
    level = options.field_validation(request.query)
    config = configuration(request, kind.api_version, kind.kind)
    warnings = _checked(desk, request, kind, config, level)
    if desk.sound.get(key_of(kind, request.namespace, request.name)) is None:
        if request.subresource:
            raise not_found(kind, request.name)
        return _create(desk, request, kind, context, config, warnings)
    known = before(find(desk, kind, request))
    old, managed = known.tree, known.managed
    wanted = _within(kind, request.subresource, config)
    result = _without_empty(_applied(desk, request, kind, context, old, wanted, stored_entries(managed)))
    new = _merged(kind, request, old, config, result.tree)
    if not request.subresource:
        new = _annotated(request, config, new)
    body.check_structure(desk, kind.schema, new, "Ignore", kind=kind)
    owned = encoded_entries(result.entries)
    return change(desk, request, kind, context, known, new, warnings, owned)


def configuration(request: Request, api_version: str, kind: str) -> Json:
    """What is applied, as a tree; its apiVersion and kind must be these."""
    options.check_apply(request.query)
    if not request.body:
        raise BadRequest("the request has no body; send the configuration to apply as YAML or JSON")
    config = body.require_object(yaml_text.tree(request.body))
    if (config.get("apiVersion"), config.get("kind")) != (api_version, kind):
        group, _, version = str(config.get("apiVersion") or "").rpartition("/")
        raise BadRequest(f"invalid object type: {group}/{version}, Kind={config.get('kind') or ''}")
    metadata = config.get("metadata")
    if isinstance(metadata, dict):
        if metadata.get("managedFields") is not None:
            raise BadRequest("metadata.managedFields must be nil")
        drop_empty(metadata)  # nothing of them will be stored, and so nobody can own them
    return config


def _checked(desk: Desk, request: Request, kind: Kind, config: Json, level: str) -> list[str]:
    """Types and names of the fields that are given. What is missing is judged on the whole object."""
    at = f"{request.namespace}/{request.name}; {kind.api_version}, Kind={kind.kind}"
    text = request.body
    raw = text if text.lstrip()[:1] == b"{" else yaml_text.to_json(text)
    fitting = kind.structure is None and fits(desk.tables, kind.schema, config)
    unknown: list[str] = []
    if kind.structure is not None:
        decode = kind.structure(config, unknown)
        if decode:
            raise BadRequest(
                f"{kind.kind} cannot be handled: {decode.summary()}", causes=tuple(decode.causes)
            )
        warnings = body.repeated_fields(raw, level)
    elif fitting:
        warnings = body.check_structure(desk, kind.schema, config, level, raw, kind, fitting=True)
    else:
        decode = structure.check(
            desk.tables, kind.schema, config, unknown=unknown, values=Problems(), hidden=kind.sensitive
        )
        if decode:
            raise BadRequest(
                f"{kind.kind} cannot be handled: {decode.summary()}", causes=tuple(decode.causes)
            )
        structure.drop_nulls(config)
        warnings = body.repeated_fields(raw, level)
    if unknown:
        raise BadRequest(f"failed to create typed patch object ({at}): {_undeclared(unknown)}")
    try:
        check_configuration(desk.managing.rule(desk.tables, kind), config)
    except UndecodableError as error:
        raise BadRequest(f"failed to create typed patch object ({at}): {error}") from None
    return warnings


def _undeclared(unknown: list[str]) -> str:
    """Whatever fieldValidation says: nobody could own a field that has no type."""
    said = [f".{path}: field not declared in schema" for path in unknown[:_SHOWN_MAX]]
    return said[0] if len(said) == 1 else "errors:\n  " + "\n  ".join(said)


def _within(kind: Kind, subresource: str, config: Json) -> Json:
    """The part of a configuration that this address is for."""
    if subresource == "status":
        given: Json = config.get("metadata") or {}
        metadata = {name: given[name] for name in kind.status_metadata if given.get(name)}
        status = {"status": config["status"]} if config.get("status") is not None else {}
        return {"metadata": metadata, **status} if metadata else status
    return {
        name: value for name, value in config.items() if name != "status" or "status" not in kind.subresources
    }


def _applied(
    desk: Desk,
    request: Request,
    kind: Kind,
    context: Context,
    live: Json,
    config: Json,
    entries: tuple[ManagedFieldsEntry, ...],
) -> Applied:
    rule, now = desk.managing.rule(desk.tables, kind), timestamp(context.now)
    sub, versions = request.subresource, desk.managing.versions(desk.tables, kind)
    kept = filter_of(kind, sub)
    manager = request.query.get("fieldManager", "")
    who = Who(manager, APPLY, kind.api_version, sub)
    if live and not entries:
        # Written before anybody kept book: what is there belongs to those who were before.
        found = TreeDifference(kept(compare(rule, {}, live).changed), NOTHING)
        entries = record_update((), found, Who(BEFORE_FIRST_APPLY, UPDATE, kind.api_version, sub), now)
    force = bool(parse_flag(request.query, "force"))
    try:
        return apply_configuration(
            rule, live, config, entries, who, now, kept, force=force, versions=versions
        )
    except ConflictsError:
        allowed = allowed_by(rule, kind, live) if manager == _KUBECTL and not sub else NOTHING
        if not allowed:
            raise
    apply_configuration(rule, live, config, entries, who, now, kept, allowed=allowed, versions=versions)
    return apply_configuration(rule, live, config, entries, who, now, kept, force=True, versions=versions)


def _without_empty(found: Applied) -> Applied:
    """What of the metadata has lost its last entry is not stored: nobody owns it, whoever wrote it."""
    metadata: Json = found.tree.get("metadata") or {}
    empty = {f"f:{name}": MEMBER for name in DROPPED_EMPTY if name in metadata and not metadata[name]}
    if not empty:
        return found
    entries = [each.with_fields(minus(each.fields, {"f:metadata": empty})) for each in found.entries]
    return Applied(found.tree, tuple(each for each in entries if each.fields))


def conflict(error: ConflictsError) -> Conflict:
    causes = tuple(
        Cause("FieldManagerConflict", f"conflict with {who.text()}", path_text(path))
        for who, path in error.found
    )
    return Conflict(str(error), causes=causes)


def _merged(kind: Kind, request: Request, old: Json, config: Json, tree: Json) -> Json:
    """The object that is wanted, with the name, uid and revision that the configuration is meant for."""
    given: Json = config.get("metadata") or {}
    if request.subresource == "status":
        named = {name: given[name] for name in _IDENTITY if given.get(name)}
        wanted: Json = tree.get("metadata") or {}
        named |= {name: wanted.get(name) or {} for name in kind.status_metadata}
        return {
            **old,
            "metadata": {**old["metadata"], **named},
            **({"status": tree["status"]} if "status" in tree else {"status": {}}),
        }
    metadata = {**(tree.get("metadata") or {})}
    for name in _IDENTITY:
        if given.get(name):
            metadata[name] = given[name]
    new: Json = codec.clone({**tree, "metadata": metadata})
    return new


def _annotated(request: Request, config: Json, new: Json) -> Json:
    annotations = new["metadata"].get("annotations") or {}
    if request.query.get("fieldManager") == _KUBECTL and ANNOTATION in annotations:
        return with_last_applied(new, config)
    return new


def owned_replicas(
    desk: Desk, request: Request, kind: Kind, context: Context, live: Json, managed: bytes, config: Json
) -> bytes:
    """Of a scale: whose the number of replicas is after this. `config`: the number as a field of the object itself.
    Raises ConflictsError, which names the object's field."""
    return encoded_entries(
        _applied(desk, request, kind, context, live, config, stored_entries(managed)).entries
    )


def _create(
    desk: Desk, request: Request, kind: Kind, context: Context, config: Json, warnings: list[str]
) -> Reply | Plan:
    """An object that is not there is what was applied."""
    _check_may_create(desk, request, kind, context)
    metadata = config.get("metadata") or {}
    _check_new(kind, request, metadata)
    wanted = _within(kind, "", config)
    result = _applied(desk, request, kind, context, {}, wanted, ())
    new = {**result.tree, "metadata": {**metadata}}
    body.check_structure(desk, kind.schema, new, "Ignore", kind=kind)
    stamp_new(kind, new, request.name, request.namespace, ids.uid(context.entropy), context.now)
    key = key_of(kind, request.namespace, request.name)
    attempt = Attempt(
        kind=kind, verb="create", subresource="", key=key, context=context, read=desk.sound, new=new,
        old=None, current=None, managed=encoded_entries(result.entries),
        dry_run=options.dry_run(request.query), warnings=list(warnings),
    )  # fmt: skip
    admit_and_validate(desk, attempt)
    return plan_create(desk, request, attempt, lambda: AGAIN)


def _check_may_create(desk: Desk, request: Request, kind: Kind, context: Context) -> None:
    asked = Attributes(
        user=context.user,
        verb="create",
        group=kind.group,
        version=kind.version,
        plural=kind.plural,
        namespace=request.namespace,
        now=context.now,
    )
    require(desk.authorizer, asked)


def _check_new(kind: Kind, request: Request, metadata: Json) -> None:
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if not name:
        raise BadRequest(
            f"the name of the object ({request.name} based on URL) was undeterminable: name must be provided"
        )
    if name != request.name:
        raise BadRequest(
            f"the name of the object ({show(name)}) does not match the name on the URL ({show(request.name)})"
        )
    if kind.namespaced and namespace and namespace != request.namespace:
        raise BadRequest(
            f"the namespace of the object ({show(namespace)}) does not match the namespace on the request "
            f"({show(request.namespace)})"
        )
    for field in ("uid", "resourceVersion"):
        if metadata.get(field):
            raise Conflict(
                f'Operation cannot be fulfilled on {kind.resource} "{name}": {field} mismatch: the provided object '
                f"specified {field} {metadata[field]}, and no existing object was found",
                group=kind.group,
                kind=kind.plural,
                name=request.name,
            )
