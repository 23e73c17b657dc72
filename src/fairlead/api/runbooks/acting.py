"""What a run does, it does with the rights of who created it, once, and it is in the run's record with the same commit.

Called by `api/server.py` for every write of the controller that advances runs (RUNNER), which has no rights of its own:

    whose rights   the write names its run as a premise; `spec.requestedBy` of that run, which admission wrote and
                   nobody can change, is taken for who asks. Roles, policies, quotas and the audit line see that user,
                   and RUNNER as who acted for them
    once           the step that is under way is marked done in the transaction of the write itself. The run has moved
                   then, so the same write, sent again by whomever and for whatever reason, finds its premise gone
    in the record  what was made, with its uid, by whom and when, is there if and only if it was made

Reads, and changes of runs themselves (their status, their finalizer), are the controller's own, and so is the deletion
of one of too many that have ended. A run that a step creates or deletes is like any other object: of who created the
first one, whatever rights RUNNER has.
"""

from __future__ import annotations

from msgspec import structs

from fairlead.api.access.users import User
from fairlead.api.admission.plane_conditions import is_plane
from fairlead.api.audit.rules import object_target
from fairlead.api.desk import Desk
from fairlead.api.fencing import moved_error
from fairlead.api.objects import plain, put
from fairlead.api.plan import Context, Plan, Step
from fairlead.core.errors import Forbidden
from fairlead.core.times import timestamp
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.kinds.runbook import RUN
from fairlead.model.kinds.workload import part
from fairlead.port.request import READ_VERBS, Request
from fairlead.store.contract import AtRevision, Entry, Transaction

RUNNER = "system:fairlead:runbook"
RUNNING, DONE, UNDOING, UNDONE = "Running", "Done", "Undoing", "Undone"
_AFTER = {RUNNING: DONE, UNDOING: UNDONE}
_BY_STEPS = ("create", "delete")  # what a step does to a run


def is_runner(user: User) -> bool:
    """Not whoever has its name: who acts for runs may do whatever any of their creators may."""
    return user.name == RUNNER and is_plane(user)


def run_acting(desk: Desk, request: Request, context: Context) -> Entry | None:
    """The run for which a write is made; None if the controller acts for itself. Forbidden if it may not."""
    of_runs = (request.group, request.version, request.plural) == (RUN.group, RUN.version, RUN.plural)
    if request.verb in READ_VERBS or (of_runs and request.verb not in _BY_STEPS):
        return None
    named = [each for each in request.premises if each.key.resource == RUN.resource and each.revision]
    if not named and of_runs and request.verb == "delete":
        return None
    if not named:
        raise Forbidden(f"{RUNNER} acts for runs alone, and {request.verb} of {request.plural} names none")
    entry = desk.sound.get(named[0].key)
    if entry is None or entry.revision != named[0].revision:  # a write that comes late, or once more
        raise moved_error(AtRevision(named[0].key, named[0].revision), entry)
    return entry


def as_requester(entry: Entry, context: Context) -> Context:
    """The same request, of who created the run."""
    given = part(part(plain(entry)[0], "spec"), "requestedBy")
    extra = tuple((key, tuple(values)) for key, values in (given.get("extra") or {}).items())
    name = str(given.get("username") or "")
    if not name:
        raise Forbidden(f"the run {entry.key.namespace}/{entry.key.name} does not say who created it")
    user = User(name, str(given.get("uid") or ""), tuple(given.get("groups") or ()), extra)
    return structs.replace(context, user=user, impersonator=context.user)


def record_step(desk: Desk, step: Step, entry: Entry, context: Context) -> Step:
    """The same step; as it commits, the run says that its own step is done."""
    if not isinstance(step, Plan):
        return step
    written = step.transaction
    last = written.operations[-1]
    run, managed = plain(entry)
    marked = _marked(desk, run, last.key, last.uid, context)
    target = object_target(RUN, entry.key, entry.uid, "status")
    changed = ("status.steps",)
    line = desk.audit.accepted(context, "patch", target, 200, revision_before=entry.revision, changed=changed)
    recorded = Transaction(
        (put(RUN, entry.key, marked, None, managed), *written.operations),
        written.preconditions,
        (*line, *written.notes),
        written.claim,
    )
    return Plan(recorded, step.finish)


def _marked(desk: Desk, run: Json, key: Key, uid: str, context: Context) -> Json:
    status = part(run, "status")
    records: list[Json] = list(status.get("steps") or ())
    place = next((at for at, each in enumerate(records) if each.get("state") in _AFTER), -1)
    if place < 0:
        raise Forbidden(f"no step of the run {run['metadata']['name']} is under way")
    kind = desk.catalog.of_resource(key.resource)
    made = {"kind": kind.kind, "apiVersion": kind.api_version} if kind is not None else {}
    record = records[place]
    records[place] = {
        **record,
        "state": _AFTER[record["state"]],
        "finishedAt": timestamp(context.now),
        "by": context.user.name,
        "made": {**made, "namespace": key.namespace, "name": key.name, "uid": uid},
    }
    return {**run, "status": {**status, "steps": records}}
