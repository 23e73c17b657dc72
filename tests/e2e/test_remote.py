"""The agent's way to the API against a real server: pages, watches, refusals, a server that stops, hangs and dies."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import ssl
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.cache.events import Broke, Expired, Framed, Listed, ListFailed, Marked
from fairlead.model.views import NAMESPACES, NODES, PODS
from fairlead.port.outcome import Conflict, Done, Refused, Unknown
from fairlead.port.request import MERGE_PATCH, Request
from fairlead.runtime.remote import api as remotes
from fairlead.runtime.remote.api import Remote
from fairlead.runtime.remote.reaching import TokenFromFile, address_of
from fairlead.wire.client import HttpClient
from tests.running import Running


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    server = Running(tmp_path / "data", arguments=("--without-controllers",))
    yield server
    if server.process.poll() is None:
        server.stop()


@contextlib.asynccontextmanager
async def remote_to(
    server: Running, token: Any = None, seconds: float = 60.0, noticed: Any = None
) -> AsyncIterator[Remote]:
    tls = ssl.create_default_context(cafile=str(server.directory / "identity" / "ca.crt"))
    address, prefix = address_of(f"https://127.0.0.1:{server.port}", tls, time.time)
    say = noticed or (lambda trouble: None)
    client = HttpClient(address)
    yield Remote(client, prefix, token or (lambda: server.token), lambda: 7.0, seconds, say)
    client.close()
    await asyncio.sleep(0.05)  # transports close in the turns after


def node(name: str) -> Request:
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    return Request("create", "", "v1", "nodes", body=json.dumps(body).encode())


class Told:
    def __init__(self) -> None:
        self.events: list[Any] = []

    def __call__(self, events: Iterable[Any]) -> None:
        self.events += events

    async def until(self, number: int) -> list[Any]:
        async with asyncio.timeout(90):
            while len(self.events) < number:
                await asyncio.sleep(0.01)
        return self.events


def test_answers_become_outcomes(server: Running) -> None:
    async def run() -> None:
        async with remote_to(server) as remote:
            made = await remote.ask(node("n1"))
            assert isinstance(made, Done)
            assert made.revision > 0
            again = await remote.ask(node("n1"))
            assert isinstance(again, Conflict)
            assert again.reason == "AlreadyExists"
            patch = Request("patch", "", "v1", "nodes", name="n1", body=b'{"metadata":{"labels":{"a":"b"}}}')
            patched = await remote.ask(Request(**{**_fields(patch), "content_type": MERGE_PATCH}))
            assert isinstance(patched, Done)
            assert patched.revision > made.revision
            missing = await remote.ask(Request("get", "", "v1", "nodes", name="n2"))
            assert isinstance(missing, Refused)
            assert (missing.status, missing.retry) == (404, "never")

    asyncio.run(run())


def _fields(request: Request) -> dict[str, Any]:
    return {name: getattr(request, name) for name in request.__struct_fields__}


def test_a_list_is_put_together_of_its_pages(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remotes, "PAGE_ITEMS_MAX", 2)

    async def run() -> None:
        async with remote_to(server) as remote:
            for number in range(5):
                await remote.ask(node(f"n{number}"))
            listed = await remote.list_all(NODES, "", 3)
            assert isinstance(listed, Listed)
            assert listed.attempt == 3
            assert [entry.key.name for entry in listed.entries] == [f"n{number}" for number in range(5)]
            entry = listed.entries[-1]
            body = json.loads(entry.data)
            assert body["metadata"]["uid"] == entry.uid
            assert int(body["metadata"]["resourceVersion"]) == entry.revision <= listed.revision
            own = await remote.list_all(NODES, "metadata.name=n3", 4)
            assert isinstance(own, Listed)
            assert [entry.key.name for entry in own.entries] == ["n3"]

    asyncio.run(run())


def test_a_watch_tells_changes_in_order_and_breaks_when_the_server_stops(server: Running) -> None:
    async def run() -> None:
        async with remote_to(server) as remote:
            listed = await remote.list_all(NODES, "metadata.name=n1", 1)
            assert isinstance(listed, Listed)
            told = Told()
            following = asyncio.create_task(
                remote.follow(NODES, "metadata.name=n1", listed.revision, 2, told)
            )
            await remote.ask(node("n2"))
            await remote.ask(node("n1"))
            await remote.ask(Request("delete", "", "v1", "nodes", name="n1"))
            added, deleted = (await told.until(2))[:2]
            assert isinstance(added, Framed)
            assert (added.change_type, added.entry.key.name, added.attempt) == ("ADDED", "n1", 2)
            assert deleted.change_type == "DELETED"
            assert deleted.entry.revision > added.entry.revision > listed.revision
            server.kill()
            await following
            assert isinstance(told.events[-1], Broke)
            assert isinstance(await remote.list_all(NODES, "", 3), ListFailed)
            lost = await remote.ask(node("n3"))
            assert isinstance(lost, Refused), "what surely was not sent may be sent again"
            assert lost.retry == "later"

    asyncio.run(run())


def test_a_bookmark_moves_the_mark_and_an_old_revision_has_expired(server: Running) -> None:
    async def run() -> None:
        async with remote_to(server) as remote:
            listed = await remote.list_all(NAMESPACES, "", 1)
            assert isinstance(listed, Listed)
            event = remote._event(
                NODES,
                b'{"type":"BOOKMARK","object":{"kind":"Node","metadata":{"resourceVersion":"12"}}}',
                7.0,
                5,
            )
            assert event == Marked(12, 7.0, 5)
            gone = b'{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}'
            assert remote._event(NODES, gone, 7.0, 5) == Expired(7.0, 5)
            failed = b'{"type":"ERROR","object":{"kind":"Status","code":500,"message":"etcd is away"}}'
            assert remote._event(NODES, failed, 7.0, 5) == Broke("etcd is away", 7.0, 5)

    asyncio.run(run())


def test_a_server_that_hangs_leaves_the_outcome_open(server: Running) -> None:
    async def run() -> None:
        seen: list[str] = []
        async with remote_to(server, seconds=2.0, noticed=seen.append) as remote:
            look = Request("get", "", "v1", "namespaces", name="default")
            while not isinstance(await remote.ask(look), Done):
                pass  # until there is a connection, and the machine quick enough
            seen.clear()
            await remote.ask(node("n1"))
            os.kill(server.process.pid, signal.SIGSTOP)
            try:
                assert isinstance(await remote.ask(node("n2")), Unknown)
            finally:
                os.kill(server.process.pid, signal.SIGCONT)
            async with asyncio.timeout(90):
                while not isinstance(await remote.ask(look), Done):
                    await asyncio.sleep(0.05)
            assert "did not answer" in seen[0]
            assert seen[-1] == ""

    asyncio.run(run())


def test_a_token_is_read_again_when_its_file_changes(server: Running, tmp_path: Path) -> None:
    async def run() -> None:
        file = tmp_path / "token"
        file.write_text("fairlead_wrong\n")
        seen: list[str] = []
        async with remote_to(server, TokenFromFile(file), noticed=seen.append) as remote:
            refused = await remote.ask(Request("get", "", "v1", "namespaces", name="default"))
            assert isinstance(refused, Refused)
            assert refused.status == 401
            assert "refuses the token" in seen[-1]
            told = Told()
            await remote.follow(PODS, "", 1, 1, told)
            assert isinstance(told.events[-1], Broke)
            file.write_text(server.token)
            assert isinstance(await remote.ask(Request("get", "", "v1", "namespaces", name="default")), Done)
            assert seen[-1] == ""

    asyncio.run(run())


def config_map(verb: str, name: str, text: str = "") -> Request:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": text}}
    content = json.dumps(body).encode() if verb != "delete" else b""
    kind = MERGE_PATCH if verb == "patch" else "application/json"
    named = name if verb != "create" else ""
    return Request(
        verb=verb,
        group="",
        version="v1",
        plural="configmaps",
        namespace="default",
        name=named,
        body=content,
        content_type=kind,
    )


def test_one_object_is_attended_to_from_what_it_is_to_the_end_of_the_watch(server: Running) -> None:
    async def run() -> None:
        async with remote_to(server) as remote:
            made = await remote.ask(config_map("create", "m", "1"))
            await remote.ask(config_map("create", "other", "1"))
            told: list[int] = []
            attending = asyncio.create_task(remote.attend("configmaps", "default", "m", told.append))
            await asyncio.to_thread(_until, lambda: told)
            await remote.ask(config_map("patch", "other", "2"))
            changed = await remote.ask(config_map("patch", "m", "2"))
            assert isinstance(made, Done)
            assert isinstance(changed, Done)
            await asyncio.to_thread(_until, lambda: len(told) == 2)
            assert told == [made.revision, changed.revision]
            await remote.ask(config_map("delete", "m"))
            await asyncio.to_thread(_until, lambda: len(told) == 3)
            assert told[2] > changed.revision
            await asyncio.to_thread(server.stop)
            await asyncio.wait_for(attending, 90)
            assert len(told) == 3
            await remote.attend("configmaps", "default", "m", told.append)  # nobody is there: it ends at once

    asyncio.run(run())


def _until(condition: Any) -> None:
    end = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
