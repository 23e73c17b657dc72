"""The supervisor's parts that can be looked at without one: its JSON, its state file, /proc, limits."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.agent.drivers import launching, limits, procfs, state, supervisor
from fairlead.agent.drivers.lean_stdlib import from_json, to_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_json_is_what_the_standard_library_reads_and_writes(value: Any) -> None:
    assert from_json(to_json(value)) == value
    assert json.loads(to_json(value)) == value
    assert from_json(json.dumps(value)) == value


@pytest.mark.parametrize("text", ["", "{", "nonsense", '{"a":1} {"b":2}', '{"a":}', "[1,]"])
def test_what_is_no_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        from_json(text)


def test_a_supervisor_needs_little_of_the_standard_library() -> None:
    """What costs most at a start stays out: whoever imports it again pays for it in every pod."""
    root = Path(supervisor.__file__).parents[3]
    code = f"import sys; sys.path.append({str(root)!r}); import fairlead.agent.drivers.supervising; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-E", "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {
        "asyncio",
        "collections",
        "contextlib",
        "enum",
        "functools",
        "json",
        "pathlib",
        "re",
        "socket",
        "subprocess",
    }
    assert heavy.isdisjoint(done.stdout.split())
    assert {"typing", "msgspec", "threading"}.isdisjoint(done.stdout.split())


def test_the_state_file_is_whole_or_as_before(tmp_path: Path) -> None:
    kept = state.new_state(5.0)
    place = os.open(tmp_path, os.O_RDONLY)
    state.save(place, kept)
    assert state.load(place) == kept
    (tmp_path / "state.json").rename(tmp_path / "aside")
    (tmp_path / "state.json").mkdir()
    with pytest.raises(OSError):
        state.save(place, kept)
    os.close(place)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["aside", "state.json"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 99}'])
def test_a_state_file_that_cannot_be_read_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "state.json").write_text(content)
    place = os.open(tmp_path, os.O_RDONLY)
    assert state.load(place) is None
    os.close(place)


def test_runs_without_an_end_are_marked_once() -> None:
    known = state.new_state(math.inf)
    ended = {
        "attempt": 0,
        "exit_code": 0,
        "signal": 0,
        "reason": "Completed",
        "message": "",
        "started": 1.0,
        "finished": 2.0,
    }
    for name, end in (("a", ended), ("b", None)):
        known["containers"].append(
            {"name": name, "attempt": 0, "started": 1.0, "pid": 7, "ended": end, "previous": None}
        )
    assert state.mark_lost(known)
    assert known["containers"][0]["ended"] is ended
    assert known["containers"][1]["ended"]["reason"] == "SupervisorLost"
    assert known["containers"][1]["pid"] == 0
    assert not state.mark_lost(known)


def test_descendants_are_the_same_however_they_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    script = "sleep 600 & sh -c 'sleep 600 & wait' & wait"
    shell = subprocess.Popen(["sh", "-c", script], start_new_session=True)
    try:
        found = procfs.descendants(os.getpid())
        while sum(1 for branch in found.values() if branch == shell.pid) < 4:
            found = procfs.descendants(os.getpid())
        monkeypatch.setattr(os.path, "exists", lambda path: False)
        by_parents = procfs.descendants(os.getpid())
        ours = {pid for pid, branch in found.items() if branch == shell.pid}
        assert ours == {pid for pid, branch in by_parents.items() if branch == shell.pid}
        assert {procfs.session(pid) for pid in ours} == {shell.pid}
    finally:
        os.killpg(shell.pid, 9)
        shell.wait()
    assert shell.pid not in procfs.descendants(os.getpid())
    assert procfs.session(shell.pid) == 0


def test_processes_are_found_by_the_pod_in_their_environment() -> None:
    uid = f"unit-{os.getpid()}"
    process = subprocess.Popen(["sleep", "600"], env={**os.environ, "FAIRLEAD_POD_UID": uid})
    try:
        while uid not in procfs.find_tagged():
            pass
        assert procfs.find_tagged()[uid] == {process.pid}
        assert procfs.end_strays([uid], lambda _: ()) == {}
        assert process.wait() == -9
        assert uid not in procfs.find_tagged()
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("controller", "cpu", "memory", "files"),
    [
        ("unified", 250, 1 << 20, {"cpu.max": "25000 100000", "memory.max": "1048576"}),
        ("unified", 0, 0, {"cpu.max": "max 100000", "memory.max": "max"}),
        ("unified", 1, 1, {"cpu.max": "1000 100000", "memory.max": "1"}),
        ("memory", 250, 1 << 20, {"memory.limit_in_bytes": "1048576"}),
        ("memory", 0, 0, {"memory.limit_in_bytes": "-1"}),
        ("cpu", 1500, 0, {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "150000"}),
        ("cpu", 0, 0, {"cpu.cfs_quota_us": "-1"}),
        ("pids", 0, 0, {"pids.max": "64"}),
    ],
)
def test_limits_as_the_kernel_wants_them(
    tmp_path: Path, controller: str, cpu: int, memory: int, files: dict[str, str]
) -> None:
    limits.make({controller: str(tmp_path / "pod" / "container")}, cpu, memory, 64)
    for name, content in files.items():
        assert (tmp_path / "pod" / "container" / name).read_text() == content


@pytest.mark.parametrize(
    ("controller", "file", "content", "count"),
    [
        ("unified", "memory.events", "low 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 1\n", 2),
        ("memory", "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n", 4),
        (
            "memory",
            "memory.oom_control",
            "oom_kill_disable 0\nunder_oom 0\n",
            0,
        ),  # an old kernel does not count
        ("cpu", "cpu.stat", "", 0),
    ],
)
def test_kills_for_want_of_memory_are_counted(
    tmp_path: Path, controller: str, file: str, content: str, count: int
) -> None:
    (tmp_path / file).write_text(content)
    assert limits.oom_kills({controller: str(tmp_path)}) == count


@pytest.mark.parametrize(
    ("mounts", "membership"),
    [
        ("", ""),
        ("cgroup2 {dir}/unified cgroup2 rw 0 0\n", "0::/mine\n"),
        ("cgroup {dir}/memory cgroup rw,memory 0 0\n", "4:memory:/mine\n"),
    ],
)
def test_where_no_cgroup_can_be_made_it_says_rlimits(tmp_path: Path, mounts: str, membership: str) -> None:
    """Directories that look like cgroups but have none of their files."""
    (tmp_path / "mounts").write_text(mounts.format(dir=tmp_path))
    (tmp_path / "cgroup").write_text(membership)
    found = limits.find(str(tmp_path / "mounts"), str(tmp_path / "cgroup"))
    assert found is None
    assert limits.describe(found).startswith("rlimits")


@pytest.mark.parametrize(
    ("cgroups", "words"),
    [
        (limits.Cgroups(2, {"unified": "/x"}), "cgroup v2: memory and CPU of each container"),
        (limits.Cgroups(1, {"memory": "/x", "cpu": "/y"}), "cgroup v1: memory and cpu of each container"),
        (limits.Cgroups(1, {"cpu": "/y"}), "cgroup v1: cpu of each container; memory is not limited"),
    ],
)
def test_it_says_what_limits(cgroups: limits.Cgroups, words: str) -> None:
    assert limits.describe(cgroups) == words


def test_a_path_of_the_pod_is_looked_for_in_its_root_first(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    assert launching.within_root(str(tmp_path), "/etc") == f"{tmp_path}/etc"
    assert launching.within_root(str(tmp_path), "/usr") == "/usr"
    assert launching.within_root(str(tmp_path), "etc") == "etc"


@pytest.mark.parametrize(
    ("user", "group", "refused"),
    [
        (None, None, False),
        (1000, None, False),
        (1000, 100, False),
        (0, None, True),
        (1001, None, True),
        (None, 7, True),
    ],
)
def test_only_root_switches_users(
    monkeypatch: pytest.MonkeyPatch, user: int | None, group: int | None, refused: bool
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "getegid", lambda: 100)
    if not refused:
        launching._switch_user(user, group, [])
        return
    with pytest.raises(launching.StartError, match=r"this agent runs as user 1000, and only root may switch"):
        launching._switch_user(user, group, [])
