"""Supervisors and agents of the first releases as they were recorded (tests/fixtures/supervisor-1), beside today's."""

from __future__ import annotations

import asyncio
import fcntl
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairlead.agent.contract import Close, Closed, Extend, Found, LiftDeadline, Open, Sandbox, Saw
from fairlead.agent.drivers.process import ProcessDriver
from fairlead.agent.drivers.state import NO_DEADLINE

FIXTURES = Path(__file__).parents[3] / "fixtures" / "supervisor-1"
BOUND_SECONDS = 60.0
_OFFSET = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)

Json = dict[str, Any]


def clock() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME) + _OFFSET


def conversation(uid: str, pod: Path) -> list[Json]:
    text = (FIXTURES / "conversation.jsonl").read_text().replace("POD", str(pod)).replace("UID", uid)
    return [
        json.loads(line) for line in text.replace(f"FAIRLEAD_{pod}_{uid}", "FAIRLEAD_POD_UID").splitlines()
    ]


async def until(look: Callable[[], Any]) -> Any:
    async with asyncio.timeout(BOUND_SECONDS):
        while not (found := look()):
            await asyncio.sleep(0.005)
    return found


class Older:
    """In the place of a supervisor: says what one said, and answers renewals as it did."""

    def __init__(self, pods: Path, uid: str) -> None:
        self.directory = pods / uid
        self.directory.mkdir(parents=True)
        for name in ("pod.json", "state.json"):
            (self.directory / name).write_text((FIXTURES / name).read_text().replace("UID", uid))
        self._lock = (self.directory / "lock").open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.said = [each["from"] for each in conversation(uid, self.directory) if "from" in each]
        self.heard: list[Json] = []
        self._writer: asyncio.StreamWriter | None = None

    async def __aenter__(self) -> Older:
        self._server = await asyncio.start_unix_server(self._serve, self.directory / "socket")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        if self._writer is not None:
            self._writer.close()
        await self._server.wait_closed()
        self._lock.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.say(self.said[0])
        while line := await reader.readline():
            message = json.loads(line)
            self.heard.append(message)
            if message["do"] == "extend":
                self.say({"heard": message["until"]})

    def say(self, message: Json) -> None:
        assert self._writer is not None
        self._writer.write(json.dumps(message).encode() + b"\n")


def essence(state: Json) -> list[Any]:
    """Of a state, what does not differ from run to run; and not the words of a message, which may be put better."""

    def ended(record: Json | None) -> Any:
        return record and tuple(record[name] for name in ("attempt", "exit_code", "signal", "reason"))

    return [
        (each["name"], each["attempt"], bool(each["pid"]), ended(each["ended"]), ended(each["previous"]))
        for each in state["containers"]
    ]


def test_an_older_supervisor_is_found_and_all_that_it_says_is_understood(tmp_path: Path) -> None:
    async def scenario() -> None:
        events: list[Any] = []

        def last() -> Sandbox | None:
            return next((each.sandbox for each in reversed(events) if isinstance(each, Saw)), None)

        async with Older(tmp_path / "pods", "u1") as older:
            driver = ProcessDriver(tmp_path, clock, events.append)
            found = await driver.start()
            assert isinstance(found, Found)
            (sandbox,) = found.sandboxes
            assert (sandbox.uid, sandbox.name, sandbox.alive, sandbox.containers) == ("u1", "pod-a", True, ())
            assert sandbox.deadline is not None
            for message in older.said[1:]:
                if "replaced" in message:
                    continue  # of another agent
                older.say(message)
                if "state" not in message:
                    continue
                wanted = essence(message["state"])
                await until(lambda wanted=wanted: (seen := last()) and _essence_of(seen) == wanted)  # type: ignore[misc]
            driver.carry_out(Extend(clock() + 900))
            await until(lambda: [each for each in older.heard if each["do"] == "extend"])
            driver.carry_out(LiftDeadline("u1"))
            await until(lambda: (seen := last()) is not None and seen.deadline is None)
            assert older.heard[-1] == {"do": "extend", "until": NO_DEADLINE}
            await driver.close()

    asyncio.run(scenario())


def _essence_of(sandbox: Sandbox) -> list[Any]:
    def ended(record: Any) -> Any:
        return record and (record.attempt, record.exit_code, record.signal, record.reason)

    return [
        (each.name, each.attempt, bool(each.pid), ended(each.ended), ended(each.previous))
        for each in sandbox.containers
    ]


def test_a_supervisor_does_what_an_older_agent_says_and_answers_as_the_older_one_did(tmp_path: Path) -> None:
    uid = f"older-{time.monotonic_ns()}"

    async def scenario() -> None:
        events: list[Any] = []
        driver = ProcessDriver(tmp_path, clock, events.append)
        await driver.start()
        driver.carry_out(
            Open(
                uid=uid,
                namespace="default",
                name="pod-a",
                address="127.128.0.1",
                volumes=(),
                deadline=clock() + 600,
            )
        )
        await until(lambda: any(isinstance(each, Saw) for each in events))
        await driver.close()
        pod = tmp_path / "pods" / uid
        try:
            await converse(pod, conversation(uid, pod))
        finally:
            driver = ProcessDriver(tmp_path, clock, events.append)
            await driver.start()
            driver.carry_out(Close(uid))
            await until(lambda: any(isinstance(each, Closed) for each in events))
            await driver.close()

    asyncio.run(scenario())


async def converse(pod: Path, lines: list[Json]) -> None:
    """As that agent, in the place of today's."""
    reader, writer = await asyncio.open_unix_connection(pod / "socket")
    heard: list[Json] = []
    ahead = time.clock_gettime(time.CLOCK_BOOTTIME) + 600  # deadlines of back then have passed

    async def listen() -> None:
        while line := await reader.readline():
            heard.append(json.loads(line))

    listening = asyncio.create_task(listen())
    for line in lines:
        if "to" in line:
            message = line["to"]
            if message["do"] == "extend":
                message["until"] = ahead = ahead + 1
            elif message["do"] == "start":
                message["groups"] = {}
                Path(message["run"]["root"], "tmp").mkdir(parents=True, exist_ok=True)
            writer.write(json.dumps(message).encode() + b"\n")
            continue
        answer = line["from"]
        if "heard" in answer:
            await until(lambda: {"heard": ahead} in heard)  # noqa: B023
        elif "probed" in answer:
            await until(lambda answer=answer: answer in heard)  # type: ignore[misc]
        elif "state" in answer:
            wanted = essence(answer["state"])
            await until(
                lambda wanted=wanted: any(
                    "state" in each and essence(each["state"]) == wanted for each in heard
                )  # type: ignore[misc]
            )
    await asyncio.wait_for(listening, BOUND_SECONDS)  # it has left
    writer.close()
