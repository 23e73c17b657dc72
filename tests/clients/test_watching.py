"""get --watch, wait and events: what a client sees of changes while they happen."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.clients.converging import eventually
from tests.clients.kubectl import Operator
from tests.clients.manifests import config, event, pod

READY = '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'


@contextmanager
def _watching(team: Operator, line: str, told: Path) -> Iterator[subprocess.Popen[str]]:
    """A command of kubectl that goes on; the body begins when its watch is open."""
    with team.started(f"{line} -v=6", told) as process:
        eventually(lambda: "watch=true" in told.read_text() or process.poll() is not None)
        yield process


def _waited(team: Operator, line: str, told: Path, act: Callable[[], object]) -> str:
    """What `kubectl wait` printed when somebody acted after it had begun to watch."""
    with _watching(team, f"wait {line} --timeout=100s", told) as waiting:
        act()
        assert waiting.stdout is not None
        printed = waiting.stdout.read()
        assert waiting.wait() == 0, told.read_text()
    return printed


def _lines(process: subprocess.Popen[str], count: int) -> list[list[str]]:
    assert process.stdout is not None
    return [process.stdout.readline().split() for _ in range(count)]


def test_a_watch_shows_every_change_in_order_as_rows(team: Operator) -> None:
    team("create -f -", config("first"))
    with team.started("get cm --watch --output-watch-events") as watch:
        headings, first = _lines(watch, 2)
        assert headings == ["EVENT", "NAME", "DATA", "AGE"]
        assert first[:3] == ["ADDED", "first", "0"]
        team("create cm second --from-literal=a=1")
        team('patch cm second -p \'{"data":{"b":"2"}}\'')
        team("delete cm first")
        team("delete cm second")
        seen = [line[:3] for line in _lines(watch, 4)]
    assert seen == [
        ["ADDED", "second", "1"],
        ["MODIFIED", "second", "2"],
        ["DELETED", "first", "0"],
        ["DELETED", "second", "2"],
    ]


def test_pods_in_a_watch_pass_through_their_states(team: Operator) -> None:
    team("create -f -", pod("p", node="n"))
    with team.started("get pods -w --no-headers") as watch:
        seen = _lines(watch, 1)
        team(f"patch pod p --subresource=status --type=merge -p '{READY}'")
        team("delete pod p --wait=false")
        seen += _lines(watch, 2)
    assert [line[2] for line in seen] == ["Pending", "Running", "Terminating"]


def test_a_watch_in_json_is_a_stream_of_objects_with_rising_revisions(team: Operator, tmp_path: Path) -> None:
    with _watching(team, "get cm --watch-only -o json", tmp_path / "told") as watch:
        team("create -f -", [config("a"), config("b")])
        team("label cm a x=1")
        assert watch.stdout is not None
        text, decoder = "", json.JSONDecoder()
        found: list[Any] = []
        while len(found) < 3:
            line = watch.stdout.readline()
            assert line, f"the watch ended after {len(found)} objects"
            text += line
            if text.rstrip().endswith("}") and text.startswith("{") and text.endswith("\n}\n"):
                found.append(decoder.decode(text))
                text = ""
    assert [(each["kind"], each["metadata"]["name"]) for each in found] == [
        ("ConfigMap", "a"),
        ("ConfigMap", "b"),
        ("ConfigMap", "a"),
    ]
    revisions = [int(each["metadata"]["resourceVersion"]) for each in found]
    assert revisions == sorted(set(revisions))


def test_a_watch_by_label_sees_objects_come_into_and_leave_the_selection(team: Operator) -> None:
    team("create -f -", [config("a", labels={"x": "1"}), config("b")])
    with team.started("get cm -l x=1 -w --output-watch-events --no-headers") as watch:
        assert _lines(watch, 1)[0][:2] == ["ADDED", "a"]
        team("label cm b x=1")
        team("label cm a x-")
        assert [line[:2] for line in _lines(watch, 2)] == [["ADDED", "b"], ["DELETED", "a"]]


def test_a_watch_of_one_object_and_over_all_namespaces(team: Operator, tmp_path: Path) -> None:
    team("create -f -", [config("one"), config("two")])
    with (
        team.started("get cm two -w --no-headers") as one,
        _watching(team, "get pods -A --watch-only", tmp_path / "told") as every,
    ):
        assert _lines(one, 1)[0][0] == "two"
        team("label cm one x=1")
        team("label cm two x=1")
        team("create -f -", pod("p"))
        assert _lines(one, 1)[0][0] == "two"
        assert [line[:3] for line in _lines(every, 2)] == [
            ["NAMESPACE", "NAME", "READY"],
            [team.namespace, "p", "0/1"],
        ]


def test_wait_for_a_condition(team: Operator, tmp_path: Path) -> None:
    team("create -f -", pod("p"))
    ready = f"patch pod p --subresource=status --type=merge -p '{READY}'"
    said = _waited(team, "pod/p --for=condition=Ready", tmp_path / "told", lambda: team(ready))
    assert said == "pod/p condition met\n"
    assert (
        team("wait pod/p --for=jsonpath='{.status.phase}'=Running --timeout=90s") == "pod/p condition met\n"
    )
    said = team.refused("wait pod/p --for=condition=Ready=false --timeout=3s")
    assert "error: timed out waiting for the condition on pods/p" in said
    assert "(NotFound)" in team.refused("wait pod/none --for=condition=Ready --timeout=1s")


def test_wait_for_a_deletion_and_for_a_creation(team: Operator, tmp_path: Path) -> None:
    team("create -f -", config("c"))
    said = _waited(team, "cm/c --for=delete", tmp_path / "told", lambda: team("delete cm c"))
    assert said == "configmap/c condition met\n"
    assert team("wait cm/c --for=delete --timeout=90s") == ""
    soon = threading.Timer(0.5, lambda: team("create cm late"))  # it looks again and again, without a watch
    soon.start()
    assert team("wait cm/late --for=create --timeout=90s") == "configmap/late condition met\n"
    soon.join()


@pytest.fixture(scope="module")
def history(kubectl: Operator) -> Operator:
    kubectl("create namespace history")
    about, other = pod("web"), config("settings")
    times = {"firstTimestamp": "2020-01-01T00:00:00Z", "lastTimestamp": "2020-01-01T01:00:00Z"}
    single = {"firstTimestamp": "2020-01-01T02:00:00Z", "lastTimestamp": "2020-01-01T02:00:00Z"}
    source = {"source": {"component": "tests"}}
    kubectl(
        "create -f -",
        [
            event(
                "e1",
                about,
                "history",
                reason="Pulled",
                message="fetched",
                type="Normal",
                count=4,
                **times,
                **source,
            ),
            event(
                "e2",
                other,
                "history",
                reason="Broken",
                message="torn",
                type="Warning",
                count=1,
                **single,
                **source,
            ),
        ],
    )
    return kubectl.inside("history")


@pytest.mark.parametrize(
    ("line", "reasons"),
    [
        ("events", ["Pulled", "Broken"]),
        ("events --for pod/web", ["Pulled"]),
        ("events --for cm/settings", ["Broken"]),
        ("events --types=Warning", ["Broken"]),
        ("get events --field-selector=type=Warning", ["Broken"]),
        ("get events --field-selector=involvedObject.kind=Pod,involvedObject.name=web", ["Pulled"]),
        ("get events --field-selector=reason!=Pulled", ["Broken"]),
    ],
)
def test_events_by_object_and_by_type(history: Operator, line: str, reasons: list[str]) -> None:
    heading, *rows = history(line).splitlines()
    assert heading.split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert [reason for row in rows for reason in ("Pulled", "Broken") if f" {reason} " in row] == reasons
    assert len(rows) == len(reasons)


def test_events_show_how_often_and_about_what(history: Operator) -> None:
    rows = history("events").splitlines()[1:]
    assert "(x4 over " in rows[0]
    assert rows[0].split()[-4:] == ["Normal", "Pulled", "Pod/web", "fetched"]
    assert rows[1].split()[-4:] == ["Warning", "Broken", "ConfigMap/settings", "torn"]
    assert "pod/web" in history("get events")


def test_describe_shows_the_events_of_the_object(team: Operator) -> None:
    team("create -f -", pod("web"))
    happened = event("e", pod("web"), team.namespace, reason="Pulled", message="fetched", type="Normal")
    happened["involvedObject"]["uid"] = team.asked("get pod web -o jsonpath={.metadata.uid}")
    happened |= {"source": {"component": "tests"}, "count": 1, "lastTimestamp": "2020-01-01T00:00:00Z"}
    team("create -f -", happened)
    last = team("describe pod web").rstrip().splitlines()[-1].split()
    assert [last[0], last[1], *last[-2:]] == ["Normal", "Pulled", "tests", "fetched"]


def test_an_event_belongs_into_the_namespace_of_its_object(team: Operator) -> None:
    stray = event("e", pod("web"), team.namespace, reason="x", type="Normal")
    stray["involvedObject"]["namespace"] = "elsewhere"
    assert "involvedObject.namespace: Invalid value" in team.refused("create -f -", stray)
