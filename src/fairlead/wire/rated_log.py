"""A log of acts at a bounded rate: what is too much is counted, and the count told as soon as there is room again.

Used by `handler.py` for refusals and by `runtime/acts.py` for decisions. Who has a costly line to make asks `has_room`
first. Fields go beside the message (`runtime/logs.py` writes them), so that lines can be joined by object, uid,
decision and operation.
"""

from __future__ import annotations

import logging
import time
from typing import Any

#: bound: plane | lines about acts of one sort that can be logged at once after a pause | counted, and the count told
ACT_LINES_BURST = 500
#: bound: plane | lines about acts of one sort in a second | counted, and the count told
ACT_LINES_PER_SECOND = 50
FIELDS = "fields"  # the name under which a log record carries them


class RatedLog:
    def __init__(
        self,
        log: logging.Logger,
        what: str,
        per_second: float = ACT_LINES_PER_SECOND,
        burst: float = ACT_LINES_BURST,
    ) -> None:
        """`what`: of what lines are left out, for people."""
        self._log, self._what = log, what
        self._per_second, self._burst = per_second, burst
        self._tokens, self._at = float(burst), time.monotonic()
        self._left_out = 0  # since that was last told
        self.left_out = 0

    def has_room(self, waiting: int = 1) -> bool:
        """Whether a line may be written now. If not, what there was to tell, so many lines, counts as left out."""
        now = time.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._per_second)
        self._at = now
        if self._tokens >= 1.0:
            return True
        self._left_out += waiting
        self.left_out += waiting
        return False

    def write(self, message: str, fields: dict[str, Any], level: int = logging.INFO) -> None:
        """After `has_room`. Fields without a value are left out."""
        self._tokens -= 1.0
        if self._left_out:
            self._log.info("%d %s came too fast to be logged", self._left_out, self._what)
            self._left_out = 0
        self._log.log(level, "%s", message, extra={FIELDS: {k: v for k, v in fields.items() if v}})
