"""Specs that were seen before: the short way must end as the long one does, byte for byte, in answers, objects and audit."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import msgspec
import pytest

from fairlead.api import spec_cache, spec_split
from fairlead.api.repeated_creates import RepeatedCreate, Repeats
from fairlead.api.server import Api
from fairlead.api.spec_cache import CachedSpec, SpecCache
from fairlead.api.subresources import binding, binding_in_place
from fairlead.model.pod_decoder import decode_pod
from fairlead.model.specs import SPEC_BYTES_MAX, SPECS_MAX, KnownSpec, counts, derived, spec_of, stored_spec
from fairlead.model.views import Pod
from fairlead.port.request import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Reply, Request
from fairlead.schedule.facts import FactsOf, facts_of
from tests.inprocess import InProcess

SPEC = {
    "containers": [
        {
            "name": "main",
            "image": "web:1.25",
            "ports": [{"containerPort": 8080}],
            "resources": {"requests": {"cpu": "0.1", "memory": "256Mi"}},
        }
    ]
}
JOB = {**SPEC, "restartPolicy": "Never", "initContainers": [{"name": "first", "image": "x", "env": None}]}
LATEST = {
    "containers": [{"name": "main", "image": "web", "env": [{"name": "A"}, {"name": "A"}]}]
}  # warned of
GATED = {**SPEC, "schedulingGates": [{"name": "wait"}]}
PLACED = {**SPEC, "nodeName": "node-1"}
ESCAPED = {
    "containers": [{"name": "main", "image": "web:1", "args": ['say "hello"', "\\", "é", ',"nodeName":"x"}']}]
}
WRONG = {"containers": [{"name": "Main", "image": "web:1"}]}
SPECS: tuple[dict[str, Any], ...] = (SPEC, JOB, LATEST, GATED, PLACED, ESCAPED, WRONG)


class Counting(SpecCache):
    """Says how often it knew something."""

    def __init__(self) -> None:
        super().__init__()
        self.known = 0

    def find(self, *asked: Any) -> CachedSpec | None:
        found = super().find(*asked)
        self.known += found is not None
        return found


class Forgetful(SpecCache):
    """Knows nothing, so that every request goes the long way."""

    def find(self, *asked: object) -> CachedSpec | None:
        return None


class CountingRepeats(Repeats):
    """Says how often a create was like one before."""

    known = 0

    def find(self, *asked: Any) -> RepeatedCreate | None:
        found = super().find(*asked)
        self.known += found is not None
        return found


class ForgetfulRepeats(Repeats):
    def find(self, *asked: object) -> None:
        return None


def pod(name: str, spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


def create(body: Any, query: dict[str, str] | None = None, space: str = "default") -> Request:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Request("create", "", "v1", "pods", space, query=query or {}, body=data)


def bind(name: str, node: str, **metadata: Any) -> Request:
    body = {"metadata": {"name": name, **metadata}, "target": {"kind": "Node", "name": node}}
    return Request(
        verb="create",
        group="",
        version="v1",
        plural="pods",
        namespace="default",
        name=name,
        subresource="binding",
        body=json.dumps(body).encode(),
    )


def patch(name: str, body: Any, media: str = MERGE_PATCH, sub: str = "status") -> Request:
    data = json.dumps(body).encode()
    return Request(
        verb="patch",
        group="",
        version="v1",
        plural="pods",
        namespace="default",
        name=name,
        subresource=sub,
        body=data,
        content_type=media,
    )


def other(plural: str, group: str, space: str, body: dict[str, Any]) -> Request:
    return Request("create", group, "v1", plural, space, body=json.dumps(body).encode())


def text(raw: str) -> bytes:
    return raw.replace("SPEC", json.dumps(SPEC)).encode()


RUNNING = {
    "phase": "Running",
    "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    "containerStatuses": [
        {
            "name": "main",
            "image": "web",
            "imageID": "",
            "ready": True,
            "restartCount": 0,
            "state": {"running": {}},
        }
    ],
}
RANGE = {"metadata": {"name": "r"}, "spec": {"limits": [{"type": "Container", "default": {"cpu": "2"}}]}}
LEVEL = {"metadata": {"name": "urgent"}, "value": 7, "globalDefault": True}
QUOTA = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "50", "requests.cpu": "3"}}}


def requests() -> Iterator[Request]:
    for round_ in range(4):
        for kind, spec in enumerate(SPECS):
            name = f"p{round_}-{kind}"
            yield create(pod(name, spec, labels={"app": "web"}))
            yield create(pod(name, spec))  # exists
            for number in range(3):
                yield create(pod(f"{name}-more-{number}", spec))
                yield create(pod(f"{name}-dotted.{number}", spec))
                yield create(pod(f"{name}-own-{number}", spec, labels={"app": f"{name}-own-{number}"}))
                yield create(pod(f"{name}-asked-{number}", spec), {"fieldManager": f"m{number % 2}"})
            yield create(pod(f"{name}-more-0", spec))  # exists
            yield create(pod("", spec, generateName="made-"))
            for level in ("Strict", "Ignore"):
                yield create(pod(f"{name}-{level.lower()}", spec), {"fieldValidation": level})
            yield create(pod(f"{name}-dry", spec), {"dryRun": "All"})
            yield create(pod(f"{name}-x", spec, finalizers=["short"], annotations={"a": ""}, labels={}))
            yield create(pod(f"{name}-bad", spec, labels={"not ok": "1"}))
            yield create(pod(f"{name}-typed", spec, labels={"a": 1}))
            yield create(pod(f"{name}-null", spec, creationTimestamp=None))
            yield create(pod(f"{name}-rv", spec, resourceVersion="5"))
            yield create(pod(f"{name}-status", spec) | {"status": {}})
            yield create(pod(f"{name}-said", spec) | {"status": {"phase": "Running"}})
            yield create(pod(f"{name}-more", spec) | {"unknown": 1})
            yield create(pod(f"{name}-kind", spec) | {"kind": "Job"})
            yield create({"metadata": {"name": f"{name}-short"}, "spec": spec})
            yield create(pod(f"{name}-far", spec), space="elsewhere")
            yield create(pod(f"{name}-system", spec), space="kube-system")
            yield bind(name, f"node-{kind}")
            yield bind(name, "another")
            yield bind(f"{name}-x", "node.with.dots", annotations={"by": "me"}, uid="wrong")
            yield bind(f"{name}-x", "node.with.dots", annotations={"by": "me"})
            for status in (
                RUNNING,
                {"phase": "Failed"},
                {"phase": None, "podIP": "10.0.0.1"},
                {"phase": 3},
                {"x": 1},
            ):
                yield patch(name, {"status": status})
            yield patch(name, {"status": RUNNING, "metadata": {"resourceVersion": "1"}})
            yield patch(name, {"status": {"phase": "Running"}, "metadata": {"labels": {"a": 1}}})
            yield patch(name, {"status": {"phase": "Running"}, "spec": {"nodeName": "no"}})
            yield patch(name, {"status": RUNNING}, STRATEGIC_PATCH)
            yield patch(name, [{"op": "add", "path": "/status/message", "value": "m"}], JSON_PATCH)
            yield patch(name, {"metadata": {"labels": {"b": "c"}}}, sub="")
            yield patch(name, {"spec": {"activeDeadlineSeconds": 9}}, sub="")
        twice = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"tROUND"},"spec":{},"spec":SPEC}'
        for raw in (
            twice,
            '{"metadata":{"name":"uROUND","name":"vROUND"},"spec":SPEC}',
            '{"metadata":{"name":"wROUND"},"sp\\u0065c":SPEC}',
            '{"metadata":{"name":"zROUND"},"spec":SPEC} x',
            '{"spec":SPEC,"metadata":{"name":"yROUND","annotations":{"a":"\\u0022"}}}',
            '{"spec":SPEC}',
            '{"metadata":null,"spec":SPEC}',
        ):
            yield create(text(raw.replace("ROUND", str(round_))))
        yield from (
            (other("limitranges", "", "default", RANGE),),
            (other("priorityclasses", "scheduling.k8s.io", "", LEVEL),),
            (other("resourcequotas", "", "default", QUOTA),),
            (),
        )[round_]


def remembering(server: InProcess, memory: SpecCache, repeats: Repeats) -> InProcess:
    server.desk = replace(server.desk, spec_cache=memory, repeats=repeats)
    server.api = Api(server.desk, server.api.sign_in)
    return server


def test_what_is_known_ends_as_what_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, repeats, bound, settled = Counting(), CountingRepeats(), 0, 0

    def bind_in_place(*asked: Any) -> Any:
        nonlocal bound
        found = in_place(*asked)
        bound += found is not None
        return found

    def settle(*asked: Any) -> Any:
        nonlocal settled
        found = settled_spec(*asked)
        settled += found is not None
        return found

    in_place, settled_spec = binding_in_place.bind_in_place, spec_cache.settled_spec
    short = remembering(InProcess(), memory, repeats)
    long = remembering(InProcess(), Forgetful(), ForgetfulRepeats())
    asked = list(requests())
    with monkeypatch.context() as context:
        context.setattr(binding, "bind_in_place", bind_in_place)
        context.setattr(spec_cache, "settled_spec", settle)
        told = [short.send(request) for request in asked]
    with monkeypatch.context() as context:
        context.setattr(spec_split, "split_entry", lambda entry: None)
        context.setattr(binding, "bind_in_place", lambda *asked: None)
        assert [long.send(request) for request in asked] == told
    assert [(each.type, each.entry) for each in short.published] == [
        (each.type, each.entry) for each in long.published
    ]
    assert short.journal._notes == long.journal._notes
    assert {reply.status for reply in told if isinstance(reply, Reply)} >= {200, 201, 400, 403, 404, 409, 422}
    assert (memory.known > 100, settled > 100) == (True, True), (memory.known, settled)
    assert (repeats.known > 40, bound > 10) == (True, True), (repeats.known, bound)


@pytest.mark.parametrize(
    ("spec", "node"),
    [
        ('{"a":1}', ""),
        ('{"a":1,"nodeName":"n"}', "n"),
        ('{"nodeName":"n","a":1}', ""),
        ('{"a":[",\\"nodeName\\":\\"n\\"}"]}', ""),
        ('{"a":{"b":1,"nodeName":"n"}}', ""),
        ('{"a":1,"nodeName":"n\\u0041"}', ""),
        ('{"a":1,"nodeName":""}', ""),
    ],
)
def test_the_node_at_the_end_of_a_spec(spec: str, node: str) -> None:
    rest, found = stored_spec("pods", spec.encode())
    assert found.decode() == node
    assert json.loads(rest.encoded) == {
        k: v for k, v in json.loads(spec).items() if k != "nodeName" or not node
    }


def test_pods_are_decoded_as_without_memory() -> None:
    server, plain = InProcess(), msgspec.json.Decoder(Pod)
    for request in requests():
        server.send(request)
    pods = [each.entry.data for each in server.published if each.entry.key.resource == "pods"]
    facts = FactsOf()
    for data in pods:
        seen = decode_pod(data)
        assert seen == plain.decode(data)
        found = facts(seen)
        assert found is facts(plain.decode(data))
        anew = facts_of(plain.decode(data))
        assert [getattr(found, each.name) for each in fields(found)] == [
            getattr(anew, each.name) for each in fields(anew)
        ]
    assert 4 * len({id(decode_pod(data).spec.containers) for data in pods}) < len(pods)
    for wrong in (
        b"{}",
        b'{"metadata":{"name":"a","uid":"b"},"spec":{"nodeName":1}}',
        b'{"metadata":3}',
        b"x",
    ):
        with pytest.raises(msgspec.MsgspecError) as told:
            plain.decode(wrong)
        with pytest.raises(msgspec.MsgspecError, match=re.escape(str(told.value))):
            decode_pod(wrong)


def test_a_spec_has_one_record_and_what_follows_from_it_is_found_once() -> None:
    asked: list[bytes] = []

    @derived
    def length(spec: KnownSpec, unit: int) -> int:
        asked.append(spec.encoded)
        return len(spec.encoded) * unit

    before = counts()
    first, again = spec_of("pods", b'{"only":"here"}'), spec_of("pods", b'{"only":' + b'"here"}')
    assert first is again
    assert spec_of("jobs.batch", b'{"only":"here"}') is not first
    assert (length(first, 2), length(again, 2), asked) == (30, 30, [first.encoded])
    assert (counts().known - before.known, counts().unknown - before.unknown) == (1, 2)


def test_a_failure_to_derive_is_not_remembered() -> None:
    @derived
    def broken(spec: KnownSpec) -> int:
        raise ValueError(spec.resource)

    spec = spec_of("pods", b"{}")
    for _ in range(2):
        with pytest.raises(ValueError, match="pods"):
            broken(spec)


def test_specs_are_kept_up_to_a_bound_and_the_longest_not_at_all() -> None:
    first = spec_of("pods", b'{"number":-1}')
    for number in range(SPECS_MAX):
        spec_of("pods", b'{"number":%d}' % number)
    assert counts().kept == SPECS_MAX
    assert spec_of("pods", b'{"number":-1}') is not first
    long = b'"%b"' % (b"x" * SPEC_BYTES_MAX)
    assert spec_of("pods", long) is not spec_of("pods", long)
