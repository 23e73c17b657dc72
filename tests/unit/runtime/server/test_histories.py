"""The history as a capture asks for it: what is secret cannot be tried out by who asks, whatever key they draw."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, cast

import msgspec

from fairlead.api.access.sight import EVERYTHING
from fairlead.explain.asking import Asking, answered
from fairlead.runtime.server.histories import histories
from fairlead.wire.documents import Later
from tests.inprocess import InProcess

PATH = "/fairlead/v1/history/secrets"
KEY = "aa"


class AtOnce:
    """Gives the answer itself where a server would give it later."""

    found: Any = None

    def later(self, asking: Asking[Any]) -> Later:
        self.found = answered(asking)
        return Later(lambda done: None)


def values(api: InProcess, query: Mapping[str, str], servers: int = 1) -> list[dict[tuple[str, str], str]]:
    """Of each Secret's one field, as each of some servers tells them."""
    found = []
    for _ in range(servers):
        at_once = AtOnce()
        document = histories(api.store, api.journal, api.desk.catalog, cast("Any", at_once))
        for _ in range(2):  # one page like another
            document(PATH, query, api.context(), EVERYTHING)
            pages = [msgspec.json.decode(msgspec.json.encode(at_once.found))]
            told = [each[-5:] for page in pages for each in (*page["objects"], *page["changes"])]
            found.append({(space, name): data["data"]["pin"] for space, name, _, _, data in told})
    return found


def stored(api: InProcess, space: str, name: str, pin: str) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"pin": pin}}
    assert api.post(f"/api/v1/namespaces/{space}/secrets", body)[0] == 201


def test_who_draws_the_key_cannot_try_out_what_a_secret_is() -> None:
    api = InProcess()
    assert api.post("/api/v1/namespaces", {"metadata": {"name": "bank"}})[0] == 201
    for space, name, pin in (("default", "a", "1234"), ("default", "b", "1234"), ("bank", "c", "1234")):
        stored(api, space, name, pin)
    first, again, other, _ = values(api, {"key": KEY, "start": "1"}, servers=2)
    encoded = msgspec.json.encode(base64.b64encode(b"1234").decode())
    guessed = blake2b(encoded, key=bytes.fromhex(KEY), digest_size=12).hexdigest()
    assert guessed not in first.values()
    assert first == again, "pages of one capture agree"
    assert first["default", "a"] == first["default", "b"], "which are equal is kept"
    assert first["bank", "c"] != first["default", "a"], "but for who could make one elsewhere to compare with"
    assert other["default", "a"] != first["default", "a"]
    assert values(api, {"key": "bb", "start": "1"})[0] != first
