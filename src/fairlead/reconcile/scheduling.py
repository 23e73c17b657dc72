"""What schedulers tell about a pod: the condition of one that fits nowhere now, written once, and the events. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from fairlead.core.times import timestamp
from fairlead.decision.contract import EventNote, Regarding
from fairlead.decision.effects import Bind, ChangeStatus
from fairlead.decision.ensure import ensure_status
from fairlead.decision.notes import NORMAL, WARNING
from fairlead.model.views import PODS, Condition, Pod

SCHEDULER = "default-scheduler"
_SCHEDULED = "PodScheduled"
_UNSCHEDULABLE = "Unschedulable"


def unschedulable(controller: str, pod: Pod, message: str, now: float) -> ChangeStatus | None:
    """PodScheduled=False with this message; None if that is what the pod says already."""
    known = next((each for each in pod.status.conditions if each.type == _SCHEDULED), None)
    if known is not None and (known.status, known.reason, known.message) == (
        "False",
        _UNSCHEDULABLE,
        message,
    ):
        return None
    since = known.last_transition_time if known is not None and known.status == "False" else timestamp(now)
    condition = Condition(_SCHEDULED, "False", _UNSCHEDULABLE, message, since)
    others = tuple(each for each in pod.status.conditions if each.type != _SCHEDULED)
    return ensure_status(controller, PODS, pod, structs.replace(pod.status, conditions=(*others, condition)))


def told(effects: Sequence[Bind | ChangeStatus], why: str) -> tuple[EventNote, ...]:
    """An event for each pod that is bound, and for each that is marked as unschedulable, and `why`."""
    notes = []
    for place, effect in enumerate(effects):
        regarding = Regarding("v1", PODS.kind, effect.namespace, effect.name, effect.uid)
        if isinstance(effect, Bind):
            text = f"Successfully assigned {effect.namespace}/{effect.name} to {effect.node}"
            notes.append(EventNote(regarding, NORMAL, "Scheduled", text, place))
        else:
            notes.append(EventNote(regarding, WARNING, "FailedScheduling", why, place))
    return tuple(notes)
