"""An operator written with `kopf`, unchanged, run by kopf's own KopfRunner against a plane: handlers for create, update,
fields, delete with its finalizer, resume and timers, status patches and Events, through dropped watches and crashes."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from kopf.testing import KopfRunner

from fairlead.testing import Plane
from tests.clients.converging import eventually

TESTING = Path(__file__).parents[2] / "examples/testing"
TABS = "/apis/stable.example.com/v1/namespaces/default/crontabs"
FINALIZER = "stable.example.com/operator"
MERGE = "application/merge-patch+json"

pytestmark = [
    pytest.mark.fairlead(crds=[TESTING / "crontabs.yaml"]),
    # kopf's runner leaves the sockets of what it cancels to the collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@contextmanager
def operator(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig))
    command = ["run", "--standalone", "--verbose", "-n", "default", str(TESTING / "crontab_operator.py")]
    with KopfRunner(command, timeout=90) as runner:
        yield
    assert runner.exit_code == 0
    del runner
    gc.collect()  # now, while the warning about them is expected


def make(plane: Plane, name: str = "nightly", **spec: Any) -> None:
    metadata = {"name": name, "namespace": "default"}
    body = {
        "apiVersion": "stable.example.com/v1",
        "kind": "CronTab",
        "metadata": metadata,
        "spec": {"cronSpec": "0 3 * * *", **spec},
    }
    plane.create(body)


def tab(plane: Plane, name: str = "nightly") -> dict[str, Any]:
    found: dict[str, Any] = plane.request("GET", f"{TABS}/{name}").body
    return found


def status(plane: Plane, name: str = "nightly") -> dict[str, Any]:
    found: dict[str, Any] = tab(plane, name).get("status", {})
    return found


def change(plane: Plane, name: str = "nightly", **spec: Any) -> None:
    assert plane.request("PATCH", f"{TABS}/{name}", {"spec": spec}, content_type=MERGE).status == 200


def events(plane: Plane) -> set[tuple[str, str]]:
    listed = plane.request(
        "GET", "/api/v1/namespaces/default/events?fieldSelector=involvedObject.kind=CronTab"
    )
    return {(each["reason"], each["message"]) for each in listed.body["items"]}


def test_an_object_lives_its_life(fairlead_plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    plane = fairlead_plane
    with operator(plane, monkeypatch):
        make(plane, replicas=2)
        eventually(lambda: status(plane).get("phase") == "Scheduled")
        eventually(lambda: status(plane).get("made") == {"reason": "create"})
        eventually(lambda: status(plane).get("image") == "cron:1")
        assert tab(plane)["metadata"]["finalizers"] == [FINALIZER]
        eventually(lambda: ("Logging", "runs 0 3 * * *") in events(plane))
        change(plane, replicas=5)
        eventually(lambda: (status(plane).get("scaledFrom"), status(plane).get("replicas")) == (2, 5))
        change(plane, image="cron:2")
        eventually(lambda: status(plane).get("image") == "cron:2")
        ticks = status(plane).get("ticks", 0)
        eventually(lambda: status(plane).get("ticks", 0) > ticks + 2)
        assert plane.request("DELETE", f"{TABS}/nightly").status == 200
        eventually(lambda: plane.request("GET", f"{TABS}/nightly").status == 404)
        eventually(lambda: ("Removed", "goodbye") in events(plane))


def test_what_waits_is_resumed_and_what_was_deleted_meanwhile_is_let_go(
    fairlead_plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane = fairlead_plane
    make(plane, "before")
    with operator(plane, monkeypatch):
        eventually(lambda: status(plane, "before").get("phase") == "Scheduled")
        make(plane, "doomed")
        eventually(lambda: tab(plane, "doomed")["metadata"].get("finalizers") == [FINALIZER])
        eventually(lambda: status(plane, "doomed").get("phase") == "Scheduled")
    ticks = status(plane, "before").get("ticks", 0)
    plane.request("DELETE", f"{TABS}/doomed")
    assert "deletionTimestamp" in tab(plane, "doomed")["metadata"]  # nobody is there to let it go
    with operator(plane, monkeypatch):
        eventually(lambda: status(plane, "before").get("made") == {"reason": "resume"})
        eventually(lambda: status(plane, "before").get("ticks", 0) > ticks)
        eventually(lambda: plane.request("GET", f"{TABS}/doomed").status == 404)


def _is_served(plane: Plane, name: str) -> None:
    make(plane, name)
    eventually(lambda: status(plane, name).get("phase") == "Scheduled")
    change(plane, name, replicas=7)
    eventually(lambda: status(plane, name).get("replicas") == 7)
    plane.request("DELETE", f"{TABS}/{name}")
    eventually(lambda: plane.request("GET", f"{TABS}/{name}").status == 404)


def test_the_operator_goes_on_through_trouble(fairlead_plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    plane = fairlead_plane
    with operator(plane, monkeypatch):
        for trouble in (plane.drop_watches, plane.expire_history, plane.restart, plane.crash):
            name = trouble.__name__.replace("_", "-")
            trouble()
            _is_served(plane, name)
