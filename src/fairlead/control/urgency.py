"""Which change makes a turn urgent: a pod that served is gone, has ended, or is given up with its node.

`controller.py` asks for each key that a change wakes. Repair of what serves people goes before rollouts, status and
cleanup; a Job's pods end every day, so their ends are work like any other.
"""

from __future__ import annotations

from fairlead.model.marks import RELEASED
from fairlead.model.views import Pod, View
from fairlead.queue.entry import Priority
from fairlead.store.contract import Key

_SERVING = frozenset(("replicasets.apps", "statefulsets.apps", "daemonsets.apps"))


def urgency(key: Key, before: View | None, after: View | None) -> Priority:
    if key.resource not in _SERVING or not isinstance(before, Pod) or not _serves(before):
        return Priority.NORMAL
    return Priority.NORMAL if isinstance(after, Pod) and _serves(after) else Priority.HIGH


def _serves(pod: Pod) -> bool:
    return not pod.finished and not any(each.type == RELEASED for each in pod.status.conditions)
