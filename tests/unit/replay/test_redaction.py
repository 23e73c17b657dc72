"""Secrets are taken out of a capture; which of them are equal can still be told."""

from __future__ import annotations

import base64
import json

from fairlead.replay.redaction import redact

KEY = b"drawn for this capture"
LAST = "kubectl.kubernetes.io/last-applied-configuration"


def secret(**data: str) -> bytes:
    metadata = {"name": "s", "annotations": {LAST: '{"data":{"a":"hunter2"}}', "team": "shop"}}
    return json.dumps({"kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}).encode()


def test_values_are_hidden_and_equality_is_kept() -> None:
    found = json.loads(redact("secrets", secret(a="aHVudGVyMg==", b="b3RoZXI=", c="aHVudGVyMg=="), KEY))
    assert found["data"]["a"] == found["data"]["c"] != found["data"]["b"]
    assert "hunter2" not in json.dumps(found)
    assert "aHVudGVyMg" not in json.dumps(found)
    assert base64.b64decode(found["data"]["a"], validate=True)


def test_everything_else_stays() -> None:
    found = json.loads(redact("secrets", secret(a="aHVudGVyMg=="), KEY))
    assert found["type"] == "Opaque"
    assert found["metadata"]["annotations"]["team"] == "shop"
    assert list(found["data"]) == ["a"]
    config = b'{"metadata":{"name":"c"},"data":{"a":"plain"}}'
    assert redact("configmaps", config, KEY) is config
    assert redact("things.example.org", config, KEY) is config


def test_another_capture_has_other_values() -> None:
    one, other = (redact("secrets", secret(a="aHVudGVyMg=="), key) for key in (KEY, b"another"))
    assert json.loads(one)["data"] != json.loads(other)["data"]
