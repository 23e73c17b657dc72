"""Containers with files of their own: volumes where they were asked for, the agent's data hidden, probes inside.

Real processes, no API server. Nothing of it may be seen on the machine itself.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
from pathlib import Path

import pytest

from fairlead.agent.contract import Mount, Probe, Stop, Volume
from fairlead.agent.drivers import limits
from fairlead.agent.drivers.isolating import find_isolation
from fairlead.agent.pod.isolation import capabilities
from fairlead.model.views import SecurityContext
from tests.e2e.machine import Machine
from tests.e2e.test_isolation import ONE, ROOT, SCRATCH, SECRET, Scenario, said

FOUND = find_isolation()
pytestmark = pytest.mark.skipif(not FOUND.mounts, reason="this user may not have mounts of its own here")
HERE = f"/fairlead-{secrets.token_hex(4)}"  # a directory that the machine does not have
USUAL = capabilities(SecurityContext())


def play(directory: Path, scenario: Scenario) -> None:
    async def run() -> None:
        async with Machine(directory / "node") as machine:
            await scenario(machine)

    asyncio.run(run())
    assert not Path(HERE).exists()
    assert not Path(f"/etc{HERE}").exists()
    assert HERE not in Path("/proc/self/mountinfo").read_text()


def test_volumes_are_where_they_were_asked_for(tmp_path: Path) -> None:
    files = Volume("files", (("a", b"one\n", 0o644), ("deep/b", b"two\n", 0o644)))
    mounts = (
        Mount("scratch", f"{HERE}/data"),
        Mount("files", f"/etc{HERE}", read_only=True),
        Mount("scratch", f"/etc{HERE}/own", "sub/dir"),
        Mount("files", f"{HERE}/file", "deep/b", read_only=True),
        Mount("scratch", "/var/run" + HERE),
    )

    async def scenario(machine: Machine) -> None:
        await machine.open("a", files, SCRATCH)
        script = (
            f"cat /etc{HERE}/a {HERE}/file; echo x > {HERE}/data/x; echo y > /etc{HERE}/own/y; cat {HERE}/data/sub/dir/y;"
            f"ls /var/run{HERE}; cat .{HERE}/data/x; ls /etc/passwd /usr/bin/env; echo no > /etc{HERE}/a; echo $?"
        )
        for attempt in range(2):
            found = await said(machine, "a", script, attempt, mounts=mounts)
            assert found.startswith("one\ntwo\ny\nsub\nx\nx\n/etc/passwd\n/usr/bin/env\n"), found
            assert "Read-only file system" in found
        found = await said(machine, "a", f"grep {HERE} /proc/self/mountinfo", 2, mounts=mounts)
        assert found.count("nosuid,nodev") == found.count("\n") == 5

    play(tmp_path, scenario)


def test_the_data_of_the_agent_is_hidden(tmp_path: Path) -> None:
    async def scenario(machine: Machine) -> None:
        await machine.open("a", SECRET)
        await machine.open("b")
        pods = machine.directory / "pods"
        script = f"find {machine.directory}; cat {pods}/*/pod.json {pods}/*/volumes/*/*; touch {machine.directory}/x; true"
        found = await said(machine, "b", script, capabilities=USUAL if FOUND.users else None)
        assert machine.uid("a") not in found
        assert "hidden" not in found
        assert "Read-only file system" in found
        assert f"{machine.pod('b')}/roots/main/tmp" in found

    play(tmp_path, scenario)


@ROOT
def test_root_in_a_pod_does_not_undo_it(tmp_path: Path) -> None:
    async def scenario(machine: Machine) -> None:
        await machine.open("a", SECRET)
        attack = (
            f"umount {machine.directory}; cat /proc/1/root{machine.pod('a')}/pod.json; nsenter -t 1 -m cat {machine.pod('a')}/pod.json;"
            f"cat /proc/$PPID/root{machine.pod('a')}/pod.json; cat /proc/$PPID/cwd/pod.json; true"
        )
        found = await said(machine, "a", attack, capabilities=USUAL)
        assert "default" not in found, found

    play(tmp_path, scenario)


@ROOT
def test_a_user_of_its_own_works_under_a_closed_directory(tmp_path: Path) -> None:
    (tmp_path / "shut").mkdir(0o700)

    async def scenario(machine: Machine) -> None:
        await machine.open("a", SECRET, SCRATCH)
        mounts = (Mount("secret", f"{HERE}/secret"), Mount("scratch", f"{HERE}/data"))
        script = f"id -u; cat {HERE}/secret/key $FAIRLEAD_ROOT{HERE}/secret/key; echo x > {HERE}/data/x; touch $TMPDIR/y $HOME/z"
        assert await said(machine, "a", script, user=ONE, mounts=mounts) == f"{ONE}\nhidden\nhidden\n"

    play(tmp_path / "shut", scenario)


@ROOT
def test_nobody_looks_into_another_pod_of_the_same_user(tmp_path: Path) -> None:
    async def scenario(machine: Machine) -> None:
        await machine.open("a", SECRET)
        await machine.open("b")
        mounts = (Mount("secret", f"{HERE}/secret"),)
        machine.start("a", "sleep", "600", user=ONE, mounts=mounts, environment=(("WORD", "unseen"),))
        pid = (await machine.running("a")).pid
        attack = f"cat /proc/{pid}/root{HERE}/secret/key /proc/{pid}/environ; ls /proc/{pid}/fd /proc/{pid}/cwd/; true"
        found = await said(machine, "b", attack, user=ONE)
        assert not [word for word in ("hidden", "unseen", "tmp") if word in found], found
        assert found.count("ermission denied") >= 3, found
        # Its own probes do.
        inside = {"exec": {"command": ["cat", f"/proc/{pid}/root{HERE}/secret/key"]}}
        machine.do(Probe(1, "a", "main", inside, 30.0))
        assert (await machine.probed(1)).good

    play(tmp_path, scenario)


@ROOT
def test_setuid_programs_and_devices_in_a_volume_are_of_no_use(tmp_path: Path) -> None:
    async def scenario(machine: Machine) -> None:
        await machine.open("a", SCRATCH)
        volume = machine.pod("a") / "volumes/scratch"
        shutil.copy("/usr/bin/id", volume / "id")
        (volume / "id").chmod(0o4755)
        os.mknod(volume / "null", 0o666 | 0o020000, os.makedev(1, 3))
        mounts = (Mount("scratch", f"{HERE}/data"),)
        found = await said(
            machine, "a", f"{HERE}/data/id -u; cat {HERE}/data/null", user=ONE, mounts=mounts, escalates=True
        )
        assert found.startswith(f"{ONE}\n")
        assert "ermission denied" in found

    play(tmp_path, scenario)


def test_a_root_that_is_read_only_is(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(0o777)
    outside.chmod(0o777)

    async def scenario(machine: Machine) -> None:
        await machine.open("a", SCRATCH)
        mounts = (Mount("scratch", f"{HERE}/data"), Mount("scratch", f"{HERE}/look", read_only=True))
        script = (
            f"echo x > {HERE}/data/x; cat {HERE}/look/x; touch {outside}/x; touch here; touch {HERE}/look/y; touch {HERE}/z;"
            "echo > /dev/null && echo done"
        )
        found = await said(machine, "a", script, mounts=mounts, read_only_root=True)
        assert found.startswith("x\n")
        assert found.count("Read-only file system") == 4
        assert found.endswith("done\n")
        assert list(outside.iterdir()) == []

    play(tmp_path, scenario)


def test_probes_and_hooks_run_inside(tmp_path: Path) -> None:
    async def scenario(machine: Machine) -> None:
        await machine.open("a", SCRATCH)
        machine.start("a", "sleep", "600", mounts=(Mount("scratch", f"{HERE}/data"),))
        await machine.running("a")
        script = (
            f"echo x > {HERE}/data/x && grep NoNewPrivs: /proc/self/status && ls {machine.directory}/pods"
        )
        machine.do(Probe(1, "a", "main", {"exec": {"command": ["sh", "-c", script]}}, 30.0))
        answer = await machine.probed(1)
        assert (answer.good, answer.message) == (True, f"NoNewPrivs:\t1\n{machine.uid('a')}")
        machine.do(Stop("a", "main", 30.0, ("sh", "-c", f"cp {HERE}/data/x {HERE}/data/hook")))
        await machine.ended("a")
        assert (machine.pod("a") / "volumes/scratch/hook").read_text() == "x\n"

    play(tmp_path, scenario)


def test_links_in_the_way_of_a_mount_are_not_followed(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir()
    (tmp_path / "link").symlink_to(private)

    async def scenario(machine: Machine) -> None:
        await machine.open("a", SCRATCH, Volume("other", None))
        outer = Mount("scratch", f"{HERE}/data")
        await said(machine, "a", f"ln -s {private} {HERE}/data/out", mounts=(outer,))
        machine.start("a", "true", attempt=1, mounts=(outer, Mount("other", f"{HERE}/data/out/in")))
        inside = await machine.ended("a", 1)
        assert (inside.reason, "no link is followed there" in inside.message) == ("StartError", True)
        if os.geteuid() == 0:  # a link that root made in a directory of root's is the machine's own
            os.chown(tmp_path / "link", ONE, ONE, follow_symlinks=False)
        machine.start("a", "true", attempt=2, mounts=(Mount("other", f"{tmp_path}/link/in"),))
        above = await machine.ended("a", 2)
        assert (above.reason, "which a pod could have made" in above.message) == ("StartError", True)
        assert list(private.iterdir()) == []

    play(tmp_path, scenario)


@pytest.mark.skipif(not FOUND.pids, reason="no cgroup here limits processes")
def test_a_fork_bomb_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PIDS_MAX", 24)
    bomb = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do sleep 600 & done; wait"

    async def scenario(machine: Machine) -> None:
        await machine.open("a")
        await machine.open("b")
        machine.start("a", "sh", "-c", bomb)
        groups: dict[str, str] = limits.directories(limits.find(), machine.uid("a"), "main")
        await machine.until(lambda: "fork" in _log(machine), "that no more are made")
        assert len(limits.members(groups)) <= 24
        assert await said(machine, "b", "sh -c 'echo here'") == "here\n"
        machine.do(Stop("a", "", 0))
        await machine.ended("a")
        assert limits.members(groups) == set()

    play(tmp_path, scenario)


def _log(machine: Machine) -> str:
    file = machine.pod("a") / "logs/main/0.log"
    return file.read_text() if file.exists() else ""


def test_what_is_left_of_a_container_ends_with_its_mounts(tmp_path: Path) -> None:
    """A process that hides in a session of its own is found and ended like any other."""

    async def scenario(machine: Machine) -> None:
        await machine.open("a", SCRATCH)
        mounts = (Mount("scratch", f"{HERE}/data"),)
        script = f"setsid sleep 600 & echo $! > {HERE}/data/pid; sleep 600"
        machine.start("a", "sh", "-c", script, mounts=mounts)
        pid = (await machine.running("a")).pid
        file = machine.pod("a") / "volumes/scratch/pid"
        await machine.until(lambda: file.exists() and file.read_text(), "the other one")
        other = int(file.read_text())
        os.kill(pid, signal.SIGKILL)
        await machine.ended("a")
        assert not Path(f"/proc/{other}").exists()

    play(tmp_path, scenario)
