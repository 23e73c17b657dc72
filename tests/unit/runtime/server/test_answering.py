"""Long answers beside a running loop: it goes on meanwhile, a bounded number is under way, every asker is answered."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from fairlead.core.errors import NotFound, TooManyRequests
from fairlead.explain.asking import Asking
from fairlead.port.request import Reply
from fairlead.runtime.server.answering import ANSWERS_RETRY_SECONDS, Answering

BOUND_SECONDS = 90.0


async def told(answering: Answering, asking: Asking[Any]) -> Reply | Exception:
    done: asyncio.Future[Reply | Exception] = asyncio.get_running_loop().create_future()
    answering.later(asking).start(done.set_result)
    return await asyncio.wait_for(done, BOUND_SECONDS)


def computing(work: Callable[[], Any]) -> Asking[Any]:
    yield None
    found = yield work
    yield None
    return {"found": found, "thread": threading.current_thread().name}


def body(found: Reply | Exception) -> bytes:
    assert isinstance(found, Reply), found
    return found.body


def test_what_is_computed_is_computed_elsewhere_and_the_loop_goes_on() -> None:
    let_go = threading.Event()

    async def run() -> tuple[Reply | Exception, int]:
        answering = Answering(asyncio.get_running_loop())
        asked = asyncio.ensure_future(
            told(answering, computing(lambda: let_go.wait(BOUND_SECONDS) and threading.current_thread().name))
        )
        turns = 0
        while turns < 100:
            await asyncio.sleep(0)
            turns += 1
        assert not asked.done()
        assert answering.under_way == 1
        let_go.set()
        found = await asked
        answering.stop()
        return found, answering.under_way

    found, left = asyncio.run(run())
    assert left == 0
    assert b'"found":"explain_0"' in body(found)
    assert b'"thread":"MainThread"' in body(found)


def test_beyond_the_bound_an_asker_is_told_to_come_back() -> None:
    let_go = threading.Event()

    async def run() -> None:
        answering = Answering(asyncio.get_running_loop(), most=2)
        work = lambda: let_go.wait(BOUND_SECONDS)  # noqa: E731
        under_way = [asyncio.ensure_future(told(answering, computing(work))) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(TooManyRequests, match="2 explanations and plans are under way") as error:
            answering.later(computing(work)).start(lambda found: None)
        assert error.value.retry_after_seconds == ANSWERS_RETRY_SECONDS
        let_go.set()
        for each in under_way:
            assert b'"found":true' in body(await each)
        assert b'"found":true' in body(await told(answering, computing(work)))
        assert (answering.given, answering.refused, answering.under_way) == (3, 1, 0)
        answering.stop()

    asyncio.run(run())


def refusing() -> Asking[Any]:
    yield None
    raise NotFound("no such pod")


def failing() -> Asking[Any]:
    return (yield lambda: 1 // 0)


def catching() -> Asking[Any]:
    try:
        yield lambda: 1 // 0
    except ZeroDivisionError:
        return "caught"


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (refusing, NotFound),
        (failing, ZeroDivisionError),
        (catching, Reply),
    ],
)
def test_whatever_goes_wrong_is_told_and_makes_room_again(
    make: Callable[[], Asking[Any]], expected: type
) -> None:
    async def run() -> Answering:
        answering = Answering(asyncio.get_running_loop())
        assert isinstance(await told(answering, make()), expected)
        answering.stop()
        return answering

    assert asyncio.run(run()).under_way == 0


def test_a_server_that_stops_lets_go_of_what_is_under_way() -> None:
    let_go, begun = threading.Event(), threading.Event()
    told_anything: list[Any] = []
    trouble: list[Any] = []

    def work() -> bool:
        begun.set()
        return let_go.wait(BOUND_SECONDS)

    async def run() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: trouble.append(context))
        answering = Answering(loop)
        for _ in range(2):
            answering.later(computing(work)).start(told_anything.append)
        while not begun.is_set():
            await asyncio.sleep(0.001)
        answering.stop()
        let_go.set()
        for _ in range(100):
            await asyncio.sleep(0.001)

    asyncio.run(run())
    assert (told_anything, trouble) == ([], [])
