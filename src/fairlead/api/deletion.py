"""Deletion as a change of state: grace, finalizers, propagation, and when an object may really go.

Pure rules, used by the delete verbs, eviction, and every update (an update that removes the last finalizer of
a deleted object removes the object).
"""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.api import body, options
from fairlead.api.desk import Desk
from fairlead.api.objects import is_finished as is_finished
from fairlead.core import codec
from fairlead.core.errors import BadRequest, Conflict, current_version
from fairlead.core.problems import show
from fairlead.core.times import parse_time, timestamp
from fairlead.model.kind import Json, Kind
from fairlead.model.metadata import FOREGROUND, ORPHAN
from fairlead.port.query import parse_flag, parse_whole
from fairlead.port.request import Request
from fairlead.store.contract import Entry
from fairlead.store.damage import DELETE_OPTION

_POLICIES = ("Background", "Foreground", "Orphan")
# Keeps deletionTimestamp in the years that have four digits.
#: bound: objects | grace of a deletion | it is shortened to this
GRACE_SECONDS_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    grace_seconds: int | None = None
    policy: str = ""
    uid: str = ""
    revision: int | None = None
    dry_run: bool = False
    though_damaged: bool = False  # ignoreStoreReadErrorWithClusterBreakingPotential


def read_options(request: Request, desk: Desk) -> DeleteOptions:
    """From the body if there is one, else from the query; the body wins, as in Kubernetes."""
    if not request.body:
        return _checked(
            parse_whole(request.query, "gracePeriodSeconds"),
            request.query.get("propagationPolicy", ""),
            parse_flag(request.query, "orphanDependents"),
            "",
            None,
            options.dry_run(request.query),
            bool(parse_flag(request.query, DELETE_OPTION)),
        )
    obj = body.read_json(desk, request)
    body.check_structure(desk, "DeleteOptions", obj, "Ignore")
    body.check_meant_for(obj, request, "DeleteOptions")
    return options_from(obj, request)


def options_from(obj: Json, request: Request) -> DeleteOptions:
    """From a DeleteOptions object whose structure was checked."""
    conditions = obj.get("preconditions") or {}
    revision = conditions.get("resourceVersion")
    dry_runs = [options.dry_run({"dryRun": each}) for each in obj.get("dryRun") or ()]
    return _checked(
        obj.get("gracePeriodSeconds"),
        obj.get("propagationPolicy") or "",
        obj.get("orphanDependents"),
        conditions.get("uid") or "",
        options.parse_revision({"resourceVersion": revision}) if revision else None,
        any(dry_runs) or options.dry_run(request.query),
        bool(obj.get(DELETE_OPTION)) or bool(parse_flag(request.query, DELETE_OPTION)),
    )


def _checked(
    grace: int | None,
    policy: str,
    orphan: bool | None,
    uid: str,
    revision: int | None,
    dry_run: bool,
    though_damaged: bool,
) -> DeleteOptions:
    if grace is not None and grace < 0:
        raise BadRequest(f"gracePeriodSeconds: Invalid value: {grace}: must be zero or more")
    if policy and policy not in _POLICIES:
        raise BadRequest(
            f"propagationPolicy: Unsupported value: {show(policy)}: use one of {', '.join(_POLICIES)}"
        )
    if orphan is not None:
        if policy:
            raise BadRequest(
                "orphanDependents and propagationPolicy exclude each other: use propagationPolicy only"
            )
        policy = "Orphan" if orphan else "Background"
    return DeleteOptions(
        grace_seconds=grace,
        policy=policy,
        uid=uid,
        revision=revision,
        dry_run=dry_run,
        though_damaged=though_damaged,
    )


def check_preconditions(kind: Kind, entry: Entry, wanted: DeleteOptions) -> None:
    """The client named which object it means; anything else is a conflict."""
    if wanted.uid and wanted.uid != entry.uid:
        detail = f"UID in precondition: {wanted.uid}, UID in object meta: {entry.uid}"
    elif wanted.revision is not None and wanted.revision != entry.revision:
        detail = f"ResourceVersion in precondition: {wanted.revision}, ResourceVersion in object meta: {entry.revision}"
    else:
        return
    name = entry.key.name
    raise Conflict(
        f'Operation cannot be fulfilled on {kind.resource} "{name}": Precondition failed: {detail}',
        causes=(current_version(entry.revision),),
        group=kind.group,
        kind=kind.plural,
        name=name,
    )


def begin_deletion(kind: Kind, old: Json, wanted: DeleteOptions, now: float) -> Json:
    """The object once its deletion was asked for. Asking again may only shorten the grace."""
    new: Json = codec.clone(old)
    metadata = new["metadata"]
    grace = min(kind.grace_seconds(old, wanted.grace_seconds), GRACE_SECONDS_MAX)
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = timestamp(now + grace)
        metadata["deletionGracePeriodSeconds"] = grace
        if kind.generation:
            metadata["generation"] = metadata.get("generation", 0) + 1
        _propagate(metadata, wanted.policy)
        if kind.finalizers_spec:
            new.setdefault("status", {})["phase"] = "Terminating"
        _free(kind, metadata)
        return new
    granted = metadata.get("deletionGracePeriodSeconds", 0)
    if wanted.grace_seconds is not None and grace < granted:
        # Counted from when the deletion was first asked for: a shorter grace never ends later.
        asked_at = parse_time(metadata["deletionTimestamp"]) - granted
        metadata["deletionTimestamp"] = timestamp(asked_at + grace)
        metadata["deletionGracePeriodSeconds"] = grace
    if wanted.policy:
        _propagate(metadata, wanted.policy)
    _free(kind, metadata)
    return new


def _free(kind: Kind, metadata: Json) -> None:
    """Of what ends as it is deleted nothing is waited for: its dependents follow, unless they are to be let go of."""
    if kind.ends_when_deleted and ORPHAN not in metadata.get("finalizers", ()):
        metadata.pop("finalizers", None)


def _propagate(metadata: Json, policy: str) -> None:
    """Dependents are dealt with by the garbage collector, which these two finalizers make us wait for."""
    finalizers = [
        name for name in metadata.get("finalizers") or () if not policy or name not in (ORPHAN, FOREGROUND)
    ]
    if policy == "Orphan":
        finalizers.append(ORPHAN)
    elif policy == "Foreground":
        finalizers.append(FOREGROUND)
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
