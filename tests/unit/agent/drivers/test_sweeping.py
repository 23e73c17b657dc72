"""One look at all processes serves all pods that asked before it began, and none that asked after."""

from __future__ import annotations

import asyncio
import threading

import pytest

from fairlead.agent.drivers.sweeping import Sweeper


def test_who_asks_while_a_look_is_under_way_gets_the_next_one_together() -> None:
    looks: list[list[str]] = []
    began, go_on = threading.Event(), threading.Event()

    def end_strays(uids: list[str]) -> dict[str, set[int]]:
        looks.append(uids)
        began.set()
        assert go_on.wait(60)
        return {uid: {4711} for uid in uids if uid == "p7"}

    async def run() -> None:
        sweeper = Sweeper(end_strays)
        first = asyncio.create_task(sweeper.left_of("p0"))
        await asyncio.to_thread(began.wait, 60)
        others = [asyncio.create_task(sweeper.left_of(f"p{number}")) for number in (*range(200), 7)]
        await asyncio.sleep(0)
        go_on.set()
        assert await first == set()
        assert [await each for each in others] == [{4711} if n == 7 else set() for n in (*range(200), 7)]
        assert looks == [["p0"], [f"p{number}" for number in range(200)]]
        assert await sweeper.left_of("p7") == {4711}, "it looks again when it is asked again"
        assert len(looks) == 3

    asyncio.run(run())


def test_a_look_that_fails_is_told_to_all_who_asked_and_ends_no_other() -> None:
    failing = True

    def end_strays(uids: list[str]) -> dict[str, set[int]]:
        if failing:
            raise OSError("no /proc")
        return {}

    async def run() -> None:
        nonlocal failing
        sweeper = Sweeper(end_strays)
        for told in await asyncio.gather(*map(sweeper.left_of, "ab"), return_exceptions=True):
            assert isinstance(told, OSError)
        failing = False
        assert await sweeper.left_of("a") == set()
        gone = asyncio.create_task(sweeper.left_of("b"))
        await asyncio.sleep(0)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        assert await sweeper.left_of("c") == set(), "who went away takes nobody along"

    asyncio.run(run())
