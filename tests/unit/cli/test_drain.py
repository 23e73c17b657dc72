"""What `fairlead drain` makes of the pods it sees from look to look; with kubectl in tests/clients/test_drain.py."""

from __future__ import annotations

import time
from typing import Any

import pytest

from fairlead.cli.drain import Drain

ENDING = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}
Json = dict[str, Any]


def pod(phase: str, **meta: Any) -> Json:
    return {"metadata": {"name": "p", "namespace": "shop", "uid": "u", **meta}, "status": {"phase": phase}}


class Looks:
    """A client that is shown these, one look after the other."""

    def __init__(self, *looks: list[Json]) -> None:
        self._looks = list(looks)
        self.evicted: list[str] = []

    def get(self, path: str, query: Json | None = None) -> Json:
        return {"items": self._looks.pop(0)}

    def post(self, path: str, body: Json) -> Json:
        self.evicted.append(path)
        return {}


@pytest.mark.parametrize(
    ("looks", "gone"),
    [
        ([[]], ["shop/p"]),
        ([[pod("Running", **ENDING)], []], ["shop/p"]),
        # Its processes have ended before its node lets go of it.
        ([[pod("Running", **ENDING)], [pod("Succeeded", **ENDING)], []], ["shop/p"]),
        ([[pod("Failed", **ENDING)], [pod("Failed", **ENDING)], []], ["shop/p"]),
        # It ended by itself: there is nothing to see off.
        ([[pod("Succeeded")]], []),
    ],
)
def test_a_pod_that_was_evicted_is_seen_off_until_it_is_gone(
    looks: list[list[Json]], gone: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairlead.cli.drain.POLL_SECONDS", 0.0)
    client = Looks(*looks)
    drain = Drain(client, "node-1")  # type: ignore[arg-type]
    drain.left = [pod("Running")]
    drain.evict(time.monotonic() + 600)
    assert drain.gone == gone
    assert (drain.left, len(client.evicted)) == ([], 1)
    assert client._looks == []
