"""The report on an incident says what held things up, what lifted it, and what would have been different."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec import Raw, structs

from fairlead.cli.main import main
from fairlead.explain.incident.moments import blocked_spans
from fairlead.explain.incident.report import IncidentReport, lines_of, report_of
from fairlead.replay.artifact import Artifact, RecordedLine, read_artifact, write_artifact
from fairlead.replay.capture import capture
from fairlead.replay.store_origin import StoreOrigin
from tests.inprocess import InProcess
from tests.unit.replay import load
from tests.unit.replay.test_capture import NOW, OVERRIDE, STOP, Kept
from tests.unit.replay.test_rerun import do

WEB = "/apis/apps/v1/namespaces/shop/deployments/web"
QUOTAS = "/api/v1/namespaces/shop/resourcequotas"


@pytest.fixture(scope="module")
def incident() -> Artifact:
    driver = Kept(InProcess(NOW))
    driver.run(5)
    acts: list[load.Act] = [
        ("post", "/api/v1/namespaces", {"metadata": {"name": "shop"}}),
        ("post", "/apis/apps/v1/namespaces/shop/deployments", load.workload("web", 2)),
        ("post", QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "3"}}}),
        ("patch", WEB, {"spec": {"replicas": 5}}),
        ("post", OVERRIDE, STOP),
        ("patch", WEB, {"spec": {"template": {"metadata": {"labels": {"version": "2"}}}}}),
        ("patch", f"{QUOTAS}/q", {"spec": {"hard": {"pods": "8"}}}),
    ]
    do(driver, acts, 8)
    driver.keep()
    origin = StoreOrigin(driver.api.store, driver.api.journal, b"key")
    return read_artifact(write_artifact(capture(origin, NOW, driver.now)))


@pytest.fixture(scope="module")
def report(incident: Artifact) -> IncidentReport:
    return report_of(incident)


def test_the_timeline_has_what_people_did_with_values(report: IncidentReport) -> None:
    told = [f"{each.about} {each.what}" for each in report.moments if each.kind == "asks"]
    assert "deployments.apps/shop/web patch: replicas 2 -> 5" in told
    assert "resourcequotas/shop/q patch: hard.pods 3 -> 8" in told


def test_what_held_things_up_is_one_span_whatever_was_tried_meanwhile(report: IncidentReport) -> None:
    (span,) = [each for each in report.blocked if each.reason == "WaitingForResourceQuota"]
    assert span.controller == "replicaset"
    assert "exceeded quota: q" in span.message
    assert span.lifted is not None


def test_what_lifted_it_is_the_change_of_the_quota(report: IncidentReport) -> None:
    (lifted,) = [each for each in report.lifted if each.span.reason == "WaitingForResourceQuota"]
    assert lifted.by == ("resourcequotas/shop/q: hard.pods 3 -> 8",)


def test_what_made_room_for_a_pod_is_the_change_that_it_is_not_placed_without() -> None:
    """A node that was cordoned, among others that are full, is opened; other things change as well."""
    driver = Kept(InProcess(NOW))
    driver.run(5)
    nodes, pods = "/api/v1/nodes", "/apis/apps/v1/namespaces/shop/deployments"
    acts: list[load.Act] = [
        ("post", "/api/v1/namespaces", {"metadata": {"name": "shop"}}),
        ("patch", f"{nodes}/node-0", {"spec": {"unschedulable": True}}),
        ("post", pods, load.workload("large", 1, cpu="31")),
        ("post", pods, load.workload("next", 1, cpu="20")),
        ("patch", f"{nodes}/node-1", {"metadata": {"labels": {"colour": "red"}}}),
        ("patch", f"{nodes}/node-0", {"spec": {"unschedulable": None}}),
    ]
    do(driver, acts, 8)
    driver.run(60)
    driver.keep()
    origin = StoreOrigin(driver.api.store, driver.api.journal, b"key")
    found = report_of(read_artifact(write_artifact(capture(origin, NOW, driver.now))))
    (lifted,) = [each for each in found.lifted if each.span.controller == "scheduler"]
    assert lifted.span.about.startswith("pods/shop/next-")
    assert [each.partition(":")[0] for each in lifted.by] == ["nodes/node-0"]


def test_what_each_override_made_different_is_told(report: IncidentReport) -> None:
    (without,) = report.what_ifs
    assert without.called == "without override shop/hold-web"
    assert "deployments.apps/shop/web" in {each.object for each in without.found.differences}


def test_the_text_has_every_part(report: IncidentReport) -> None:
    text = "\n".join(lines_of(report))
    for title in (
        "TIMELINE",
        "WHAT HELD THINGS UP",
        "WHAT LIFTED IT",
        "INPUTS THAT WERE READ TOO OLD",
        "RUN AGAIN",
    ):
        assert title in text
    assert "none: every decision had been told of what it read" in text


def test_a_view_that_was_told_nothing_is_seen(incident: Artifact) -> None:
    lines = []
    for line in incident.lines:
        record = json.loads(bytes(line.body))
        if record.get("controller") == "replicaset" and "reads" in record:
            record["reads"] = {name: [1, newest] for name, (_, newest) in record["reads"].items()}
        lines.append(structs.replace(line, body=Raw(json.dumps(record).encode())))
    found = report_of(structs.replace(incident, lines=tuple(lines)))
    assert ("replicaset", "pods") in {(each.controller, each.resource) for each in found.stale}


def recorded(stream: str, number: int, verdict: str, **more: str) -> RecordedLine:
    record = {
        "time": f"2026-11-19T05:00:0{number}.000000Z", "controller": "release", "object": "nodes/node-a",
        "id": f"t-{number}", "verdict": verdict, **more,
    }  # fmt: skip
    return RecordedLine(stream, number, Raw(json.dumps(record).encode()))


def test_a_turn_that_found_all_as_it_should_be_ends_what_was_waited_for(incident: Artifact) -> None:
    """It did nothing, so that it stands in a log of its own."""
    waits = {"reason": "NodeUnknown", "message": "3 pods on node-a"}
    lines = (recorded("decisions", 1, "Waiting", **waits), recorded("turns", 2, "Settled"))
    (span,) = blocked_spans(structs.replace(incident, lines=lines))
    assert span.lifted is not None
    assert span.lifted["id"] == "t-2"
    again = (*lines, recorded("decisions", 3, "Waiting", **waits))
    assert sorted(each.lifted is None for each in blocked_spans(structs.replace(incident, lines=again))) == [
        False,
        True,
    ]


@pytest.mark.parametrize("reason", ["NotDue", "PodsRunning", "Evicting"])
def test_what_is_on_its_way_by_itself_holds_nothing_up(reason: str, incident: Artifact) -> None:
    lines = (recorded("decisions", 1, "Waiting", reason=reason),)
    assert blocked_spans(structs.replace(incident, lines=lines)) == []


@pytest.mark.parametrize("form", ["text", "html", "json"])
def test_it_is_printed_in_every_form(
    incident: Artifact, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "it.incident"
    file.write_bytes(write_artifact(incident))
    assert main(["incident", "report", str(file), "-o", form]) == 0
    out = capsys.readouterr().out
    assert "hard.pods 3 -> 8" in out.replace("\\u003e", ">")
    if form == "json":
        assert json.loads(out)["lifted"][0]["by"]
