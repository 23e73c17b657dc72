"""Bodies in Kubernetes' protobuf: what kubectl sends is read, whatever else is refused and never dropped."""

from __future__ import annotations

import struct
from base64 import b64decode
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.errors import BadRequest
from fairlead.core.times import parse_time
from fairlead.model.fields import ListOf, MapOf, Ref, Scalar, Type
from fairlead.model.files import load_tables
from fairlead.model.protobuf import MAGIC, MEDIA_TYPE, read
from tests.inprocess import InProcess
from tests.samples import SAMPLES

TABLES = load_tables()

# Bodies of kubectl 1.32: create deployment, auth can-i, create secret, service, pdb.
RECORDED = [
    (
        (
            "6b3873000a150a07617070732f7631120a4465706c6f796d656e74129b010a1b0a016412001a0022002a003200380042"
            "005a080a03617070120164126e0801120a0a080a036170701201641a560a1a0a0012001a0022002a003200380042005a"
            "080a036170701201641238121a0a01781201782a0042006a007200800100880100900100a201001a00320042004a0052"
            "005800600068008201008a01009a0100c2010022020a00280038001a0c0800100018002000280038001a002200"
        ),
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "d", "labels": {"app": "d"}},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": {"app": "d"}},
                "template": {
                    "metadata": {"labels": {"app": "d"}},
                    "spec": {"containers": [{"name": "x", "image": "x", "resources": {}}]},
                },
                "strategy": {},
            },
            "status": {},
        },
    ),
    (
        (
            "6b3873000a320a17617574686f72697a6174696f6e2e6b38732e696f2f7631121753656c665375626a65637441636365"
            "7373526576696577123c0a100a0012001a0022002a00320038004200121e0a1c0a0764656661756c7412036765741a00"
            "22002a04706f647332003a001a08080012001a0020001a002200"
        ),
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "metadata": {},
            "spec": {"resourceAttributes": {"namespace": "default", "verb": "get", "resource": "pods"}},
            "status": {"allowed": False},
        },
    ),
    (
        (
            "6b3873000a0c0a0276311206536563726574121d0a110a017312001a0022002a0032003800420012060a01611201621a"
            "001a002200"
        ),
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "Yg=="}},
    ),
    (
        (
            "6b3873000a0d0a027631120753657276696365125d0a1b0a017312001a0022002a003200380042005a080a0361707012"
            "0173123a0a150a023830120354435018502206080010501a00280012080a036170701201731a002209436c7573746572"
            "49503a00420052005a00600068001a020a001a002200"
        ),
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "s", "labels": {"app": "s"}},
            "spec": {
                "ports": [{"name": "80", "protocol": "TCP", "port": 80, "targetPort": 80}],
                "selector": {"app": "s"},
                "type": "ClusterIP",
            },
            "status": {"loadBalancer": {}},
        },
    ),
    (
        (
            "6b3873000a200a09706f6c6963792f76311213506f6444697372757074696f6e42756467657412330a110a016212001a"
            "0022002a0032003800420012120a06080010011a0012080a060a01611201621a0a080018002000280030001a002200"
        ),
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}},
            "status": {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0},
        },
    ),
]


@pytest.mark.parametrize(
    ("body", "expected"), RECORDED, ids=lambda value: value["kind"] if isinstance(value, dict) else ""
)
def test_what_kubectl_sends_is_read(body: str, expected: dict[str, Any]) -> None:
    assert read(TABLES, bytes.fromhex(body)) == expected


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def block(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def integer(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    return MAGIC + block(1, block(1, api_version.encode()) + block(2, kind.encode())) + block(2, raw)


def written(kind: Type, number: int, value: Any) -> bytes:
    """The value as a Go client writes it."""
    if isinstance(kind, ListOf):
        return b"".join(written(kind.item, number, item) for item in value)
    if isinstance(kind, MapOf) and kind.value == Scalar("any"):
        return block(number, block(1, msgspec.json.encode(value)))
    if isinstance(kind, MapOf):
        entries = (block(1, key.encode()) + written(kind.value, 2, item) for key, item in value.items())
        return b"".join(block(number, entry) for entry in entries)
    if isinstance(kind, Ref):
        return block(number, message(kind.name, value))
    if kind.name in ("int32", "int64", "boolean"):
        return integer(number, int(value))
    if kind.name == "number":
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if kind.name == "any":
        return block(number, block(1, msgspec.json.encode(value)))
    if kind.name == "quantity":
        return block(number, block(1, str(value).encode()))
    if kind.name in ("time", "microtime"):
        seconds, fraction = divmod(parse_time(value), 1)
        return block(number, integer(1, int(seconds)) + integer(2, round(fraction * 10**6) * 1000))
    if kind.name == "int-or-string":
        text = isinstance(value, str)
        return block(number, integer(1, text) + (block(3, value.encode()) if text else integer(2, value)))
    return block(number, b64decode(value) if kind.name == "bytes" else value.encode())


def message(type_name: str, obj: dict[str, Any]) -> bytes:
    out = b""
    for key, value in obj.items():
        field = TABLES[type_name].fields[key]
        if field.number:
            *outer, number = field.number
            if key == "additionalProperties":
                whole = isinstance(value, dict)
                either = integer(1, whole or value) + (block(2, message(type_name, value)) if whole else b"")
                out += block(number, either)
                continue
            content = written(field.type, number, value)
            for folded in reversed(outer):
                content = block(folded, content)
            out += content
    return out


def test_a_kind_of_several_versions_is_read_in_the_one_that_it_says() -> None:
    spec = {
        "scaleTargetRef": {"kind": "Deployment", "name": "web"},
        "maxReplicas": 4,
        "targetCPUUtilizationPercentage": 50,
    }
    first = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "spec": spec}
    raw = message("HorizontalPodAutoscalerV1", first)
    assert read(TABLES, envelope("autoscaling/v1", "HorizontalPodAutoscaler", raw)) == first


@pytest.mark.parametrize("kind", sorted(SAMPLES))
def test_every_sample_survives_the_way_through_protobuf(kind: str) -> None:
    text = msgspec.json.encode(SAMPLES[kind]).decode()
    sample = msgspec.json.decode(text.replace('"example.com/gpu":1', '"example.com/gpu":"1"'))
    if kind == "PriorityClass":
        del sample["globalDefault"]  # false, which protobuf does not tell from absent
    assert read(TABLES, envelope(sample["apiVersion"], kind, message(kind, sample))) == sample


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        ("Deployment", {"spec": {"replicas": 0, "minReadySeconds": 0}}, {"spec": {"replicas": 0}}),
        ("PodDisruptionBudget", {"spec": {"maxUnavailable": 0}}, {"spec": {"maxUnavailable": 0}}),
        (
            "Service",
            {"spec": {"ports": [{"port": 80, "targetPort": 0}]}},
            {"spec": {"ports": [{"port": 80}]}},
        ),
        ("Pod", {"spec": {"nodeName": "", "hostNetwork": False}}, {"spec": {}}),
        ("Pod", {"spec": {"volumes": [{"emptyDir": {}}]}}, {"spec": {"volumes": [{"emptyDir": {}}]}}),
        ("ConfigMap", {"data": {"a": ""}, "immutable": False}, {"data": {"a": ""}, "immutable": False}),
        ("Pod", {"spec": {"priority": -5}}, {"spec": {"priority": -5}}),
    ],
)
def test_zero_is_kept_only_where_it_means_something(kind: str, given: Any, expected: Any) -> None:
    found = read(TABLES, envelope("v1", kind, message(kind, given)))
    assert found == {"apiVersion": "v1", "kind": kind} | expected


@pytest.mark.parametrize(
    ("body", "message_part"),
    [
        (b"{}", "does not begin with the mark"),
        (MAGIC + b"\x0a\xff", "ends in the middle"),
        (MAGIC + b"\x0b", "wire type 3 is not known"),
        (MAGIC + b"\x0a" + b"\xff" * 11, "a number is too long"),
        (envelope("v1", "Widget", b""), 'no kind "Widget" in "v1" is known'),
        (envelope("v1", "Pod", block(999, b"x")), "field number 999 of Pod is not known"),
        (envelope("v1", "Pod", integer(1, 5)), "a number stands where text or a message is expected"),
        (envelope("v1", "PriorityClass", block(2, b"x")), "stands where a number is expected"),
        (envelope("v1", "ConfigMap", block(1, block(1, b"\xff"))), "text is not valid UTF-8"),
        (envelope("v1", "ConfigMap", block(1, block(8, integer(1, 2**60)))), "is out of range"),
        (envelope("v1", "ConfigMap", block(1, block(17, block(7, block(1, b"{"))))), "holds something else"),
        (envelope("v1", "Pod", b"") + block(3, b"gzip"), "compressed objects are not supported"),
    ],
)
def test_what_is_malformed_is_refused_with_a_reason(body: bytes, message_part: str) -> None:
    with pytest.raises(BadRequest, match=message_part):
        read(TABLES, body)


@given(st.binary(max_size=60), st.sampled_from(sorted(SAMPLES)))
def test_arbitrary_bytes_are_read_or_refused(raw: bytes, kind: str) -> None:
    for body in (
        MAGIC + raw,
        envelope("v1", kind, raw),
        envelope("v1", kind, message(kind, SAMPLES[kind])[:-1] + raw),
    ):
        with suppress(BadRequest):
            assert read(TABLES, body)["kind"] in TABLES.types


def _definition(schema: dict[str, Any]) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": False, "schema": {"openAPIV3Schema": schema}}
    return {
        "spec": {
            "group": "g.example",
            "scope": "Namespaced",
            "names": {"plural": "x", "kind": "X"},
            "versions": [version],
        }
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}},
        {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": True}},
        {"type": "object", "additionalProperties": False},
        {"default": False, "example": {"a": [1, None]}, "enum": ["a", 1, None, 2.5, {"b": 0}]},
        {"maximum": 0.0, "minimum": -2.5, "maxLength": 0, "exclusiveMaximum": True, "nullable": True},
        {"not": {"anyOf": [{"required": ["a"]}]}, "externalDocs": {"url": "u", "description": "d"}},
        {"x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-list-map-keys": ["k"]},
        {"x-kubernetes-validations": [{"rule": "self.a", "message": "m", "optionalOldSelf": False}]},
    ],
)
def test_schemas_of_custom_kinds_are_read_whole(schema: dict[str, Any]) -> None:
    sent = _definition(schema)
    body = envelope(
        "apiextensions.k8s.io/v1", "CustomResourceDefinition", message("CustomResourceDefinition", sent)
    )
    found = read(TABLES, body)
    assert found["spec"] == sent["spec"]


def test_a_conversion_webhook_is_refused_in_words_that_name_the_field() -> None:
    sent = _definition({"type": "object"})
    service = {"namespace": "shop", "name": "hooks", "path": "/convert", "port": 8443}
    # Written by hand: a table that does not know a field would leave it out here as well.
    at = block(1, b"shop") + block(2, b"hooks") + block(3, b"/convert") + integer(4, 8443)
    webhook = block(2, block(1, at) + block(2, b"ca")) + block(3, b"v1")
    conversion = block(9, block(1, b"Webhook") + block(2, webhook))
    spec = message("CustomResourceDefinitionSpec", sent["spec"]) + conversion
    name = message("ObjectMeta", {"name": "x.g.example"})
    raw = block(1, name) + block(2, spec)
    body = envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", raw)
    assert read(TABLES, body)["spec"]["conversion"] == {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {"service": service, "caBundle": "Y2E="},
            "conversionReviewVersions": ["v1"],
        },
    }
    target = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    status, refused = InProcess().request("POST", target, body, content_type=MEDIA_TYPE)
    assert status == 422
    told = {each["field"]: each["message"] for each in refused["details"]["causes"]}
    assert told["spec.conversion.strategy"].startswith(
        "Forbidden: conversion webhooks are not supported here"
    )


@pytest.mark.parametrize("levels", [99, 400, 100_000])
def test_schemas_that_are_nested_too_deeply_are_refused(levels: int) -> None:
    schema = b""
    for _ in range(levels):
        schema = block(28, schema)
    version = block(1, b"v1") + block(4, block(1, schema))
    with pytest.raises(BadRequest, match="nested too deeply: at most 100 levels"):
        read(
            TABLES,
            envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", block(2, block(7, version))),
        )
