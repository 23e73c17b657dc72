"""Pods as real processes when things go wrong: kills, an agent that is gone, a deadline, a disk that is full.

"No orphan, none twice" is judged from what the processes wrote and the locks they hold (`witness.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.agent.contract import Extend, Open, Saw, Start, Stop, Volume
from fairlead.agent.drivers import contact, limits, procfs, supervisor_link
from fairlead.agent.drivers.directories import PodDirectory
from fairlead.agent.drivers.log_files import FILE_BYTES_MAX, FILES_MAX
from tests.e2e.machine import WITNESS, Machine, clock, command_line, lines, nobody_left, resident_bytes

Scenario = Callable[[Machine, Path], Coroutine[Any, Any, None]]


def play(tmp_path: Path, scenario: Scenario) -> None:
    async def run() -> None:
        async with Machine(tmp_path / "node") as machine:
            await scenario(machine, tmp_path / "witness")

    asyncio.run(run())


def test_a_killed_supervisor_leaves_nothing_running_when_it_is_told(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        await machine.open("a")
        await machine.witness("a", file, "children", "ignore-term")
        left: list[bool] = []

        def look(event: Any) -> None:
            if isinstance(event, Saw) and not event.sandbox.alive:
                left.append(not nobody_left(file))

        machine.when_told = look
        os.kill(machine.supervisor("a"), signal.SIGKILL)
        await machine.until(lambda: not machine.sandbox("a").alive, "the loss")
        assert left, "it was told"
        assert not any(left), "however often it was told"
        ended = await machine.ended("a")
        assert (ended.reason, ended.exit_code, ended.attempt) == ("SupervisorLost", 137, 0)
        # A new one keeps what was: the attempt is not run again, the next is.
        assert (await machine.open("a")).alive
        machine.start("a", sys.executable, "-I", "-S", str(WITNESS), str(file), attempt=0)
        state = await machine.witness("a", file, attempt=1)
        assert state.previous == ended
        assert lines(file).count("start main") == 2
        machine.do(Stop("a", "", 30))
        await machine.ended("a", 1)
        assert nobody_left(file)

    play(tmp_path, scenario)


@pytest.mark.skipif(limits.find() is None, reason="needs cgroups that this user may make")
def test_a_stray_that_hides_its_environment_is_found_by_its_cgroup(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        await machine.open("a")
        witness = f"{sys.executable} -I -S {WITNESS} {file}"
        machine.start("a", "sh", "-c", f"env -i setsid {witness} & sleep 3600")
        await machine.until(lambda: lines(file) == ["start main"], "the one that hides")
        await machine.running("a")
        os.kill(machine.supervisor("a"), signal.SIGKILL)
        await machine.until(lambda: not machine.sandbox("a").alive, "the loss")
        assert nobody_left(file)

    play(tmp_path, scenario)


def test_a_driver_that_comes_back_adopts_what_runs(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        await machine.open("a")
        before = await machine.witness("a", file)
        await machine.go()
        (found,) = (await machine.come()).sandboxes
        assert found.alive
        (state,) = found.containers
        assert (state.pid, state.attempt, state.ended) == (before.pid, 0, None)
        assert abs(state.started_at - before.started_at) < 1
        machine.start("a", sys.executable, "-I", "-S", str(WITNESS), str(file))
        machine.do(Stop("a", "", 30))
        await machine.ended("a")
        assert lines(file) == ["start main", "stop main"]

    play(tmp_path, scenario)


def test_what_ended_while_the_driver_was_gone_is_told_when_it_is_back(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        for pod in ("a", "b"):
            await machine.open(pod)
        killed = await machine.witness("a", file)
        other = file.with_name("other")
        await machine.witness("b", other, "children")
        supervisor = machine.supervisor("b")
        await machine.go()
        os.kill(killed.pid, signal.SIGKILL)
        os.kill(supervisor, signal.SIGKILL)
        await machine.until(lambda: nobody_left(file), "the end of the first")
        found = {each.uid.partition("-")[0]: each for each in (await machine.come()).sandboxes}
        assert nobody_left(other), "found before its strays were gone"
        assert (found["a"].alive, found["b"].alive) == (True, False)
        assert (await machine.ended("a")).signal == 9
        assert (await machine.ended("b")).reason == "SupervisorLost"

    play(tmp_path, scenario)


AGENT = """
import asyncio, sys, time
from pathlib import Path
from fairlead.agent.contract import ContainerRun, Open, Start
from fairlead.agent.drivers.process import ProcessDriver

async def main(directory, uid, *argv):
    offset = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    clock = lambda: time.clock_gettime(time.CLOCK_BOOTTIME) + offset
    driver = ProcessDriver(Path(directory), clock, lambda event: print(type(event).__name__, flush=True))
    await driver.start()
    driver.carry_out(Open(uid, "default", "pod", "127.128.0.1", (), clock() + 600))
    driver.carry_out(Start(uid, ContainerRun("main", 0, argv, ())))
    await asyncio.sleep(600)

asyncio.run(main(*sys.argv[1:]))
"""


def test_pods_outlive_an_agent_that_is_killed(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        await machine.go()
        machine.opened.add("a")
        witness = [sys.executable, "-I", "-S", str(WITNESS), str(file)]
        agent = subprocess.Popen(
            [sys.executable, "-c", AGENT, str(machine.directory), machine.uid("a"), *witness]
        )
        try:
            await machine.until(lambda: lines(file), "the pod")
        finally:
            agent.kill()
            agent.wait()
        (found,) = (await machine.come()).sandboxes
        assert found.alive
        assert found.containers[0].ended is None
        assert not nobody_left(file)
        assert lines(file) == ["start main"]

    play(tmp_path, scenario)


def test_the_newer_of_two_drivers_is_heard_and_the_older_harms_nothing(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        await machine.open("a")
        before = await machine.witness("a", file)
        older, told = machine.driver, len(machine.events)
        assert older is not None
        (found,) = (await machine.come()).sandboxes
        assert found.containers[0].pid == before.pid
        older.carry_out(Stop(machine.uid("a"), "", 0))
        await machine.until(lambda: machine.failures("Stop"), "the refusal")
        assert "another agent has taken over" in machine.failures("Stop")[0].message
        assert not nobody_left(file)
        assert not [
            event for event in machine.events[told:] if isinstance(event, Saw) and not event.sandbox.alive
        ]
        machine.do(Stop("a", "", 30))
        await machine.ended("a")
        assert lines(file) == ["start main", "stop main"]
        await older.close()

    play(tmp_path, scenario)


def test_nonsense_from_an_agent_does_not_harm_the_pod(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        await machine.open("a")
        await machine.witness("a", file)
        await machine.go()
        for nonsense in (
            b"{}\n",
            b'{"do":"start"}\n',
            b'{"do":"dance"}\n',
            b"[]\n",
            b"no json\n",
            b"x" * (5 << 20),
        ):
            link = await supervisor_link.find_supervisor(
                PodDirectory(machine.directory / "pods", machine.uid("a"))
            )
            assert link is not None
            assert await link.first_state()
            link._writer.write(nonsense)
            with contextlib.suppress(OSError):  # it hangs up
                await asyncio.wait_for(link._writer.drain(), 10)
            await link.close()
        link = await supervisor_link.find_supervisor(
            PodDirectory(machine.directory / "pods", machine.uid("a"))
        )
        assert link is not None
        state = await link.first_state()
        assert state is not None
        assert state["containers"][0]["ended"] is None
        assert resident_bytes(state["pid"]) < 40 << 20
        await link.close()
        assert not nobody_left(file)

    play(tmp_path, scenario)


def test_the_deadline_ends_everything_with_the_driver_gone(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        deadline = clock() + 10  # time enough to start all that is to be ended, or not
        await machine.open("a", deadline=deadline)
        await machine.witness("a", file, "children", "ignore-term")
        await machine.go()
        assert clock() < deadline or nobody_left(file)
        await machine.until(lambda: nobody_left(file), "the fence")
        assert clock() >= deadline
        (found,) = (await machine.come()).sandboxes
        assert found.fenced
        assert found.containers[0].ended is not None
        assert found.containers[0].ended.reason == "DeadlineExceeded"
        await machine.until(lambda: machine.uid("a") not in procfs.find_tagged(), "the end of the supervisor")
        machine.start("a", sys.executable, "-I", "-S", str(WITNESS), str(file), attempt=1)
        machine.do(
            Open(
                uid="a",
                namespace="default",
                name="pod",
                address="127.128.0.1",
                volumes=(),
                deadline=clock() + 600,
            )
        )
        await machine.until(lambda: machine.failures("Open"), "the refusal")
        assert lines(file).count("start main") == 1

    play(tmp_path, scenario)


def test_a_deadline_that_is_extended_in_time_ends_nothing(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        deadline = clock() + 10  # time enough to start all that is to be ended, or not
        await machine.open("a", deadline=deadline)
        await machine.open("b", deadline=deadline)
        await machine.witness("a", file)
        machine.do(Extend(clock() + 600))
        machine.do(Extend(clock() + 1))  # an older one that arrives late takes nothing back
        await machine.until(lambda: clock() > deadline + 0.5, "that much later")
        assert not nobody_left(file)
        assert machine.sandbox("a").alive
        assert not machine.sandbox("a").fenced
        await machine.witness("b", file.with_name("other"))

    play(tmp_path, scenario)


def test_a_supervisor_that_does_not_answer_is_ended_with_its_pod(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        await machine.open("a")
        await machine.witness("a", file, "children")
        os.kill(machine.supervisor("a"), signal.SIGSTOP)
        monkeypatch.setattr(contact, "ANSWER_SECONDS", 0.2)
        for _ in range(3):
            machine.do(Extend(clock() + 600))
            await asyncio.sleep(0.3)
        await machine.until(lambda: not machine.sandbox("a").alive, "the loss")
        assert nobody_left(file)

    play(tmp_path, scenario)


def test_a_pod_that_ran_from_another_directory_is_ended_there_before_it_is_opened_here(
    tmp_path: Path,
) -> None:
    """As when an agent is started with another --data-dir, and takes over the node from one that is silent."""

    async def run() -> None:
        file = tmp_path / "witness"
        async with Machine(tmp_path / "one") as first:
            await first.open("a")
            await first.witness("a", file, "children")
            await first.go()
            async with Machine(tmp_path / "two", first) as second:
                await second.open("a", ran_before=True)
                assert nobody_left(file)
                await second.witness("a", file)
            await first.come()
            assert not first.sandbox("a").alive

    asyncio.run(run())


def test_a_terminated_supervisor_ends_its_pod_in_peace(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        await machine.open("a")
        await machine.witness("a", file, "children")
        os.kill(machine.supervisor("a"), signal.SIGTERM)
        await machine.until(lambda: not machine.sandbox("a").alive, "its end")
        assert (await machine.ended("a")).reason == "Completed"
        assert lines(file).count("stop main") == 1
        assert nobody_left(file)

    play(tmp_path, scenario)


def test_output_without_a_line_and_without_end_is_bounded_on_disk_and_in_memory(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        await machine.open("a")
        await machine.witness("a", file, "print")
        logs = machine.pod("a") / "logs" / "main"
        await machine.until(lambda: (logs / f"0.log.{FILES_MAX - 1}").exists(), "the last rotation")
        oldest = (logs / f"0.log.{FILES_MAX - 1}").stat().st_ino
        await machine.until(lambda: _inode(logs / f"0.log.{FILES_MAX - 1}") not in (oldest, 0), "one more")
        assert len(list(logs.iterdir())) <= FILES_MAX
        assert sum(_size(each) for each in logs.iterdir()) <= FILE_BYTES_MAX * FILES_MAX
        assert resident_bytes(machine.supervisor("a")) < 30 << 20
        machine.do(Stop("a", "", 0))
        await machine.ended("a")
        assert set((await machine.log("a", limit_bytes=100_000))[16384:]) == {"x"}

    play(tmp_path, scenario)


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0  # between two names


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m,mode=755", "tmpfs", str(place)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("only root may mount a small file system")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_loses_output_and_nothing_else(small_disk: Path, tmp_path: Path) -> None:
    async def run() -> None:
        file = tmp_path / "witness"
        async with Machine(small_disk) as machine:
            await machine.open("a")
            ballast = small_disk / "ballast"
            script = (
                f"echo start main $$ >> {file}; echo before; while ! test -e {tmp_path}/full; do sleep 0.05; done;"
                f"i=0; while test $i -lt 100; do echo lost-$i; i=$((i+1)); done; echo done main $$ >> {file};"
                f"while test -e {tmp_path}/full; do sleep 0.05; done; echo after; sleep 3600"
            )
            machine.start("a", "sh", "-c", script)
            await machine.until(lambda: lines(file) == ["start main"], "its start")
            await machine.running("a")
            log_file = machine.pod("a") / "logs/main/0.log"
            await machine.until(lambda: "before" in _text(log_file), "its first line")
            _fill(ballast)
            (tmp_path / "full").touch()
            await machine.until(lambda: lines(file) == ["start main", "done main"], "that it goes on")
            assert machine.sandbox("a").alive
            # Nothing is started that could not be written down, and nothing is half made.
            machine.start("a", "touch", str(tmp_path / "must-not-exist"), name="other")
            await machine.until(lambda: machine.failures("Start"), "the refusal")
            assert "No space left on device: free space" in machine.failures("Start")[0].message
            machine.do(
                Open(
                    uid="b",
                    namespace="default",
                    name="pod",
                    address="127.128.0.2",
                    volumes=(Volume("v", (("f", b"x" * 9999, 0o644),)),),
                    deadline=clock() + 60,
                )
            )
            await machine.until(lambda: machine.failures("Open"), "the other refusal")
            assert "No space left on device: free space" in machine.failures("Open")[0].message
            assert [each.name for each in (small_disk / "pods").iterdir()] == [machine.uid("a")]
            assert not (tmp_path / "must-not-exist").exists()
            ballast.unlink()
            (tmp_path / "full").unlink()
            await machine.until(lambda: "after" in _text(log_file), "the log goes on")
            log = (await machine.log("a")).splitlines()
            assert log[0] == "before"
            assert log[-1] == "after"
            assert any("bytes of output were lost: No space left on device" in line for line in log), log
            machine.start("a", "true", name="other")
            await machine.ended("a", name="other")

    asyncio.run(run())


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _fill(ballast: Path) -> None:
    with open(ballast, "wb", buffering=0) as file:
        for size in (65536, 4096, 512, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                pass  # full for pieces of this size


def test_logs_of_two_runs_followed_and_read_back(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        await machine.open("a")
        script = f"echo one; echo two >&2; while ! test -e {tmp_path}/go; do sleep 0.05; done; echo three; printf four"
        machine.start("a", "sh", "-c", script)
        await machine.running("a")
        following = asyncio.create_task(machine.log("a", follow=True))
        # Two pipes that both have something are read in either order.
        while (await machine.log("a")).count("\n") < 2:
            await asyncio.sleep(0.02)
        (tmp_path / "go").touch()
        assert sorted((await following).splitlines()[:2]) == ["one", "two"]
        assert (await following).splitlines()[2:] == ["three", "four"]
        await machine.ended("a")
        machine.start("a", "sh", "-c", "echo again", attempt=1)
        await machine.ended("a", 1)
        assert await machine.log("a") == "again\n"
        assert await machine.log("a", previous=True, tail_lines=2) == "three\nfour\n"
        machine.start("a", "true", attempt=2)
        await machine.ended("a", 2)
        assert (await machine.log("a"), await machine.log("a", previous=True)) == ("", "again\n")
        assert not list((machine.pod("a") / "logs/main").glob("0.log*"))

    play(tmp_path, scenario)


def test_long_paths_are_no_obstacle(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        await machine.open("a")
        await machine.witness("a", file)
        await machine.go()
        assert (await machine.come()).sandboxes[0].alive

    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    play(deep, scenario)


def test_what_a_kill_left_half_made_is_removed(tmp_path: Path) -> None:
    async def scenario(machine: Machine, file: Path) -> None:
        await machine.go()
        for name in (".new-x", ".gone-y"):
            (machine.directory / "pods" / name / "volumes").mkdir(parents=True)
        # As after a cut of the power: a name without its content.
        (machine.directory / "pods" / "z" / "logs").mkdir(parents=True)
        (machine.directory / "pods" / "z" / "pod.json").touch()
        assert (await machine.come()).sandboxes == ()
        assert list((machine.directory / "pods").iterdir()) == []

    play(tmp_path, scenario)


def test_supervisors_do_not_carry_the_agents_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_SECRET", "hidden")

    async def scenario(machine: Machine, file: Path) -> None:
        await machine.open("a")
        supervisor = machine.supervisor("a")
        assert b"AGENT_SECRET" not in Path(f"/proc/{supervisor}/environ").read_bytes()
        assert b"-I" in command_line(supervisor)
        machine.do(Start("a", _run("sh", "-c", "env")))
        await machine.ended("a")
        assert "AGENT_SECRET" not in await machine.log("a")

    def _run(*argv: str) -> Any:
        from fairlead.agent.contract import ContainerRun

        return ContainerRun("main", 0, argv, ())

    play(tmp_path, scenario)
