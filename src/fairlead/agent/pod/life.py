"""The stations of a pod on its node. How it moves between them is in the table of `agent/machine.py`."""

from __future__ import annotations

from enum import Enum


class Life(Enum):
    WAITING = "waiting"  # it is to run, and nothing of it can: it has no sandbox, or a dead one
    OPENING = "opening"  # a sandbox was asked for
    UP = "up"  # containers run in its sandbox, or may
    STOPPING = "stopping"  # something of it runs that should not
    OVER = "over"  # nothing runs, and nothing is to; its object is still there
    CLOSING = "closing"  # the sandbox is being removed
    GONE = "gone"  # nothing of it is left
