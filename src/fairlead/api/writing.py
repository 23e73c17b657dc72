"""What every write shares: stamping metadata, defaults, admission, validation, and the transaction itself.

The verbs decide what the new object is; this file makes it fit to store and turns it into a Plan whose
audit line commits together with it. Called by `verbs/` and `subresources/`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.api.access.breakglass.judging import check_grant
from fairlead.api.access.certificate_rights import check_signing
from fairlead.api.access.rbac.escalation import check_escalation
from fairlead.api.admission.policies.in_force import VALIDATING
from fairlead.api.admission.policies.mutating import mutate
from fairlead.api.admission.policies.type_checking import tell_types
from fairlead.api.admission.policies.validating import validate
from fairlead.api.apply.managing import same_but_times
from fairlead.api.apply.ownable import touches_metadata
from fairlead.api.attempt import Attempt
from fairlead.api.audit.rules import object_target
from fairlead.api.brakes.judging import check_brakes
from fairlead.api.brakes.releasing import check_second_person, check_ties
from fairlead.api.deletion import is_finished
from fairlead.api.desk import Desk
from fairlead.api.objects import delete, preview, put
from fairlead.api.plan import AGAIN, Again, Plan
from fairlead.api.runbooks.checking import check_runbooks
from fairlead.api.status import invalid
from fairlead.api.tables import render_one
from fairlead.core.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    StorageFull,
    StorageReadError,
    TimedOut,
    TooManyRequests,
    Unavailable,
    current_version,
)
from fairlead.core.problems import Problems
from fairlead.core.times import timestamp
from fairlead.model.apply.equal import same
from fairlead.model.diff import changed_fields
from fairlead.model.key import Key
from fairlead.model.kind import Json, Kind
from fairlead.model.metadata import validate_metadata, validate_metadata_update
from fairlead.port.request import Reply, Request
from fairlead.store.contract import (
    FREEING,
    LEASE,
    ORDINARY,
    RUN,
    Absent,
    AtRevision,
    CommitFailed,
    CommitOutcome,
    Committed,
    Note,
    PreconditionFailed,
    Transaction,
)

# Set by the server, whatever a client sends.
_OWNED = (
    "uid",
    "creationTimestamp",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)

# Nodes are heard through these, and planes lead by them.
_LEASES, _LEASE_NAMESPACES = "leases.coordination.k8s.io", ("kube-node-lease", "kube-system")
_OVERRIDES, _RUNS = "scheduleroverrides.fairlead.dev", "runbookruns.fairlead.dev"
_NOT_INTENT = frozenset({"metadata", "status", "apiVersion", "kind"})
DROPPED_EMPTY = ("labels", "annotations", "finalizers", "ownerReferences")


def stamp_new(kind: Kind, obj: Json, name: str, namespace: str, uid: str, now: float) -> None:
    """Metadata of an object that is about to exist."""
    metadata: dict[str, Any] = obj["metadata"]
    for field in _OWNED:
        metadata.pop(field, None)
    metadata["name"] = name
    if kind.namespaced:
        metadata["namespace"] = namespace
    else:
        metadata.pop("namespace", None)
    metadata["uid"] = uid
    metadata["creationTimestamp"] = timestamp(now)
    if kind.generation:
        metadata["generation"] = 1
    if "status" in kind.subresources and not kind.status_on_create:
        obj.pop("status", None)
    if kind.finalizers_spec:
        spec = obj["spec"] = dict(obj.get("spec") or {})
        spec["finalizers"] = list(dict.fromkeys((*(spec.get("finalizers") or ()), *kind.finalizers_spec)))


def stamp_changed(kind: Kind, new: Json, old: Json) -> None:
    """Metadata of a changed object: what the server owns is kept; generation counts changes of intent."""
    metadata, before = new["metadata"], old["metadata"]
    for field in _OWNED:
        if field in before:
            metadata[field] = before[field]
        else:
            metadata.pop(field, None)
    if kind.generation:
        generation = before.get("generation", 0) + _intends_otherwise(new, old, kind.structure is not None)
        if kind.structure is not None and "status" not in kind.subresources:
            # Without an address of its own a status is like any other field.
            generation += not _intends_otherwise(new, old, True) and new.get("status") != old.get("status")
        if generation:
            metadata["generation"] = generation


def _intends_otherwise(new: Json, old: Json, strict: bool) -> bool:
    for field, value in new.items():
        before = old.get(field)
        if value is before or field in _NOT_INTENT:
            continue
        if value != before or (strict and not same(value, before)):
            return True
    if new.keys() == old.keys():
        return False
    return any(old[field] is not None for field in old.keys() - new.keys() - _NOT_INTENT)


def drop_empty(metadata: Json) -> None:
    """Without its last entry a map or list of the metadata is gone, as Kubernetes shows it."""
    for field in DROPPED_EMPTY:
        if field in metadata and not metadata[field]:
            del metadata[field]


def admit_and_validate(desk: Desk, attempt: Attempt) -> None:
    """Defaults, admission and validation, in this order; raises with every problem at once."""
    kind, new, old = attempt.kind, attempt.new, attempt.old
    assert new is not None
    drop_empty(new["metadata"])
    if attempt.spec is not None and kind.beside_spec is not None:
        kind.beside_spec(new)
    elif attempt.subresource == "status" and old is not None and kind.status_defaults is not None:
        kind.status_defaults(new)
    else:
        kind.defaults(new)
    desk.managing.track(desk.tables, attempt)
    if desk.policies.active:
        mutate(desk, attempt)
    desk.chain.admit(attempt)
    if kind.resource == VALIDATING:
        tell_types(desk, attempt)
    check_escalation(attempt, desk.authorizer, desk.grants)
    check_signing(attempt, desk.authorizer)
    check_grant(attempt, desk.authorizer, desk.grants)
    if desk.brakes.any:
        check_brakes(attempt, desk.brakes, desk.authorizer)
    check_ties(attempt, desk.authorizer)
    check_second_person(attempt, desk.authorizer)
    check_runbooks(desk, attempt)
    problems = Problems()
    if attempt.subresource == "status" and old is not None:
        if touches_metadata(kind, new, old):
            validate_metadata(kind, new, problems)
        kind.validate_status(new, old, problems)
    else:
        # What stands in the store was judged when it came there: most writes leave the metadata as it is.
        touched = old is None or new["metadata"] != old["metadata"]
        if touched:
            validate_metadata(kind, new, problems)
        if attempt.spec is None:
            kind.validate(new, problems)
        if old is not None:
            if touched:
                validate_metadata_update(new, old, problems)
            kind.validate_update(new, old, problems)
        if not problems:
            warned = new if attempt.spec is None else {"metadata": new["metadata"]}
            attempt.warnings.extend(kind.warnings(warned))
    if kind.rules is not None and not problems:
        kind.rules(new, old, problems)
    if problems:
        raise invalid(kind, attempt.key.name, problems)
    if desk.policies.active:
        validate(desk, attempt)


def plan_create(
    desk: Desk, request: Request, attempt: Attempt, taken: Callable[[], Reply | Plan | Again]
) -> Plan | Reply:
    """Store a new object; `taken` answers when the name exists already."""
    new = attempt.new
    assert new is not None
    if attempt.dry_run:
        if desk.sound.get(attempt.key) is not None:
            return _reply_or_raise(taken())
        return reply_with(request, attempt, preview(attempt.kind, new, None, attempt.managed), 201)
    absent = Absent(attempt.key)
    transaction = Transaction(
        (*attempt.operations, put(attempt.kind, attempt.key, new, attempt.spec, attempt.managed)),
        (absent, *attempt.preconditions),
        audit_notes(desk, attempt),
        _claim(attempt),
    )

    def finish(outcome: CommitOutcome) -> Reply | Plan | Again:
        if isinstance(outcome, Committed):
            return reply_with(request, attempt, outcome.entries[-1].data, 201)
        if isinstance(outcome, PreconditionFailed):
            return taken() if outcome.precondition == absent else AGAIN
        raise commit_error(outcome)

    return Plan(transaction, finish)


def audit_notes(desk: Desk, attempt: Attempt) -> tuple[Note, ...]:
    """Who changed which fields of what: commits together with the change, or not at all."""
    if not desk.audit.is_kept:
        return ()
    new, old, key = attempt.new, attempt.old, attempt.key
    assert new is not None
    kind = attempt.kind
    metadata = new["metadata"]
    target = object_target(kind, key, metadata["uid"], attempt.address)
    if old is None:
        return desk.audit.accepted(
            attempt.context,
            attempt.verb,
            target,
            201,
            policies=attempt.policies,
            annotations=attempt.annotations,
        )
    heartbeat = kind.heartbeat(new, old)
    return desk.audit.accepted(
        attempt.context,
        attempt.verb,
        target,
        200,
        revision_before=attempt.current.revision if attempt.current else 0,
        changed=() if heartbeat else changed_fields(old, new),
        heartbeat=heartbeat,
        policies=attempt.policies,
        annotations=attempt.annotations,
    )


def plan_change(desk: Desk, request: Request, attempt: Attempt) -> Plan | Reply:
    """Store a changed object, or remove it when its deletion has nothing left to wait for.

    A version that came in between is no conflict yet: planned again, the request is judged on the newer object,
    and it is then that a client which named the revision it read is told so.
    """
    new, current = attempt.new, attempt.current
    assert new is not None
    assert current is not None
    if (
        not is_finished(new)
        and not attempt.operations
        and new == attempt.old
        and (attempt.kind.structure is None or same(new, attempt.old))
        and same_but_times(attempt.managed, attempt.managed_before)
    ):
        return reply_with(request, attempt, current.data, 200)
    if attempt.dry_run:
        return reply_with(
            request, attempt, preview(attempt.kind, new, current.revision, attempt.managed), 200
        )
    return plan_at(
        transaction_for(desk, attempt),
        lambda stored: reply_with(request, attempt, stored.entries[-1].data, 200),
    )


def transaction_for(desk: Desk, attempt: Attempt) -> Transaction:
    """The change of an object that exists, bound to the revision it was decided on, with its audit line."""
    kind, new, current = attempt.kind, attempt.new, attempt.current
    assert new is not None
    assert current is not None
    operation = (delete if is_finished(new) else put)(kind, attempt.key, new, attempt.spec, attempt.managed)
    return Transaction(
        (*attempt.operations, operation),
        (AtRevision(attempt.key, current.revision), *attempt.preconditions),
        audit_notes(desk, attempt),
        _claim(attempt),
    )


def _claim(attempt: Attempt) -> str:
    """Whether this may be written on a full disk: nodes must be heard, leaders stay, people can intervene, and
    deletions make room. A run of a runbook, of which there may be many, takes of the room for deletions, not of that
    for leases, and leaves them a part of it."""
    resource = attempt.kind.resource
    if resource == _OVERRIDES or (resource == _LEASES and attempt.key.namespace in _LEASE_NAMESPACES):
        return LEASE
    assert attempt.new is not None
    if "deletionTimestamp" in attempt.new["metadata"]:
        return FREEING
    return RUN if resource == _RUNS else ORDINARY


def plan_at(transaction: Transaction, answer: Callable[[Committed], Reply]) -> Plan:
    """Commit what was decided on the revisions that its preconditions name; when one has moved, decide again."""

    def finish(outcome: CommitOutcome) -> Reply | Again:
        if isinstance(outcome, Committed):
            return answer(outcome)
        if isinstance(outcome, PreconditionFailed):
            return AGAIN
        raise commit_error(outcome)

    return Plan(transaction, finish)


def reply_with(request: Request, attempt: Attempt, data: bytes, status: int) -> Reply:
    """The object in the form the client accepts."""
    return render_one(request, attempt.kind, data, attempt.context.now, status, tuple(attempt.warnings))


def _reply_or_raise(step: Reply | Plan | Again) -> Reply | Plan:
    if isinstance(step, Again):
        raise Unavailable("the state kept changing; try again")
    return step


def exists_already(kind: Kind, key: Key, *, generated: bool = False) -> ApiError:
    why = ", the server was not able to generate a unique name for the object" if generated else ""
    return AlreadyExists(
        f'{kind.resource} "{key.name}" already exists{why}',
        group=kind.group,
        kind=kind.plural,
        name=key.name,
        retry_after_seconds=1 if generated else 0,
    )


def conflict_error(kind: Kind, key: Key, revision: int) -> ApiError:
    """`revision`: that of the object now."""
    return Conflict(
        f'Operation cannot be fulfilled on {kind.resource} "{key.name}": the object has been modified; '
        "please apply your changes to the latest version and try again",
        causes=(current_version(revision),),
        group=kind.group,
        kind=kind.plural,
        name=key.name,
    )


def commit_error(outcome: CommitOutcome) -> ApiError:
    """The journal did not take it."""
    assert isinstance(outcome, CommitFailed)
    if outcome.reason == "StorageFull":
        return StorageFull(f"nothing was written: {outcome.message}", retry_after_seconds=5)
    if outcome.reason == "Overloaded":
        return TooManyRequests(outcome.message, retry_after_seconds=1)
    if outcome.reason == "Damaged":
        return StorageReadError(outcome.message)
    if outcome.reason == "Halted":
        return Unavailable(outcome.message, retry_after_seconds=1)
    # No retry-after: clients repeat by themselves then, and this write may have happened.
    return TimedOut(f"whether this was written is not known, look before you repeat it: {outcome.message}")
