"""Events that are alike but for free texts: what is spliced ends as what went the long way, to the byte."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.core import codec
from fairlead.port.request import JSON, Reply, Request
from tests.inprocess import InProcess
from tests.unit.api.test_spec_cache import (
    Counting,
    CountingRepeats,
    Forgetful,
    ForgetfulRepeats,
    remembering,
)

TIME = "2026-11-18T02:57:04Z"
DECISION = "fairlead.dev/decision"


def event(number: int, **fields: Any) -> dict[str, Any]:
    pod = f"web-{number}"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{pod}.17c2",
            "namespace": "default",
            "annotations": {DECISION: f"c4cb5a15-{number}"},
        },
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": pod, "uid": f"uid-of-{pod}"},
        "type": "Normal",
        "reason": "Scheduled",
        "message": f"assigned {pod} to node-{number}",
        "source": {"component": "default-scheduler"},
        "firstTimestamp": TIME,
        "lastTimestamp": TIME,
        "count": 1,
        "eventTime": None,
        **fields,
    }


def named(number: int, **metadata: Any) -> dict[str, Any]:
    made = event(number)
    made["metadata"] |= metadata
    return made


NEWER = {"eventTime": "2026-11-18T02:57:04.000000Z", "action": "Bound", "reportingComponent": "x.y/z"}


def bodies() -> Iterator[dict[str, Any]]:
    for number in range(6):
        yield event(number)
    yield event(3)  # it exists
    for number, time in enumerate(
        (
            "2026-11-18T02:57:05Z",
            "2026-02-30T02:57:04Z",
            "2026-11-18T02:57:04.5Z",
            "2026-11-18T03:57:04+01:00",
            "2026-11-18",
            "",
            7,
            None,
        ),
        10,
    ):
        yield event(number, firstTimestamp=time)
        yield event(number + 20, lastTimestamp=time)
    for number, text in enumerate(
        ('say "hello"', "\\", "é", "%(name)b %d", "@uid@ @1@", "x" * 1100, "", None, 5), 60
    ):
        yield event(number, message=text)
        yield event(number + 20, message=text, reportingInstance="i", **NEWER)
        yield named(number + 40, annotations={DECISION: text})
        yield event(number + 60, involvedObject={"namespace": "default", "name": text, "uid": "u"})
    for number, name in enumerate(("Big", "a..b", "-a", "a" * 253, "a" * 254, "", "web-203", 4, None), 200):
        yield named(number, name=name)
        yield event(number + 20, involvedObject={"kind": "Pod", "namespace": "other", "name": f"{name}"})
    for number in (300, 301, 302):
        yield named(number, labels={"name": f"web-{number}", "uid": "x"})
        yield named(number + 10, generateName="gen-")
        yield named(number + 20, namespace="elsewhere")
        yield event(number + 30, unheardOf=1)
        yield event(number + 40, note="@name@")
        yield event(number + 50, source="none")


def requests() -> Iterator[Request]:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}}
    for body in bodies():
        yield Request("create", "", "v1", "events", "default", body=codec.encode(body), content_type=JSON)
    for number in range(400, 404):  # as others write it, and what is doubtful
        spaced = codec.encode(event(number)).replace(b'":', b'": ')
        yield Request("create", "", "v1", "events", "default", body=spaced, content_type=JSON)
        twice = codec.encode(event(number + 10)).replace(b'"count":1', b'"count":1,"count":1')
        yield Request("create", "", "v1", "events", "default", body=twice, content_type=JSON)
        hidden = codec.encode(named(number + 20, labels={"name": "X"})).replace(b'"web-', b'"\\u0077eb-')
        yield Request("create", "", "v1", "events", "default", body=hidden, content_type=JSON)
        plain = codec.encode(event(number + 30))
        query = {"dryRun": "All"} if number % 2 else {"fieldValidation": "Ignore"}
        yield Request("create", "", "v1", "events", "default", body=plain, content_type=JSON, query=query)
    limited = codec.encode({**quota, "spec": {"hard": {"count/events": "150"}}})
    yield Request("create", "", "v1", "resourcequotas", "default", body=limited, content_type=JSON)
    for number in range(500, 520):
        yield Request(
            "create", "", "v1", "events", "default", body=codec.encode(event(number)), content_type=JSON
        )


def test_events_that_are_spliced_end_as_those_that_are_not() -> None:
    repeats = CountingRepeats()
    short = remembering(InProcess(), Counting(), repeats)
    long = remembering(InProcess(), Forgetful(), ForgetfulRepeats())
    asked = list(requests())
    told = [short.send(request) for request in asked]
    assert [long.send(request) for request in asked] == told
    assert [(each.type, each.entry) for each in short.published] == [
        (each.type, each.entry) for each in long.published
    ]
    assert short.journal._notes == long.journal._notes
    assert {reply.status for reply in told if isinstance(reply, Reply)} >= {201, 400, 409, 422}
    assert repeats.known > 20, repeats.known
