"""Raises the alarm of a grant that nobody else approved, and opens the review of one that has ended.

Fed by `serving.py` with every change; writes like any client of the API. What a grant allows, and that it allows
nothing after its end, does not hang on this (`api/access/breakglass/in_force.py`): it tells people. What was written
under a grant is counted in the audit log itself, so that a restart in between loses nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import msgspec

from fairlead.api.access.breakglass.judging import opened_review
from fairlead.api.audit.recording import STREAM
from fairlead.api.audit.rules import WRITE_VERBS
from fairlead.api.sound_reader import sound_entries
from fairlead.core import codec
from fairlead.core.times import timestamp
from fairlead.model.kind import Json
from fairlead.model.kinds.accessgrant import KIND, has_ended
from fairlead.model.kinds.event import KIND as EVENT
from fairlead.model.kinds.workload import part
from fairlead.port.request import JSON, MERGE_PATCH, Request
from fairlead.runtime.server.host import ServingHost
from fairlead.store.contract import DELETED, CommittedChange, Journal

log = logging.getLogger("fairlead.granting")

#: bound: grants | grants that have ended are looked for every | -
LOOK_EVERY_SECONDS = 1.0
#: bound: grants | alarms that wait to be written as Events | the rest is in the server's log alone
ALARMS_MAX = 64
_PAGE = 1_000  # lines of the audit log that are read at a time


class _Line(msgspec.Struct):
    verb: str = ""
    grant: str = ""


_line = msgspec.json.Decoder(_Line).decode


class Granting:
    """Fed by `observe`, worked by `run`."""

    def __init__(self, host: ServingHost, journal: Journal, clock: Callable[[], float]) -> None:
        self._host, self._journal, self._clock = host, journal, clock
        self._alarms: list[Json] = []
        self._any = False  # whether there are grants at all

    def learn_all(self) -> None:
        self._any = bool(self._host.api.desk.read.list(KIND.resource))

    def observe(self, changes: tuple[CommittedChange, ...]) -> bool:
        """Whether a grant is among them."""
        found = False
        for change in changes:
            if change.entry.key.resource != KIND.resource:
                continue
            found = self._any = True
            if change.before is None and change.type != DELETED:
                self._consider(codec.decode(change.entry.data))
        return found

    def _consider(self, grant: Json) -> None:
        spec = part(grant, "spec")
        if not spec.get("selfApproved"):
            return
        log.warning(
            "BREAK-GLASS: %s approved AccessGrant %s alone, until %s: %s",
            spec.get("requestedBy"),
            grant["metadata"]["name"],
            part(grant, "status").get("expiresAt"),
            spec.get("reason"),
        )
        if len(self._alarms) < ALARMS_MAX:
            self._alarms.append(grant)

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_SECONDS)
            try:
                await self.look()
            except Exception:
                log.exception("grants could not be looked at")

    async def look(self) -> None:
        while self._alarms:
            grant = self._alarms.pop(0)
            await self._host.call(_event(grant, self._clock()))
        if not self._any:
            return
        for entry in sound_entries(self._host.api.desk.read, KIND.resource):
            grant = codec.decode(entry.data)
            if has_ended(grant, self._clock()) and not part(grant, "status").get("review"):
                await self._open_review(grant["metadata"]["name"])

    async def _open_review(self, name: str) -> None:
        writes = await self._count(name)
        body = codec.encode(opened_review(writes))
        reply = await self._host.call(
            Request(
                "patch",
                KIND.group,
                KIND.version,
                KIND.plural,
                "",
                name,
                "status",
                body=body,
                content_type=MERGE_PATCH,
            )
        )
        if reply.status >= 400 and reply.status not in (404, 409):
            log.warning("the review of AccessGrant %s could not be opened (%d)", name, reply.status)
            return
        log.warning("AccessGrant %s has ended, with %d writes; its review is open", name, writes)

    async def _count(self, name: str) -> int:
        """The writes that the audit log keeps of a grant."""
        mark = b'"grant":%b' % codec.encode(name)
        after, writes = 0, 0
        while lines := self._journal.notes(STREAM, after, _PAGE):
            for _, _, note in lines:
                if mark in note.body:
                    line = _line(note.body)
                    writes += line.grant == name and line.verb in WRITE_VERBS
            after = lines[-1][0]
            await asyncio.sleep(0)
        return writes


def _event(grant: Json, now: float) -> Request:
    spec, metadata = part(grant, "spec"), grant["metadata"]
    at = timestamp(now)
    body: Json = {
        "apiVersion": EVENT.api_version,
        "kind": EVENT.kind,
        "metadata": {"name": f"{metadata['name']}.{metadata['uid'][:8]}", "namespace": "default"},
        "involvedObject": {
            "apiVersion": KIND.api_version,
            "kind": KIND.kind,
            "name": metadata["name"],
            "uid": metadata["uid"],
        },
        "type": "Warning",
        "reason": "BreakGlass",
        "message": f"{spec.get('requestedBy')} approved this grant of {part(spec, 'role').get('name')} alone, until"
        f" {part(grant, 'status').get('expiresAt')}: {spec.get('reason')}"[:1024],
        "source": {"component": "fairlead"},
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }
    return Request(
        "create",
        EVENT.group,
        EVENT.version,
        EVENT.plural,
        "default",
        body=codec.encode(body),
        content_type=JSON,
    )
