"""What planes in other processes send: the lines that they recorded, and how they stand (`explain/plane_told.py`).

POST /fairlead/v1/planes    {"log": ID, "first": N, "lines": [[STREAM, RECORD], ...], "told": PlaneTold,
                             "queues": what `fairlead queues` shows, now and then,
                             "injected": [UID, {FAULT: N}], of a ChaosExperiment that runs}
                            -> {"have": N}, the number of the last line of that log that is kept here,
                               "chaos": the ChaosExperiment that runs (`chaos.py`), if one does}

Lines go into the store's own logs, as those of a plane in this process do: one index, one budget of bytes and age, one
capture for all. They are numbered by their sender without gaps, and kept once: the last of each batch names its log and
number, in the transaction of the batch, so that after a restart too it is known how far it came. Who sends waits for
the answer; a batch that was answered is on disk. Mounted by `mounting.py`; `runtime/remote/shipping.py` is the sender.
How a plane and its queues stand is kept in memory, of a bounded number of planes, the newest word of each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from fairlead.api.access.sight import Sight
from fairlead.api.plan import Context
from fairlead.control.instructions import DECISIONS, TURNS
from fairlead.core import codec
from fairlead.core.bounded_dict import BoundedDict
from fairlead.core.errors import BadRequest, TooManyRequests, Unavailable
from fairlead.core.times import parse_time
from fairlead.explain.asking import Asking
from fairlead.explain.index import DecisionIndex, log_key
from fairlead.explain.plane_told import PlaneTold
from fairlead.explain.records import touching
from fairlead.port.request import Reply
from fairlead.runtime.server.answering import Answering
from fairlead.store.contract import CommitFailed, CommitOutcome, Journal, Note, Transaction
from fairlead.wire.documents import Done, Later

PLANES = "/fairlead/v1/planes"
#: bound: plane | planes in other processes that a server hears | the one that was silent for longest is forgotten
PLANES_HEARD_MAX = 16
_LOG_ID_MAX = 64
Submit = Callable[[Transaction, Callable[[CommitOutcome], None]], None]


class _Head(msgspec.Struct):
    """What every record has, and readers rely on."""

    time: str
    controller: str


class _Named(msgspec.Struct):
    key: tuple[str, str, str]


class _Queue(msgspec.Struct):
    oldest_waiting: tuple[str, str, str] | None
    most_retried: list[_Named]
    longest_running: list[_Named]
    longest_held: list[_Named]


class _Item(msgspec.Struct):
    queue: _Queue


class _Loop(msgspec.Struct):
    object: str


class _Queues(msgspec.Struct, rename="camel"):
    """What `runtime/queues_told.py` tells, as far as it names objects that not everybody may see."""

    items: list[_Item]
    write_loops: list[_Loop]


class _Sent(msgspec.Struct):
    log: str
    first: int
    lines: list[tuple[str, msgspec.Raw]]
    told: PlaneTold
    queues: msgspec.Raw = msgspec.Raw()
    injected: tuple[str, dict[str, int]] | None = None


class _Marked(msgspec.Struct):
    log: tuple[str, int]


_sent = msgspec.json.Decoder(_Sent).decode
_queues = msgspec.json.Decoder(_Queues).decode
_head = msgspec.json.Decoder(_Head).decode
_marked = msgspec.json.Decoder(_Marked).decode


class PlaneReports:
    """One for each server; `submit` commits."""

    def __init__(
        self,
        journal: Journal,
        index: DecisionIndex,
        answering: Answering,
        submit: Submit,
        clock: Callable[[], float],
    ) -> None:
        self._journal, self._index, self._answering, self._submit = journal, index, answering, submit
        self._clock = clock
        self._told: BoundedDict[str, PlaneTold] = BoundedDict(PLANES_HEARD_MAX)
        self._queues: BoundedDict[str, tuple[float, msgspec.Raw]] = BoundedDict(PLANES_HEARD_MAX)
        self._injected: BoundedDict[str, tuple[str, dict[str, int]]] = BoundedDict(PLANES_HEARD_MAX)
        self.begins: Callable[[str, float], None] = lambda identity, at: None  # a plane of this name does
        self.chaos: Callable[[], dict[str, Any] | None] = lambda: None  # the experiment that runs
        self._have: BoundedDict[str, int] = BoundedDict(PLANES_HEARD_MAX)
        self._busy: set[str] = set()

    def leading(self) -> PlaneTold | None:
        """The plane that leads, or else the one that was heard of last; its instant is by this server's clock."""
        return max(self._told.values(), key=lambda each: (each.leads, each.at), default=None)

    def queues(self) -> dict[str, Any] | None:
        """Those of the plane that leads, with its name and how long ago it told of them; None if none has."""
        leading = self.leading()
        found = self._queues.get(leading.identity) if leading is not None else None
        if leading is None or found is None:
            return None
        at, told = found
        ago = round(max(0.0, self._clock() - at), 1)
        return {"plane": leading.identity, "toldSecondsAgo": ago, **codec.decode(bytes(told))}

    def injected(self, experiment: str) -> list[dict[str, int]]:
        """Of this experiment, by each plane."""
        return [counts for uid, counts in self._injected.values() if uid == experiment]

    def answer(self, body: bytes, context: Context, sight: Sight) -> Later:
        try:
            sent = _sent(body)
            for stream, record in sent.lines:
                if stream not in (DECISIONS, TURNS):
                    raise BadRequest(f"lines: there is no log {stream!r}; there are {DECISIONS} and {TURNS}")
                _head(record)
            if sent.queues:
                _queues(sent.queues)
        except msgspec.MsgspecError as error:
            raise BadRequest(f"this is not what a plane tells of itself: {error}") from None
        if not 0 < len(sent.log) <= _LOG_ID_MAX or sent.first < 1:
            raise BadRequest(f"log: 1 to {_LOG_ID_MAX} characters are needed, and first: 1 or more")
        return Later(lambda done: self._start(sent, done))

    def _start(self, sent: _Sent, done: Done) -> None:
        if sent.log in self._busy:
            raise TooManyRequests(
                f"lines of {sent.log} are being written: one batch at a time", retry_after_seconds=1
            )
        self._told.pop(sent.told.identity, None)
        self._told.keep(sent.told.identity, msgspec.structs.replace(sent.told, at=self._clock()))
        if sent.queues:
            self._queues.pop(sent.told.identity, None)
            self._queues.keep(sent.told.identity, (self._clock(), sent.queues))
        if sent.injected is not None:
            self._injected.pop(sent.told.identity, None)
            self._injected.keep(sent.told.identity, sent.injected)
        have = self._have.get(sent.log)
        if have is not None:
            self._keep(sent, have, done)
            return
        self._busy.add(sent.log)

        def looked(found: Reply | Exception) -> None:
            self._busy.discard(sent.log)
            if isinstance(found, Exception):
                done(found)
            else:
                self._keep(sent, int(found.body), done)

        try:
            self._answering.later(self._look(sent.log)).start(looked)
        except BaseException:
            self._busy.discard(sent.log)
            raise

    def _look(self, log: str) -> Asking[int]:
        """How far a log has come, of which nothing was heard since this server began."""
        have = 0
        for stream in (DECISIONS, TURNS):
            found = yield from touching(self._journal, self._index, [log_key(log)], 0, 1, stream)
            have = max([have, *(_marked(each.note.body).log[1] for each in found)])
        return have

    def _keep(self, sent: _Sent, have: int, done: Done) -> None:
        self._have.keep(sent.log, have)
        new = sent.lines[max(0, have + 1 - sent.first) :]
        if not new:
            done(self._reply(have))
            return
        last = sent.first + len(sent.lines) - 1
        notes = [Note(stream, bytes(record)) for stream, record in new]
        mark = codec.encode([sent.log, last])
        notes[-1] = Note(notes[-1].stream, b'%s,"log":%s}' % (notes[-1].body.rstrip()[:-1], mark))
        self._busy.add(sent.log)

        def committed(outcome: CommitOutcome) -> None:
            self._busy.discard(sent.log)
            if isinstance(outcome, CommitFailed):
                self._have.pop(sent.log, None)  # it may have been written: the next one looks
                done(Unavailable(f"the lines are not kept: {outcome.message}"))
                return
            self._have.keep(sent.log, last)
            for body in (bytes(record) for stream, record in new if stream == DECISIONS):
                if b'"term":' in body and "term" in (opened := codec.decode(body)):
                    self.begins(opened["identity"], parse_time(opened["time"]))
            done(self._reply(last))

        self._submit(Transaction(notes=tuple(notes)), committed)

    def _reply(self, have: int) -> Reply:
        body: dict[str, Any] = {"have": have}
        if (running := self.chaos()) is not None:
            body["chaos"] = running
        return Reply(200, codec.encode(body))
