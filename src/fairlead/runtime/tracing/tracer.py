"""Spans of what a process does: requests that it answers, turns of its plane, and the writes that follow from them.

    a request ── writes an object ──> its span is remembered by the object
                                         └── the object changes, a controller takes a turn: its span links back
                                                └── each write of the turn is a child, and is remembered in its turn

A turn is a trace of its own, as it answers many changes at once and comes later than all of them; what led to it is a
link. The ids of its trace and span follow from the decision's id. `server/plane_driver.py`, `remote/plane.py` and the
handler of requests call this, if there is one: without it they compare with None.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fairlead.core.bounded_dict import BoundedDict
from fairlead.port.outcome import Conflict, Done, Outcome, Refused
from fairlead.port.request import READ_VERBS, Request
from fairlead.runtime.record_line import RecordLine, decode_line
from fairlead.runtime.tracing.contract import (
    CLIENT,
    INTERNAL,
    SERVER,
    Span,
    SpanContext,
    Value,
    context_of_decision,
    is_in_share,
    parse_traceparent,
)
from fairlead.wire.exchange import Exchange

if TYPE_CHECKING:  # agents trace as well, and load no plane
    from fairlead.control.instructions import Call, Record

#: bound: plane | writes to which a turn can be linked | the oldest are forgotten
WRITES_REMEMBERED_MAX = 10_000
_BILLION = 1_000_000_000
_OPERATIONS_MAX = 10  # identities of effects that a span names
_SERVER_FAULTS = 500
_DECISIONS = "decisions"  # the stream of records (`control/instructions.py`)


class _Named(msgspec.Struct, gc=False):
    name: str = ""


class _Body(msgspec.Struct, gc=False):
    metadata: _Named = msgspec.field(default_factory=_Named)


class _Write(NamedTuple):
    """A write that is under way, or one of several in one request."""

    context: SpanContext
    decision: str
    object: str


class _OpenCall(NamedTuple):
    began: int
    request: Request
    controller: str
    writes: tuple[_Write, ...]


_body = msgspec.json.Decoder(_Body).decode


class Tracer:
    def __init__(self, export: Callable[[Span], None], share: float = 1.0) -> None:
        """`share`: of the traces that begin here, those that are kept."""
        self._export = export
        self._share = share
        # By object, the last; oldest first.
        self._writes: BoundedDict[str, SpanContext] = BoundedDict(WRITES_REMEMBERED_MAX)
        self._calls: dict[int, _OpenCall] = {}

    # The API

    def answered(self, exchange: Exchange, request: Request, status: int, seconds: float) -> None:
        """A request of a client was answered, after so long."""
        header = exchange.headers.get(b"traceparent")
        parent = parse_traceparent(header) if header else None
        context = self._begin(parent)
        written = _object(request) if request.verb not in READ_VERBS and status < 300 else ""
        if written:
            self._remember(written, context)
        if not context.is_sampled:
            return
        end = time.time_ns()
        attributes: tuple[tuple[str, Value], ...] = (
            ("http.response.status_code", status),
            ("fairlead.verb", request.verb),
            ("fairlead.object", _object(request) or _resource(request)),
            ("fairlead.request", exchange.audit_id),
        )
        self._export(
            Span(
                context,
                _title(request),
                SERVER,
                end - int(seconds * _BILLION),
                end,
                attributes,
                parent.span_id if parent is not None else "",
                trouble=f"it answered {status}" if status >= _SERVER_FAULTS else "",
            )
        )

    # The plane

    def decided(self, record: Record) -> None:
        """A record, as it is kept: a turn with its wait, or what became of one."""
        if record.stream != _DECISIONS:
            return
        line = decode_line(record.body)
        if line.of:
            self._outcome(line)
        elif line.id:
            self._turn(line)

    def called(self, call: Call) -> None:
        """A plane asks for something to be done. It is remembered at once: the change may be seen before the answer."""
        request = call.request
        if request.bindings:
            parts = [(each.decision, f"pods/{each.namespace}/{each.name}") for each in request.bindings]
        else:
            parts = [(call.decision or request.decision, _object(request))]
        writes = tuple(self._write(*part) for part in parts if part[0])
        if not writes:
            return  # leadership and Events: nobody decided them
        if request.verb not in READ_VERBS:
            for each in writes:
                self._remember(each.object, each.context)
        self._calls[call.call] = _OpenCall(time.time_ns(), request, call.controller, writes)

    def replied(self, call: int, outcome: Outcome) -> None:
        found = self._calls.pop(call, None)
        if found is None:
            return
        made = outcome.each if isinstance(outcome, Done) and outcome.each else (True,) * len(found.writes)
        for each, was_made in zip(found.writes, made, strict=False):
            if each.context.is_sampled:
                self._tell_write(found, each, _trouble(outcome) if was_made else "not made")

    def traceparent_of(self, call: int) -> str:
        """For the header of the request that carries out a call elsewhere; "" for none."""
        found = self._calls.get(call)
        return found.writes[0].context.traceparent if found is not None else ""

    # An agent

    def asking(self) -> SpanContext:
        """An agent is about to ask the API for something: a trace of its own, which the request carries on."""
        return self._begin(None)

    def asked(self, context: SpanContext, request: Request, node: str, began: int, outcome: Outcome) -> None:
        """It was answered. `began`: in nanoseconds since 1970."""
        if not context.is_sampled:
            return
        attributes: tuple[tuple[str, Value], ...] = (
            ("fairlead.node", node),
            ("fairlead.verb", request.verb),
            ("fairlead.object", _object(request) or _resource(request)),
        )
        trouble = _trouble(outcome)
        self._export(
            Span(
                context,
                f"agent {_title(request)}",
                CLIENT,
                began,
                time.time_ns(),
                attributes,
                trouble=trouble,
            )
        )

    # Inside

    def _turn(self, line: RecordLine) -> None:
        context = context_of_decision(line.id)
        if not self._keeps(context.trace_id):
            return
        end = time.time_ns()
        attributes: tuple[tuple[str, Value], ...] = (
            ("fairlead.controller", line.controller),
            ("fairlead.decision", line.id),
            ("fairlead.object", line.object),
            ("fairlead.uid", line.uid),
            ("fairlead.generation", line.generation),
            ("fairlead.verdict", line.verdict),
            ("fairlead.reason", line.reason),
            ("fairlead.effects", len(line.effects)),
            (
                "fairlead.operations",
                " ".join(each.partition(" ")[2] for each in line.effects[:_OPERATIONS_MAX]),
            ),
            ("fairlead.waited_seconds", line.waited),
        )
        if line.node:
            attributes += (("fairlead.node", line.node),)
        cause = line.cause if line.cause in self._writes else line.object
        cause_of = self._writes.get(cause)
        self._export(
            Span(
                context,
                f"{line.controller} decides",
                INTERNAL,
                end - int(line.waited * _BILLION),
                end,
                tuple((name, value) for name, value in attributes if value != ""),
                links=((cause_of, cause),) if cause_of is not None else (),
            )
        )

    def _write(self, decision: str, written: str) -> _Write:
        trace_id = context_of_decision(decision).trace_id
        return _Write(SpanContext(trace_id, _new_id(8), self._keeps(trace_id)), decision, written)

    def _tell_write(self, call: _OpenCall, write: _Write, trouble: str) -> None:
        attributes: tuple[tuple[str, Value], ...] = (
            ("fairlead.controller", call.controller),
            ("fairlead.decision", write.decision),
            ("fairlead.verb", call.request.verb),
            ("fairlead.object", write.object or _resource(call.request)),
        )
        self._export(
            Span(
                write.context,
                _title(call.request),
                CLIENT,
                call.began,
                time.time_ns(),
                attributes,
                context_of_decision(write.decision).span_id,
                trouble=trouble,
            )
        )

    def _outcome(self, line: RecordLine) -> None:
        parent = context_of_decision(line.of)
        if not self._keeps(parent.trace_id):
            return
        now = time.time_ns()
        attributes: tuple[tuple[str, Value], ...] = (
            ("fairlead.controller", line.controller),
            ("fairlead.decision", line.of),
            ("fairlead.object", line.object),
            ("fairlead.outcome", line.outcome),
            ("fairlead.reason", line.reason),
        )
        context = SpanContext(parent.trace_id, _new_id(8))
        self._export(Span(context, line.outcome, INTERNAL, now, now, attributes, parent.span_id))

    def _begin(self, parent: SpanContext | None) -> SpanContext:
        if parent is not None:
            return SpanContext(parent.trace_id, _new_id(8), parent.is_sampled)
        trace_id = _new_id(16)
        return SpanContext(trace_id, _new_id(8), self._keeps(trace_id))

    def _keeps(self, trace_id: str) -> bool:
        return self._share >= 1.0 or is_in_share(trace_id, self._share)

    def _remember(self, written: str, context: SpanContext) -> None:
        self._writes.pop(written, None)
        if written and context.is_sampled:  # a link to what nobody keeps leads nowhere
            self._writes.keep(written, context)


def _new_id(size: int) -> str:
    return os.urandom(size).hex()


def _resource(request: Request) -> str:
    return f"{request.plural}.{request.group}" if request.group else request.plural


def _title(request: Request) -> str:
    below = f"/{request.subresource}" if request.subresource else ""
    return f"{request.verb} {request.plural}{below}"


def _object(request: Request) -> str:
    """As records name it; "" for a collection."""
    name = request.name
    if not name and request.verb == "create":
        try:
            name = _body(request.body).metadata.name
        except (msgspec.DecodeError, UnicodeDecodeError):
            name = ""  # YAML, or protobuf
    return "/".join(filter(None, (_resource(request), request.namespace, name))) if name else ""


def _trouble(outcome: Outcome) -> str:
    if isinstance(outcome, Done):
        return ""
    if isinstance(outcome, Conflict):
        return "conflict"
    return outcome.reason if isinstance(outcome, Refused) else "unknown"
