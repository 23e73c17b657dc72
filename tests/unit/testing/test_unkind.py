"""An unkind API: what is lost, refused or late, in which share, the same for the same seed."""

from __future__ import annotations

import http.client
import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from fairlead.core.errors import UsageError
from fairlead.testing import Plane, plane
from tests.clients.converging import eventually

MAPS = "/api/v1/namespaces/{}/configmaps"
LOST = (http.client.HTTPException, OSError)


@pytest.fixture(scope="module")
def fairlead_shared_plane() -> Iterator[Plane]:
    """Shared by the tests of this file alone: they count requests and watches, also those that others left behind."""
    with plane() as running:
        yield running


def settings(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def outcome(p: Plane, method: str, path: str, body: Any = None) -> str:
    try:
        return str(p.request(method, path, body).status)
    except LOST:
        return "lost"


def test_a_lost_reply_is_to_a_write_that_was_done(
    fairlead_shared_plane: Plane, fairlead_namespace: str
) -> None:
    p, maps = fairlead_shared_plane, MAPS.format(fairlead_namespace)
    with p.unkind(lost_replies=1) as unkindness:
        assert outcome(p, "POST", maps, settings("a")) == "lost"
        assert outcome(p, "GET", f"{maps}/a") == "lost"
    assert unkindness.counts == {"lost_replies": 2}
    assert outcome(p, "GET", f"{maps}/a") == "200"


def test_a_lost_request_was_never_done(fairlead_shared_plane: Plane, fairlead_namespace: str) -> None:
    p, maps = fairlead_shared_plane, MAPS.format(fairlead_namespace)
    with p.unkind(lost_requests=1):
        assert outcome(p, "POST", maps, settings("a")) == "lost"
    assert outcome(p, "GET", f"{maps}/a") == "404"


def test_a_refused_request_says_when_to_come_back(
    fairlead_shared_plane: Plane, fairlead_namespace: str
) -> None:
    p, maps = fairlead_shared_plane, MAPS.format(fairlead_namespace)
    with p.unkind(refused=1):
        request = urllib.request.Request(f"{p.url}{maps}", headers={"Authorization": f"Bearer {p.token}"})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, context=ssl.create_default_context(cafile=p.ca))
        with refused.value as answer:
            assert (answer.code, answer.headers["retry-after"]) == (429, "1")
            assert json.load(answer)["reason"] == "TooManyRequests"
    assert outcome(p, "GET", maps) == "200"


def test_the_same_seed_is_the_same_run(fairlead_shared_plane: Plane, fairlead_namespace: str) -> None:
    p, maps = fairlead_shared_plane, MAPS.format(fairlead_namespace)

    def run(seed: int) -> list[str]:
        with p.unkind(
            seed, delay_seconds=0.002, lost_requests=0.2, lost_replies=0.2, refused=0.2
        ) as unkindness:
            told = [outcome(p, "GET", maps) for _ in range(40)]
        assert unkindness.counts.total() == 80  # each is delayed, and one of the other four
        assert {"200", "429", "lost"} == set(told)
        return told

    assert run(7) == run(7)
    assert run(7) != run(8)


def test_a_delayed_watch_whose_client_left_is_not_opened(
    fairlead_shared_plane: Plane, fairlead_namespace: str
) -> None:
    p, maps = fairlead_shared_plane, MAPS.format(fairlead_namespace)
    with p.unkind(delay_seconds=0.3) as unkindness:
        connection = http.client.HTTPSConnection(
            p.url.removeprefix("https://"), context=ssl.create_default_context(cafile=p.ca)
        )
        connection.request("GET", f"{maps}?watch=true", headers={"Authorization": f"Bearer {p.token}"})
        while not unkindness.counts["delayed"]:
            pass
        connection.close()
        time.sleep(0.5)  # longer than any delay: what would be opened then is open by now
    eventually(lambda: "fairlead_watches_open 0" in p.request("GET", "/metrics").body.splitlines())


@pytest.mark.parametrize(
    "options",
    [{"refused": 1.5}, {"lost_replies": -0.1}, {"refused": 0.6, "lost_requests": 0.6}, {"delay_seconds": -1}],
)
def test_shares_that_cannot_be_are_refused(fairlead_shared_plane: Plane, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError), fairlead_shared_plane.unkind(**options):
        pass


# Watches


@contextmanager
def watching(p: Plane, path: str) -> Iterator[http.client.HTTPResponse]:
    tls = ssl.create_default_context(cafile=p.ca)
    headers = {"Authorization": f"Bearer {p.token}"}
    with urllib.request.urlopen(
        urllib.request.Request(f"{p.url}{path}", headers=headers), context=tls
    ) as stream:
        yield stream


def test_dropped_watches_end_in_the_middle(fairlead_shared_plane: Plane, fairlead_namespace: str) -> None:
    p, maps = fairlead_shared_plane, MAPS.format(fairlead_namespace)
    p.request("POST", maps, settings("a"))
    with watching(p, f"{maps}?watch=true") as stream:
        assert json.loads(stream.readline())["type"] == "ADDED"
        p.drop_watches()
        with pytest.raises(LOST):
            stream.read()


@pytest.mark.parametrize("resume", ["again", "in the stream"])
def test_expired_history_is_410(fairlead_shared_plane: Plane, fairlead_namespace: str, resume: str) -> None:
    p, maps = fairlead_shared_plane, MAPS.format(fairlead_namespace)
    old = p.request("GET", maps).body["metadata"]["resourceVersion"]
    p.request("POST", maps, settings("a"))
    with watching(p, f"{maps}?watch=true") as stream:
        assert json.loads(stream.readline())["type"] == "ADDED"
        p.expire_history()
        if resume == "in the stream":
            event = json.loads(stream.readline())
            assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
            assert stream.read() == b""
    if resume == "again":
        assert p.request("GET", f"{maps}?watch=true&resourceVersion={old}").status == 410
        assert p.request("GET", f"{maps}?resourceVersion={old}&resourceVersionMatch=Exact").status == 410
    assert p.request("GET", f"{maps}/a").status == 200


def test_what_comes_after_is_watched_as_before(fairlead_shared_plane: Plane, fairlead_namespace: str) -> None:
    p, maps = fairlead_shared_plane, MAPS.format(fairlead_namespace)
    p.expire_history()
    now = p.request("GET", maps).body["metadata"]["resourceVersion"]
    p.request("POST", maps, settings("a"))
    troubles: tuple[Callable[[], None], ...] = (p.drop_watches, lambda: None)
    for trouble in troubles:
        with watching(p, f"{maps}?watch=true&resourceVersion={now}") as stream:
            assert json.loads(stream.readline())["object"]["metadata"]["name"] == "a"
            trouble()
