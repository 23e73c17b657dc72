"""Pods that are refused, for longer than any fault lasts: a few seeds; the plants of this world are in `test_zoo.py`."""

from __future__ import annotations

from tests.sim.sampled import sampled


def test_what_was_refused_is_made_when_it_may_be_and_what_there_is_is_told() -> None:
    sampled("refused", range(3))
