"""Whether a pod of which at most one may run may be started: only on the API's own word since this node counts again.

A node that was silent may have been given up meanwhile, and its pod released: a replacement runs elsewhere. Its mirror
can still show the pod as it was. But a release commits only while the lease stands as it was last seen. So what the API
says of the pod at or after the renewal by which the lease was regained holds for as long as the lease is then kept. The
mirror, if it has come that far, or a read of this pod says it. Called by `pod_run.py` before anything is opened or
started; kept in `pod.py`.
"""

from __future__ import annotations

import msgspec

from fairlead.agent.calls import Purpose
from fairlead.agent.contract import Ask
from fairlead.agent.means import Means
from fairlead.agent.pace import Retry
from fairlead.agent.views import BoundPod
from fairlead.model.marks import AT_MOST_ONE, RELEASED
from fairlead.port.outcome import Done, Outcome
from fairlead.port.request import Request

PART = "at-most-one"
_STATEFULSET = "StatefulSet"
_decode = msgspec.json.Decoder(BoundPod).decode


class Word:
    """What the API said of one pod, and for which renewal."""

    def __init__(self) -> None:
        self.retry = Retry()
        self._given_for = -1
        self._asked_for = -1  # -1: nothing is on its way

    def may_start(self, pod: BoundPod, means: Means, now: float) -> tuple[bool, list[Ask]]:
        if not _is_at_most_one(pod):
            return True, []
        if is_released(pod):
            return False, []
        if max(means.pods_revision, self._given_for) >= means.regained:
            return True, []
        if self._asked_for >= 0 or self.retry.waits(now):
            return False, []
        self._asked_for = means.regained
        meta = pod.metadata
        request = Request("get", "", "v1", "pods", meta.namespace, meta.name)
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


def _is_at_most_one(pod: BoundPod) -> bool:
    owner = pod.metadata.controller
    return pod.metadata.annotations.get(AT_MOST_ONE) == "true" or (
        owner is not None and owner.kind == _STATEFULSET
    )


def _still_ours(body: bytes, uid: str) -> bool:
    pod = _decode(body)
    return pod.metadata.uid == uid and not is_released(pod)
