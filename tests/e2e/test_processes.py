"""Pods as real processes: their lives as an agent asks for them. No API server.

What ran, and how often, is judged from what the processes wrote (`witness.py`).
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from fairlead.agent.contract import Close, Mount, Open, Probe, Refresh, Stop, Volume
from fairlead.agent.drivers import limits
from fairlead.agent.drivers.isolating import find_isolation
from fairlead.agent.drivers.usage import Usage
from tests.e2e.machine import BOUND_SECONDS, WITNESS, Machine, lines, nobody_left

Scenario = Callable[[Machine, Path], Coroutine[Any, Any, None]]


def play(tmp_path: Path, scenario: Scenario) -> None:
    async def run() -> None:
        async with Machine(tmp_path / "node") as machine:
            await scenario(machine, tmp_path / "witness")

    asyncio.run(run())


def test_a_pod_runs_is_stopped_and_leaves_nothing(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        opened = await machine.open("a")
        assert (opened.alive, opened.containers, opened.address) == (True, (), "127.128.0.1")
        state = await machine.witness("a", file, "children")
        assert state.started_at > 0
        machine.do(Stop("a", "", 30))
        ended = await machine.ended("a")
        assert (ended.exit_code, ended.signal, ended.reason) == (0, 0, "Completed")
        assert ended.finished_at >= ended.started_at
        assert nobody_left(file)
        assert sorted(lines(file)) == [
            "start child",
            "start daemon",
            "start main",
            "stop child",
            "stop daemon",
            "stop main",
        ]
        machine.do(Close("a"))
        await machine.until(lambda: machine.is_closed("a"), "closed")
        assert list((tmp_path / "node" / "pods").iterdir()) == []
        cgroups = limits.find()
        for base in cgroups.bases.values() if cgroups else ():
            assert not Path(base, machine.uid("a")).exists()

    play(tmp_path, scenario)


@pytest.mark.parametrize("with_cgroups", [True, False])
def test_a_container_ends_with_its_main_process_and_takes_its_children_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_cgroups: bool
) -> None:
    if not with_cgroups:
        monkeypatch.setattr(limits, "find", lambda: None)

    async def scenario(machine: Machine, file: Path) -> None:
        await machine.open("a")
        machine.start(
            "a", sys.executable, "-I", "-S", str(WITNESS), str(file), "children", "ignore-term", "exit=7"
        )
        ended = await machine.ended("a")
        assert (ended.exit_code, ended.reason) == (7, "Error")
        assert nobody_left(file), "the end was told while children still ran"
        assert lines(file).count("start daemon") == 1

    play(tmp_path, scenario)


def test_each_attempt_is_started_once_however_often_it_is_asked_for(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        await machine.open("a")
        state = await machine.witness("a", file)
        for attempt in (0, 0, 1, 0):  # 1 while 0 still runs is refused
            machine.start("a", sys.executable, "-I", "-S", str(WITNESS), str(file), attempt=attempt)
        await machine.until(lambda: machine.failures("Start"), "the refusal")
        assert machine.failures("Start")[0].message == "run 0 of container main has not ended yet"
        os.kill(state.pid, signal.SIGKILL)
        ended = await machine.ended("a")
        assert (ended.exit_code, ended.signal, ended.reason) == (137, 9, "Error")
        again = await machine.witness("a", file, attempt=1)
        assert again.previous == ended
        machine.start("a", "true", attempt=1)
        machine.start("a", "true", attempt=0)
        machine.do(Stop("a", "main", 30))
        await machine.ended("a", 1)
        for attempt in (1, 0, 1):
            machine.start("a", sys.executable, "-I", "-S", str(WITNESS), str(file), attempt=attempt)
        machine.start("a", "true", attempt=2)
        await machine.ended("a", 2)
        assert lines(file) == ["start main", "start main", "stop main"]
        assert nobody_left(file)

    play(tmp_path, scenario)


def test_sigterm_ignored_is_followed_by_sigkill(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        await machine.open("a")
        await machine.witness("a", file, "ignore-term", "children")
        machine.do(Stop("a", "main", 3600))
        machine.do(Stop("a", "main", 0.3))  # a shorter one replaces a longer
        machine.do(Stop("a", "main", 3600))
        ended = await machine.ended("a")
        assert (ended.exit_code, ended.signal) == (137, 9)
        assert nobody_left(file)

    play(tmp_path, scenario)


@pytest.mark.parametrize("with_cgroups", [True, False])
def test_what_outlives_its_main_process_has_the_rest_of_the_grace_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_cgroups: bool
) -> None:
    if not with_cgroups:
        monkeypatch.setattr(limits, "find", lambda: None)

    async def scenario(machine: Machine, file: Path) -> None:
        await machine.open("a")
        await machine.witness("a", file, "children", "stubborn-children")
        machine.do(Stop("a", "main", 4.0))
        await machine.until(lambda: "stop main" in lines(file), "the end of the main process")
        ended = await machine.ended("a")
        assert nobody_left(file), "the end was told while children still ran"
        assert (ended.reason, ended.exit_code) == ("Completed", 0)

    play(tmp_path, scenario)


def test_prestop_runs_before_sigterm_and_within_the_grace(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        await machine.open("a")
        await machine.witness("a", file, environment=(("WORD", "goodbye"),))
        machine.do(Stop("a", "main", 60, ("sh", "-c", f'echo "$WORD 0" >> {file}')))
        await machine.ended("a")
        assert lines(file) == ["start main", "goodbye", "stop main"]
        await machine.witness("a", file, "ignore-term", attempt=1)
        machine.do(Stop("a", "main", 0.5, ("sleep", "3600")))
        assert (await machine.ended("a", 1)).signal == 9

    play(tmp_path, scenario)


def test_containers_of_one_pod_live_and_end_apart(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        other = file.with_name("other")
        await machine.open("a")
        await machine.witness("a", file, "children")
        await machine.witness("a", other, "children", name="other")
        machine.do(Stop("a", "main", 30))
        await machine.ended("a")
        assert nobody_left(file)
        assert [line for line in lines(other) if not line.startswith("start")] == []
        machine.do(Stop("a", "", 30))
        await machine.ended("a", name="other")
        assert nobody_left(other)
        assert [each.name for each in machine.sandbox("a").containers] == ["main", "other"]

    play(tmp_path, scenario)


STARTS_THAT_FAIL = [
    (("no-such-command",), {}, 128, "exec: 'no-such-command': executable file not found in $PATH"),
    (("/no/such/file",), {}, 128, "exec: '/no/such/file': no such file"),
    (("/etc/passwd",), {}, 126, "permission denied"),
    (("/",), {}, 126, "permission denied"),
    (("$DIR/without-first-line",), {}, 126, "needs a first line such as #!/bin/sh"),
    (("$DIR/wrong-first-line",), {}, 127, "its interpreter does not exist"),
    (
        ("true",),
        {"working_directory": "/no/such/directory"},
        128,
        "workingDir '/no/such/directory': No such file",
    ),
    (("true", "\0"), {}, 128, "embedded null byte"),
    (("true", "x" * 200_000), {}, 128, "too long together"),
]


@pytest.mark.parametrize(("argv", "more", "code", "message"), STARTS_THAT_FAIL)
def test_a_start_that_fails_says_why(
    tmp_path: Path, argv: tuple[str, ...], more: dict[str, Any], code: int, message: str
) -> None:
    for name, content in (("without-first-line", "echo"), ("wrong-first-line", "#!/no/such/shell\n")):
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(0o755)

    async def scenario(machine: Machine, file: Path) -> None:
        await machine.open("a")
        machine.start("a", *(word.replace("$DIR", str(tmp_path)) for word in argv), **more)
        ended = await machine.ended("a")
        assert (ended.reason, ended.exit_code, ended.signal) == ("StartError", code, 0)
        assert message in ended.message

    play(tmp_path, scenario)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may switch users")
def test_a_user_is_switched_to_or_the_obstacle_is_named(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        await machine.open("a", Volume("files", (("key", b"hidden", 0o644),)), Volume("scratch", None))
        mounts = (Mount("files", "/etc/key"), Mount("scratch", "/data"))
        script = (
            "id -u; id -g; cat $FAIRLEAD_ROOT/etc/key/key; echo x > $FAIRLEAD_ROOT/data/x; touch $TMPDIR/y"
        )
        machine.start("a", "sh", "-c", script, user=12345, group=54321, mounts=mounts)
        ended = await machine.ended("a")
        if machine.directory.parent.name == "shut" and not find_isolation().mounts:
            assert ended.reason == "StartError"
            assert "user 12345 may not enter" in ended.message
        else:
            assert (ended.reason, await machine.log("a")) == ("Completed", "12345\n54321\nhidden\n")

    (tmp_path / "shut").mkdir(0o700)
    play(tmp_path / "shut", scenario)
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o711)
        play(Path(place), scenario)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may switch users")
def test_without_root_another_user_is_refused(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        await machine.open("a")
        machine.start("a", "true", user=os.geteuid() + 1)
        ended = await machine.ended("a")
        assert ended.reason == "StartError"
        assert "run the agent as root" in ended.message

    play(tmp_path, scenario)


def test_what_a_process_finds(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        volumes = (
            Volume(
                "config",
                (
                    ("a", b"one\n", 0o644),
                    ("deep/b", b"two\n", 0o600),
                    ("run.sh", b"#!/bin/sh\npwd -L\n", 0o755),
                ),
            ),
            Volume("scratch", None),
        )
        await machine.open("a", *volumes)
        mounts = (
            Mount("config", "/etc/app"),
            Mount("scratch", "/data"),
            Mount("scratch", "/logs", "sub/dir"),
        )
        script = (
            "cat $FAIRLEAD_ROOT/etc/app/a etc/app/deep/b; echo $POD_IP $HOSTNAME $WORD $HOME; pwd;"
            "echo x > logs/x; ls data/sub/dir; cat 0<&0"
        )
        machine.start(
            "a", "sh", "-c", script, mounts=mounts, environment=(("WORD", "word"), ("HOME", "/else"))
        )
        assert (await machine.ended("a")).exit_code == 0
        root = machine.pod("a") / "roots/main"
        assert await machine.log("a") == f"one\ntwo\n127.128.0.1 pod-a word /else\n{root}\nx\n"
        # A command and a directory that lie in a volume are found where the pod sees them.
        machine.start("a", "/etc/app/run.sh", attempt=1, working_directory="/data", mounts=mounts)
        assert (await machine.ended("a", 1)).reason == "Completed"
        place = "/data" if find_isolation().mounts else f"{machine.pod('a')}/volumes/scratch"
        assert (await machine.log("a")).strip() == place
        machine.do(Refresh("a", (Volume("config", (("a", b"new\n", 0o644),)),)))
        volume = machine.pod("a") / "volumes/config"
        await machine.until(lambda: (volume / "a").read_text() == "new\n", "the new content")
        await machine.until(lambda: not (volume / "deep").exists(), "what is gone is gone")
        machine.start(
            "a", "cat", "/etc/app/a" if find_isolation().mounts else "etc/app/a", attempt=2, mounts=mounts
        )
        assert (await machine.ended("a", 2)).reason == "Completed"
        assert (await machine.log("a")) == "new\n"
        assert machine.failures("Refresh") == []

    play(tmp_path, scenario)


def test_volumes_are_found_when_the_directory_was_named_relative_to_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def run() -> None:
        async with Machine(Path("node")) as machine:
            await machine.open("a", Volume("config", (("a", b"one\n", 0o644),)))
            mounts = (Mount("config", "/etc/app"), Mount("config", "/etc/one", "a"))
            machine.start("a", "sh", "-c", "cat etc/app/a $FAIRLEAD_ROOT/etc/one", mounts=mounts)
            assert (await machine.ended("a")).exit_code == 0
            assert await machine.log("a") == "one\none\n"

    asyncio.run(run())


async def _serve(answer: bytes) -> asyncio.Server:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    return await asyncio.start_server(handle, "127.0.0.1", 0)


def test_probes(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        await machine.open("a")
        await machine.witness("a", file, environment=(("WORD", "word"),))
        good = await _serve(b"HTTP/1.1 301 Moved\r\n\r\n")
        bad = await _serve(b"HTTP/1.1 503 No\r\n\r\n")
        ports = [server.sockets[0].getsockname()[1] for server in (good, bad)]
        bad_closed = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        nobody = bad_closed.sockets[0].getsockname()[1]
        bad_closed.close()
        await bad_closed.wait_closed()
        looks: list[tuple[dict[str, Any], bool, str]] = [
            ({"exec": {"command": ["sh", "-c", "test $WORD = word"]}}, True, ""),
            ({"exec": {"command": ["sh", "-c", "echo bad; exit 3"]}}, False, "bad"),
            (
                {"exec": {"command": ["sh", "-c", "echo so far; sleep 3600 & sleep 3600"]}},
                False,
                "timed out: so far",
            ),
            ({"exec": {"command": ["no-such-command"]}}, False, "not found in $PATH"),
            (
                {"exec": {"command": ["sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x; exit 1"]}},
                False,
                "xxxx",
            ),
            ({"httpGet": {"host": "127.0.0.1", "port": ports[0], "path": "/ok"}}, True, ""),
            (
                {"httpGet": {"host": "127.0.0.1", "port": ports[1]}},
                False,
                "HTTP probe failed with statuscode: 503",
            ),
            ({"httpGet": {"host": "127.0.0.1", "port": nobody}}, False, "connection refused"),
            ({"tcpSocket": {"host": "127.0.0.1", "port": ports[0]}}, True, ""),
            ({"tcpSocket": {"host": "127.0.0.1", "port": nobody}}, False, "connection refused"),
        ]
        for number, (action, _, words) in enumerate(looks, 1):
            machine.do(Probe(number, "a", "main", action, 3.0 if "timed out" in words else 60.0))
        for number, (action, expected, message) in enumerate(looks, 1):
            answer = await machine.probed(number)
            assert (answer.good, message in answer.message) == (expected, True), (action, answer)
            assert len(answer.message) < 5000
        for server in (good, bad):
            server.close()
        machine.do(Stop("a", "main", 30))
        await machine.ended("a")
        machine.do(Probe(99, "a", "main", looks[0][0], 2.0))
        assert "is not running" in (await machine.probed(99)).message

    play(tmp_path, scenario)


def test_a_probe_of_a_killed_supervisor_is_answered_once(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        await machine.open("a")
        await machine.witness("a", file)
        machine.do(Probe(1, "a", "main", {"exec": {"command": ["sleep", "3600"]}}, 3600.0))
        await asyncio.sleep(0.2)
        os.kill(machine.supervisor("a"), signal.SIGKILL)
        assert not (await machine.probed(1)).good
        await machine.until(lambda: not machine.sandbox("a").alive, "the loss")
        machine.do(Probe(2, "a", "main", {"exec": {"command": ["true"]}}, 1.0))
        assert "supervisor is gone" in (await machine.probed(2)).message

    play(tmp_path, scenario)


@pytest.mark.skipif(limits.find() is None, reason="needs cgroups that this user may make")
def test_more_memory_than_the_limit_is_told_as_such(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        await machine.open("a")
        hungry = "x = bytearray(256 << 20)"
        machine.start("a", sys.executable, "-I", "-S", "-c", hungry, memory_bytes=64 << 20, cpu_millis=500)
        ended = await machine.ended("a")
        assert (ended.reason, ended.signal) == ("OOMKilled", 9)
        machine.start("a", sys.executable, "-I", "-S", "-c", hungry, attempt=1)
        assert (await machine.ended("a", 1)).reason == "Completed"

    play(tmp_path, scenario)


def test_without_cgroups_memory_is_limited_by_rlimits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "find", lambda: None)

    async def scenario(machine: Machine, file: Path) -> None:
        assert machine.driver is not None
        assert machine.driver.limits.startswith("rlimits")
        await machine.open("a")
        machine.start(
            "a", sys.executable, "-I", "-S", "-c", "x = bytearray(256 << 20)", memory_bytes=64 << 20
        )
        assert (await machine.ended("a")).exit_code == 1
        assert "MemoryError" in await machine.log("a")

    play(tmp_path, scenario)


def test_what_cannot_be_done_is_said(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        machine.start("missing", "true")
        await machine.until(lambda: machine.failures("Start"), "the refusal")
        machine.do(Stop("missing", "", 0))
        await machine.until(lambda: machine.is_closed("missing"), "that nothing of it is there")
        machine.do(
            Open(uid="../a", namespace="default", name="pod", address="127.128.0.1", volumes=(), deadline=0.0)
        )
        await machine.until(lambda: machine.failures("Open"), "the second refusal")
        assert "cannot be the name of a directory" in machine.failures("Open")[0].message
        await machine.open("a")
        machine.start("a", "true", mounts=(Mount("none", "/x"),))
        await machine.until(lambda: len(machine.failures("Start")) == 2, "the third")
        assert "there is no volume 'none'" in machine.failures("Start")[1].message

    play(tmp_path, scenario)


@pytest.mark.parametrize("with_cgroups", [True, False])
def test_what_a_container_uses_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_cgroups: bool
) -> None:
    if not with_cgroups:
        monkeypatch.setattr(limits, "find", lambda: None)
    hungry = "x = bytearray(b'x') * (64 << 20); print('full', flush=True)\nwhile True: pass"

    async def scenario(machine: Machine, file: Path) -> None:
        assert machine.driver is not None
        await machine.open("a")
        await machine.open("idle")
        assert await machine.driver.usage() == {}
        machine.start("a", "sh", "-c", f'{sys.executable} -I -S -c "{hungry}" & wait')
        await machine.running("a")
        async with asyncio.timeout(BOUND_SECONDS):
            while "full" not in await machine.log("a"):
                await asyncio.sleep(0.05)
            used = Usage(0.0, 0)
            while used.memory_bytes < 64 << 20:
                used = (await machine.driver.usage())[machine.uid("a")]["main"]
            assert used.memory_bytes < 256 << 20
            while (await machine.driver.usage())[machine.uid("a")]["main"].cpu_seconds <= used.cpu_seconds:
                await asyncio.sleep(0.05)
        machine.do(Stop("a", "", 0))
        await machine.ended("a")
        assert await machine.driver.usage() == {}

    play(tmp_path, scenario)
