"""A Secret's values stay out of refusals: what is answered ends up in terminals and in the logs of pipelines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.inprocess import InProcess

SECRETS = "/api/v1/namespaces/default/secrets"
VALUE = "hunter2-not-base64!"

WRONG: list[dict[str, Any]] = [
    {"data": {"password": VALUE}},
    {"data": VALUE},
    {"data": [VALUE]},
    {"data": {"password": {"nested": VALUE}}},
    {"stringData": {"password": [VALUE]}},
    {"stringData": VALUE},
]


def secret(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, **fields}


@pytest.mark.parametrize("fields", WRONG)
def test_a_wrongly_written_secret_is_refused_without_repeating_its_value(fields: dict[str, Any]) -> None:
    api = InProcess()
    answers = [api.post(SECRETS, secret(**fields))]
    assert api.post(SECRETS, secret())[0] == 201
    answers.append(api.request("PUT", f"{SECRETS}/s", json.dumps(secret(**fields)).encode()))
    for media in ("application/merge-patch+json", "application/strategic-merge-patch+json"):
        answers.append(api.request("PATCH", f"{SECRETS}/s", json.dumps(fields).encode(), content_type=media))
    for status, body in answers:
        assert status in (400, 422), body
        assert next(iter(fields)) in body["message"]
        assert "hunter2" not in json.dumps(body)
