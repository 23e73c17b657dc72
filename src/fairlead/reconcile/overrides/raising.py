"""Which pods an override that gives a priority raises: those of its target that wait, no more than it allows at a time.

Whoever was raised stays so while it exists, also on its node; a place that becomes free goes to the one that has waited
for longest. The names are part of the override's status: the server counts them (`api/admission/override/steps.py`),
and the scheduler reads them (`ledger/priority.py`). Called by `decider.py`, for an override that holds.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.core.times import parse_time
from fairlead.decision.contract import Reading
from fairlead.decision.decider import WatchEvent
from fairlead.ledger import override as ledger
from fairlead.ledger.priority import bears_on_priority, value_of
from fairlead.model.key import Key
from fairlead.model.kinds.scheduleroverride import NAMESPACE, split
from fairlead.model.views import OVERRIDES, PODS, OverrideRaised, Pod, SchedulerOverride


def raising(event: WatchEvent[Pod]) -> Iterable[Key]:
    """The overrides that a change of a pod may concern."""
    meta = event.newest.metadata
    return [
        Key(OVERRIDES.name, each.metadata.namespace, each.metadata.name)
        for each in event.view.list(OVERRIDES)
        if bears_on_priority(each) and ledger.covers(each, meta.namespace, ledger.names_of_owner(meta))
    ]


def raised_pods(view: Reading, override: SchedulerOverride) -> tuple[OverrideRaised, ...]:
    """In the order in which they were raised."""
    if not bears_on_priority(override):
        return ()
    most = override.spec.changes.priority_replicas
    kept = [each for each in _before(view, override) if _exists(view, each)][:most]
    known = {each.uid for each in kept}
    waiting = [
        pod
        for pod in view.list(PODS, _namespace(override))
        if pod.metadata.uid not in known and _waits(override, pod)
    ]
    waiting.sort(key=lambda pod: (parse_time(pod.metadata.creation_timestamp), pod.metadata.name))
    more = (OverrideRaised(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid) for pod in waiting)
    return (*kept, *list(more)[: most - len(kept)])


def _before(view: Reading, override: SchedulerOverride) -> tuple[OverrideRaised, ...]:
    """Whom it raises already; to begin with those of the one that it prolongs."""
    if override.status.raised or not override.spec.replaces:
        return override.status.raised
    before = view.get(OVERRIDES, override.metadata.namespace, override.spec.replaces)
    return before.status.raised if before is not None else ()


def _exists(view: Reading, raised: OverrideRaised) -> bool:
    pod = view.get(PODS, raised.namespace, raised.name)
    return pod is not None and pod.metadata.uid == raised.uid and pod.live


def _waits(override: SchedulerOverride, pod: Pod) -> bool:
    meta = pod.metadata
    if pod.spec.node_name or not pod.live or pod.spec.scheduling_gates:
        return False
    below = pod.spec.priority < value_of(override)
    return below and ledger.covers(override, meta.namespace, ledger.names_of_owner(meta))


def _namespace(override: SchedulerOverride) -> str:
    sort, name = split(override.spec.target)
    return (name if sort == NAMESPACE else "") or override.metadata.namespace
