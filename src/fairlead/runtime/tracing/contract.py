"""A span, its place in a trace, and both in the words of others: W3C's `traceparent`, OTLP's JSON.

`tracer.py` makes spans, `exporter.py` sends them. No object's values are in them: names, ids, counts and words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, NamedTuple

INTERNAL, SERVER, CLIENT = 1, 2, 3  # kinds, as OTLP numbers them
_ERROR = 2
_TRACEPARENT = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
_NO_TRACE, _NO_SPAN = "0" * 32, "0" * 16
_SAMPLED = 1
Value = str | int | float | bool


class SpanContext(NamedTuple):
    """Which span, in hex digits."""

    trace_id: str
    span_id: str
    is_sampled: bool = True

    @property
    def traceparent(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{int(self.is_sampled):02x}"


class Span(NamedTuple):
    """One piece of work; times in nanoseconds since 1970. `parent`: "" for the first of its trace. `links`: what led to
    it, in other traces, each with the object by which. `trouble`: how it failed; "" if it did not."""

    context: SpanContext
    name: str
    kind: int
    start: int
    end: int
    attributes: tuple[tuple[str, Value], ...] = ()
    parent: str = ""
    links: tuple[tuple[SpanContext, str], ...] = ()
    trouble: str = ""


def parse_traceparent(header: bytes) -> SpanContext | None:
    """None for what is not one: then a trace begins here, as the recommendation asks."""
    found = _TRACEPARENT.fullmatch(header.strip())
    if found is None or found[1] == b"ff" or (found[1] == b"00" and len(header.strip()) != 55):
        return None
    trace_id, span_id = found[2].decode(), found[3].decode()
    if trace_id == _NO_TRACE or span_id == _NO_SPAN:
        return None
    return SpanContext(trace_id, span_id, bool(int(found[4], 16) & _SAMPLED))


def context_of_decision(decision: str) -> SpanContext:
    """The same for everybody who knows the id of a decision: a record leads to its trace without a table."""
    digest = blake2b(decision.encode(), digest_size=24).hexdigest()
    return SpanContext(digest[:32], digest[32:])


def is_in_share(trace_id: str, share: float) -> bool:
    """Whether a trace is among those that are kept, by its id alone: all processes judge it alike."""
    return int(trace_id[16:], 16) < share * 2.0**64


def otlp(spans: Iterable[Span], resource: Iterable[tuple[str, Value]], version: str) -> dict[str, Any]:
    """An ExportTraceServiceRequest, as OTLP's JSON writes it: ids in hex, long numbers as text."""
    scope = {"name": "fairlead", "version": version}
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": [_attribute(*each) for each in resource]},
                "scopeSpans": [{"scope": scope, "spans": [_span(each) for each in spans]}],
            }
        ]
    }


def _span(span: Span) -> dict[str, Any]:
    told: dict[str, Any] = {
        "traceId": span.context.trace_id,
        "spanId": span.context.span_id,
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.start),
        "endTimeUnixNano": str(span.end),
        "attributes": [_attribute(*each) for each in span.attributes],
    }
    if span.parent:
        told["parentSpanId"] = span.parent
    if span.links:
        told["links"] = [
            {
                "traceId": to.trace_id,
                "spanId": to.span_id,
                "attributes": [_attribute("fairlead.cause", cause)],
            }
            for to, cause in span.links
        ]
    if span.trouble:
        told["status"] = {"code": _ERROR, "message": span.trouble}
    return told


def _attribute(key: str, value: Value) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"key": key, "value": {"boolValue": value}}
    if isinstance(value, int):
        return {"key": key, "value": {"intValue": str(value)}}
    if isinstance(value, float):
        return {"key": key, "value": {"doubleValue": value}}
    return {"key": key, "value": {"stringValue": value}}
