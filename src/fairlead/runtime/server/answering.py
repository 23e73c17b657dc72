"""Gives long answers (`explain/asking.py`) beside a running server: its loop is held for moments only.

What such an answer computes is computed in a thread of its own, one at a time; what it reads of the server it reads on
the loop, in pieces between which everybody else has their turn. A bounded number is under way at once: who comes then
is told to come back. Made by `serving.py`, used by `explanations.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

from fairlead.core import codec
from fairlead.core.errors import TooManyRequests
from fairlead.explain.asking import Asking
from fairlead.port.request import Reply
from fairlead.wire.documents import Done, Later

#: bound: plane | explanations and plans at a time | 429
ANSWERS_MAX = 8
#: bound: plane | one turned away comes back after | it asks again
ANSWERS_RETRY_SECONDS = 1


class Answering:
    def __init__(self, loop: asyncio.AbstractEventLoop, most: int = ANSWERS_MAX) -> None:
        self._loop = loop
        self._most = most
        self._thread = ThreadPoolExecutor(1, "explain")
        self._stopped = False
        self.under_way = self.given = self.refused = 0  # plain counts for metrics

    def later(self, asking: Asking[Any]) -> Later:
        def start(done: Done) -> None:
            if self.under_way >= self._most:
                self.refused += 1
                raise TooManyRequests(
                    f"{self.under_way} explanations and plans are under way, which is the most at a time; try again",
                    retry_after_seconds=ANSWERS_RETRY_SECONDS,
                )
            self.under_way += 1
            self._go_on(asking, done, None)

        return Later(start)

    def stop(self) -> None:
        """What has not begun is dropped; what runs ends by itself, and nobody hears of it."""
        self._stopped = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _go_on(self, asking: Asking[Any], done: Done, result: Any) -> None:
        """The next piece. `result` is what came of the one before, raised there if it is an error."""
        try:
            piece = asking.throw(result) if isinstance(result, Exception) else asking.send(result)
        except StopIteration as end:
            self._elsewhere(partial(codec.encode, end.value), lambda found: self._end(done, found))
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever asked must be answered
            self._end(done, error)
        else:
            if piece is None:
                self._loop.call_soon(self._go_on, asking, done, None)
            else:
                self._elsewhere(piece, lambda found: self._go_on(asking, done, found))

    def _elsewhere(self, work: Callable[[], Any], then: Callable[[Any], None]) -> None:
        def ended(future: Future[Any]) -> None:
            if not future.cancelled() and not self._loop.is_closed():
                found = future.exception() or future.result()
                self._loop.call_soon_threadsafe(then, found)

        if not self._stopped:
            self._thread.submit(work).add_done_callback(ended)

    def _end(self, done: Done, found: Any) -> None:
        self.under_way -= 1
        self.given += 1
        done(found if isinstance(found, Exception) else Reply(200, found))
