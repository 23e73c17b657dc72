"""Sends what a plane recorded, and how it stands, to its server: so that `timeline`, `debug`, `explain`, `why-not`,
`plan`, `queues`, `coupling` and captures there know of it as of a plane in the server's own process.

    record -> DecisionsFile (on disk, before what was decided is sent) -> POST /fairlead/v1/planes -> the store's logs

Behind the plane, never before it: nothing that is decided waits for this. What the server has not answered for waits in
the file and is sent again, under the same numbers, by which the server keeps each line once; a server that is not
Fairlead's answers 404, and is asked no more. The answer also says which ChaosExperiment is to strike this plane.
Made by `process.py`, and ended with the plane.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from fairlead.control.instructions import Record
from fairlead.control.plane import Plane
from fairlead.explain.plane_told import told_elsewhere
from fairlead.runtime.chaos_faults import Striking
from fairlead.runtime.data.decisions_file import DecisionsFile, UnsentLine
from fairlead.runtime.queues_told import queues_told
from fairlead.runtime.remote.api import Remote
from fairlead.wire.client import Broken, NotSent

log = logging.getLogger("fairlead.control")

PATH = "/fairlead/v1/planes"
#: bound: plane | lines that a plane in another process sends its server at once | the next ones in the next request
SHIPPED_LINES_MAX = 200
#: bound: plane | bytes of them, about | the next ones in the next request
SHIPPED_BYTES_MAX = 1024 * 1024
#: bound: plane | a plane in another process tells its server how it stands every | also with what it decided
TELL_SECONDS = 2.0
#: bound: plane | it gathers what it decided for | it is sent
GATHER_SECONDS = 0.1
#: bound: plane | it comes back to a server that did not take its lines after | they wait on disk
AGAIN_SECONDS = 5.0
#: bound: plane | a plane in another process that ends tries to send its last lines for | the next start sends them
END_SECONDS = 2.0
_UNKNOWN = (404, 405, 501)


class _Experiment(msgspec.Struct):
    """The ChaosExperiment that runs, as `server/chaos.py` tells of it."""

    uid: str
    spec: dict[str, Any]
    seconds: float  # that are left


class _Have(msgspec.Struct):
    have: int
    chaos: _Experiment | None = None


_have = msgspec.json.Decoder(_Have).decode


class Shipping:
    def __init__(
        self,
        plane: Plane,
        file: DecisionsFile,
        remote: Remote,
        clock: Callable[[], float],
        sends: bool = True,
        chaos: Striking | None = None,
    ) -> None:
        """`sends`: False where nothing that is Fairlead's own is to be used of the server. `chaos`: told of the
        ChaosExperiment that runs there."""
        self._plane, self._file, self._remote, self._clock = plane, file, remote, clock
        self._recorded = asyncio.Event()
        self._chaos = chaos
        self._trouble = ""
        self._told_queues_at = 0.0
        file.sends = sends

    def record(self, records: Sequence[Record]) -> None:
        """What a driver of planes calls before it does what was decided."""
        self._file.append(records)
        self._recorded.set()

    async def run(self) -> None:
        """Until cancelled, or until the server says that it knows nothing of this."""
        while self._file.sends and await self.send():
            self._recorded.clear()
            try:
                async with asyncio.timeout(TELL_SECONDS):
                    await self._recorded.wait()
                await asyncio.sleep(GATHER_SECONDS)
            except TimeoutError:
                pass

    async def end(self, running: asyncio.Task[None]) -> None:
        """What was decided last is sent too, if the server answers at once; else the next start does."""
        running.cancel()
        if self._file.sends:
            with suppress(TimeoutError):
                async with asyncio.timeout(END_SECONDS):
                    await self.send()

    async def send(self) -> bool:
        """All that waits; False: the server is none that keeps it."""
        while True:
            found = self._file.unsent(SHIPPED_LINES_MAX)
            lines = _bounded(found)
            now = self._clock()
            body: dict[str, Any] = {
                "log": self._file.log,
                "first": lines[0].number if lines else 1,
                "lines": [(each.stream, msgspec.Raw(each.record)) for each in lines],
                "told": told_elsewhere(self._plane, now),
            }
            if now >= self._told_queues_at + TELL_SECONDS:
                body["queues"] = queues_told(self._plane, now)
                self._told_queues_at = now
            if self._chaos is not None and self._chaos.experiment:
                body["injected"] = (self._chaos.experiment, self._chaos.injected)
            try:
                answer = await self._remote.post(PATH, msgspec.json.encode(body))
            except (NotSent, Broken) as error:
                self._notice(str(error))
                await asyncio.sleep(AGAIN_SECONDS)
                continue
            if answer.status in _UNKNOWN:
                self._file.sends = False
                return False
            if answer.status != 200:
                self._notice(
                    f"the server answered {answer.status}: {answer.body[:200].decode(errors='replace')}"
                )
                await asyncio.sleep(AGAIN_SECONDS)
                continue
            self._notice("")
            told = _have(answer.body)
            self._strike(told.chaos)
            if lines:
                self._file.sent(told.have)
            if len(lines) == len(found) < SHIPPED_LINES_MAX:
                return True

    def _strike(self, running: _Experiment | None) -> None:
        """What the server says of experiments, whose object decides; without an answer one ends when its time is up."""
        if self._chaos is None:
            return
        if running is None:
            self._chaos.end()
        else:
            self._chaos.begin(running.uid, running.spec, self._clock() + running.seconds)

    def _notice(self, trouble: str) -> None:
        if trouble and trouble != self._trouble:
            log.warning("what was decided is kept here and not at the server: %s; trying again", trouble)
        self._trouble = trouble


def _bounded(lines: list[UnsentLine]) -> list[UnsentLine]:
    size = 0
    for number, line in enumerate(lines):
        size += len(line.record)
        if size > SHIPPED_BYTES_MAX:
            return lines[: max(1, number)]
    return lines
