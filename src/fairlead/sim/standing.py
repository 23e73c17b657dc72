"""What runs of a scenario share and no seed changes: what they start from, and what comes of one without faults.

Both follow from the scenario alone, so a process makes them once for all runners that ask (`run.py`,
`tests/sim/metamorphic.py`): a dozen tests of one world, or a world with and without a plant, would make them each
for itself.
Scenarios hold requests and functions and are found by comparing; the last few are kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")

_KEPT = 16


class LastAnswers(Generic[Q, A]):
    """The last few answers to questions that can be compared, and not hashed."""

    def __init__(self, find: Callable[[Q], A]) -> None:
        self._find = find
        self._known: deque[tuple[Q, A]] = deque(maxlen=_KEPT)

    def __call__(self, question: Q) -> A:
        for asked, answer in self._known:
            if asked == question:
                return answer
        answer = self._find(question)
        self._known.append((question, answer))
        return answer
