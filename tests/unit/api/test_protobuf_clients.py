"""What kubectl sends in protobuf means what it would have meant in JSON, through the whole API."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.api.access.reviews import REVIEWS
from fairlead.core.errors import BadRequest
from fairlead.model.catalog import CATALOG
from fairlead.model.fields import ListOf, MapOf, Ref, Type
from fairlead.model.files import load_tables
from fairlead.model.protobuf import MAGIC, MEDIA_TYPE, read
from tests.inprocess import InProcess
from tests.samples_protobuf import SENT, Sent

TABLES = load_tables()
POSTED = [sent for sent in SENT if sent.meant["kind"] != "DeleteOptions"]
PROTOBUF: Any = {"content_type": MEDIA_TYPE}


def address(obj: dict[str, Any]) -> str:
    group, _, version = obj["apiVersion"].rpartition("/")
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    for kind in CATALOG:
        if (kind.kind, kind.api_version) == (obj["kind"], obj["apiVersion"]):
            return f"{root}/namespaces/d/{kind.plural}" if kind.namespaced else f"{root}/{kind.plural}"
    return root + "/" + next(review.plural for review in REVIEWS if review.kind == obj["kind"])


def plane() -> InProcess:
    found = InProcess()
    found.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "d"}})
    return found


def block(number: int, content: bytes, wire_type: int = 2) -> bytes:
    """A field whose number is below 16 and whose content is below 128 bytes."""
    return bytes([number << 3 | wire_type, len(content)]) + content


def envelope(kind: str, raw: bytes) -> bytes:
    return MAGIC + block(1, block(1, b"v1") + block(2, kind.encode())) + block(2, raw)


@pytest.mark.parametrize("sent", SENT, ids=lambda sent: sent.command)
def test_each_command_is_read_as_what_it_prints(sent: Sent) -> None:
    assert read(TABLES, sent.body) == sent.meant


@pytest.mark.parametrize("sent", POSTED, ids=lambda sent: sent.command)
def test_protobuf_and_json_have_the_same_answer(sent: Sent) -> None:
    where = address(sent.meant) + "?fieldValidation=Strict"
    answer = plane().post(where, sent.body, **PROTOBUF)
    assert answer[0] == 201
    assert answer == plane().post(where, sent.meant)


def test_a_delete_takes_its_options_in_protobuf() -> None:
    api = plane()
    options = next(sent for sent in SENT if sent.meant["kind"] == "DeleteOptions")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]},
    }
    assert api.post("/api/v1/namespaces/d/pods", pod)[0] == 201
    assert api.request("DELETE", "/api/v1/namespaces/d/pods/p", options.body, **PROTOBUF)[0] == 200
    # Grace 0 was asked for: without it a pod on a node stays until its node lets go.
    assert api.get("/api/v1/namespaces/d/pods/p")[0] == 404


def test_a_replacement_may_come_in_protobuf() -> None:
    api = plane()
    sent = next(sent for sent in SENT if sent.command.startswith("create configmap"))
    old = sent.meant | {"data": {"old": "1"}}
    assert api.post("/api/v1/namespaces/d/configmaps", old)[0] == 201
    status, found = api.put("/api/v1/namespaces/d/configmaps/c", sent.body, **PROTOBUF)
    assert (status, found["data"]) == (200, {"a": "1", "b": ""})


@pytest.mark.parametrize("media", ["text/plain", "application/cbor"])
def test_other_media_types_are_refused_by_naming_those_that_are_read(media: str) -> None:
    status, answer = plane().post("/api/v1/namespaces", b"x", content_type=media)
    assert status == 415
    assert "application/json" in answer["message"]
    assert MEDIA_TYPE in answer["message"]


def test_an_object_sent_to_another_address_is_refused() -> None:
    status, answer = plane().post("/api/v1/namespaces", envelope("ConfigMap", b""), **PROTOBUF)
    assert (status, answer["reason"]) == (400, "BadRequest")


@pytest.mark.parametrize(
    ("unset", "what"), [(block(9, b""), "text"), (b"\x48\x00", "number")], ids=["text", "number"]
)
def test_a_field_of_a_newer_client_is_passed_over_while_it_is_unset(unset: bytes, what: str) -> None:
    found = read(TABLES, envelope("Namespace", unset + block(1, block(1, b"x"))))
    assert found == {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}, what


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (block(9, b"x"), "field number 9 of Namespace is not known"),
        (b"\x48\x05", "field number 9 of Namespace is not known"),
        (b"\x09" + b"12345678", "wire type 1 is not known"),
        (b"\x0d" + b"1234", "wire type 5 is not known"),
        (b"\x0a\x05x", "ends in the middle of a field"),
        (block(1, b"\x0a\x05x") + block(2, b""), "ends in the middle of a field"),
        (block(1, b"\x38\x80") + block(2, b""), "ends in the middle of a field"),
    ],
)
def test_what_is_not_an_object_is_refused(raw: bytes, reason: str) -> None:
    with pytest.raises(BadRequest, match=reason):
        read(TABLES, envelope("Namespace", raw))


def test_a_value_that_is_neither_number_nor_text_is_refused() -> None:
    port = block(1, block(4, b"\x08\x02"))
    with pytest.raises(BadRequest, match="2 is not a form of a number or text"):
        read(TABLES, envelope("Service", block(2, port)))


@given(st.data())
def test_damaged_bodies_are_read_or_refused(data: st.DataObject) -> None:
    body = bytearray(data.draw(st.sampled_from(SENT)).body)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(4, len(body) - 1))
        body[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    with suppress(BadRequest):
        assert read(TABLES, bytes(body))["kind"] in TABLES.types


# Refused wherever they come from: in protobuf before anything else is looked at.
NOT_ALLOWED = {
    "JSONSchemaProps": ("additionalItems", "definitions", "dependencies", "patternProperties"),
}


def test_every_field_has_a_number_of_its_own() -> None:
    for found in TABLES.types.values():
        left_out = ("apiVersion", "kind", *NOT_ALLOWED.get(found.name, ()))
        fields = [field for field in found.fields.values() if field.name not in left_out]
        assert [field.name for field in fields if not field.number] == [], found.name
        numbers = [field.number for field in found.fields.values() if field.number]
        assert len(set(numbers)) == len(numbers), found.name


def test_no_type_but_a_schema_contains_itself_so_that_reading_has_a_deepest_level() -> None:
    def named(kind: Type) -> str:
        while isinstance(kind, ListOf | MapOf):
            kind = kind.item if isinstance(kind, ListOf) else kind.value
        return kind.name if isinstance(kind, Ref) else ""

    def walk(name: str, above: tuple[str, ...]) -> None:
        if name == "JSONSchemaProps":
            return
        assert name not in above, (*above, name)
        for inner in {named(field.type) for field in TABLES[name].fields.values() if field.number} - {""}:
            walk(inner, (*above, name))

    for name in TABLES.types:
        walk(name, ())
