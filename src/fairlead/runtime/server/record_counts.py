"""Keeps `status.records` of the RecordingPolicy: what the log of decisions holds, and what was not written into it.

Lines, bytes and what was dropped are the store's own; what was left out and merged is counted by planes since they
began (`explain/plane_told.py`, also of those in other processes) and added here to what the status says already. Looked
at once a minute, and written only when a number has changed. A server that is killed loses what was counted since.
Made by `serving.py`.
"""

from __future__ import annotations

import asyncio
from typing import Any

from fairlead.control.instructions import DECISIONS
from fairlead.core import codec
from fairlead.explain.sources import Sources
from fairlead.model.key import Key
from fairlead.model.kinds.recordingpolicy import KIND, NAME, RECORDS
from fairlead.port.request import MERGE_PATCH, Request
from fairlead.runtime.server.host import ServingHost
from fairlead.store.sqlite import SqliteJournal

#: bound: plane | the RecordingPolicy's counts are looked at every | they are as old
COUNT_SECONDS = 60.0
_KEY = Key(KIND.resource, "", NAME)
Json = dict[str, Any]


class RecordCounts:
    def __init__(self, host: ServingHost, sources: Sources) -> None:
        self._host, self._sources = host, sources
        self._since: dict[str, tuple[int, int]] = {}  # by plane: what of it is in the status already

    async def run(self) -> None:
        while True:
            await asyncio.sleep(COUNT_SECONDS)
            await self.write()

    async def write(self) -> None:
        sources, journal = self._sources, self._sources.journal
        entry = sources.reader.get(_KEY)
        if entry is None or not isinstance(journal, SqliteJournal):
            return
        before: Json = (codec.decode(entry.data).get("status") or {}).get(RECORDS) or {}
        told = sources.told
        # What a plane in another process counted before this server began may be in the status already.
        unknown = (
            (0, 0) if told.identity == sources.plane.leadership.identity else (told.left_out, told.merged)
        )
        left_out, merged = self._since.get(told.identity, unknown)
        if told.left_out < left_out or told.merged < merged:
            left_out = merged = 0  # it began anew
        size = journal.log_size(DECISIONS)
        counts = {
            "kept": size.lines,
            "bytes": size.size,
            "dropped": size.dropped,
            "leftOut": before.get("leftOut", 0) + told.left_out - left_out,
            "merged": before.get("merged", 0) + told.merged - merged,
        }
        self._since.setdefault(told.identity, unknown)
        if counts == before:
            return
        body = codec.encode({"status": {RECORDS: counts}})
        request = Request(
            "patch",
            KIND.group,
            KIND.version,
            KIND.plural,
            "",
            NAME,
            "status",
            body=body,
            content_type=MERGE_PATCH,
        )
        reply = await self._host.call(request)
        if reply.status == 200:
            self._since = {told.identity: (told.left_out, told.merged)}
