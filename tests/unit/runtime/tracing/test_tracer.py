"""Spans: which trace they are of, what they link to, and their form on the wire."""

from __future__ import annotations

from typing import Any, cast

import pytest

from fairlead.control.instructions import TURNS, Call, Record
from fairlead.core import codec
from fairlead.core.errors import UsageError
from fairlead.port.outcome import Conflict, Done, Unknown
from fairlead.port.request import Binding, Request
from fairlead.runtime.tracing.contract import (
    CLIENT,
    INTERNAL,
    SERVER,
    Span,
    SpanContext,
    context_of_decision,
    is_in_share,
    otlp,
    parse_traceparent,
)
from fairlead.runtime.tracing.settings import trace_settings
from fairlead.runtime.tracing.tracer import Tracer
from fairlead.wire.exchange import Exchange

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
WEB = "deployments.apps/default/web"


def asked(**headers: bytes) -> Exchange:
    found = Exchange(cast(Any, None), b"GET", b"/", {name.encode(): text for name, text in headers.items()})
    found.about = b"audit-id: 0123456789abcdef\r\nx: y\r\n"
    return found


def put(name: str = "web", verb: str = "update", body: bytes = b"") -> Request:
    return Request(verb, "apps", "v1", "deployments", "default", name, body=body)


def decision(number: int, **more: Any) -> Record:
    line = {"id": f"t-{number}", "controller": "deployment", "object": WEB, "verdict": "Waiting", **more}
    return Record(codec.encode(line))


@pytest.fixture
def spans() -> list[Span]:
    return []


@pytest.fixture
def tracer(spans: list[Span]) -> Tracer:
    return Tracer(spans.append)


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (f"00-{TRACE}-{SPAN}-01", SpanContext(TRACE, SPAN)),
        (f"00-{TRACE}-{SPAN}-00", SpanContext(TRACE, SPAN, False)),
        (f"cc-{TRACE}-{SPAN}-01-more", SpanContext(TRACE, SPAN)),
        (f"00-{TRACE}-{SPAN}-01-more", None),
        (f"ff-{TRACE}-{SPAN}-01", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (f"00-{TRACE.upper()}-{SPAN}-01", None),
        ("nonsense", None),
    ],
)
def test_a_traceparent_is_read_as_w3c_says(header: str, found: SpanContext | None) -> None:
    assert parse_traceparent(header.encode()) == found
    if found is not None and header.startswith("00"):
        assert found.traceparent == header


def test_a_request_joins_the_trace_it_came_with(tracer: Tracer, spans: list[Span]) -> None:
    tracer.answered(asked(traceparent=f"00-{TRACE}-{SPAN}-01".encode()), put(), 200, 0.5)
    (span,) = spans
    assert (span.context.trace_id, span.parent, span.kind) == (TRACE, SPAN, SERVER)
    assert span.end - span.start == 500_000_000
    assert dict(span.attributes)["fairlead.request"] == "0123456789abcdef"


def test_who_does_not_want_to_be_traced_is_not(tracer: Tracer, spans: list[Span]) -> None:
    tracer.answered(asked(traceparent=f"00-{TRACE}-{SPAN}-00".encode()), put(), 200, 0.1)
    tracer.decided(decision(1, cause=WEB))
    assert [span.links for span in spans] == [()]


def test_a_turn_links_to_the_write_that_caused_it_and_its_writes_are_children_that_the_next_links_to(
    tracer: Tracer, spans: list[Span]
) -> None:
    tracer.answered(asked(), put(), 200, 0.1)
    tracer.decided(decision(1, cause=WEB, waited=0.25, effects=["Create x/y"]))
    body = codec.encode({"metadata": {"name": "web-1"}})
    made = Request("create", "apps", "v1", "replicasets", "default", body=body)
    tracer.called(Call(7, "deployment", made, "t-1"))
    tracer.decided(
        Record(
            codec.encode({"id": "t-2", "controller": "replicaset", "cause": "replicasets.apps/default/web-1"})
        )
    )
    tracer.replied(7, Done(5))
    write, turn, next_turn, made_span = spans
    assert turn.links == ((write.context, WEB),)
    assert turn.context == context_of_decision("t-1")
    assert turn.end - turn.start == 250_000_000
    assert (made_span.kind, made_span.parent, made_span.context.trace_id) == (
        CLIENT,
        turn.context.span_id,
        turn.context.trace_id,
    )
    assert next_turn.links == ((made_span.context, "replicasets.apps/default/web-1"),)
    assert next_turn.context.trace_id != turn.context.trace_id


def test_each_of_several_bindings_is_a_write_of_its_own_decision(tracer: Tracer, spans: list[Span]) -> None:
    pods = tuple(Binding("default", f"p{each}", "u", "n", f"t-{each}") for each in range(3))
    tracer.called(
        Call(1, "scheduler", Request("create", "", "v1", "pods", subresource="binding", bindings=pods))
    )
    tracer.replied(1, Done(9, each=(True, False, True)))
    assert [span.parent for span in spans] == [context_of_decision(f"t-{each}").span_id for each in range(3)]
    assert [span.trouble for span in spans] == ["", "not made", ""]


@pytest.mark.parametrize(
    ("outcome", "trouble"),
    [(Done(3), ""), (Conflict("Conflict", "x"), "conflict"), (Unknown("x"), "unknown")],
)
def test_what_became_of_a_write_is_told(
    tracer: Tracer, spans: list[Span], outcome: Any, trouble: str
) -> None:
    tracer.called(Call(1, "deployment", put(), "t-1"))
    tracer.replied(1, outcome)
    assert [span.trouble for span in spans] == [trouble]


def test_what_nobody_decided_and_turns_that_did_nothing_are_not_traced(
    tracer: Tracer, spans: list[Span]
) -> None:
    tracer.called(Call(1, "leadership", put()))
    tracer.replied(1, Done(3))
    tracer.decided(Record(codec.encode({"id": "t-1"}), TURNS))
    assert spans == []


def test_an_outcome_is_a_child_of_its_decision(tracer: Tracer, spans: list[Span]) -> None:
    tracer.decided(
        Record(codec.encode({"of": "t-9", "outcome": "conflict", "object": WEB, "controller": "d"}))
    )
    (span,) = spans
    assert (span.name, span.kind, span.parent) == ("conflict", INTERNAL, context_of_decision("t-9").span_id)


def test_what_is_remembered_is_bounded(tracer: Tracer) -> None:
    tracer._writes.count_max = 10
    for number in range(100):
        tracer.answered(asked(), put(f"web-{number}"), 200, 0.0)
    assert list(tracer._writes) == [f"deployments.apps/default/web-{number}" for number in range(90, 100)]


def test_a_share_is_kept_by_the_id_of_the_trace(spans: list[Span]) -> None:
    tracer = Tracer(spans.append, 0.25)
    for number in range(400):
        tracer.decided(decision(number))
    kept = {context_of_decision(f"t-{number}").trace_id for number in range(400)}
    assert {span.context.trace_id for span in spans} == {each for each in kept if is_in_share(each, 0.25)}
    assert 60 < len(spans) < 140


def test_the_form_is_that_of_otlp() -> None:
    context = SpanContext(TRACE, SPAN)
    span = Span(
        context, "update pods", CLIENT, 1, 2**60, (("a", "x"), ("n", 3), ("b", True), ("f", 0.5)), "f" * 16,
        ((context, "pods/a/b"),), "conflict",
    )  # fmt: skip
    told = otlp([span], [("service.name", "fairlead")], "1")
    (resource,) = told["resourceSpans"]
    assert resource["resource"]["attributes"] == [
        {"key": "service.name", "value": {"stringValue": "fairlead"}}
    ]
    (shown,) = resource["scopeSpans"][0]["spans"]
    assert shown["endTimeUnixNano"] == str(2**60)
    assert [each["value"] for each in shown["attributes"]] == [
        {"stringValue": "x"},
        {"intValue": "3"},
        {"boolValue": True},
        {"doubleValue": 0.5},
    ]
    assert shown["links"][0]["spanId"] == SPAN
    assert shown["status"] == {"code": 2, "message": "conflict"}
    assert shown["parentSpanId"] == "f" * 16


@pytest.mark.parametrize(
    ("option", "environment", "endpoint"),
    [
        (None, {}, None),
        ("http://a:1", {}, "http://a:1/v1/traces"),
        (None, {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://b:2/base/"}, "https://b:2/base/v1/traces"),
        ("http://a:1", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://b:2"}, "http://a:1/v1/traces"),
        (None, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:3/t"}, "http://c:3/t"),
        (None, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://b:2", "OTEL_SDK_DISABLED": "true"}, None),
    ],
)
def test_where_traces_go(option: str | None, environment: dict[str, str], endpoint: str | None) -> None:
    found = trace_settings(option, environment, "fairlead")
    assert (found.endpoint if found is not None else None) == endpoint


@pytest.mark.parametrize("bad", ["127.0.0.1:4318", "ftp://a", "http://", "http://a:x"])
def test_an_address_that_is_none_is_refused_with_an_example(bad: str) -> None:
    with pytest.raises(UsageError, match=r"http://127\.0\.0\.1:4318"):
        trace_settings(bad, {}, "fairlead")


def test_a_share_out_of_bounds_is_refused() -> None:
    with pytest.raises(UsageError, match="from 0 to 1"):
        trace_settings("http://a:1", {"OTEL_TRACES_SAMPLER_ARG": "2"}, "fairlead")


def test_a_request_of_an_agent_is_a_trace_that_the_servers_span_goes_on(
    tracer: Tracer, spans: list[Span]
) -> None:
    request = Request("patch", "", "v1", "pods", "default", "web-1", "status")
    context = tracer.asking()
    tracer.answered(asked(traceparent=context.traceparent.encode()), request, 200, 0.1)
    tracer.asked(context, request, "n1", 1, Unknown("the line broke"))
    served, sent = spans
    assert (sent.name, sent.kind, sent.parent, sent.trouble) == (
        "agent patch pods/status",
        CLIENT,
        "",
        "unknown",
    )
    assert dict(sent.attributes)["fairlead.node"] == "n1"
    assert dict(sent.attributes)["fairlead.object"] == "pods/default/web-1"
    assert (served.context.trace_id, served.parent) == (sent.context.trace_id, sent.context.span_id)


def test_a_turn_names_the_operations_of_its_effects(tracer: Tracer, spans: list[Span]) -> None:
    tracer.decided(decision(1, effects=[f"Create job/u/make/{number}" for number in range(12)]))
    named = str(dict(spans[0].attributes)["fairlead.operations"]).split()
    assert named == [f"job/u/make/{number}" for number in range(10)]
