"""Making sure that nothing of a pod runs any more, for many pods at a time.

Each such look reads the environment of every process of the machine. Asked by `pod.py` for one pod, it serves all that
ask while the look before is under way: the end of two hundred pods costs a few looks, not two hundred.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

EndStrays = Callable[[list[str]], dict[str, set[int]]]


class Sweeper:
    """`end_strays` blocks; it is given uids and returns what of them cannot be killed."""

    def __init__(self, end_strays: EndStrays) -> None:
        self._end_strays = end_strays
        self._asked: dict[str, asyncio.Future[set[int]]] = {}
        self._sweeping: asyncio.Task[None] | None = None

    async def left_of(self, uid: str) -> set[int]:
        """Kill what is left of this pod; returns what cannot be killed. The look begins after the call."""
        asked = self._asked.get(uid)
        if asked is None:
            asked = self._asked[uid] = asyncio.get_running_loop().create_future()
        if self._sweeping is None:
            self._sweeping = asyncio.create_task(self._sweep(), name="sweep")
        return await asyncio.shield(asked)

    async def _sweep(self) -> None:
        try:
            while self._asked:
                asked, self._asked = self._asked, {}
                try:
                    left = await asyncio.to_thread(self._end_strays, list(asked))
                except Exception as error:  # noqa: BLE001  each who asked is told
                    for each in asked.values():
                        each.set_exception(error)
                else:
                    for uid, each in asked.items():
                        each.set_result(left.get(uid, set()))
        finally:
            self._sweeping = None
