"""Whether a pod of which at most one may run may be started: only on the API's own word, while the lease is held.

A node that was silent may have been given up meanwhile, and its pod released: a replacement runs elsewhere. Its mirror
can still show the pod as it was. But a release commits only while the lease stands as it was last seen. So what the API
says of the pod at or after the renewal by which the lease was regained holds for as long as the lease is then kept. The
mirror, if it has come that far, or a read of this pod says it. Other pods need neither word nor lease. Called by
`run.py` before anything is opened or started; kept in `worker.py`.

`deadline_of` is what the pod's status says of its supervisor's deadline, which the plane goes by
(`model/at_most_one.py`).
"""

from __future__ import annotations

import msgspec

from fairlead.agent.calls import Purpose
from fairlead.agent.contract import Ask, Sandbox
from fairlead.agent.pace import Retry
from fairlead.agent.pod.shared_by_pods import Means
from fairlead.agent.views import BoundPod
from fairlead.model.at_most_one import (
    ACCEPTED,
    NO_DEADLINE,
    accepted_message,
    accepted_seconds,
    is_at_most_one,
)
from fairlead.model.marks import RELEASED
from fairlead.model.views import Condition
from fairlead.port.outcome import Done, Outcome
from fairlead.port.request import Request

PART = "at-most-one"
_decode = msgspec.json.Decoder(BoundPod).decode


class Word:
    """What the API said of one pod, and for which renewal."""

    def __init__(self) -> None:
        self.retry = Retry()
        self._given_for = -1
        self._asked_for = -1  # -1: nothing is on its way

    def may_start(self, pod: BoundPod, means: Means, now: float) -> tuple[bool, list[Ask]]:
        if not is_at_most_one(pod.metadata):
            return True, []
        if is_released(pod) or now >= means.deadline:
            return False, []
        if max(means.pods_revision, self._given_for) >= means.regained:
            return True, []
        if self._asked_for >= 0 or self.retry.waits(now):
            return False, []
        self._asked_for = means.regained
        meta = pod.metadata
        request = Request(
            verb="get", group="", version="v1", plural="pods", namespace=meta.namespace, name=meta.name
        )
        return False, [means.calls.ask(Purpose(PART, meta.uid), request)]

    def answered(self, uid: str, outcome: Outcome, means: Means, now: float) -> None:
        asked_for, self._asked_for = self._asked_for, -1
        if isinstance(outcome, Done) and _still_ours(outcome.body, uid):
            self._given_for = asked_for
            self.retry.succeeded()
        else:
            # Unknown, or released, gone, another of its name: the mirror will say which.
            self.retry.failed(now, means.pace, means.chance)


def is_released(pod: BoundPod) -> bool:
    conditions = pod.status.get("conditions") or ()
    return any(each.get("type") == RELEASED and each.get("status") == "True" for each in conditions)


def told_seconds(pod: BoundPod) -> float | None:
    """The deadline that the API has of it."""
    return accepted_seconds(
        Condition(
            each.get("type") or "",
            each.get("status") or "",
            each.get("reason") or "",
            each.get("message") or "",
        )
        for each in pod.status.get("conditions") or ()
    )


def deadline_of(pod: BoundPod, sandbox: Sandbox | None, means: Means) -> tuple[bool, str, str] | None:
    """The condition: whether its supervisor has a deadline, reason, message. None: nothing is to be said, and what
    was said stays. A shorter one is told when no supervisor can still hold the longer one."""
    if not is_at_most_one(pod.metadata) or sandbox is None or not sandbox.alive or sandbox.fenced:
        return None
    if sandbox.deadline is None:
        return (
            False,
            NO_DEADLINE,
            "its supervisor was started without a deadline: only a person can release it",
        )
    seconds, told = means.settings.lease_seconds, told_seconds(pod)
    if told is not None and told > seconds and sandbox.deadline > means.deadline:
        return None
    return True, ACCEPTED, accepted_message(seconds)


def _still_ours(body: bytes, uid: str) -> bool:
    pod = _decode(body)
    return pod.metadata.uid == uid and not is_released(pod)
