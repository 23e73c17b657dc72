"""The controller of ServiceLevelObjectives: writes down when what they are about became more or less available.

A status has the instants at which availability changed, the newest CHANGES_KEPT of them; what is older is summed up. It
is written when availability changes, and when the budget comes to be spent or is no longer: the instant of that follows
from what was seen (`model/objectives.py`), so that nobody looks in between. An instant is when this plane saw the
change: what happened while no plane looked is dated by the first look after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from fairlead.core.times import microtime, parse_time, timestamp
from fairlead.decision.contract import NOTHING, Decision, EventNote, Reading
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.ensure import ensure_status
from fairlead.decision.notes import NORMAL, WARNING, regarding_of
from fairlead.decision.predicates import PRESENT
from fairlead.decision.wakes import itself
from fairlead.model.key import Key
from fairlead.model.objectives import Seen
from fairlead.model.service_views import ENDPOINT_SLICES, SERVICE_NAME, SERVICES, EndpointSlice
from fairlead.model.views import DAEMONSETS, DEPLOYMENTS, STATEFULSETS, Condition, View
from fairlead.model.views.objectives import (
    OBJECTIVES,
    ObjectiveChange,
    ObjectiveEarlier,
    ServiceLevelObjective,
    ServiceLevelObjectiveStatus,
    account_of,
)

_NAME = "service-level"
#: bound: plane | changes of availability that the status of a ServiceLevelObjective keeps | the older half is summed up
CHANGES_KEPT_MAX = 128
MET, AVAILABLE = "Met", "Available"
_ABSENT = (0, 0)
_KINDS = {DEPLOYMENTS.name: "Deployment", STATEFULSETS.name: "StatefulSet", DAEMONSETS.name: "DaemonSet"}


def objective_decider() -> Decider:
    return Decider(
        name=_NAME,
        reads=(OBJECTIVES, DEPLOYMENTS, STATEFULSETS, DAEMONSETS, SERVICES, ENDPOINT_SLICES),
        wakes=(
            Wake(OBJECTIVES, itself, when=PRESENT),
            *(
                Wake(each, _about, among=OBJECTIVES)
                for each in (DEPLOYMENTS, STATEFULSETS, DAEMONSETS, SERVICES)
            ),
            Wake(ENDPOINT_SLICES, _about_slice, among=OBJECTIVES),
        ),
        decide=_decide,
    )


def _about(event: WatchEvent[Any]) -> Iterable[Key]:
    return _naming(event, _KINDS.get(event.key.resource, "Service"), event.key.name)


def _about_slice(event: WatchEvent[EndpointSlice]) -> Iterable[Key]:
    found: View | None = event.after if event.after is not None else event.before
    if not isinstance(found, EndpointSlice):
        return ()
    return _naming(event, "Service", found.metadata.labels.get(SERVICE_NAME, ""))


def _naming(event: WatchEvent[Any], kind: str, name: str) -> Iterable[Key]:
    """The objectives of its namespace that are about it."""
    space = event.key.namespace
    for each in event.view.list(OBJECTIVES, space):
        target = each.spec.target
        if (target.kind, target.name) == (kind, name):
            yield Key(OBJECTIVES.name, space, each.metadata.name)


def _decide(view: Reading, key: Key, now: float) -> Decision:
    found = view.get(OBJECTIVES, key.namespace, key.name)
    if found is None or found.metadata.deletion_timestamp:
        return NOTHING
    available, wanted = _availability(view, found)
    status = _with_change(found, available, wanted, now)
    account = account_of(found.spec, status)
    is_met, lacking = account.spent(now) < 1.0, account.seen[-1].lacking
    status = _concluded(found, status, is_met=is_met, lacking=lacking, now=now)
    effect = ensure_status(_NAME, OBJECTIVES, found, status)
    return Decision(
        effects=(effect,) if effect is not None else (),
        again_at=account.turns_at(now),
        events=_notes(found, is_met=is_met) if effect is not None else (),
    )


def _availability(view: Reading, objective: ServiceLevelObjective) -> tuple[int, int]:
    """How many serve, and how many should."""
    space, target = objective.metadata.namespace, objective.spec.target
    if target.kind == "Service":
        return _of_service(view, space, target.name)
    if target.kind == DAEMONSETS.kind:
        daemons = view.get(DAEMONSETS, space, target.name)
        if daemons is None:
            return _ABSENT
        return daemons.status.number_available, daemons.status.desired_number_scheduled
    if target.kind == DEPLOYMENTS.kind:
        deployment = view.get(DEPLOYMENTS, space, target.name)
        if deployment is None:
            return _ABSENT
        return deployment.status.available_replicas, deployment.spec.replicas
    replicas = view.get(STATEFULSETS, space, target.name)
    return (replicas.status.available_replicas, replicas.spec.replicas) if replicas is not None else _ABSENT


def _of_service(view: Reading, space: str, name: str) -> tuple[int, int]:
    if view.get(SERVICES, space, name) is None:
        return _ABSENT
    for each in view.list(ENDPOINT_SLICES, space):
        if each.metadata.labels.get(SERVICE_NAME) == name and any(map(_is_ready, each.endpoints)):
            return 1, 1
    return 0, 1


def _is_ready(endpoint: dict[str, Any]) -> bool:
    return bool((endpoint.get("conditions") or {}).get("ready", True))


def _with_change(
    found: ServiceLevelObjective, available: int, wanted: int, now: float
) -> ServiceLevelObjectiveStatus:
    status = found.status
    available = min(available, wanted)
    last = status.changes[-1] if status.changes else None
    if last is not None and (last.available, last.wanted) == (available, wanted):
        return status
    # Another plane, whose clock was ahead, may have written the last one: instants do not go back.
    at = microtime(now) if last is None else max(microtime(now), last.at)
    changes = (*status.changes, ObjectiveChange(at, available, wanted))
    earlier = status.earlier
    if len(changes) > CHANGES_KEPT_MAX:
        half = CHANGES_KEPT_MAX // 2
        earlier = _summed(earlier, changes[: half + 1], now - found.spec.window_seconds)
        changes = changes[half:]
    return ServiceLevelObjectiveStatus(status.observed_generation, status.conditions, changes, earlier)


def _summed(earlier: ObjectiveEarlier, old: tuple[ObjectiveChange, ...], start: float) -> ObjectiveEarlier:
    """The changes up to the last of these as one sum, as far as they are not before `start`. Of what was summed up
    before it is taken to have been spread evenly."""
    lacked, since = 0.0, max(start, parse_time(earlier.since or old[0].at))
    if earlier.until:
        first, last = parse_time(earlier.since), parse_time(earlier.until)
        share = max(0.0, last - max(first, start)) / (last - first) if last > first else 0.0
        lacked = earlier.lacked_seconds * share
    for each, following in pairwise(old):
        seen = Seen(parse_time(each.at), each.available, each.wanted)
        lacked += seen.lacking * max(0.0, parse_time(following.at) - max(seen.at, start))
    return ObjectiveEarlier(microtime(since), old[-1].at, round(lacked, 3))


def _concluded(
    found: ServiceLevelObjective,
    status: ServiceLevelObjectiveStatus,
    *,
    is_met: bool,
    lacking: float,
    now: float,
) -> ServiceLevelObjectiveStatus:
    generation = found.metadata.generation
    last = status.changes[-1]
    if not last.wanted:
        available = ("Unknown", "NothingWanted", "it is not there, or wants no replicas")
    elif lacking:
        available = ("False", "Lacking", f"{last.available} of {last.wanted} are available")
    else:
        available = ("True", "Complete", "")
    met = ("True", "WithinBudget", "") if is_met else ("False", "BudgetSpent", "more was missed than may be")
    known = {each.type: each for each in found.status.conditions}
    conditions = tuple(
        _condition(known.get(kind), kind, *told, generation=generation, now=now)
        for kind, told in ((AVAILABLE, available), (MET, met))
    )
    return ServiceLevelObjectiveStatus(generation, conditions, status.changes, status.earlier)


def _condition(
    known: Condition | None, kind: str, status: str, reason: str, message: str, *, generation: int, now: float
) -> Condition:
    since = known.last_transition_time if known is not None and known.status == status else timestamp(now)
    return Condition(kind, status, reason, message, since, observed_generation=generation)


def _notes(found: ServiceLevelObjective, *, is_met: bool) -> tuple[EventNote, ...]:
    """That the budget came to be spent, or is so no longer."""
    before = {each.type: each.status for each in found.status.conditions}.get(MET, "True")
    if before == str(is_met):
        return ()
    target = found.spec.target
    about = f"{target.kind.lower()} {target.name}, {found.spec.objective:g} % within {found.spec.window_seconds} s"
    regarding = regarding_of(OBJECTIVES, found.metadata)
    if is_met:
        return (EventNote(regarding, NORMAL, "WithinBudget", f"the objective is met again: {about}", 0),)
    return (EventNote(regarding, WARNING, "BudgetSpent", f"the objective is missed: {about}", 0),)
