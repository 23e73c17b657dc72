"""SchedulerOverride (fairlead.dev/v1): what a person lays down for a while, beside what controllers would do.

It is desired state like any other: who, why, on what, until when, and what changes. The API stamps its end
(`api/admission/override/steps.py`), every reader judges it by its own clock (`ledger/override.py`), and nothing of it
can be changed later on: who needs more time makes another, which names this one in `replaces`.

One in the namespace `kube-system` may bear on the whole cluster; any other bears on its own namespace alone.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.core.times import parse_duration, parse_time
from fairlead.model.cells import AGE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.override_preview import validate_preview
from fairlead.model.kinds.workload import part
from fairlead.model.names import label_problems, name_problems
from fairlead.model.selectors import validate_label_selector

CLUSTER_NAMESPACE = "kube-system"
WORKLOADS = ("workload", "deployment", "statefulset", "daemonset", "replicaset", "job")
PLACES = ("node", "pool", "zone", "region")
SCOPES = ("pool", "zone", "region")
NAMESPACE, CLUSTER = "namespace", "cluster"
TARGETS = (*WORKLOADS, NAMESPACE, *PLACES, CLUSTER)
PAUSES = ("pauseAutoscaler", "pauseExpansion", "pauseRollout", "pauseRepair")
AVOIDS = ("avoidZones", "avoidPools", "avoidNodes")
#: bound: objects | time a SchedulerOverride may ask for | 422
EXPIRES_AFTER_SECONDS_MAX = 24 * 3600.0
#: bound: objects | the shortest time of a SchedulerOverride | 422
EXPIRES_AFTER_SECONDS_MIN = 1.0
#: bound: objects | zones, pools or weights in one SchedulerOverride | 422
NAMED_MAX = 64
#: bound: objects | replicas that one SchedulerOverride lets use a capacity class | 422
RESERVED_REPLICAS_MAX = 32
#: bound: objects | replicas whose priority one SchedulerOverride raises at a time | 422
PRIORITY_REPLICAS_MAX = 32
#: bound: objects | bytes of a SchedulerOverride's reason, owner or ticket | 422
TEXT_MAX = 1024
#: bound: objects | a zone's weight in a SchedulerOverride | 422
WEIGHT_MAX = 100
NEVER = "Never"  # a preemptionPolicy
_NANOSECONDS = 1e9
_PLACES_IN_TURN = "narrow it to a workload or the namespace, or make it in the namespace kube-system"


def seconds_of(text: str) -> float:
    """`45m` in seconds. Raises ValueError."""
    return parse_duration(text) / _NANOSECONDS


def split(target: str) -> tuple[str, str]:
    """`deployment/risk-api` in two; a target without a name has "" there."""
    sort, _, name = target.partition("/")
    return sort, name


def _defaults(override: Json) -> None:
    changes = part(part(override, "spec"), "changes")
    if changes.get("allowReservedCapacityClass") and changes.get("reservedReplicas") is None:
        changes["reservedReplicas"] = 1
    if changes.get("priorityClassName") and changes.get("priorityReplicas") is None:
        changes["priorityReplicas"] = 1


def _validate(override: Json, problems: Problems) -> None:
    spec, meta = part(override, "spec"), part(override, "metadata")
    if meta.get("finalizers"):
        problems.forbidden(
            "metadata.finalizers", "who deletes it has ended it, and waits for nobody: leave them out"
        )
    if not str(spec.get("reason") or "").strip():
        problems.required("spec.reason", "say why, for who is paged next")
    for field in ("reason", "owner", "ticket"):
        if len(str(spec.get(field) or "").encode()) > TEXT_MAX:
            problems.too_long(f"spec.{field}", TEXT_MAX)
    if spec.get("replaces"):
        for text in name_problems("subdomain", spec["replaces"]):
            problems.invalid("spec.replaces", spec["replaces"], text)
    _validate_end(spec, problems)
    _validate_target(spec, meta.get("namespace") or "", problems)
    _validate_scope(spec, problems)
    _validate_changes(spec, problems)
    _validate_reach(spec, meta.get("namespace") or "", problems)
    if spec.get("preview") is not None:
        validate_preview(spec["preview"], "spec.preview", problems)


def _validate_reach(spec: Json, namespace: str, problems: Problems) -> None:
    """What it approves is of its own namespace, unless it may bear on the whole cluster."""
    meant = part(part(spec, "changes"), "approveRepair").get("namespace")
    if meant and namespace not in (meant, CLUSTER_NAMESPACE):
        at = "spec.changes.approveRepair.namespace"
        problems.invalid(at, meant, f"reaches beyond namespace {namespace}: make it in {meant}")


def _validate_end(spec: Json, problems: Problems) -> None:
    text = spec.get("expiresAfter") or ""
    if not text:
        problems.required("spec.expiresAfter", "an override has an end, such as 30m")
        return
    try:
        seconds = seconds_of(text)
    except ValueError as error:
        problems.invalid("spec.expiresAfter", text, f"{error}; such as 45m, 2h or 1h30m")
        return
    if not EXPIRES_AFTER_SECONDS_MIN <= seconds <= EXPIRES_AFTER_SECONDS_MAX:
        most = f"{EXPIRES_AFTER_SECONDS_MAX / 3600:.0f}h"
        problems.invalid(
            "spec.expiresAfter", text, f"must be between 1s and {most}; who needs more time makes another"
        )


def _validate_target(spec: Json, namespace: str, problems: Problems) -> None:
    target = spec.get("target") or ""
    sort, name = split(target)
    if not target:
        problems.required(
            "spec.target", "such as deployment/risk-api, zone/eu-west-a, namespace/shop or cluster"
        )
        return
    if sort not in TARGETS:
        problems.unsupported("spec.target", target, [f"{each}/NAME" for each in TARGETS[:-1]] + [CLUSTER])
        return
    if sort == CLUSTER:
        if name:
            problems.invalid("spec.target", target, "the cluster has no name")
    elif not name and sort != NAMESPACE:
        problems.invalid("spec.target", target, f"name it: {sort}/NAME")
    elif not name:
        pass  # its own
    elif sort in ("pool", "zone", "region"):
        for text in label_problems(name):
            problems.invalid("spec.target", target, text)
    else:
        for text in name_problems("subdomain", name):
            problems.invalid("spec.target", target, text)
    if namespace == CLUSTER_NAMESPACE:
        return
    if sort in PLACES or sort == CLUSTER:
        problems.invalid("spec.target", target, f"reaches beyond namespace {namespace}: {_PLACES_IN_TURN}")
    elif sort == NAMESPACE and name and name != namespace:
        problems.invalid("spec.target", target, f"this one is in namespace {namespace}: make it in {name}")


def _validate_scope(spec: Json, problems: Problems) -> None:
    scope = spec.get("scope") or ""
    if not scope:
        return
    sort, name = split(scope)
    if sort not in SCOPES or not name:
        problems.unsupported("spec.scope", scope, [f"{each}/NAME" for each in SCOPES])
        return
    for text in label_problems(name):
        problems.invalid("spec.scope", scope, text)


def _validate_changes(spec: Json, problems: Problems) -> None:
    changes, (sort, _) = part(spec, "changes"), split(spec.get("target") or "")
    at = "spec.changes"
    if not any(changes.values()):
        problems.required(at, f"say what changes: {', '.join((*PAUSES, *AVOIDS))}, cordon, drain and others")
    is_place = sort in PLACES
    for field in (*PAUSES, *AVOIDS, "allowReservedCapacityClass", "trafficWeights", "priorityClassName"):
        if is_place and changes.get(field) and field != "pauseRepair":
            problems.invalid(
                f"{at}.{field}", changes[field], "is about workloads; this one's target is a place"
            )
    for field in ("cordon", "drain"):
        if changes.get(field) and not is_place:
            problems.invalid(
                f"{at}.{field}", True, "is about places: target a node, a pool, a zone or a region"
            )
    for field in ("avoidZones", "avoidPools"):
        named = changes.get(field) or []
        if len(named) > NAMED_MAX:
            problems.too_many(f"{at}.{field}", len(named), NAMED_MAX)
        for index, name in enumerate(named):
            for text in label_problems(name) or ([] if name else ["name it"]):
                problems.invalid(f"{at}.{field}[{index}]", name, text)
    _validate_avoided_nodes(changes, problems)
    _validate_class(changes, problems)
    _validate_priority(changes, sort, problems)
    _validate_weights(changes, problems)
    _validate_approval(changes, problems)


def _validate_avoided_nodes(changes: Json, problems: Problems) -> None:
    selector = changes.get("avoidNodes")
    if selector is None:
        return
    at = "spec.changes.avoidNodes"
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        problems.required(at, "an empty one would close every node")
    validate_label_selector(selector, at, problems)


def _validate_class(changes: Json, problems: Problems) -> None:
    name, replicas = changes.get("allowReservedCapacityClass"), changes.get("reservedReplicas")
    if replicas is not None and not name:
        problems.required(
            "spec.changes.allowReservedCapacityClass", "say which class these reservedReplicas may use"
        )
    if name:
        for text in label_problems(name):
            problems.invalid("spec.changes.allowReservedCapacityClass", name, text)
    if replicas is not None and not 1 <= replicas <= RESERVED_REPLICAS_MAX:
        problems.invalid(
            "spec.changes.reservedReplicas", replicas, f"must be between 1 and {RESERVED_REPLICAS_MAX}"
        )


def _validate_priority(changes: Json, sort: str, problems: Problems) -> None:
    name, replicas = changes.get("priorityClassName"), changes.get("priorityReplicas")
    policy, at = changes.get("preemptionPolicy"), "spec.changes"
    if not name:
        if replicas is not None or policy:
            problems.required(f"{at}.priorityClassName", "say which PriorityClass these replicas get")
        return
    for text in name_problems("subdomain", name):
        problems.invalid(f"{at}.priorityClassName", name, text)
    if sort == CLUSTER:
        told = "puts some before others: target a workload or a namespace"
        problems.invalid(f"{at}.priorityClassName", name, told)
    if replicas is not None and not 1 <= replicas <= PRIORITY_REPLICAS_MAX:
        told = f"must be between 1 and {PRIORITY_REPLICAS_MAX}"
        problems.invalid(f"{at}.priorityReplicas", replicas, told)
    if policy and policy != NEVER:
        problems.unsupported(f"{at}.preemptionPolicy", policy, (NEVER,))


def _validate_weights(changes: Json, problems: Problems) -> None:
    weights = changes.get("trafficWeights") or []
    at = "spec.changes.trafficWeights"
    if len(weights) > NAMED_MAX:
        problems.too_many(at, len(weights), NAMED_MAX)
    seen = set()
    for index, each in enumerate(weights):
        zone, weight = each.get("zone") or "", each.get("weight") or 0
        for text in label_problems(zone) or ([] if zone else ["name it"]):
            problems.invalid(f"{at}[{index}].zone", zone, text)
        if zone in seen:
            problems.duplicate(f"{at}[{index}].zone", zone)
        seen.add(zone)
        if not 0 <= weight <= WEIGHT_MAX:
            problems.invalid(f"{at}[{index}].weight", weight, f"must be between 0 and {WEIGHT_MAX}")


def _validate_approval(changes: Json, problems: Problems) -> None:
    approved = changes.get("approveRepair")
    if approved is None:
        return
    for field in ("kind", "name", "uid"):
        if not approved.get(field):
            problems.required(
                f"spec.changes.approveRepair.{field}", "approval is of one object: fairlead repair names it"
            )
    if approved.get("kind") and approved["kind"] != "Pod":
        problems.unsupported("spec.changes.approveRepair.kind", approved["kind"], ("Pod",))


def _validate_update(new: Json, old: Json, problems: Problems) -> None:
    """What was laid down stays; who needs something else ends it and makes another."""
    spec, before = part(new, "spec"), part(old, "spec")
    name = part(new, "metadata").get("name")
    for field in sorted({*spec, *before}):
        if spec.get(field) != before.get(field):
            told = f"nothing of it changes once it is made; make another whose spec.replaces is {name}"
            problems.invalid(f"spec.{field}", spec.get(field), told)


def changed_fields(spec: Json) -> list[str]:
    """What it changes, in a word each, as `kubectl get` and the command line show it."""
    changes = part(spec, "changes")
    told = [field for field in (*PAUSES, "cordon", "drain") if changes.get(field)]
    for field in ("avoidZones", "avoidPools"):
        if changes.get(field):
            told.append(f"{field}={'+'.join(changes[field])}")
    if changes.get("avoidNodes"):
        told.append("avoidNodes")
    if changes.get("allowReservedCapacityClass"):
        told.append(f"{changes.get('reservedReplicas') or 1}x{changes['allowReservedCapacityClass']}")
    if changes.get("priorityClassName"):
        told.append(f"priority={changes['priorityClassName']}x{changes.get('priorityReplicas') or 1}")
    if changes.get("trafficWeights"):
        told.append(
            "traffic="
            + "+".join(f"{each['zone']}:{each.get('weight') or 0}" for each in changes["trafficWeights"])
        )
    if changes.get("approveRepair"):
        told.append(f"approveRepair={changes['approveRepair'].get('name')}")
    return told


def _changes(override: Json, now: float) -> Cell:
    return ",".join(changed_fields(part(override, "spec")))


def _state(override: Json, now: float) -> Cell:
    ends = part(override, "spec").get("expiresAt")
    if ends and now >= parse_time(ends):
        return "Expired"
    conditions = part(override, "status").get("conditions") or ()
    if part(override, "spec").get("approval") and not any(
        each.get("type") == APPROVED for each in conditions
    ):
        return "AwaitingApproval"
    observed = any(each.get("type") == OBSERVED and each.get("status") == "True" for each in conditions)
    return "Active" if observed else "NotObserved"


def _ends(override: Json, now: float) -> Cell:
    return part(override, "spec").get("expiresAt") or "<none>"


def _spec(field: str) -> Column:
    def cell(override: Json, now: float) -> Cell:
        return part(override, "spec").get(field) or ""

    return Column(field.capitalize(), cell, priority=1 if field in ("reason", "scope") else 0)


OBSERVED, APPROVED, RESIDUE = "SchedulerOverrideObserved", "Approved", "Residue"

KIND = Kind(
    group="fairlead.dev",
    version="v1",
    kind="SchedulerOverride",
    plural="scheduleroverrides",
    short_names=("sov",),
    namespaced=True,
    schema="SchedulerOverride",
    ends_when_deleted=True,
    subresources=("status", "approval"),
    columns=(
        _spec("target"),
        _spec("scope"),
        Column("Changes", _changes, description="What it changes."),
        Column("State", _state, description="Active once all controllers that it concerns know of it."),
        _spec("owner"),
        Column("Ends", _ends, description="When it ends by itself."),
        _spec("reason"),
        AGE,
    ),
    defaults=_defaults,
    validate=_validate,
    validate_update=_validate_update,
)
