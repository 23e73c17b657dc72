"""Answers that take long, in pieces: so that whoever gives them can serve others in between.

An `Asking` is a generator. It touches the running server only between its yields, for moments; it yields

    None      others may have their turn
    a call    run this and send me what it returns, or throw in what it raises. It touches nothing that changes, but
              for an index that may be asked from anywhere: it may run in another thread, while everything goes on

and returns the answer. `runtime/server/answering.py` drives it beside a running server; `answered` at one go, for
tests.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar

T = TypeVar("T")
Piece = Callable[[], Any] | None
Asking = Generator[Piece, Any, T]


def answered(asking: Asking[T]) -> T:
    result: Any = None
    while True:
        try:
            piece = asking.send(result)
        except StopIteration as end:
            found: T = end.value
            return found
        result = None if piece is None else piece()
