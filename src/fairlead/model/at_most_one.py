"""Pods of which at most one may run: which they are, and how their status says that a supervisor ends them in time.

A node's agent gives such a pod a supervisor with a deadline, which moves with each renewal of the node's lease, and
says so in the condition `fairlead.dev/Deadline`. The plane (`ledger/evidence.py`) replaces such a pod by itself only if
its status has that condition: without it nobody but a person knows whether the pod still runs. Text and reading of the
condition are both here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from fairlead.model.marks import AT_MOST_ONE
from fairlead.model.views import Condition, Meta

DEADLINE = "fairlead.dev/Deadline"  # condition of a pod: True once its supervisor has accepted a deadline
ACCEPTED, NO_DEADLINE = "Accepted", "NoDeadline"  # reasons of it
_STATEFULSET = "StatefulSet"
_SECONDS = re.compile(r"ends ([1-9][0-9]{0,6})s after the last renewal of its node's lease\b")


def is_at_most_one(pod: Meta) -> bool:
    """Whether a replacement must never run beside it: it says so, or it has an identity (StatefulSet)."""
    owner = pod.controller
    return pod.annotations.get(AT_MOST_ONE) == "true" or (owner is not None and owner.kind == _STATEFULSET)


def accepted_message(seconds: int) -> str:
    return f"ends {seconds}s after the last renewal of its node's lease, by its own supervisor: at most one may run"


def accepted_seconds(conditions: Iterable[Condition]) -> float | None:
    """How long after the last renewal the pod has surely ended; None if no supervisor has said that it will."""
    for each in conditions:
        if each.type == DEADLINE and each.status == "True" and each.reason == ACCEPTED:
            found = _SECONDS.match(each.message)
            return float(found[1]) if found else None
    return None
