"""What runs of one process leave to those after them: answers that follow from nothing but what was asked.

A server that has been up for a while has met most specs and most sets of owned fields before, and answers from what it
remembers of them (`api/spec_cache.py`, `api/apply/managing.py`). A run is too short for that, so runs of one `Runner`
share it, and the views of what they all start from (`decoded.py`). It changes what a run costs and nothing else: a seed
has the same digest whichever seeds ran before it, which `tests/sim/test_determinism.py` looks at.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.api.assembly import Remembered
from fairlead.sim.checkers.contract import Observed
from fairlead.sim.decoded import Decoded
from fairlead.store.contract import CommittedChange


class Memory:
    def __init__(self, start: Iterable[CommittedChange] = ()) -> None:
        """`start`: what every run starts from."""
        self.remembered = Remembered()
        self.start = Decoded()
        Observed((), self.start).committed(start, {}, 0.0)
