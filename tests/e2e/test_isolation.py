"""Pods that attack: their neighbours, their node's files, and the agent that makes directories and volumes for them.

Real processes of real users, no API server. What an attack would have reached is looked at from outside.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fairlead.agent.contract import Isolation, Mount, Volume
from fairlead.agent.drivers import process, procfs
from fairlead.agent.drivers.isolating import find_isolation
from tests.e2e.machine import Machine

ONE, OTHER = 12345, 23456  # users that the machine does not know
SECRET = Volume("secret", (("key", b"hidden\n", 0o644),))
SCRATCH = Volume("scratch", None)
MOUNTS = (Mount("secret", "/etc/key"), Mount("scratch", "/data"))
FOUND = find_isolation()
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may switch users")
Scenario = Callable[[Machine], Coroutine[Any, Any, None]]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where every user may pass."""
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_uid == os.geteuid() and path != Path("/"):
            path.chmod(path.stat().st_mode | 0o011)
    return tmp_path


@pytest.fixture(params=["own files", "shared files"], autouse=True)
def isolation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Isolation:
    """As this machine has it, and as one has it that lets nobody make mounts of their own."""
    found = msgspec.structs.replace(FOUND, mounts=FOUND.mounts and request.param == "own files")
    if request.param == "own files" and not FOUND.mounts:
        pytest.skip("this user may not have mounts of its own here")
    monkeypatch.setattr(process, "find_isolation", lambda: found)
    return found


def play(directory: Path, scenario: Scenario) -> None:
    async def run() -> None:
        async with Machine(directory / "node") as machine:
            await scenario(machine)

    asyncio.run(run())


async def said(machine: Machine, pod: str, script: str, attempt: int = 0, **more: Any) -> str:
    """What a script printed, in a container of its own; both streams are one, so that nothing overtakes."""
    machine.start(pod, "sh", "-c", f"exec 2>&1; {script}", attempt=attempt, **more)
    await machine.ended(pod, attempt, more.get("name", "main"))
    return await machine.log(pod, more.get("name", "main"))


@ROOT
def test_links_that_a_pod_makes_between_its_runs_are_not_followed(place: Path) -> None:
    private = place / "private"
    private.mkdir(0o700)
    (private / "file").write_text("somebody else's")

    async def scenario(machine: Machine) -> None:
        await machine.open("a", SCRATCH)
        attack = f"rmdir tmp; ln -s {private} tmp; ln -s {private} etc; ln -s {private} data/out; ls -l"
        mounts = (Mount("scratch", "/data"),)
        assert "tmp ->" in await said(machine, "a", attack, user=ONE, mounts=mounts)
        assert "again" in await said(machine, "a", "echo again", 1, user=ONE, mounts=mounts)
        machine.start(
            "a", "true", attempt=2, user=ONE, mounts=(*mounts, Mount("scratch", "/more", "out/made"))
        )
        await machine.until(lambda: machine.failures("Start"), "the refusal")
        assert "no link is followed there" in machine.failures("Start")[0].message

    play(place, scenario)
    assert (private.stat().st_uid, stat.S_IMODE(private.stat().st_mode)) == (0, 0o700)
    assert [each.name for each in private.iterdir()] == ["file"], "also after the pod was removed"


@ROOT
def test_a_pod_is_closed_to_other_pods(place: Path) -> None:
    async def scenario(machine: Machine) -> None:
        await machine.open("a", SECRET, SCRATCH)
        await machine.open("b")
        assert (
            await said(machine, "a", "cat etc/key/key; echo mine > data/x", user=ONE, mounts=MOUNTS)
            == "hidden\n"
        )
        pod = machine.pod("a")
        attack = (
            f"cat {pod}/volumes/secret/key {pod}/roots/main/etc/key/key {pod}/state.json; echo foreign > {pod}/volumes/scratch/y;"
            f"ls {pod} {pod}/volumes; cat {pod}/logs/main/0.log; cd {pod} && echo inside; true"
        )
        found = await said(machine, "b", attack, user=OTHER)
        assert not [word for word in ("hidden", "inside", "secret\n") if word in found], found
        assert sorted(each.name for each in (pod / "volumes/scratch").iterdir()) == ["x"]

    play(place, scenario)


@ROOT
def test_containers_of_one_pod_share_what_they_mount_whatever_their_users(place: Path) -> None:
    async def scenario(machine: Machine) -> None:
        secret = Volume("secret", (("key", b"hidden\n", 0o400),))
        await machine.open("a", secret, SCRATCH, fs_group=4321)
        write = "umask 077; echo shared > data/x; chmod g+r data/x; cat etc/key/key"
        assert await said(machine, "a", write, user=ONE, mounts=MOUNTS) == "hidden\n"
        read = "cat data/x; echo more > data/y; cat etc/key/key"
        assert await said(machine, "a", read, user=OTHER, mounts=MOUNTS, name="other") == "shared\nhidden\n"
        status = (machine.pod("a") / "volumes/scratch/x").stat()
        assert (status.st_uid, status.st_gid) == (ONE, 4321)
        assert "77 4321" in await said(
            machine, "a", "id -G | tr ' ' '\\n' | sort -n | xargs", 1, user=ONE, groups=(77,)
        )

    play(place, scenario)


def test_no_directory_of_a_pod_shows_in_a_list_of_processes(place: Path) -> None:
    word = secrets.token_hex(
        8
    )  # the list has everybody's processes: a plain word may be in another test's command

    async def scenario(machine: Machine) -> None:
        await machine.open("a", SECRET)
        machine.start(
            "a", "sleep", "600", mounts=(Mount("secret", "/etc/key"),), environment=(("WORD", word),)
        )
        await machine.running("a")
        lists = [procfs.read(f"/proc/{pid}/cmdline") for pid in procfs.processes()]
        assert not [each for each in lists if machine.uid("a").encode() in each or word.encode() in each]

    play(place, scenario)


@ROOT
def test_nobody_is_in_group_0_who_did_not_ask(place: Path) -> None:
    private = place / "group-0"
    private.write_text("of the machine")
    private.chmod(0o640)

    async def scenario(machine: Machine) -> None:
        await machine.open("a")
        for attempt, user in enumerate((ONE, None, 0)):
            groups = (await said(machine, "a", "id -G", attempt, user=user)).split()
            assert groups, user
            assert "0" not in groups, user
        assert "of the machine" not in await said(machine, "a", f"cat {private}", 3, user=ONE)
        assert (
            await said(machine, "a", f"id -g; cat {private}", 4, user=ONE, group=0) == "0\nof the machine\n"
        )

    play(place, scenario)


def test_programs_come_from_a_clean_path(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")

    async def scenario(machine: Machine) -> None:
        await machine.open("a")
        expected = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
        assert await said(machine, "a", "echo $PATH") == expected
        assert await said(machine, "a", "echo $PATH", 1, environment=(("PATH", "/bin"),)) == "/bin\n"

    play(place, scenario)


def test_nobody_gains_privileges_who_did_not_ask(place: Path) -> None:
    program = place / "as-root"
    shutil.copy("/usr/bin/id", program)
    program.chmod(0o4755)

    async def scenario(machine: Machine) -> None:
        user = ONE if os.geteuid() == 0 else None
        await machine.open("a")
        look = f"grep NoNewPrivs /proc/self/status; {program} -u"
        own = f"{ONE if os.geteuid() == 0 else os.geteuid()}\n"
        assert await said(machine, "a", look, user=user) == f"NoNewPrivs:\t1\n{own}"
        asked = await said(machine, "a", look, 1, user=user, escalates=True)
        assert asked.startswith("NoNewPrivs:\t0\n")
        if os.geteuid() == 0:
            assert asked.endswith("\n0\n")

    play(place, scenario)
