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


JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJzaG9wIn0.c2lnbmF0dXJlLW9m"


def annotated(**annotations: str) -> bytes:
    return json.dumps({"metadata": {"name": "c", "annotations": annotations}, "spec": {"a": 1}}).encode()


def test_tokens_in_annotations_are_hidden_by_name_and_by_form() -> None:
    given = annotated(
        **{"example.com/api-token": "abc", "note": f"use {JWT}", "other": "abc", "team": "shop"}
    )
    found = json.loads(redact("pods", given, KEY))["metadata"]["annotations"]
    assert (found["other"], found["team"]) == ("abc", "shop")
    assert found["example.com/api-token"] != "abc"
    assert JWT not in found["note"]
    plain = annotated(team="shop")
    assert redact("pods", plain, KEY) is plain


def test_config_maps_are_taken_out_on_request() -> None:
    config = b'{"metadata":{"name":"c"},"data":{"a":"plain","b":"plain"}}'
    found = json.loads(redact("configmaps", config, KEY, ("configmaps",)))["data"]
    assert found["a"] == found["b"] != "plain"
    assert redact("pods", config, KEY, ("configmaps",)) is config


def test_environment_variables_are_taken_out_on_request_wherever_a_template_stands() -> None:
    env = [{"name": "A", "value": "hunter2"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}]
    template = {"spec": {"containers": [{"name": "main", "env": env}]}}
    metadata = {"name": "web", "annotations": {LAST: json.dumps(template)}}
    told = [
        json.loads(
            redact(
                resource,
                json.dumps({"metadata": metadata, part: {"template": template}}).encode(),
                KEY,
                ("env",),
            )
        )
        for resource, part in (("deployments.apps", "spec"), ("controllerrevisions.apps", "data"))
    ]
    values = [
        each[part]["template"]["spec"]["containers"][0]["env"]
        for each, part in zip(told, ("spec", "data"), strict=True)
    ]
    assert values[0] == values[1], "the same value is the same in all objects"
    assert values[0][1] == env[1]
    assert "hunter2" not in json.dumps(told)
