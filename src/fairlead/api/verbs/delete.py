"""DELETE of one object: remembered on the object first, carried out when grace and finalizers allow."""

from __future__ import annotations

from fairlead.api import deletion
from fairlead.api.attempt import Attempt
from fairlead.api.deletion import DeleteOptions
from fairlead.api.desk import Desk
from fairlead.api.finding import find
from fairlead.api.objects import plain, preview
from fairlead.api.plan import Context, Plan
from fairlead.api.status import success
from fairlead.api.tables import render_one
from fairlead.api.writing import plan_at, transaction_for
from fairlead.model.kind import Kind
from fairlead.port.request import Reply, Request
from fairlead.store.contract import Entry


def delete(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply | Plan:
    return delete_entry(
        desk, request, kind, context, find(desk, kind, request), deletion.read_options(request, desk)
    )


def delete_entry(
    desk: Desk, request: Request, kind: Kind, context: Context, entry: Entry, wanted: DeleteOptions
) -> Reply | Plan:
    """Plan the deletion of this very version."""
    attempt = planned(desk, kind, context, entry, wanted)
    new = attempt.new
    assert new is not None
    finished = deletion.is_finished(new)

    def answer(data: bytes) -> Reply:
        if finished and not kind.shows_deleted:
            return success(kind, entry.key.name, entry.uid)
        return render_one(request, kind, data, context.now, 200, ())

    if attempt.dry_run:
        return answer(preview(kind, new, entry.revision, attempt.managed))
    if not finished and new == attempt.old:
        return answer(entry.data)
    return plan_at(transaction_for(desk, attempt), lambda stored: answer(stored.entries[-1].data))


def planned(
    desk: Desk,
    kind: Kind,
    context: Context,
    entry: Entry,
    wanted: DeleteOptions,
    verb: str = "delete",
    subresource: str = "",
) -> Attempt:
    """The admitted attempt; `new` is the object with its deletion begun."""
    deletion.check_preconditions(kind, entry, wanted)
    old, managed = plain(entry)
    new = deletion.begun(kind, old, wanted, context.now)
    attempt = Attempt(
        kind, verb, subresource, entry.key, context, desk.read, new, old, entry, dry_run=wanted.dry_run,
        managed_before=managed, managed=managed,
    )  # fmt: skip
    desk.chain.admit(attempt)
    return attempt
