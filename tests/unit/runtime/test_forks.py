"""One task in a fork of its own: what it comes to, how it dies, and that it does not last longer than it may."""

from __future__ import annotations

import os
import time

import pytest

from fairlead.core.errors import OperatorError
from fairlead.runtime.forks import ForkDied, in_one_fork


def test_what_it_comes_to_is_handed_back() -> None:
    assert in_one_fork(lambda: {"pid": os.getpid()}, 30.0) != {"pid": os.getpid()}


def test_one_that_takes_longer_is_ended() -> None:
    assert in_one_fork(lambda: time.sleep(600), 0.05) is None


def test_what_it_raises_is_raised_here_and_how_it_died_is_told() -> None:
    def fails() -> int:
        raise ValueError("a bad state")

    with pytest.raises(OperatorError, match="ValueError: a bad state"):
        in_one_fork(fails, 30.0)
    assert in_one_fork(lambda: os._exit(3), 30.0) == ForkDied("exit code 3")
