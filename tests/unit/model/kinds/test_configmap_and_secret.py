"""ConfigMaps and secrets: keys, sizes, immutability, types of secrets."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from fairlead.core.problems import Problems
from fairlead.model.kind import Kind
from fairlead.model.kinds.configmap import KIND as CONFIGMAP
from fairlead.model.kinds.secret import KIND as SECRET
from fairlead.model.kinds.serviceaccount import KIND as ACCOUNT

Json = dict[str, Any]
MEBIBYTE = 1024 * 1024


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def causes(kind: Kind, obj: Json) -> list[str]:
    kind.defaults(obj)
    problems = Problems()
    kind.validate(obj, problems)
    return [f"{cause.field}: {cause.message}" for cause in problems.causes]


def update_causes(kind: Kind, new: Json, old: Json) -> list[str]:
    problems = Problems()
    kind.validate_update(new, old, problems)
    return [f"{cause.field}: {cause.message}" for cause in problems.causes]


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        ({"data": {"a.b-c_D": "x"}, "binaryData": {"e": b64("y")}}, []),
        ({"data": {"a b": ""}}, ['data[a b]: Invalid value: "a b": a valid config key']),
        ({"data": {"..": ""}}, ["data[..]: Invalid value: \"..\": must not be '..'"]),
        ({"binaryData": {"a/b": ""}}, ['binaryData[a/b]: Invalid value: "a/b": a valid config key']),
        (
            {"data": {"a": ""}, "binaryData": {"a": ""}},
            ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
        ),
        ({"data": {"a": "x" * MEBIBYTE}}, []),
        ({"data": {"a": "x" * MEBIBYTE, "b": "x"}}, [": Too long: may not be more than 1048576 bytes"]),
        ({"binaryData": {"a": b64("x" * MEBIBYTE)}}, []),
        (
            {"binaryData": {"a": b64("x" * (MEBIBYTE + 1))}},
            [": Too long: may not be more than 1048576 bytes"],
        ),
    ],
)
def test_config_maps_are_checked(config: Json, wanted: list[str]) -> None:
    found = causes(CONFIGMAP, config)
    assert len(found) == len(wanted)
    assert all(one.startswith(other) for one, other in zip(found, wanted, strict=True)), found


FROZEN = "Forbidden: field is immutable when `immutable` is set"


@pytest.mark.parametrize(
    ("new", "wanted"),
    [
        ({"immutable": True, "data": {"a": "1"}, "metadata": {"labels": {}}}, []),
        ({"data": {"a": "1"}}, [f"immutable: {FROZEN}"]),
        ({"immutable": True, "data": {"a": "2"}}, [f"data: {FROZEN}"]),
    ],
)
@pytest.mark.parametrize("kind", [CONFIGMAP, SECRET])
def test_immutable_data_stays(kind: Kind, new: Json, wanted: list[str]) -> None:
    assert update_causes(kind, new, {"immutable": True, "data": {"a": "1"}}) == wanted
    assert update_causes(kind, new, {"data": {"a": "1"}}) == []


def test_plain_text_is_moved_into_data_and_forgotten() -> None:
    secret: Json = {"data": {"a": b64("old"), "b": b64("kept")}, "stringData": {"a": "new"}}
    SECRET.defaults(secret)
    assert secret == {"type": "Opaque", "data": {"a": b64("new"), "b": b64("kept")}}


@pytest.mark.parametrize(
    ("secret", "fields"),
    [
        ({"data": {"a": b64("x")}}, []),
        ({"data": {"a b": ""}}, ["data[a b]"]),
        ({"data": {"a": b64("x" * (MEBIBYTE + 1))}}, ["data"]),
        ({"type": "kubernetes.io/tls", "stringData": {"tls.crt": "c", "tls.key": "k"}}, []),
        ({"type": "kubernetes.io/tls"}, ["data[tls.crt]", "data[tls.key]"]),
        ({"type": "kubernetes.io/basic-auth", "stringData": {"password": "p"}}, []),
        ({"type": "kubernetes.io/basic-auth"}, ["data[username]", "data[password]"]),
        ({"type": "kubernetes.io/ssh-auth", "stringData": {"ssh-privatekey": ""}}, ["data[ssh-privatekey]"]),
        ({"type": "kubernetes.io/dockerconfigjson"}, ["data[.dockerconfigjson]"]),
        ({"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "{}"}}, []),
        (
            {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "{"}},
            ["data[.dockerconfigjson]"],
        ),
        (
            {"type": "kubernetes.io/service-account-token"},
            ["metadata.annotations[kubernetes.io/service-account.name]"],
        ),
        (
            {
                "type": "kubernetes.io/service-account-token",
                "metadata": {"annotations": {"kubernetes.io/service-account.name": "sa"}},
            },
            [],
        ),
        ({"type": "example.com/own"}, []),
    ],
)
def test_secrets_keep_what_their_type_promises(secret: Json, fields: list[str]) -> None:
    assert [each.split(": ")[0] for each in causes(SECRET, secret)] == fields


def test_a_bad_secret_is_refused_without_showing_it() -> None:
    (found,) = causes(SECRET, {"type": "kubernetes.io/dockercfg", "stringData": {".dockercfg": "hunter2"}})
    assert found == 'data[.dockercfg]: Invalid value: "<secret contents redacted>": must be valid JSON'
    assert SECRET.sensitive == ("data", "stringData")


def test_the_type_of_a_secret_never_changes() -> None:
    assert update_causes(SECRET, {"type": "a"}, {"type": "b"}) == [
        'type: Invalid value: "a": field is immutable'
    ]


def test_columns_count_keys() -> None:
    config: Json = {"data": {"a": "", "b": ""}, "binaryData": {"c": ""}}
    assert [column.cell(config, 0.0) for column in CONFIGMAP.columns] == [3, "<unknown>"]
    secret: Json = {"type": "Opaque", "data": {"a": ""}}
    assert [column.cell(secret, 0.0) for column in SECRET.columns] == ["Opaque", 1, "<unknown>"]
    assert SECRET.selectable["type"](secret) == "Opaque"
    account: Json = {"secrets": [{"name": "a"}]}
    assert [column.cell(account, 0.0) for column in ACCOUNT.columns] == [1, "<unknown>"]


def test_an_old_annotation_on_an_account_is_warned_about() -> None:
    old = {"metadata": {"annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}}
    assert "deprecated in v1.32+" in ACCOUNT.warnings(old)[0]
    assert ACCOUNT.warnings({}) == []
