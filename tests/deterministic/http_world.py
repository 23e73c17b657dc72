"""Writers and watchers over HTTP on a bad network, under a server that is killed: who asked for what, and what came back.

Everything from `runtime/remote/api.py` down to the bytes and up to the store is production's; `Witnessed` keeps what the
clients were told, and `contradictions` compares it with the journal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fairlead.cache.events import Broke, Expired, Framed, Listed, Marked, MirrorEvent
from fairlead.core import codec
from fairlead.model.views import Resource, Stored
from fairlead.port.outcome import Done, Outcome, Unknown
from fairlead.port.request import MERGE_PATCH, Request
from fairlead.runtime.remote.api import Remote
from fairlead.store.contract import DELETED, CommittedChange
from tests.deterministic.loop import DeterministicLoop
from tests.deterministic.network import Network, NetworkFaults
from tests.deterministic.server import ServerProcess, chance_for_entropy, remote

FAULTS = NetworkFaults(refused=0.05, cut=0.2, silent=0.05, half_closed=0.1, slow=0.15)
CONFIG_MAPS = Resource("configmaps", "v1", "ConfigMap", Stored)
_AT = ("", "v1", "configmaps", "default")
_WRITERS, _WRITES, _NAMES = 3, 10, 4
_LARGE = 40_000
_QUIET_SECONDS = 400.0


@dataclass(slots=True)
class Write:
    marker: str  # of a delete: the uid that is to go
    deletes: bool
    outcome: Outcome


@dataclass(slots=True)
class Follow:
    """One watch, from its first byte to its end."""

    since: int
    frames: list[Framed] = field(default_factory=list)
    marks: list[tuple[int, int]] = field(default_factory=list)  # revision, how many frames came before it
    end: MirrorEvent | None = None


@dataclass(slots=True)
class Witnessed:
    writes: list[Write] = field(default_factory=list)
    lists: list[Listed] = field(default_factory=list)
    follows: list[Follow] = field(default_factory=list)
    history: list[CommittedChange] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)
    digest: str = ""
    faults: dict[str, int] = field(default_factory=dict)


async def http_world(loop: DeterministicLoop, faults: NetworkFaults = FAULTS) -> Witnessed:
    told = Witnessed()
    with chance_for_entropy(loop):
        network = Network(loop)
        server = ServerProcess(network)
        await server.start()
        network.faults = faults
        watching = [_Watcher(loop, told) for _ in range(2)]
        watchers = [asyncio.create_task(each.run()) for each in watching]
        dying = asyncio.create_task(_die(loop, server))
        await asyncio.gather(*[_write(loop, told, number) for number in range(_WRITERS)])
        await dying
        network.heal()
        await _all_told(loop, server, watching, told)
        for task in watchers:
            task.cancel()
        await asyncio.gather(*watchers, return_exceptions=True)
        for each in watching:
            each.close()
        told.history = list(server.journal.changes_after(0, "configmaps", 100_000))
        await server.stop()
    told.digest, told.faults = loop.digest, dict(loop.chance.fired)
    return told


async def _die(loop: DeterministicLoop, server: ServerProcess) -> None:
    """In two of three runs the server is killed, and comes back."""
    await asyncio.sleep(loop.chance.stream("server.dies").choose(4_000) / 1000)
    if loop.chance.faults("server.killed").happens(0.66):
        await server.crash()
        await asyncio.sleep(loop.chance.stream("server.away").choose(2_000) / 1000)
        await server.start()


async def _all_told(
    loop: DeterministicLoop, server: ServerProcess, watching: list[_Watcher], told: Witnessed
) -> None:
    until = loop.time() + _QUIET_SECONDS
    changes = server.journal.changes_after(0, "configmaps", 100_000)
    newest = changes[-1].entry.revision if changes else 0
    while any(each.position < newest for each in watching) and loop.time() < until:
        await asyncio.sleep(0.5)
    told.unreached = [f"{each.position} of {newest}" for each in watching if each.position < newest]


async def _write(loop: DeterministicLoop, told: Witnessed, number: int) -> None:
    client, api = remote(loop)
    chance = loop.chance.stream("writer", str(number))
    for count in range(_WRITES):
        await asyncio.sleep(chance.choose(400) / 1000)
        name, marker = f"c{chance.choose(_NAMES)}", f"{number}-{count}"
        text = marker + "." * (_LARGE if chance.choose(8) == 7 else 0)
        data = {"metadata": {"name": name}, "data": {"w": text}}
        kind = ("create", "patch", "patch", "delete")[chance.choose(4)]
        if kind == "delete":
            await _delete(api, told, name)
            continue
        request = Request("create", *_AT, body=codec.encode(data))
        if kind == "patch":
            request = Request("patch", *_AT, name, body=codec.encode(data), content_type=MERGE_PATCH)
        told.writes.append(Write(marker, False, await api.ask(request)))
    client.close()


async def _delete(api: Remote, told: Witnessed, name: str) -> None:
    found = await api.ask(Request("get", *_AT, name))
    if isinstance(found, Done):
        uid = codec.decode(found.body)["metadata"]["uid"]
        body = codec.encode({"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid}})
        told.writes.append(Write(uid, True, await api.ask(Request("delete", *_AT, name, body=body))))


class _Watcher:
    """List, follow, follow again from the last revision that was told; list again when that is gone."""

    def __init__(self, loop: DeterministicLoop, told: Witnessed) -> None:
        self.position = -1
        self._told = told
        self._client, self._api = remote(loop)

    def close(self) -> None:
        self._client.close()

    async def run(self) -> None:
        while True:
            if self.position < 0:
                listed = await self._api.list_all(CONFIG_MAPS, "", 0)
                if isinstance(listed, Listed):
                    self._told.lists.append(listed)
                    self.position = listed.revision
            else:
                follow = Follow(self.position)
                self._told.follows.append(follow)
                await self._api.follow(CONFIG_MAPS, "", self.position, 0, partial(self._hear, follow))
                if isinstance(follow.end, Expired):
                    self.position = -1
            await asyncio.sleep(0.2)

    def _hear(self, follow: Follow, events: Iterable[MirrorEvent]) -> None:
        for event in events:
            if isinstance(event, Framed):
                follow.frames.append(event)
                self.position = event.entry.revision
            elif isinstance(event, Marked):
                follow.marks.append((event.revision, len(follow.frames)))
                self.position = event.revision
            elif isinstance(event, Broke | Expired):
                follow.end = event


# The oracle


def contradictions(told: Witnessed) -> list[str]:
    return [
        *_of_writes(told),
        *_of_lists(told),
        *_of_follows(told),
        *[f"never told: {each}" for each in told.unreached],
    ]


def _of_writes(told: Witnessed) -> Iterator[str]:
    applied: dict[str, list[int]] = {}
    for change in told.history:
        marker = change.entry.uid if change.type == DELETED else _marker(change.entry.data)
        if change.type == DELETED or change.before is None or _marker(change.before.data) != marker:
            applied.setdefault(marker, []).append(change.entry.revision)
    for write in told.writes:
        found, outcome = applied.get(write.marker, []), write.outcome
        if len(found) > 1:
            yield f"{write.marker} was done more than once: {found}"
        elif isinstance(outcome, Done) and not found:
            yield f"{write.marker} was answered with {outcome.revision}, and is nowhere"
        elif isinstance(outcome, Done) and not write.deletes and found != [outcome.revision]:
            yield f"{write.marker} was answered with {outcome.revision}, and was done at {found}"
        elif not isinstance(outcome, Done | Unknown) and found and not write.deletes:
            yield f"{write.marker} was refused ({outcome}), and was done at {found}"


def _of_lists(told: Witnessed) -> Iterator[str]:
    for listed in told.lists:
        present: dict[Any, bytes] = {}
        for change in told.history:
            if change.entry.revision <= listed.revision:
                present[change.entry.key] = change.entry.data
                if change.type == DELETED:
                    del present[change.entry.key]
        if present != {entry.key: entry.data for entry in listed.entries}:
            yield f"the list at {listed.revision} is not what was there"


def _of_follows(told: Witnessed) -> Iterator[str]:
    for follow in told.follows:
        after = [each for each in told.history if each.entry.revision > follow.since]
        for change, frame in zip(after, follow.frames, strict=False):
            if (change.type, change.entry.revision, change.entry.data) != (
                frame.change_type,
                frame.entry.revision,
                frame.entry.data,
            ):
                yield f"a watch from {follow.since} told {frame.entry.revision} where {change.entry.revision} was due"
                break
        if len(follow.frames) > len(after):
            yield f"a watch from {follow.since} told what never happened"
        for revision, count in follow.marks:
            missed = [each.entry.revision for each in after[count:] if each.entry.revision <= revision]
            if missed:
                yield f"a bookmark says {revision}, and {missed} were not told"


def _marker(data: bytes) -> str:
    return str((codec.decode(data).get("data") or {}).get("w", "")).rstrip(".")
