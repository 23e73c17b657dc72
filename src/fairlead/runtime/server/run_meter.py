"""Measures for runs of runbooks: the metrics and decisions that their expressions see, written into the run's status.

Fed by `serving.py` with every change; writes like any client of the API. Who created a run was asked for the right to
read these as it was created (`api/runbooks/stamping.py`). Only runs that have not ended and that name something to
measure are looked at, every READ_EVERY_SECONDS, and written to when a value is another one, or the last writing is old.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from fairlead.api.sound_reader import sound_entries
from fairlead.control.record import text_of
from fairlead.core import codec
from fairlead.core.errors import StorageReadError, TooManyRequests, Unavailable
from fairlead.core.problems import Problems
from fairlead.core.times import timestamp
from fairlead.explain.asking import Asking
from fairlead.explain.index import DecisionIndex
from fairlead.explain.records import touching
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.kinds.runbook import ENDED, RUN
from fairlead.model.runbooks.filling import fill_text
from fairlead.model.runbooks.measures import RECORDS_COUNTED_MAX, DecisionsRead, summary_of, value_of
from fairlead.model.runbooks.procedure import Procedure, compile_procedure
from fairlead.model.runbooks.running import decided_about, facts_of, labels_of, places_of
from fairlead.model.runbooks.values import read_values
from fairlead.model.views.runbooks import RunbookRun
from fairlead.port.request import MERGE_PATCH, Reply, Request
from fairlead.reconcile.runbooks.scene import READINGS_FRESH_SECONDS
from fairlead.runtime.metrics.contract import MetricSample
from fairlead.runtime.server.answering import Answering
from fairlead.runtime.server.host import ServingHost
from fairlead.store.contract import DELETED, CommittedChange, Entry, Journal

log = logging.getLogger("fairlead.runbooks")

#: bound: plane | what runs of runbooks measure is measured every | -
READ_EVERY_SECONDS = 2.0
_Series = Mapping[str, list[tuple[dict[str, str], float]]]
_run = msgspec.json.Decoder(RunbookRun).decode


class _Named(msgspec.Struct, frozen=True):
    metrics: Any = None
    decisions: Any = None


class _Spec(msgspec.Struct, frozen=True):
    procedure: _Named = _Named()


class _Status(msgspec.Struct, frozen=True):
    phase: str = ""


class _Sketch(msgspec.Struct, frozen=True):
    """Of a run no more than whether to measure for it: the rest of it need not even be readable."""

    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def is_measured(self) -> bool:
        named = self.spec.procedure
        return self.status.phase not in ENDED and bool(named.metrics or named.decisions)


_sketch = msgspec.json.Decoder(_Sketch).decode


class RunMeter:
    """Fed by `observe`, worked by `run`. `samples`: what /metrics tells now."""

    def __init__(
        self,
        host: ServingHost,
        journal: Journal,
        index: DecisionIndex,
        answering: Answering,
        samples: Callable[[], Iterable[MetricSample]],
        clock: Callable[[], float],
        is_short: Callable[[], bool] = lambda: False,
    ) -> None:
        """`is_short`: whether the disk is full. What little there is room for is not spent on each new value then."""
        self._host, self._journal, self._index = host, journal, index
        self._answering, self._samples, self._clock = answering, samples, clock
        self._is_short = is_short
        self._going: dict[Key, None] = {}
        self._said: set[Key] = set()  # runs of which it was said that they cannot be measured
        self._woken = asyncio.Event()

    def learn_all(self) -> None:
        for entry in sound_entries(self._host.api.desk.read, RUN.resource):
            self._consider(entry)

    def observe(self, changes: tuple[CommittedChange, ...]) -> None:
        for change in changes:
            if change.entry.key.resource != RUN.resource:
                continue
            if change.type == DELETED:
                self._going.pop(change.entry.key, None)
                self._said.discard(change.entry.key)
            else:
                self._consider(change.entry)

    def _consider(self, entry: Entry) -> None:
        try:
            is_going = _sketch(entry.data).is_measured
        except msgspec.MsgspecError as error:
            is_going = False
            self._cannot(entry.key, error)
        if not is_going:
            self._going.pop(entry.key, None)
        elif entry.key not in self._going:
            self._going[entry.key] = None
            self._woken.set()  # a new run does not wait for the next look

    def _cannot(self, key: Key, error: Exception) -> None:
        """Said once of each run: it is looked at again and again."""
        if key not in self._said:
            self._said.add(key)
            log.warning("the run %s/%s cannot be measured: %s", key.namespace, key.name, error)

    async def run(self) -> None:
        while True:
            await self._woken.wait()
            try:
                await self.look()
            except Exception:
                log.exception("what runs of runbooks measure could not be measured")
            await asyncio.sleep(READ_EVERY_SECONDS)
            if not self._going:
                self._woken.clear()

    async def look(self) -> None:
        desk, runs = self._host.api.desk, list[tuple[Key, RunbookRun, Procedure]]()
        for key in list(self._going):
            try:
                entry = desk.sound.get(key)
                if entry is not None:
                    run = _run(entry.data)
                    procedure = compile_procedure(run.spec.procedure, desk.catalog, None, Problems())
                    runs.append((key, run, procedure))
            except (msgspec.MsgspecError, StorageReadError) as error:
                self._cannot(key, error)
        series = self._series({each.metric for _, _, procedure in runs for each in procedure.metrics})
        for key, run, procedure in runs:
            try:
                await self._measure(key, run, procedure, series)
            except (TooManyRequests, Unavailable) as error:
                # Others ask as well, or the index of decisions is made anew: the next look is soon.
                log.debug("the run %s/%s is measured later: %s", key.namespace, key.name, error)
            except Exception:
                log.exception("what the run %s/%s measures could not be measured", key.namespace, key.name)

    def _series(self, wanted: set[str]) -> _Series:
        found: dict[str, list[tuple[dict[str, str], float]]] = {}
        if not wanted:
            return found
        for metric, value, labels, suffix, at_most in self._samples():
            name = f"{metric.name}{suffix}"
            if name in wanted and not at_most:
                found.setdefault(name, []).append((dict(zip(metric.labels, labels, strict=True)), value))
        return found

    async def _measure(self, key: Key, run: RunbookRun, procedure: Procedure, series: _Series) -> None:
        user = str(run.spec.requested_by.get("username") or "")
        params = read_values(procedure.params, run.spec.params)
        places = places_of(facts_of(key.name, key.namespace, user), params, {})
        values: Json = {
            each.name: value_of(labels_of(each, places), series.get(each.metric, ()))
            for each in procedure.metrics
        }
        now = self._clock()
        for about in procedure.decisions:
            values[about.name] = await self._decided(about, decided_about(about, places), places, now)
        known = run.status.readings
        told = {name: value for name, value in values.items() if value is not None}
        is_fresh = known is not None and abs(now - known.taken) < READINGS_FRESH_SECONDS / 3
        if is_fresh and known is not None and (known.values == told or self._is_short()):
            return
        readings = {"at": timestamp(now), "values": values}
        # The uid: it may have gone meanwhile, and another of its name must not be judged by what this one measures.
        body = codec.encode({"metadata": {"uid": run.metadata.uid}, "status": {"readings": readings}})
        where = (RUN.group, RUN.version, RUN.plural, key.namespace, key.name)
        reply = await self._host.call(Request("patch", *where, "status", body=body, content_type=MERGE_PATCH))
        if reply.status >= 400 and reply.status not in (404, 409):
            log.warning(
                "what was measured for the run %s/%s is not taken (%d)", key.namespace, key.name, reply.status
            )

    async def _decided(self, read: DecisionsRead, about: Key, places: Mapping[str, Any], now: float) -> Json:
        controller = fill_text(read.controller, places)
        asked: asyncio.Future[Reply | Exception] = asyncio.get_running_loop().create_future()
        text, since = text_of(about), now - read.within_seconds

        def asking() -> Asking[Json]:
            found = yield from touching(self._journal, self._index, [text], 0, RECORDS_COUNTED_MAX)
            return summary_of((codec.decode(each.note.body) for each in found), text, controller, since)

        self._answering.later(asking()).start(asked.set_result)
        reply = await asked
        if isinstance(reply, Exception):
            raise reply
        summary: Json = codec.decode(reply.body)
        return summary
