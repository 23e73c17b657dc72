"""Whether there is what a SchedulerOverride names: places to avoid, zones to weigh, a capacity class. Asked by
`steps.py`.

A name that is nobody's would hold nothing, and say that it does: it is refused with those that there are. Where no
node says where it is, nothing is known of places; where there are no classes yet, a warning says so.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fairlead.api.admission.override.reach import nodes_of
from fairlead.api.admission.override.sight import readable_one
from fairlead.api.attempt import Attempt
from fairlead.core.problems import Problems
from fairlead.ledger import override as ledger
from fairlead.model.key import Key
from fairlead.model.kinds import scheduleroverride as kinds
from fairlead.model.marks import POOL, ZONE
from fairlead.model.policy import plane_knobs
from fairlead.model.policy.in_use import policy_in_use
from fairlead.model.views import (
    PLANE_SETTINGS,
    SCHEDULING_POLICIES,
    Node,
    PlaneSettings,
    SchedulerOverride,
    SchedulingPolicy,
)

_settings = msgspec.json.Decoder(PlaneSettings).decode
_policy = msgspec.json.Decoder(SchedulingPolicy).decode
_TOLD_MAX = 5


def check_places(attempt: Attempt, wanted: SchedulerOverride, problems: Problems) -> None:
    changes, scope = wanted.spec.changes, wanted.spec.scope
    if not (changes.avoid_zones or changes.avoid_pools or changes.traffic_weights or scope):
        return
    nodes = nodes_of(attempt)
    if not nodes:
        return
    weighed = [each.zone for each in changes.traffic_weights]
    for field, label, names in (
        ("spec.changes.avoidZones", ZONE, changes.avoid_zones),
        ("spec.changes.avoidPools", POOL, changes.avoid_pools),
        ("spec.changes.trafficWeights", ZONE, weighed),
    ):
        known = _values(nodes, label)
        for name in names:
            if known and name not in known:
                problems.not_found(field, name, f"no node is there{_told(known)}")
    sort, name = kinds.split(scope) if scope else ("", "")
    scoped = ledger.PLACE_LABELS.get(sort)
    known = _values(nodes, scoped) if scoped else set()
    if known and name not in known:
        problems.not_found("spec.scope", scope, f"no node is there{_told(known)}")


def check_class(attempt: Attempt, wanted: SchedulerOverride, problems: Problems) -> None:
    asked = wanted.spec.changes.allow_reserved_capacity_class
    if not asked:
        return
    entry = readable_one(attempt, Key(PLANE_SETTINGS.name, "", plane_knobs.NAME))
    settings = _settings(entry.data) if entry is not None else None

    def named(name: str) -> SchedulingPolicy | None:
        found = readable_one(attempt, Key(SCHEDULING_POLICIES.name, "", name))
        return _policy(found.data) if found is not None else None

    policy = policy_in_use(settings, named).policy
    classes = (policy.spec.get("capacityClasses") or ()) if policy is not None else ()
    known = {str(each.get("name")) for each in classes}
    if known and asked not in known:
        told = f"the SchedulingPolicy in use has no such class{_told(known)}"
        problems.not_found("spec.changes.allowReservedCapacityClass", asked, told)
    elif not known:
        attempt.warnings.append(
            f"it lends nothing yet: no capacity class {asked} is in use; name it in spec.capacityClasses of a"
            " SchedulingPolicy, and that in spec.schedulingPolicy of PlaneSettings"
        )


def _values(nodes: Iterable[Node], label: str) -> set[str]:
    return {each.metadata.labels.get(label, "") for each in nodes} - {""}


def _told(known: set[str]) -> str:
    return f"; there are {', '.join(sorted(known)[:_TOLD_MAX])}" if known else ""
