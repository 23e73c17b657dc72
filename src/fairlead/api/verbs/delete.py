"""DELETE of one object: remembered on the object first, carried out when grace and finalizers allow."""

from __future__ import annotations

from msgspec import structs

from fairlead.api import deletion
from fairlead.api.access.contract import Attributes, require
from fairlead.api.admission.policies.validating import validate
from fairlead.api.attempt import Attempt
from fairlead.api.audit.rules import object_target
from fairlead.api.brakes.releasing import check_release
from fairlead.api.deletion import DeleteOptions
from fairlead.api.desk import Desk
from fairlead.api.finding import find
from fairlead.api.objects import delete as removal
from fairlead.api.objects import key_of, plain, preview, tree
from fairlead.api.plan import Context, Plan
from fairlead.api.status import success
from fairlead.api.tables import render_one
from fairlead.api.writing import plan_at, transaction_for
from fairlead.model.kind import Kind
from fairlead.port.request import Reply, Request
from fairlead.store.contract import Entry, Transaction

GIVE_UP = "unsafe-delete-ignore-read-errors"  # Kubernetes' verb for it: whoever may everything may this


def delete(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply | Plan:
    wanted = deletion.read_options(request, desk)
    damaged = desk.read.damaged.get(key_of(kind, request.namespace, request.name))
    if damaged is not None and wanted.though_damaged:
        return _given_up(desk, kind, context, damaged.entry, wanted)
    return delete_entry(desk, request, kind, context, find(desk, kind, request), wanted)


def _given_up(desk: Desk, kind: Kind, context: Context, entry: Entry, wanted: DeleteOptions) -> Reply | Plan:
    """Remove what is damaged: what it asked for (finalizers, grace, dependents) cannot be read, and is not heeded."""
    key = entry.key
    asked = Attributes(
        user=context.user, verb=GIVE_UP, group=kind.group, version=kind.version, plural=kind.plural,
        namespace=key.namespace, name=key.name,
    )  # fmt: skip
    require(desk.authorizer, asked)
    deletion.check_preconditions(kind, entry, wanted)
    if wanted.dry_run:
        return success(kind, key.name, entry.uid)
    obj = {**tree(entry), "apiVersion": kind.api_version, "kind": kind.kind}
    target = object_target(kind, key, entry.uid)
    notes = desk.audit.accepted(context, "delete", target, 200, revision_before=entry.revision)
    operation = removal(kind, key, obj)
    return plan_at(Transaction((operation,), (), notes), lambda _: success(kind, key.name, entry.uid))


def delete_entry(
    desk: Desk, request: Request, kind: Kind, context: Context, entry: Entry, wanted: DeleteOptions
) -> Reply | Plan:
    """Plan the deletion of this very version."""
    attempt = admit_deletion(desk, kind, context, entry, wanted)
    new = attempt.new
    assert new is not None
    finished = deletion.is_finished(new)

    def answer(data: bytes) -> Reply:
        warnings = tuple(attempt.warnings)
        if finished and not kind.shows_deleted:
            return structs.replace(success(kind, entry.key.name, entry.uid), warnings=warnings)
        return render_one(request, kind, data, context.now, 200, warnings)

    if attempt.dry_run:
        return answer(preview(kind, new, entry.revision, attempt.managed))
    if not finished and new == attempt.old:
        return answer(entry.data)
    return plan_at(transaction_for(desk, attempt), lambda stored: answer(stored.entries[-1].data))


def admit_deletion(
    desk: Desk,
    kind: Kind,
    context: Context,
    entry: Entry,
    wanted: DeleteOptions,
    verb: str = "delete",
    subresource: str = "",
    sending: Attempt | None = None,
) -> Attempt:
    """The admitted attempt; `new` is the object with its deletion begun. `sending`: what policies have made so far of
    the Eviction, if it is one."""
    deletion.check_preconditions(kind, entry, wanted)
    old, managed = plain(entry)
    new = deletion.begin_deletion(kind, old, wanted, context.now)
    attempt = Attempt(
        kind=kind, verb=verb, subresource=subresource, key=entry.key, context=context, read=desk.sound,
        new=new, old=old, current=entry, dry_run=wanted.dry_run, managed_before=managed, managed=managed,
    )  # fmt: skip
    if sending is not None:
        attempt.sent, attempt.policies = sending.sent, sending.policies
        attempt.preconditions = sending.preconditions
    desk.chain.admit(attempt)
    check_release(attempt, desk.authorizer)
    if desk.policies.active:
        validate(desk, attempt)
    return attempt
