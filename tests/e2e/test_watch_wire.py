"""Watches over a real connection: the slow are cut, the fast get everything, all end cleanly."""

from __future__ import annotations

import http.client
import json
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from fairlead.runtime.credentials.token_file import TokenFile, new_token
from tests import nursery
from tests.e2e.hasty import PROGRAM
from tests.e2e.raw import Raw, assert_no_traceback
from tests.e2e.testimony import eventually
from tests.running import FAIRLEAD, Running

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
WATCHERS = 100
MEGABYTE = 1024 * 1024


def configmap(name: str, labels: dict[str, str] | None = None, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@contextmanager
def watching(server: Running, target: str, query: str) -> Iterator[http.client.HTTPResponse]:
    with closing(server.connect(timeout=120)) as connection:
        headers = {"Authorization": f"Bearer {server.token}"}
        connection.request("GET", f"{target}?watch=1&{query}", headers=headers)
        with connection.getresponse() as answer:
            assert answer.status == 200, answer.read()
            yield answer


def read(stream: http.client.HTTPResponse, count: int) -> list[tuple[str, Any]]:
    return [event(stream.readline()) for _ in range(count)]


def event(line: bytes) -> tuple[str, Any]:
    told = json.loads(line)
    return told["type"], told["object"]


def now(server: Running) -> str:
    return str(server.request("GET", f"{CONFIGMAPS}?limit=1")[1]["metadata"]["resourceVersion"])


def resident(server: Running) -> int:
    for line in Path(f"/proc/{server.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the system does not tell the memory of a process")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    # Without controllers, so that every revision is the test's own.
    started = Running(tmp_path / "data", arguments=("--without-controllers",))
    yield started
    assert started.stop() == 0
    assert_no_traceback(started)


def test_a_watcher_that_does_not_read_is_cut_and_one_that_reads_gets_everything(server: Running) -> None:
    status, obj = server.request("POST", CONFIGMAPS, configmap("big", a=""))
    assert status == 201
    since, revisions = now(server), []
    writes = 160
    told: list[tuple[str, Any]] = []
    with Raw(server, timeout=60) as slow, watching(server, CONFIGMAPS, f"resourceVersion={since}") as fast:
        reader = threading.Thread(target=lambda: told.extend(event(fast.readline()) for _ in range(writes)))
        reader.start()
        slow.request(f"GET {CONFIGMAPS}?watch=1&resourceVersion={since} HTTP/1.1".encode())
        assert slow.answer().status == 200
        before = resident(server)
        with closing(server.connect()) as connection:
            for n in range(writes):
                obj["data"] = {"a": str(n % 10) * (MEGABYTE // 4)}
                status, obj = server.request("PUT", f"{CONFIGMAPS}/big", obj, connection=connection)
                assert status == 200
                revisions.append(obj["metadata"]["resourceVersion"])
                # One that reads is not outrun: on a busy machine it would be as slow as the other.
                eventually(lambda: len(told) > n - 8 or not reader.is_alive())  # noqa: B023
        after = resident(server)
        reader.join(120)
        try:
            received = len(slow.rest())
        except OSError:  # cut in the middle of a record: also an end
            received = 0
    assert [obj["metadata"]["resourceVersion"] for _, obj in told] == revisions
    assert received < 20 * MEGABYTE, "40 MB were kept for a client that did not read"
    assert after - before < 64 * MEGABYTE
    status, metrics = server.request("GET", "/metrics")
    assert "fairlead_watches_cut_total 1\n" in metrics


@pytest.mark.parametrize("since", ["", "before"])
def test_watchers_that_never_read_cost_little_however_large_the_objects(server: Running, since: str) -> None:
    start = now(server)
    for number in range(40):
        status, _ = server.request("POST", CONFIGMAPS, configmap(f"large-{number}", text="x" * 900_000))
        assert status == 201
    before = resident(server)
    query = f"resourceVersion={start}" if since else ""
    with ExitStack() as open_ones:
        for _ in range(6):
            open_ones.enter_context(watching(server, CONFIGMAPS, query))
        status, _ = server.request("GET", f"{CONFIGMAPS}/large-0")
        assert status == 200
        grown = resident(server) - before
    assert grown < 100 * MEGABYTE, f"{grown // MEGABYTE} MB for six who do not read"


def test_a_hundred_watchers_get_the_same_bytes_in_the_same_order(server: Running) -> None:
    since = now(server)
    streams = [Raw(server) for _ in range(WATCHERS)]
    for raw in streams:
        raw.request(f"GET {CONFIGMAPS}?watch=1&resourceVersion={since}&timeoutSeconds=600 HTTP/1.1".encode())
        assert raw.answer().headers["transfer-encoding"] == ["chunked"]
    expected = []
    with closing(server.connect()) as connection:
        for n in range(50):
            status, obj = server.request("POST", CONFIGMAPS, configmap(f"h{n}"), connection=connection)
            assert status == 201
            expected.append(obj["metadata"]["resourceVersion"])
    server.process.terminate()
    bodies = {dechunked(raw.rest()) for raw in streams}
    for raw in streams:
        raw.socket.close()
    assert len(bodies) == 1
    events = [event(line) for line in bodies.pop().splitlines()]
    assert [obj["metadata"]["resourceVersion"] for _, obj in events] == expected


def dechunked(stream: bytes) -> bytes:
    """The contents of a chunked body that must be whole, its end included."""
    contents = []
    while True:
        size, _, stream = stream.partition(b"\r\n")
        length = int(size, 16)
        contents.append(stream[:length])
        assert stream[length : length + 2] == b"\r\n"
        stream = stream[length + 2 :]
        if not length:
            assert stream == b""
            return b"".join(contents)


def test_open_watches_end_cleanly_when_the_server_is_told_to_stop(tmp_path: Path) -> None:
    server = Running(tmp_path / "data", arguments=("--no-root-certificates",))
    with (
        watching(server, CONFIGMAPS, "timeoutSeconds=600") as quiet,
        Raw(server) as unread,
        Raw(server) as idle,
    ):
        unread.request(f"GET {CONFIGMAPS}?watch=1 HTTP/1.1".encode())
        assert unread.answer().status == 200
        idle.request(b"GET /version HTTP/1.1")
        assert idle.answer().status == 200
        assert server.request("POST", CONFIGMAPS, configmap("last"))[0] == 201
        assert server.stop() == 0
        # http.client raises IncompleteRead where the end of a chunked stream is missing.
        assert [kind for kind, _ in map(event, quiet.read().splitlines())] == ["ADDED"]
        assert dechunked(unread.rest()).count(b"\n") == 1
        assert idle.rest() == b""


def test_a_watch_ends_at_its_timeout_and_the_connection_is_of_use_after_it(server: Running) -> None:
    with Raw(server) as raw:
        raw.request(f"GET {CONFIGMAPS}?watch=1&timeoutSeconds=1 HTTP/1.1".encode())
        assert raw.answer().status == 200
        raw.request(b"GET /version HTTP/1.1")
        assert raw._until(b"\r\n\r\n") == b"0"
        assert raw.answer().json()["gitVersion"]


def test_a_selector_sees_what_comes_and_goes_as_added_and_deleted(server: Running) -> None:
    with watching(server, CONFIGMAPS, f"labelSelector=tier%3Dweb&resourceVersion={now(server)}") as stream:
        steps: list[Any] = []
        for labels in (
            {},
            {"tier": "web"},
            {"tier": "web", "x": "y"},
            {"tier": "db"},
            {"tier": "db", "x": "z"},
            {"tier": "web"},
        ):
            method, target = ("PUT", f"{CONFIGMAPS}/s") if steps else ("POST", CONFIGMAPS)
            status, obj = server.request(method, target, configmap("s", labels))
            assert status in (200, 201)
            steps.append(obj)
        assert server.request("DELETE", f"{CONFIGMAPS}/s")[0] == 200
        seen = read(stream, 5)
    assert [kind for kind, _ in seen] == ["ADDED", "MODIFIED", "DELETED", "ADDED", "DELETED"]
    assert [obj for _, obj in seen[:2]] == steps[1:3]
    assert seen[2][1]["metadata"] == {
        **steps[2]["metadata"],
        "resourceVersion": steps[3]["metadata"]["resourceVersion"],
    }
    assert seen[3][1] == steps[5]


def test_initial_events_end_with_a_marked_bookmark(server: Running) -> None:
    for name in ("a", "b"):
        assert server.request("POST", CONFIGMAPS, configmap(name))[0] == 201
    before = int(now(server))
    query = (
        "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=30"
    )
    with watching(server, CONFIGMAPS, query) as stream:
        seen = read(stream, 3)
        assert [kind for kind, _ in seen] == ["ADDED", "ADDED", "BOOKMARK"]
        assert seen[2][1]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        assert before <= int(seen[2][1]["metadata"]["resourceVersion"]) <= int(now(server))


@pytest.mark.parametrize("program", [PROGRAM, pytest.param((FAIRLEAD,), marks=pytest.mark.soak)])
def test_compacted_history_is_410_and_a_new_list_goes_on_and_bookmarks_tell_where_to_resume(
    tmp_path: Path, program: tuple[str | Path, ...]
) -> None:
    """Leases keep 64 MB of history. Waits for the server's rhythm: by itself it sends bookmarks every 30 s."""
    server = Running(tmp_path / "data", program=program)
    try:
        _compacted(server)
    finally:
        server.stop()


def _compacted(server: Running) -> None:
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {}}
    status, lease = server.request("POST", LEASES, body)
    assert status == 201
    first = lease["metadata"]["resourceVersion"]
    with watching(server, CONFIGMAPS, f"allowWatchBookmarks=true&resourceVersion={now(server)}") as quiet:
        for n in range(300):
            lease["metadata"]["annotations"] = {"a": str(n % 10) * 250_000}
            status, lease = server.request("PUT", f"{LEASES}/l", lease)
            assert status == 200
        newest = lease["metadata"]["resourceVersion"]
        await_compaction(server, first)
        reached = 0
        while reached < int(newest):  # the plane renews its lease: the newest revision moves by itself
            kind, bookmark = event(quiet.readline())
            assert kind == "BOOKMARK"
            assert int(bookmark["metadata"]["resourceVersion"]) > reached
            reached = int(bookmark["metadata"]["resourceVersion"])
    assert server.request("GET", f"{LEASES}?resourceVersion={first}&resourceVersionMatch=Exact")[0] == 410
    status, listed = server.request("GET", LEASES)
    assert (status, listed["items"]) == (200, [lease])
    since = listed["metadata"]["resourceVersion"]
    with watching(server, LEASES, f"resourceVersion={since}") as stream:
        assert server.request("DELETE", f"{LEASES}/l")[0] == 200
        assert [kind for kind, _ in read(stream, 1)] == ["DELETED"]
    with watching(server, CONFIGMAPS, f"resourceVersion={newest}&timeoutSeconds=1") as resumed:
        assert resumed.read() == b""


def await_compaction(server: Running, first: str) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        status, answer = probed(server, first)
        if status == 410:
            assert answer["reason"] == "Expired"
            assert "too old resource version" in answer["message"]
            return
        time.sleep(0.5)
    raise AssertionError("history was never compacted")


def probed(server: Running, revision: str) -> tuple[int, Any]:
    with closing(server.connect()) as connection:
        headers = {"Authorization": f"Bearer {server.token}"}
        connection.request("GET", f"{LEASES}?watch=1&resourceVersion={revision}", headers=headers)
        with connection.getresponse() as answer:
            return answer.status, json.loads(answer.read()) if answer.status != 200 else None


def test_a_watch_ends_when_its_token_is_revoked(server: Running) -> None:
    command: list[str | Path] = [nursery.command(), "token", "--data-dir", server.directory]
    create = [*command[:2], "create", *command[2:], "--role", "viewer", "--name", "guest", "-o", "json"]
    token = json.loads(subprocess.run(create, capture_output=True, text=True, check=True).stdout)["token"]
    connection = server.connect()
    connection.request("GET", f"{CONFIGMAPS}?watch=1", headers={"Authorization": f"Bearer {token}"})
    stream = connection.getresponse()
    assert stream.status == 200
    subprocess.run([*command[:2], "revoke", "guest", *command[2:]], check=True, capture_output=True)
    assert stream.read() == b"", "the stream has ended cleanly, with nothing in it"
    connection.close()


def test_a_watch_ends_with_its_own_token_also_if_there_is_another_of_the_same_name(server: Running) -> None:
    table = TokenFile(server.directory / "identity" / "tokens.json")

    def watching(token: str) -> http.client.HTTPResponse:
        connection = server.connect()
        connection.request("GET", f"{CONFIGMAPS}?watch=1", headers={"Authorization": f"Bearer {token}"})
        return connection.getresponse()

    old = table.create("viewer", "twice", time.time())
    stream = watching(old)
    table.admit(
        new := new_token(), "viewer", "twice", time.time()
    )  # in one step: no table is without that name
    after = watching(new)
    assert stream.read() == b""
    assert (watching(old).status, after.status) == (401, 200)
    server.request(
        "POST", CONFIGMAPS, {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "seen"}}
    )
    assert b'"seen"' in after.readline(), "the new token's stream goes on"
