"""How much is kept of an attempt to place a pod: its record whole or in part, a count, or nothing.

Asked by `placing.py` for each pod of a batch, before anything is done about it.
"""

from __future__ import annotations

from fairlead.control.attempts import AttemptBatch, mark_unschedulable, record_for, said_of
from fairlead.control.health import Health
from fairlead.control.merging import Attempts, MergedLines
from fairlead.control.recording import RecordSubject
from fairlead.model.kinds.recordingpolicy import FULL, NONE
from fairlead.schedule.contract import SchedulingAttempt
from fairlead.schedule.policy import Policy
from fairlead.schedule.waiting import TakenPod


class AttemptKeeping:
    def __init__(self, name: str, health: Health) -> None:
        """`name`: of the scheduler, as records have it."""
        self._name, self._health = name, health

    def lines(
        self,
        batch: AttemptBatch,
        batch_line: bytes,
        position: int,
        taken: TakenPod,
        attempt: SchedulingAttempt,
        policy: Policy,
        now: float,
    ) -> MergedLines:
        """An attempt that comes to nothing, as the one before did, and has nothing to tell the pod, is counted. How
        much is kept of any is for the policy of records."""
        merging, recording = self._health.merging, self._health.recording
        key, pod, decision = attempt.key, taken.pod, self._health.term.next_id()
        if recording.is_off:
            return MergedLines((), decision)
        is_blocked = not (attempt.node or attempt.nominated or attempt.victims)
        said = said_of(attempt, taken, policy) if is_blocked else None
        repeats = is_blocked and merging.repeats(self._name, key, said)
        level = FULL
        if recording.policy is not None:
            owner = pod.metadata.controller
            subject = RecordSubject(
                self._name, key, is_blocked, owner.name if owner else "", pod.spec.priority or 0
            )
            if is_blocked and not repeats:
                recording.failing(subject, now)
            level = recording.level(subject, now)

        def encode(attempts: Attempts | None) -> bytes:
            line = record_for(batch, position, taken, attempt, decision, attempts, level)
            recording.count(level, len(line))
            return line

        if not is_blocked or (repeats and mark_unschedulable(pod, attempt, now) is not None):
            before = merging.other(self._name, key)
            if level == NONE:
                recording.left_out += 1
                return MergedLines(before, decision)
            return MergedLines((*before, encode(None)), decision)
        return merging.blocked(self._name, key, said, decision, encode, taken.attempts, batch_line)
