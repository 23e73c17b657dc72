"""How an effect is tried again: the shape of a retry, declared per effect and not left to habit.

idempotent, with a stable identity   every effect has one; preconditions make repeating it harmless
bounded attempts                     attempts_max, then the key is Stuck with the last reason
back-off and jitter                  backoff_seconds doubling to backoff_max_seconds, times 1 +- jitter
no stale intent                      every attempt is a new decision on what the mirrors show then
fresh read before commitment         after an unknown outcome `control/turn.py` reads the object, always
reasoned status                      the verdict and the record name reason and attempt

A refusal that another object may lift (a quota, a missing class) is no failure and has no last attempt: it is tried
again by WAITING, and at once when that object changes (`control/refusal_waits.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.core.backoff import backoff


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    attempts_max: int = 8
    backoff_seconds: float = 0.1
    backoff_max_seconds: float = 30.0
    jitter: float = 0.2

    def delay(self, attempt: int, chance: float) -> float:
        """Seconds before attempt number `attempt` + 1; `chance` is drawn by the caller, 0 <= chance < 1."""
        return backoff(attempt, self.backoff_seconds, self.backoff_max_seconds, self.jitter, chance)


#: bound: plane | first wait of a key that another object may free | it doubles
WAIT_BACKOFF_SECONDS = 1.0
#: bound: plane | longest wait of a key that another object may free | it is tried again
WAIT_BACKOFF_MAX_SECONDS = 300.0
WAITING = RetryPolicy(backoff_seconds=WAIT_BACKOFF_SECONDS, backoff_max_seconds=WAIT_BACKOFF_MAX_SECONDS)
