"""Which change makes a turn urgent: a pod that served is gone or going, has ended, or is given up with its node.

`controller.py` asks for each key that a change wakes. Repair of what serves people goes before rollouts, status and
cleanup, and so does taking the lost pod out of its Service; a Job's pods end every day, so their ends are work like any
other. What the pods' priority says of a workload counts too: above zero its repair goes first of all, below zero it is
work like any other, and a Job's below zero is done when there is nothing else. Nobody starves: what is passed over
often enough has its turn (`queue/work.py`).
"""

from __future__ import annotations

from fairlead.model.key import Key
from fairlead.model.service_views import SERVICES
from fairlead.model.views import DAEMONSETS, JOBS, REPLICASETS, STATEFULSETS, Pod, View
from fairlead.queue.entry import Priority

_SERVING = frozenset(each.name for each in (REPLICASETS, STATEFULSETS, DAEMONSETS, SERVICES))
_BATCH = JOBS.name


def urgency(key: Key, before: View | None, after: View | None) -> Priority:
    pod = after if isinstance(after, Pod) else before
    if not isinstance(pod, Pod):
        return Priority.NORMAL
    priority = pod.spec.priority
    if key.resource == _BATCH:
        return Priority.LOW if priority < 0 else Priority.NORMAL
    if key.resource not in _SERVING or not isinstance(before, Pod) or not before.live:
        return Priority.NORMAL
    if priority < 0 or (isinstance(after, Pod) and after.live):
        return Priority.NORMAL
    return Priority.URGENT if priority > 0 else Priority.HIGH
