"""Requests, as the tables write them: who sends what, in which of the ways an object can be written.

Used by every test of this folder; `rows.py` sends them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.unit.api.things import KINDS, collection

Json = dict[str, Any]

APPLY = "application/apply-patch+yaml"
SUBRESOURCES = ("/status", "/scale", "/binding")


@dataclass(frozen=True)
class Ask:
    """One request."""

    method: str
    target: str
    body: Any
    media: str = "application/json"
    agent: str = "agent/1.0"

    @property
    def stored_at(self) -> str:
        """Where the object is found that this request is about."""
        path = self.target.partition("?")[0]
        if path.endswith(SUBRESOURCES):
            return path.rpartition("/")[0]
        return f"{path}/{self.body['metadata'].get('name', '')}" if self.method == "POST" else path


def address(body: Json) -> str:
    """Where an object of the namespace default lives."""
    return f"{collection(KINDS[body['kind']])}/{body['metadata']['name']}"


def _with(target: str, query: Mapping[str, str]) -> str:
    asked = "&".join(f"{name}={value}" for name, value in query.items() if value)
    return f"{target}?{asked}" if asked else target


def apply(body: Any, manager: str = "one", to: str = "", **query: str) -> Ask:
    return Ask("PATCH", _with(to or address(body), {"fieldManager": manager, **query}), body, APPLY)


def force(body: Any, manager: str = "one", to: str = "") -> Ask:
    return apply(body, manager, to, force="true")


def post(body: Json, manager: str = "maker", agent: str = "agent/1.0", **query: str) -> Ask:
    target = collection(KINDS[body["kind"]])
    return Ask("POST", _with(target, {"fieldManager": manager, **query}), body, agent=agent)


def put(body: Json, manager: str = "two", to: str = "", **query: str) -> Ask:
    return Ask("PUT", _with(to or address(body), {"fieldManager": manager, **query}), body)


def _patch(kind: str) -> Callable[..., Ask]:
    def patch(target: str, body: Any, manager: str = "two", agent: str = "agent/1.0", **query: str) -> Ask:
        media = f"application/{kind}+json"
        return Ask("PATCH", _with(target, {"fieldManager": manager, **query}), body, media, agent)

    return patch


merge = _patch("merge-patch")
strategic = _patch("strategic-merge-patch")
json_patch = _patch("json-patch")
