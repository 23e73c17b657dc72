"""An asyncio loop without a clock: time passes only when nothing is left to do, and chance comes from one `Chance`.

    play(seed, world)      runs `world(loop)` to its end; an error, of a callback as well, fails it with its seed

What asyncio promises is kept: callbacks run in the order in which they were asked for, timers never early. What it leaves
open is drawn: how late a timer is, in which order files are found ready, how long work in other threads takes. The files
are pipes and sockets between parts of this process, so that what is ready follows from what was written; connections to
other machines are in memory (`network.py`). When nothing can happen any more, or a run lasts for longer than it may, the
run is over and says so.
"""

from __future__ import annotations

import asyncio
import gc
import selectors
from collections.abc import Callable, Coroutine, Mapping
from contextvars import ContextVar
from hashlib import blake2b
from typing import Any, TypeVar

from fairlead.sim.chance import Chance

T = TypeVar("T")
PROCESS: ContextVar[str] = ContextVar(
    "process", default=""
)  # whose code it is that runs, where several share a loop
EPOCH = 1_800_000_000.0  # what the wall clock shows when the loop's clock shows START
START = 1_000.0
SECONDS_MAX = 7_200.0
_LATE_MS = 4
_THREAD_MS = 20


class Stalled(Exception):
    """Somebody waits, and nothing will ever happen."""


class _Selector(selectors.BaseSelector):
    """Real files, asked without waiting; where none is ready the time that asyncio would wait has passed."""

    def __init__(self, loop: DeterministicLoop) -> None:
        self._loop = loop
        self._real = selectors.EpollSelector()
        self._registered = 0
        self._order: dict[int, int] = {}  # of registration: numbers of files are the machine's affair

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = sorted(self._real.select(0), key=lambda each: self._order[each[0].fd])
        if len(ready) > 1:
            first = self._loop.chance.stream("loop.ready").choose(len(ready))
            ready = ready[first:] + ready[:first]
        if not ready and timeout != 0:
            self._loop.pass_time(timeout)
        return ready

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        key = self._real.register(fileobj, events, data)
        self._order[key.fd] = self._registered = self._registered + 1
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def close(self) -> None:
        self._real.close()

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()


class DeterministicLoop(asyncio.SelectorEventLoop):
    def __init__(self, chance: Chance, seconds_max: float = SECONDS_MAX) -> None:
        self.chance = chance
        self.errors: list[BaseException] = []
        self.connect: Callable[..., Coroutine[Any, Any, Any]] | None = (
            None  # `network.Network` puts itself here
        )
        self._now = START
        self._ends_at = START + seconds_max
        self._digest = blake2b(digest_size=16)
        self._late = chance.stream("timer.late")
        self._threads = chance.stream("thread")
        self._working: dict[
            asyncio.TimerHandle, str
        ] = {}  # what threads have not done yet, and whose they are
        super().__init__(_Selector(self))
        self._clock_resolution = 1e-6
        self.set_exception_handler(self._failed)

    # Time

    def time(self) -> float:
        return self._now

    def wall(self) -> float:
        return EPOCH + self._now - START

    def pass_time(self, seconds: float | None) -> None:
        if seconds is None:
            raise Stalled(f"nothing is left to happen at {self._now - START:.3f} s")
        self._now += seconds
        if self._now > self._ends_at:
            raise Stalled(f"it does not end: {self._now - START:.0f} s have passed")

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        return super().call_at(when + self._late.choose(_LATE_MS) / 1000, callback, *args, context=context)

    # Threads

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        """Done at one moment and told at a later one. As with a thread, cancelling does not undo it."""
        told: asyncio.Future[T] = self.create_future()

        def tell(setter: Callable[[Any], None], news: object) -> None:
            if not told.done():
                setter(news)

        def do() -> None:
            del self._working[working]
            try:
                result = func(*args)
            except BaseException as error:  # noqa: BLE001 - as an executor does
                self.call_later(self.draw_thread(), tell, told.set_exception, error)
            else:
                self.call_later(self.draw_thread(), tell, told.set_result, result)

        working = self.call_later(self.draw_thread(), do)
        self._working[working] = PROCESS.get()
        return told

    def kill_threads(self, process: str) -> None:
        """With the process that they belong to: what they have not done, they never do. Others' go on."""
        for each in [working for working, whose in self._working.items() if whose == process]:
            each.cancel()
            del self._working[each]

    def draw_thread(self) -> float:
        return self._threads.choose(_THREAD_MS) / 1000

    # The network

    async def create_connection(
        self, protocol_factory: Any, host: Any = None, port: Any = None, **options: Any
    ) -> Any:
        if options.get("sock") is not None or self.connect is None:
            return await super().create_connection(protocol_factory, host, port, **options)
        return await self.connect(protocol_factory, host, port)

    # What came of it

    def note(self, *what: object) -> None:
        """Into the digest: equal digests are equal runs."""
        self._digest.update(repr((round(self._now, 6), what)).encode())

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self.errors.append(
            error if isinstance(error, BaseException) else AssertionError(str(context["message"]))
        )


def play(
    seed: int,
    world: Callable[[DeterministicLoop], Coroutine[Any, Any, T]],
    seconds_max: float = SECONDS_MAX,
    chance: Chance | None = None,
) -> T:
    """One run. Whatever fails in it names the seed."""
    loops: list[DeterministicLoop] = []

    def make() -> DeterministicLoop:
        loops.append(DeterministicLoop(chance or Chance(seed), seconds_max))
        return loops[0]

    collects = gc.isenabled()
    gc.disable()  # what a collection ends (generators, sockets) would end at a moment of the machine's
    try:
        with asyncio.Runner(loop_factory=make) as runner:
            result = runner.run(world(_made(runner)))
    except BaseException as error:
        told = f"seed {seed}, at {loops[0].time() - START:.3f} s" if loops else f"seed {seed}"
        error.add_note(
            told + (f"; before that: {loops[0].errors[:3]!r}" if loops and loops[0].errors else "")
        )
        raise
    finally:
        if collects:
            gc.enable()
    if loops[0].errors:
        loops[0].errors[0].add_note(f"seed {seed}")
        raise loops[0].errors[0]
    return result


def _made(runner: asyncio.Runner) -> DeterministicLoop:
    loop = runner.get_loop()
    assert isinstance(loop, DeterministicLoop)
    return loop
