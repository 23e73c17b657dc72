"""SchedulerOverrides as they come in: stamped with who and until when, and held against the guards of the plane.

A new one gets the end that follows from this server's clock, and who made it. Refused, with what to change: one that
lasts too long, one too many, one whose target, predecessor, places or class (`places.py`) are not there, one
that gives more than the target may use (`priority.py`), and one that cannot stand beside another, which is
named. One that reaches further than a person should alone (`reach.py`) says so in `spec.approval`, and holds
once another has approved it (`approval.py`). One that nobody looked ahead for says so in `spec.preview`, and
in its audit line. All of it is judged in the transaction, but for some sizes (`sizes.py`): who comes at the
same time is planned again.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fairlead.api.admission.override.approval import STAMPED, admit_approval, as_oneself
from fairlead.api.admission.override.places import check_class, check_places
from fairlead.api.admission.override.priority import check_quotas, priority_for
from fairlead.api.admission.override.reach import approval_of, nodes_of
from fairlead.api.admission.override.room import warn_of_full_disk
from fairlead.api.admission.override.sight import readable, readable_one
from fairlead.api.admission.override.sizes import sizes_of
from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.api.objects import plain, put, tree
from fairlead.api.status import invalid
from fairlead.core.problems import Problems
from fairlead.core.times import SECOND, format_duration, timestamp
from fairlead.ledger import override as ledger
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.kinds import namespace, override_preview, planesettings
from fairlead.model.kinds import scheduleroverride as kinds
from fairlead.model.policy import plane_knobs
from fairlead.model.policy.override_risks import moves
from fairlead.model.views import (
    DAEMONSETS,
    DEPLOYMENTS,
    JOBS,
    REPLICASETS,
    RESERVATIONS,
    STATEFULSETS,
    SchedulerOverride,
)
from fairlead.store.contract import AtRevision

_RESOURCE = kinds.KIND.resource
_SORTS = {
    "deployment": DEPLOYMENTS.name,
    "statefulset": STATEFULSETS.name,
    "daemonset": DAEMONSETS.name,
    "replicaset": REPLICASETS.name,
    "job": JOBS.name,
}
_override = msgspec.json.Decoder(SchedulerOverride).decode
#: bound: objects | workloads whose size one SchedulerOverride keeps | 422
HELD_MAX = 500
PREVIEW = "fairlead.dev/preview"  # annotation of the audit line: that nothing was foreseen, and why


def _admit(attempt: Attempt) -> None:
    new, context = attempt.new, attempt.context
    assert new is not None
    spec = new.get("spec") or {}
    problems = Problems()
    kinds.KIND.validate(new, problems)
    if problems:
        return  # it will be refused with all of them
    for field in STAMPED:
        spec.pop(field, None)
    seconds = kinds.seconds_of(spec["expiresAfter"])
    spec["requestedBy"] = context.user.name
    spec["owner"] = spec.get("owner") or context.user.name
    spec["expiresAt"] = timestamp(context.now + seconds)
    knobs = _knobs(attempt)
    if seconds > knobs["secondsMax"]:
        longest = format_duration(int(knobs["secondsMax"] * SECOND))
        most = f"at most {longest} here (PlaneSettings spec.overrides.secondsMax)"
        problems.invalid(
            "spec.expiresAfter", spec["expiresAfter"], f"{most}; make another when this one ends"
        )
    known = [each for each in _known(attempt) if context.now < ledger.end_of(each)]
    wanted = msgspec.convert({**new, "metadata": {"uid": "", **new["metadata"]}}, SchedulerOverride)
    _check_replaced(wanted, known, problems)
    beside = [
        each for each in known if each.metadata.name != wanted.spec.replaces or _elsewhere(each, wanted)
    ]
    _check_count(wanted, beside, int(knobs["activeMax"]), problems)
    _check_conflicts(wanted, beside, problems)
    _check_target(attempt, wanted, problems)
    check_places(attempt, wanted, problems)
    check_class(attempt, wanted, problems)
    priority = priority_for(attempt, wanted, problems)
    if priority is not None:
        check_quotas(attempt, wanted, beside, _template(attempt, wanted), problems)
        spec["priority"] = priority
    replaced = next((each for each in known if each not in beside), None)
    held = sizes_of(attempt, wanted, replaced) if wanted.spec.changes.pause_expansion else []
    if len(held) > HELD_MAX:
        problems.invalid(
            "spec.target",
            wanted.spec.target,
            f"has {len(held)} workloads, and {HELD_MAX} may be held: narrow it",
        )
    if problems:
        raise invalid(attempt.kind, attempt.key.name, problems)
    value = priority["value"] if priority is not None else 0
    closing = [each for each in known if _close_together(wanted, each)]  # what it replaces holds as well
    spec["approval"] = approval_of(attempt, wanted, closing, value, knobs)
    if not spec["approval"]:
        del spec["approval"]
    else:
        as_oneself(attempt, spec["approval"])
        attempt.warnings.append(
            f"it holds once somebody else has approved it ({spec['approval']}): "
            f"fairlead override approve {attempt.key.name} -n {attempt.key.namespace}"
        )
    if wanted.spec.changes.pause_expansion:
        new["status"] = {"held": held}
    warn_of_full_disk(attempt, wanted)
    _note_preview(attempt, spec)
    _take_turns(attempt)


def _note_preview(attempt: Attempt, spec: Json) -> None:
    """It is never made up here; that there is none is said in the object and in the audit log."""
    why = override_preview.NOT_SENT if moves(spec["changes"]) else override_preview.MOVES_NOTHING
    preview = spec["preview"] = spec.get("preview") or override_preview.skipped(why)
    if preview["outcome"] != override_preview.MADE:
        attempt.annotations = {**attempt.annotations, PREVIEW: override_preview.told(preview)}


def _elsewhere(one: SchedulerOverride, other: SchedulerOverride) -> bool:
    return one.metadata.namespace != other.metadata.namespace


def _knobs(attempt: Attempt) -> plane_knobs.Numbers:
    entry = readable_one(attempt, Key(planesettings.KIND.resource, "", plane_knobs.NAME))
    spec = {} if entry is None else tree(entry).get("spec") or {}
    return plane_knobs.numbers(spec, "overrides")


def _known(attempt: Attempt) -> Iterable[SchedulerOverride]:
    return [_override(entry.data) for entry in readable(attempt, _RESOURCE)]


def _check_replaced(wanted: SchedulerOverride, known: list[SchedulerOverride], problems: Problems) -> None:
    name = wanted.spec.replaces
    if not name:
        return
    before = next(
        (each for each in known if each.metadata.name == name and not _elsewhere(each, wanted)), None
    )
    if before is None:
        problems.not_found(
            "spec.replaces", name, "no such override is active in this namespace; leave it out"
        )
    elif before.spec.target != wanted.spec.target:
        problems.invalid("spec.replaces", name, f"has another target, {before.spec.target}: leave it out")


def _check_count(
    wanted: SchedulerOverride, known: list[SchedulerOverride], most: int, problems: Problems
) -> None:
    """Who may make one here need not know what those elsewhere are called."""
    if len(known) >= most:
        first = min(known, key=ledger.end_of)
        name = "one of another namespace" if _elsewhere(first, wanted) else ledger.mark_of(first)
        limit = "PlaneSettings spec.overrides.activeMax"
        told = f"{len(known)} are active, and {most} may be ({limit}); the next to end is"
        ends = f"{name} at {first.spec.expires_at}"
        problems.forbidden("spec", f"{told} {ends}: end one that is not needed any more")


def _check_conflicts(wanted: SchedulerOverride, known: list[SchedulerOverride], problems: Problems) -> None:
    changes = wanted.spec.changes
    for each in known:
        theirs, name = each.spec.changes, f"{each.metadata.namespace}/{each.metadata.name}"
        end = f"end it, or name it in spec.replaces: fairlead override end {each.metadata.name}"
        if (
            changes.allow_reserved_capacity_class
            and theirs.allow_reserved_capacity_class
            and _meet(wanted, each)
        ):
            problems.forbidden(
                "spec.changes.allowReservedCapacityClass",
                f"{name} lets {each.spec.target} use class {theirs.allow_reserved_capacity_class} already: {end}",
            )
        if changes.priority_class_name and theirs.priority_class_name and _meet(wanted, each):
            problems.forbidden(
                "spec.changes.priorityClassName",
                f"{name} gives {each.spec.target} the priority of {theirs.priority_class_name} already: {end}",
            )
        if changes.traffic_weights and theirs.traffic_weights and _meet(wanted, each):
            problems.forbidden(
                "spec.changes.trafficWeights", f"{name} weighs the zones of {each.spec.target} already: {end}"
            )


def _meet(one: SchedulerOverride, other: SchedulerOverride) -> bool:
    """Whether some workload may be a target of both."""
    (sort, name), (other_sort, other_name) = kinds.split(one.spec.target), kinds.split(other.spec.target)
    if kinds.CLUSTER in (sort, other_sort):
        return True
    if sort in kinds.WORKLOADS and other_sort in kinds.WORKLOADS:
        same = sort == other_sort or kinds.WORKLOADS[0] in (sort, other_sort)
        return same and name == other_name and not _elsewhere(one, other)
    spaces = [
        (each_name if each_sort == kinds.NAMESPACE else "") or each.metadata.namespace
        for each, each_sort, each_name in ((one, sort, name), (other, other_sort, other_name))
    ]
    return spaces[0] == spaces[1]


def _close_together(one: SchedulerOverride, other: SchedulerOverride) -> bool:
    """Whether nodes may be closed by both to the same pods: those of a cordon or a drain are to all."""
    is_for_all = any(each.spec.changes.cordon or each.spec.changes.drain for each in (one, other))
    return ledger.bears_on_placement(other) and (is_for_all or _meet(one, other))


def _check_target(attempt: Attempt, wanted: SchedulerOverride, problems: Problems) -> None:
    """A target that is not there would hold nothing, and say that it does."""
    sort, name = kinds.split(wanted.spec.target)
    space = attempt.key.namespace
    if sort in kinds.WORKLOADS:
        resources = [_SORTS[sort]] if sort in _SORTS else list(_SORTS.values())
        if all(attempt.read.get(Key(each, space, name)) is None for each in resources):
            told = f"there is no such {sort} in namespace {space}{_instead(attempt, resources, space)}"
            problems.not_found("spec.target", wanted.spec.target, told)
    elif (
        sort == kinds.NAMESPACE and attempt.read.get(Key(namespace.KIND.resource, "", name or space)) is None
    ):
        problems.not_found("spec.target", wanted.spec.target)
    elif sort in kinds.PLACES:
        places = [each.metadata for each in nodes_of(attempt)]
        if not any(ledger.is_at(wanted.spec.target, each.name, each.labels) for each in places):
            label = ledger.PLACE_LABELS.get(sort)
            values = sorted({each.labels.get(label, "") if label else each.name for each in places} - {""})
            known = f"; there are {', '.join(values[:5])}" if values else ""
            problems.not_found("spec.target", wanted.spec.target, f"there is no such {sort}{known}")


def _instead(attempt: Attempt, resources: list[str], space: str) -> str:
    names = [
        f"{entry.key.resource.partition('.')[0].removesuffix('s')}/{entry.key.name}"
        for resource in resources
        for entry in readable(attempt, resource, space)
    ]
    return f"; there are {', '.join(sorted(names)[:5])}" if names else ""


def _template(attempt: Attempt, wanted: SchedulerOverride) -> Json | None:
    """What pods of the target are made of, if it is one workload."""
    sort, name = kinds.split(wanted.spec.target)
    for resource in (
        [_SORTS[sort]] if sort in _SORTS else list(_SORTS.values()) if sort in kinds.WORKLOADS else []
    ):
        entry = attempt.read.get(Key(resource, attempt.key.namespace, name))
        if entry is not None:
            found: Json = (tree(entry).get("spec") or {}).get("template") or {}
            return found
    return None


def _take_turns(attempt: Attempt) -> None:
    """Overrides are made one after the other, so that their number and what stands beside them is what was judged."""
    key = Key(namespace.KIND.resource, "", kinds.CLUSTER_NAMESPACE)
    entry = readable_one(attempt, key)
    if entry is not None:
        attempt.preconditions.append(AtRevision(key, entry.revision))
        attempt.operations.append(put(namespace.KIND, key, tree(entry)))


def _charge_override(attempt: Attempt) -> None:
    """A Reservation made for an override is counted there, in the same transaction: no more than it allows."""
    assert attempt.new is not None
    mark = (attempt.new["metadata"].get("annotations") or {}).get(ledger.MADE_FOR, "")
    space, _, name = mark.partition("/")
    if not name:
        return
    is_here = space in (attempt.key.namespace, kinds.CLUSTER_NAMESPACE)  # one elsewhere bears on nothing here
    entry = attempt.read.get(Key(_RESOURCE, space, name)) if is_here else None
    if entry is None:
        raise attempt.forbidden(f"there is no SchedulerOverride {mark}, for which it is to be made")
    override = _override(entry.data)
    if not ledger.is_active(override, attempt.context.now):
        raise attempt.forbidden(f"SchedulerOverride {mark} does not hold (any more)")
    changes, reserved = override.spec.changes, override.status.reserved + _reserved_before(attempt, override)
    given = (attempt.new.get("spec") or {}).get("capacityClass") or ""
    if given != changes.allow_reserved_capacity_class:
        raise attempt.forbidden(
            f"SchedulerOverride {mark} allows capacity class {changes.allow_reserved_capacity_class!r}, not {given!r}"
        )
    made = f"{attempt.key.namespace}/{attempt.key.name}"
    if made not in reserved and len(reserved) >= changes.reserved_replicas:
        used = ", ".join(reserved)
        raise attempt.forbidden(
            f"SchedulerOverride {mark} allows {changes.reserved_replicas} replicas, and {used} use that up"
        )
    current, managed = plain(entry)
    status = {**(current.get("status") or {}), "reserved": sorted({*override.status.reserved, made})}
    attempt.preconditions.append(AtRevision(entry.key, entry.revision))
    attempt.operations.append(put(kinds.KIND, entry.key, {**current, "status": status}, managed=managed))


def _reserved_before(attempt: Attempt, override: SchedulerOverride) -> tuple[str, ...]:
    """What counts for the one that it prolongs, as long as that holds: both together allow no more than one."""
    name = override.spec.replaces
    entry = attempt.read.get(Key(_RESOURCE, override.metadata.namespace, name)) if name else None
    if entry is None:
        return ()
    before = _override(entry.data)
    return before.status.reserved if ledger.is_active(before, attempt.context.now) else ()


STEPS = (
    AdmissionStep(
        "OverrideReservations",
        _charge_override,
        frozenset({"create"}),
        frozenset({RESERVATIONS.name}),
        does="counts a reservation at the override that it is made for, which allows so many",
    ),
    AdmissionStep(
        "SchedulerOverride",
        _admit,
        frozenset({"create"}),
        frozenset({_RESOURCE}),
        does="stamps who made an override and when it ends, and holds it against the guards of the plane",
    ),
    AdmissionStep(
        "SchedulerOverrideStatus",
        admit_approval,
        frozenset({"update", "patch"}),
        frozenset({_RESOURCE}),
        subresources=True,
        does="the plane writes its status, a second person its approval, nobody anything else",
    ),
)
