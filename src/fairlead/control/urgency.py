"""Which change makes a turn urgent: a pod that served is gone or going, has ended, or is given up with its node.

`controller.py` asks for each key that a change wakes. Repair of what serves people goes before rollouts, status and
cleanup; a Job's pods end every day, so their ends are work like any other.
"""

from __future__ import annotations

from fairlead.model.key import Key
from fairlead.model.views import DAEMONSETS, REPLICASETS, STATEFULSETS, Pod, View
from fairlead.queue.entry import Priority

_SERVING = frozenset(each.name for each in (REPLICASETS, STATEFULSETS, DAEMONSETS))


def urgency(key: Key, before: View | None, after: View | None) -> Priority:
    if key.resource not in _SERVING or not isinstance(before, Pod) or not before.live:
        return Priority.NORMAL
    return Priority.NORMAL if isinstance(after, Pod) and after.live else Priority.HIGH
