"""An object that exists is given a new form, by PUT or by patch, as a whole or through its status.

The part that update, patch and the subresources share: revision and uid checks, which parts of the object the
address may change, then defaults, admission, validation and the transaction.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from fairlead.api import options
from fairlead.api.apply.managing import manager_of, taken_out
from fairlead.api.attempt import Attempt
from fairlead.api.desk import Desk
from fairlead.api.objects import key_of, plain
from fairlead.api.plan import Context, Plan
from fairlead.api.writing import admit_and_validate, conflict_error, plan_change, stamp_changed
from fairlead.core.errors import BadRequest, Conflict, current_version
from fairlead.core.problems import show
from fairlead.model.kind import Json, Kind
from fairlead.port.request import Reply, Request
from fairlead.store.contract import Entry


class Before(NamedTuple):
    """An object as it is when a change comes. `tree` has no managedFields: they are `managed`, as they are stored.
    `spec`: the bytes of the spec, where the change is about the status and they are known to be right."""

    entry: Entry
    tree: Json
    managed: bytes
    spec: msgspec.Raw | None = None


def before(entry: Entry) -> Before:
    return Before(entry, *plain(entry))


def change(
    desk: Desk,
    request: Request,
    kind: Kind,
    context: Context,
    known: Before,
    new: Json,
    warnings: list[str],
    owned: bytes | None = None,
    addressed: str = "",
) -> Reply | Plan:
    """`new` is what the client wants; it is changed here into what will be stored. `owned`: the managedFields that will
    be stored, where that is decided already. `addressed`: the subresource that was asked for, where it is treated like
    the request's."""
    current, old, managed, spec = known
    key = key_of(kind, request.namespace, request.name)
    metadata = new.get("metadata")
    if not isinstance(metadata, dict):
        metadata = new["metadata"] = {}
    sent = taken_out(metadata)
    _check_address(metadata, request, kind)
    _check_identity(kind, current, metadata)
    metadata["name"] = key.name
    if kind.namespaced:
        metadata["namespace"] = key.namespace
    else:
        metadata.pop("namespace", None)
    if request.subresource == "status":
        status, told = new.get("status") or {}, metadata
        new = {**old, "metadata": dict(old["metadata"])}
        for name in kind.status_metadata:
            if name in told or name in new["metadata"]:
                new["metadata"][name] = told.get(name) or {}
        _told_in_annotations(kind, new["metadata"], told)
        if status or "status" in old:
            new["status"] = status
    else:
        _keep_what_others_own(kind, request.subresource, new, old)
    new["apiVersion"], new["kind"] = kind.api_version, kind.kind
    new["metadata"]["resourceVersion"] = str(current.revision)
    attempt = Attempt(
        kind=kind, verb=request.verb, subresource=request.subresource, key=key, context=context,
        addressed=addressed, read=desk.sound, new=new, old=old, current=current, spec=spec,
        dry_run=options.dry_run(request.query),
        warnings=warnings, managed_before=managed, managed=managed if owned is None else owned,
        manager=manager_of(request, context, sent) if owned is None else None,
    )  # fmt: skip
    new["metadata"].setdefault("uid", current.uid)
    stamp_changed(kind, new, old)
    admit_and_validate(desk, attempt)
    stamp_changed(kind, new, old)
    return plan_change(desk, request, attempt)


def _keep_what_others_own(kind: Kind, subresource: str, new: Json, old: Json) -> None:
    """Parts that have an address of their own stay as they are, whatever a client sends here."""
    if "status" in kind.subresources:
        if "status" in old:
            new["status"] = old["status"]
        else:
            new.pop("status", None)
        _told_in_annotations(kind, new["metadata"], old["metadata"])
    if kind.finalizers_spec and subresource != "finalize":
        spec = new["spec"] = dict(new.get("spec") or {})
        spec["finalizers"] = (old.get("spec") or {}).get("finalizers") or []


def _told_in_annotations(kind: Kind, metadata: Json, source: Json) -> None:
    """What annotations tell of the status becomes what `source` has there."""
    if not kind.status_annotations:
        return
    known: Json = source.get("annotations") or {}
    given: Json = metadata.get("annotations") or {}
    kept = {name: value for name, value in given.items() if name not in kind.status_annotations}
    metadata["annotations"] = kept | {name: known[name] for name in kind.status_annotations if name in known}


def _check_address(metadata: Json, request: Request, kind: Kind) -> None:
    name = metadata.get("name")
    if name and name != request.name:
        raise BadRequest(
            f"the name of the object ({show(name)}) does not match the name on the URL ({show(request.name)})"
        )
    namespace = metadata.get("namespace")
    if kind.namespaced and namespace and namespace != request.namespace:
        raise BadRequest(
            f"the namespace of the object ({show(namespace)}) does not match the namespace on the request "
            f"({show(request.namespace)})"
        )


def _check_identity(kind: Kind, current: Entry, metadata: Json) -> None:
    """A client that names the uid or the revision it read means that one and no other."""
    uid = metadata.get("uid")
    if uid and uid != current.uid:
        raise Conflict(
            f'Operation cannot be fulfilled on {kind.resource} "{current.key.name}": Precondition failed: '
            f"UID in precondition: {uid}, UID in object meta: {current.uid}",
            causes=(current_version(current.revision),),
            group=kind.group,
            kind=kind.plural,
            name=current.key.name,
        )
    revision = metadata.get("resourceVersion")
    if revision and revision not in ("0", str(current.revision)):
        raise conflict_error(kind, current.key, current.revision)
