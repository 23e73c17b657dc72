"""Disks that are full or read-only, and data directories that are damaged, foreign, newer or in use.

A start that cannot go on ends with its exit code (core/errors.py) and one sentence that names the path and the next
step, and leaves every file as it was. A running server whose disk is full refuses writes and reads on.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests import nursery
from tests.e2e.raw import assert_no_traceback
from tests.e2e.testimony import eventually
from tests.running import FAIRLEAD, Running

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
BALLAST = 14 * 1024 * 1024
KEPT = 300


ALONE = ("--no-root-certificates",)  # no ConfigMaps but those that a test writes


def configmap(name: str, content: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": content}}


def start(directory: Path, port: int = 0) -> tuple[int, str]:
    """Exit code and what was said by a start that cannot go on."""
    command: list[str | Path] = [FAIRLEAD, "up", "--data-dir", directory, "--port", str(port)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = nursery.start(command, out, errors)
        try:
            code = process.wait(120)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError("the server started though it must not") from None
        output, said = (os.pread(each.fileno(), 1 << 20, 0).decode() for each in (out, errors))
    assert output == ""
    assert said.startswith("fairlead: ")
    assert said.count("\n") == 1, said
    assert "Traceback" not in said
    assert "defect" not in said
    return code, said


def contents(directory: Path) -> dict[str, str]:
    """Digests of all that matters; locks, an empty log and SQLite's shared index are not."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and not path.name.endswith(("lock", "-shm", "kubeconfig", ".log"))
        if path.stat().st_size or not path.name.endswith("-wal")
    }


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with some objects whose server was killed, so that its log is not merged yet."""
    directory = tmp_path_factory.mktemp("template") / "data"
    server = Running(directory, arguments=ALONE)
    connection = server.connect()
    for n in range(KEPT):
        status, _ = server.request("POST", CONFIGMAPS, configmap(f"c{n}", "x" * 2000), connection=connection)
        assert status == 201
    connection.close()
    server.kill()
    assert (directory / "store.db-wal").stat().st_size > 100_000
    return directory


@pytest.fixture
def directory(template: Path, tmp_path: Path) -> Path:
    """A copy whose log is merged into the database."""
    copied = tmp_path / "data"
    shutil.copytree(template, copied)
    connection = apsw.Connection(str(copied / "store.db"))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    return copied


def overwritten(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def truncated(path: Path, keep: float) -> None:
    with path.open("r+b") as file:
        file.truncate(int(path.stat().st_size * keep))


def foreign(path: Path) -> None:
    path.unlink()
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE recipes (title); INSERT INTO recipes VALUES ('bread')")
    connection.close()


def newer(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA user_version = 99").fetchall()
    connection.close()


def middle_destroyed(path: Path) -> None:
    """All but the beginning and the end: also what leads to the rows, of which fewer could be told one by one."""
    size = path.stat().st_size
    overwritten(path, size // 4096 // 16 * 4096, b"\xa5" * (size * 7 // 8))


@pytest.mark.parametrize(
    ("damage", "code", "says"),
    [
        (lambda file: truncated(file, 0.5), 3, "is damaged"),
        (lambda file: truncated(file, 0), 3, "is empty"),
        (middle_destroyed, 3, "is damaged"),
        (lambda file: overwritten(file, 0, bytes(100)), 3, "is not a Fairlead database"),
        (lambda file: file.write_bytes(b"Dear diary, " * 1000), 3, "is not a Fairlead database"),
        (foreign, 3, "another program's SQLite database"),
        (newer, 5, "newer Fairlead"),
    ],
    ids=["truncated", "zero bytes", "garbage inside", "header gone", "not a database", "foreign", "newer"],
)
def test_a_damaged_or_foreign_database_is_named_and_left_alone(
    directory: Path, damage: Callable[[Path], None], code: int, says: str
) -> None:
    damage(directory / "store.db")
    before = contents(directory)
    for _ in range(2):
        ended, said = start(directory)
        assert ended == code, said
        assert f"{directory}/store.db" in said
        assert says in said
        assert contents(directory) == before


@pytest.mark.parametrize(
    "damage", [middle_destroyed, lambda file: truncated(file, 0.5), lambda file: truncated(file, 0)]
)
def test_a_log_beside_a_damaged_database_is_left_alone_too(
    directory: Path, damage: Callable[[Path], None]
) -> None:
    server = Running(directory, arguments=ALONE)
    for n in range(5):
        assert server.request("POST", CONFIGMAPS, configmap(f"late{n}", "y"))[0] == 201
    server.kill()
    assert (directory / "store.db-wal").stat().st_size
    damage(directory / "store.db")
    before = contents(directory)
    code, said = start(directory)
    assert code == 3, said
    assert contents(directory) == before


def test_a_database_that_is_missing_beside_its_log_is_not_made_anew(template: Path, tmp_path: Path) -> None:
    copied = tmp_path / "data"
    shutil.copytree(template, copied)
    (copied / "store.db").unlink()
    before = contents(copied)
    code, said = start(copied)
    assert code == 3
    assert "is missing though store.db-wal is there" in said
    assert contents(copied) == before


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.99])
@pytest.mark.parametrize("garbage", [b"", b"\xa5" * 5000])
def test_a_torn_log_gives_back_a_beginning_of_what_was_written(
    template: Path, tmp_path: Path, keep: float, garbage: bytes
) -> None:
    copied = tmp_path / "data"
    shutil.copytree(template, copied)
    log = copied / "store.db-wal"
    truncated(log, keep)
    with log.open("ab") as file:
        file.write(garbage)
    server = Running(copied, arguments=ALONE)
    try:
        status, listed = server.request("GET", CONFIGMAPS)
        assert status == 200
        numbers = sorted(int(item["metadata"]["name"][1:]) for item in listed["items"])
        assert numbers == list(range(len(numbers)))
        assert all(item["data"] == {"a": "x" * 2000} for item in listed["items"])
        status, created = server.request("POST", CONFIGMAPS, configmap("after", "y"))
        assert status == 201
        assert int(created["metadata"]["resourceVersion"]) > int(listed["metadata"]["resourceVersion"])
    finally:
        assert server.stop() == 0


@pytest.mark.parametrize(
    ("content", "code", "says"),
    [
        (None, 3, "is missing though there is a store.db"),
        (b"99\n", 5, "newer Fairlead"),
        (b"\xff\x00", 3, "not a version"),
    ],
)
def test_a_directory_of_another_format_is_left_alone(
    directory: Path, content: bytes | None, code: int, says: str
) -> None:
    if content is None:
        (directory / "FORMAT").unlink()
    else:
        (directory / "FORMAT").write_bytes(content)
    before = contents(directory)
    ended, said = start(directory)
    assert (ended, says in said) == (code, True), said
    assert contents(directory) == before


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"not: [a kubeconfig", b"kind: Config\n"])
def test_a_kubeconfig_that_cannot_be_read_is_named_and_not_overwritten(
    directory: Path, content: bytes
) -> None:
    kubeconfig = directory / "kubeconfig"
    kubeconfig.write_bytes(content)
    code, said = start(directory)
    assert code == 3, said
    assert str(kubeconfig) in said
    assert "remove it, and the next start writes a new one" in said
    assert kubeconfig.read_bytes() == content


def test_a_kubeconfig_that_is_a_directory_is_named(directory: Path) -> None:
    (directory / "kubeconfig").unlink()
    (directory / "kubeconfig").mkdir()
    code, said = start(directory)
    assert (code, f"cannot read {directory}/kubeconfig" in said) == (3, True), said


def test_a_file_in_place_of_the_directory_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine")
    code, said = start(tmp_path / "data")
    assert (code, "name a directory" in said) == (2, True), said
    code, said = start(tmp_path / "data" / "below")
    assert (code, "is not a directory" in said) == (3, True), said
    assert (tmp_path / "data").read_text() == "mine"


def test_a_second_server_on_the_same_directory_is_told_who_has_it_and_the_first_serves_on(
    tmp_path: Path,
) -> None:
    server = Running(tmp_path / "data", arguments=ALONE)
    try:
        code, said = start(tmp_path / "data")
        assert code == 4
        assert f"in use by process {server.process.pid}" in said
        assert "--data-dir" in said
        assert server.request("POST", CONFIGMAPS, configmap("a", "b"))[0] == 201
    finally:
        assert server.stop() == 0


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, said = start(tmp_path / "data", port)
    assert (code, f"port {port}" in said, "--port" in said) == (1, True, True), said


# Disks of our own


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(disk)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"a small disk cannot be mounted here: {error}")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def full_of_writes(server: Running) -> dict[str, Any]:
    """Write until the disk is full; what was acknowledged."""
    acknowledged: dict[str, Any] = {}
    connection = server.connect()
    for n in range(1000):
        status, answer = server.request(
            "POST", CONFIGMAPS, configmap(f"f{n}", "z" * 200_000), connection=connection
        )
        if status != 201:
            connection.close()
            assert (status, answer["reason"]) == (507, "InsufficientStorage"), answer
            assert "nothing was written" in answer["message"]
            assert "free" in answer["message"] or "full" in answer["message"]
            return acknowledged
        acknowledged[answer["metadata"]["name"]] = answer
    raise AssertionError("the disk never became full")


def audit_lines(server: Running) -> Iterator[dict[str, Any]]:
    after = 0
    while True:
        _, page = server.request("GET", f"/fairlead/v1/audit?after={after}")
        if not page["items"]:
            return
        yield from (item["record"] for item in page["items"])
        after = page["items"][-1]["sequence"]


def found(server: Running) -> dict[str, Any]:
    status, listed = server.request("GET", CONFIGMAPS)
    assert status == 200
    return {item["metadata"]["name"]: item for item in listed["items"]}


def test_on_a_full_disk_writes_are_507_reads_go_on_and_freed_space_is_used_without_a_restart(
    small_disk: Path,
) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(BALLAST))
    server = Running(small_disk / "data", 0, arguments=ALONE)
    try:
        acknowledged = full_of_writes(server)
        assert len(acknowledged) > 3
        for n in range(5):
            assert found(server) == acknowledged
            status, answer = server.request("POST", CONFIGMAPS, configmap(f"no{n}", "z" * 200_000))
            assert status in (503, 507), answer  # 503 while it reads again what it has
            assert answer["details"]["retryAfterSeconds"] > 0
        assert server.request("GET", "/livez")[0] == 200
        status, told = server.request("GET", "/readyz")
        assert status == 200
        assert "[-]room failed: the server's disk is full: until " in told
        assert server.request("GET", "/readyz/room")[0] == 503
        shown = subprocess.run(
            [FAIRLEAD, "status", "--data-dir", str(server.directory)],
            capture_output=True,
            text=True,
        )
        assert (shown.returncode, shown.stderr) == (1, "")
        assert "does not work: room" in shown.stdout
        ballast.unlink()
        acknowledged["after"] = written(server, "after")
        assert server.request("GET", "/readyz") == (200, "ok")
        assert found(server) == acknowledged
        server.kill()
        server = Running(server.directory, server.port, arguments=ALONE)
        assert found(server) == acknowledged
        assert_no_traceback(server)
    finally:
        server.kill()


SECRETS = "/api/v1/namespaces/default/secrets"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


def lease(name: str, renewals: int) -> dict[str, Any]:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": "kube-node-lease"},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "leaseTransitions": renewals},
    }


def fill(path: Path) -> None:
    """Take whatever is free, to the last byte."""
    with path.open("ab", buffering=0) as filler:
        for size in (1 << 20, 4096, 1):
            try:
                while filler.write(bytes(size)):
                    pass
            except OSError:
                pass


def test_on_a_full_disk_leases_are_renewed_and_deletions_work_whoever_else_fills_it(small_disk: Path) -> None:
    server = Running(small_disk / "data", 0, arguments=ALONE)
    try:
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
        assert server.request("POST", SECRETS, secret)[0] == 201
        for name in ("n1", "n2"):
            assert server.request("POST", LEASES, lease(name, 0))[0] == 201
        for n in range(20):
            assert server.request("POST", CONFIGMAPS, configmap(f"old{n}", "z" * 200_000))[0] == 201
        filler = small_disk / "filler"
        fill(filler)
        acknowledged = full_of_writes(server)
        fill(filler)  # also what was given up a moment ago
        # As many renewals as 2 nodes make in half an hour.
        connection = server.connect()
        for renewal in range(200):
            for name in ("n1", "n2"):
                status, answer = server.request(
                    "PUT", f"{LEASES}/{name}", lease(name, renewal + 1), connection=connection
                )
                while status == 503 and not renewal:  # it reads again what it has
                    status, answer = server.request("PUT", f"{LEASES}/{name}", lease(name, renewal + 1))
                assert status == 200, answer
            if renewal % 100 == 50:
                fill(filler)
                status, answer = server.request(
                    "POST", CONFIGMAPS, configmap("no", "z"), connection=connection
                )
                assert status == 507
                assert (
                    "only leases, overrides, runs of runbooks and deletions are written" in answer["message"]
                )
        for _ in range(3):  # what cannot be recorded is read, and counted
            assert server.request("GET", f"{SECRETS}/s", connection=connection)[0] == 200
        metrics = server.request("GET", "/metrics")[1]
        assert "fairlead_store_short_of_room 1" in metrics
        unrecorded = next(
            line for line in metrics.splitlines() if line.startswith("fairlead_audit_unrecorded_total")
        )
        assert int(unrecorded.split()[1]) >= 3
        gone, deadline = [f"old{n}" for n in range(4)], time.monotonic() + 120
        for name in gone:
            while server.request("DELETE", f"{CONFIGMAPS}/{name}", connection=connection)[0] != 200:
                assert time.monotonic() < deadline, "the deletion never found room"
                time.sleep(0.1)
        connection.close()
        filler.unlink()
        written(server, "after")
        assert server.request("GET", f"{SECRETS}/s")[0] == 200
        eventually(lambda: sum(line.get("unrecorded", 0) for line in audit_lines(server)) >= 3)
        kept = {"after", *acknowledged, *(f"old{n}" for n in range(4, 20))}
        assert set(found(server)) == kept
        server.kill()
        server = Running(server.directory, server.port, arguments=ALONE)
        assert set(found(server)) == kept
        assert server.request("GET", f"{LEASES}/n2")[1]["spec"]["leaseTransitions"] == 200
        assert_no_traceback(server)
    finally:
        server.kill()


def written(server: Running, name: str) -> Any:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        status, answer = server.request("POST", CONFIGMAPS, configmap(name, "z" * 200_000))
        if status == 201:
            return answer
        assert status in (503, 507), answer
        time.sleep(0.05)
    raise AssertionError(f"writes did not come back: {answer}")


def test_a_start_on_a_full_disk_says_so(small_disk: Path) -> None:
    with (small_disk / "ballast").open("wb") as ballast:
        try:
            while ballast.write(bytes(1 << 20)):
                ballast.flush()
        except OSError:
            pass
    try:
        code, said = start(small_disk / "data")
    finally:
        (small_disk / "ballast").unlink()
    assert code == 3, said
    assert "space" in said


def test_a_read_only_directory_is_named_and_left_alone(small_disk: Path, directory: Path) -> None:
    shutil.copytree(directory, small_disk / "data")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    before = contents(small_disk / "data")
    code, said = start(small_disk / "data")
    assert code == 3, said
    assert str(small_disk / "data") in said
    assert "Read-only" in said
    assert "--data-dir" in said
    assert contents(small_disk / "data") == before
    code, said = start(small_disk / "new")
    assert (code, "Read-only" in said) == (3, True), said


OVERRIDES = "/apis/fairlead.dev/v1/namespaces/default/scheduleroverrides"


def override(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "fairlead.dev/v1",
        "kind": "SchedulerOverride",
        "metadata": {"name": name},
        "spec": {
            "target": "namespace/default",
            "reason": "the disk is full",
            "expiresAfter": "30m",
            "changes": {"pauseAutoscaler": True},
        },
    }


def test_on_a_full_disk_overrides_are_made_and_ended(small_disk: Path) -> None:
    """What people need in an incident works while nothing else is written."""
    server = Running(small_disk / "data", 0, arguments=ALONE)
    try:
        said = server.request("POST", OVERRIDES, override("before"))
        assert said[0] == 201, said[1]["message"]
        filler = small_disk / "filler"
        fill(filler)
        full_of_writes(server)
        fill(filler)
        deadline = time.monotonic() + 60
        for name in ("first", "second"):
            while (answer := server.request("POST", OVERRIDES, override(name)))[0] != 201:
                assert answer[0] == 503, answer  # while it reads again what it has
                assert time.monotonic() < deadline, answer
                time.sleep(0.1)
        assert server.request("POST", CONFIGMAPS, configmap("no", "z"))[0] == 507
        for name in ("before", "first"):
            assert server.request("DELETE", f"{OVERRIDES}/{name}")[0] == 200
        server.kill()
        filler.unlink()
        server = Running(server.directory, server.port, arguments=ALONE)
        left = [each["metadata"]["name"] for each in server.request("GET", OVERRIDES)[1]["items"]]
        assert left == ["second"]
    finally:
        server.kill()
