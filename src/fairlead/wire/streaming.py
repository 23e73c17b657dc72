"""Answers without a length: pieces go out as they come, as fast as the client reads, until one side ends it.

Each stream is a task. It ends when its pieces do, when the client goes away, and when its owner stops. Used on both
sides of `kubectl logs`: by the node's endpoint and by the server that passes on what the node says.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from fairlead.wire.exchange import Exchange

log = logging.getLogger("fairlead.wire")


async def pour(exchange: Exchange, content_type: bytes, pieces: AsyncIterator[bytes]) -> None:
    """Begin the answer and send all pieces; none is asked for while the client does not read."""
    room = asyncio.Event()
    exchange.on_writable(room.set)
    exchange.stream(content_type)
    async for piece in pieces:
        while not exchange.writable:
            room.clear()
            await room.wait()
        if piece:
            exchange.send(piece)
    exchange.end()


class Streams:
    """Those under way, each with a mark of its owner's (who reads it)."""

    def __init__(self, loop: asyncio.AbstractEventLoop, most: int) -> None:
        self._loop = loop
        self._most = most
        self._tasks: dict[asyncio.Task[None], tuple[Exchange, Any]] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def full(self) -> bool:
        return len(self._tasks) >= self._most

    def start(self, exchange: Exchange, work: Coroutine[Any, Any, None], mark: Any = None) -> None:
        """`work` answers the exchange; it is cancelled when the client leaves."""
        task = self._loop.create_task(work)

        def gone() -> None:
            task.cancel()

        exchange.on_gone = gone
        self._tasks[task] = (exchange, mark)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        exchange, _ = self._tasks.pop(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            log.error("a stream could not go on", exc_info=error)
        if task.cancelled() or error is not None:
            exchange.abort()  # whoever still reads must see that this was not the end

    def keep(self, allowed: Callable[[Any], bool]) -> None:
        """End those whose mark is not allowed any more."""
        for task, (_, mark) in list(self._tasks.items()):
            if not allowed(mark):
                task.cancel()

    async def stop(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
