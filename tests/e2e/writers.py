"""Writers and a watcher of a real server that dies and comes back: what they were promised, and whether it was kept.

Writers create, replace (compare-and-set), patch and delete the same few dozen ConfigMaps, each write with contents of
its own, and remember how each ended. One watcher resumes from the last revision it saw. `history.py` judges. Used by
`test_kill.py` and `bench/kills.py`.
"""

from __future__ import annotations

import http.client
import json
import random
import ssl
import threading
import time
from collections import deque
from contextlib import closing
from typing import Any

from tests.e2e.history import Event, History, Object, Write, revision_of
from tests.running import Running

NAMES = 48
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
DEAD = (OSError, http.client.HTTPException, ssl.SSLError, ValueError)
SETTLE_SECONDS = 120.0


class Client:
    """One kept connection that comes back by itself after the server did."""

    def __init__(self, port: int, token: str, tls: ssl.SSLContext) -> None:
        self._port, self._token, self._tls = port, token, tls
        self._connection: http.client.HTTPSConnection | None = None

    def call(
        self, method: str, target: str, body: Object | None = None, media: str = "application/json"
    ) -> Any:
        """(status, answer); raises one of DEAD when no whole answer came."""
        try:
            if self._connection is None:
                self._connection = self.connect()
            headers = {"Authorization": f"Bearer {self._token}", "Content-Type": media}
            self._connection.request(method, target, None if body is None else json.dumps(body), headers)
            answer = self._connection.getresponse()
            return answer.status, json.loads(answer.read())
        except DEAD:
            self.close()
            raise

    def connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("127.0.0.1", self._port, timeout=60, context=self._tls)

    def watch(self, connection: http.client.HTTPSConnection, since: int) -> http.client.HTTPResponse:
        target = f"{CONFIGMAPS}?watch=1&resourceVersion={since}&timeoutSeconds=600"
        connection.request("GET", target, headers={"Authorization": f"Bearer {self._token}"})
        return connection.getresponse()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class Writer(threading.Thread):
    """Writes until told to stop; `taken` hands over how each write ended."""

    def __init__(
        self,
        number: int,
        client: Client,
        known: dict[str, Object],
        stop: threading.Event,
        pause_seconds: float,
    ) -> None:
        super().__init__(name=f"writer-{number}", daemon=True)
        self._number, self._client, self._known, self._stopped = number, client, known, stop
        self._pause_seconds = pause_seconds
        self._chance = random.Random(number)
        self._begun = self._ended = self.acknowledged = 0
        self._writes: deque[Write] = deque()
        self.failure: BaseException | None = None

    def taken(self) -> list[Write]:
        """All that was begun before, however it ended. The server is dead, so it does end."""
        begun = self._begun
        while self._ended < begun and self.failure is None:
            time.sleep(0.001)
        return [self._writes.popleft() for _ in range(len(self._writes))]

    def run(self) -> None:
        try:
            while not self._stopped.is_set():
                self._begun += 1
                self._step(f"k{self._chance.randrange(NAMES)}")
                self._ended += 1
                if self._pause_seconds:
                    time.sleep(self._pause_seconds)
        except BaseException as failure:  # noqa: BLE001 - shown by the test, which would otherwise wait in vain
            self.failure = failure
        finally:
            self._client.close()

    def _step(self, name: str) -> None:
        marker = f"{self._number}-{self._begun}"
        content = marker * self._chance.choice((1, 50, 3000))
        before = self._known.get(name)
        method, target, body, media, expected, deletes = self._composed(name, marker, content, before)
        write = {"marker": marker, "name": name, "expected": expected, "deletes": deletes, "content": content}
        try:
            status, answer = self._client.call(method, target, body, media)
        except ConnectionRefusedError:  # nobody listens: it was never sent
            self._writes.append(Write(outcome="refused", **write))
            time.sleep(0.05)
            return
        except DEAD:
            self._writes.append(Write(outcome="unknown", **write))
            return
        if status in (200, 201):
            self.acknowledged += 1
            self._writes.append(Write(outcome="acknowledged", answered=None if deletes else answer, **write))
            if deletes:
                self._known.pop(name, None)
            else:
                self._known[name] = answer
        else:
            assert status in (404, 409), (status, answer)
            self._writes.append(Write(outcome="refused", **write))
            self._look_again(name)

    def _composed(self, name: str, marker: str, content: str, before: Object | None) -> tuple[Any, ...]:
        """method, target, body, media type, revision it depends on, uid it deletes."""
        data = {"marker": marker, "content": content}
        if before is None:
            body: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
            return "POST", CONFIGMAPS, body, "application/json", 0, ""
        target, metadata = f"{CONFIGMAPS}/{name}", before["metadata"]
        choice = self._chance.random()
        if choice < 0.5:
            return "PUT", target, {**before, "data": data}, "application/json", revision_of(before), ""
        merge = "application/merge-patch+json"
        if choice < 0.7:
            return "PATCH", target, {"data": data}, merge, 0, ""
        if choice < 0.85:
            pinned = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "data": data}
            return "PATCH", target, pinned, merge, revision_of(before), ""
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": metadata["uid"]}}
        return "DELETE", target, options, "application/json", 0, metadata["uid"]

    def _look_again(self, name: str) -> None:
        try:
            status, answer = self._client.call("GET", f"{CONFIGMAPS}/{name}")
        except DEAD:
            return
        if status == 200:
            self._known[name] = answer
        else:
            self._known.pop(name, None)


class Watcher(threading.Thread):
    """One watch across all restarts: after each end it resumes from the last revision it saw."""

    def __init__(self, client: Client, history: History, since: int, stop: threading.Event) -> None:
        super().__init__(name="watcher", daemon=True)
        self._client, self._history, self._stopped = client, history, stop
        self.since = since
        self.resumed = 0
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self._stopped.is_set():
                try:
                    self._follow()
                except DEAD:
                    time.sleep(0.02)
        except BaseException as failure:  # noqa: BLE001 - shown by the test, which would otherwise wait in vain
            self.failure = failure

    def _follow(self) -> None:
        with (
            closing(self._client.connect()) as connection,
            self._client.watch(connection, self.since) as answer,
        ):
            assert answer.status == 200, answer.read()
            self.resumed += 1
            while (line := answer.readline()).endswith(b"\n"):
                told = json.loads(line)
                assert told["type"] in ("ADDED", "MODIFIED", "DELETED"), told
                event = Event(told["type"], told["object"])
                self._history.observe(event)
                self.since = event.revision


class Promises:
    """The writers and the watcher of one server, and all that they were told so far."""

    def __init__(self, server: Running, writers: int, pause_seconds: float = 0.0) -> None:
        self.main = client_of(server)
        status, listed = self.main.call("GET", CONFIGMAPS)
        assert status == 200, listed
        self.stop = threading.Event()
        self.history = History()
        self.watcher = Watcher(client_of(server), self.history, revision_of(listed), self.stop)
        known: dict[str, Object] = {}
        self.writers = [Writer(n, client_of(server), known, self.stop, pause_seconds) for n in range(writers)]
        self.newest = revision_of(listed)  # that was acknowledged before the last kill
        self.acknowledged = self.unknown = self.unknown_kept = self._sentinels = 0
        for thread in (self.watcher, *self.writers):
            thread.start()

    def await_writers(self) -> None:
        """On a busy machine they take their time to come back: a kill in which nothing is under way proves little."""
        enough = sum(writer.acknowledged for writer in self.writers) + len(self.writers)
        deadline = time.monotonic() + SETTLE_SECONDS
        while sum(writer.acknowledged for writer in self.writers) < enough:
            self.assert_unbroken()
            assert time.monotonic() < deadline, "the writers get no answers"
            time.sleep(0.01)

    def taken(self) -> list[Write]:
        return [write for writer in self.writers for write in writer.taken()]

    def check(self, writes: list[Write]) -> None:
        """`writes` ended before the restart; those that go on meanwhile are for the next check."""
        self.main.close()
        status, listed = self.main.call("GET", CONFIGMAPS)
        assert status == 200, listed
        revision = revision_of(listed)
        acknowledged = [revision_of(write.answered) for write in writes if write.answered is not None]
        newest = max([self.newest, *acknowledged])
        assert revision >= newest, "the revision went back"
        self._await_watcher()
        self.history.compare(listed["items"], revision)
        self.history.settle(writes, self.newest)
        self._compare_with_history(revision)
        self.assert_unbroken()
        self.acknowledged += sum(write.outcome == "acknowledged" for write in writes)
        self.unknown += sum(write.outcome == "unknown" for write in writes)
        self.unknown_kept += sum(
            write.outcome == "unknown" and write.marker in self.history.markers for write in writes
        )
        self.newest = newest

    def _compare_with_history(self, revision: int) -> None:
        """A list at an older revision is what the events up to it add up to, also across restarts."""
        older = (revision + self.newest) // 2
        status, listed = self.main.call(
            "GET", f"{CONFIGMAPS}?resourceVersion={older}&resourceVersionMatch=Exact"
        )
        assert status == 200, listed
        self.history.compare(listed["items"], older)

    def _await_watcher(self) -> None:
        """Write one more and wait until the watcher has seen it: then it has seen all before it."""
        self._sentinels += 1
        data = {"marker": f"sentinel-{self._sentinels}", "content": ""}
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"sentinel-{self._sentinels}"},
        }
        status, answer = self.main.call("POST", CONFIGMAPS, {**body, "data": data})
        assert status == 201, answer
        deadline = time.monotonic() + SETTLE_SECONDS
        while self.watcher.since < revision_of(answer):
            self.assert_unbroken()
            assert time.monotonic() < deadline, f"the watch stopped at {self.watcher.since}"
            time.sleep(0.01)

    def assert_unbroken(self) -> None:
        threads: tuple[Watcher | Writer, ...] = (self.watcher, *self.writers)
        for thread in threads:
            assert thread.failure is None, f"{thread.name}: {thread.failure!r}"
        assert self.history.problems == [], self.history.problems[:10]

    def end(self) -> None:
        """No more writes; what was promised last is checked. The watcher ends with the server."""
        self.stop.set()
        for writer in self.writers:
            writer.join(30)
        self.check(self.taken())
        self.main.close()


def client_of(server: Running) -> Client:
    return Client(server.port, server.token, server.tls)
