"""EvidencePolicy: what a row may claim, bounds, and what kubectl shows of the brake."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairlead.core.problems import Problems
from fairlead.model.kind import Json
from fairlead.model.kinds.evidencepolicy import KIND
from fairlead.model.policy.evidence_rows import ACTS, AUTHORITY, CONFIDENCES, REPORT, SIGNALS, default_spec
from tests.unit.model.kinds.workload_objects import row, shown


def policy(**changes: Any) -> Json:
    return {"metadata": {"name": "default"}, "spec": {**copy.deepcopy(default_spec()), **changes}}


def said(obj: Json) -> list[tuple[str, str]]:
    problems = Problems()
    KIND.validate(obj, problems)
    return [(each.field, each.message) for each in problems.causes]


def one(signal: str = "MissedHeartbeats", confidence: str = "medium", **changes: Any) -> Json:
    given = {
        "name": "R",
        "signal": signal,
        "confidence": confidence,
        "failureMode": "late",
        "acts": [{"act": REPORT}],
    }
    return policy(rows=[{**given, **changes}])


def test_what_a_plane_begins_with_is_valid_and_has_a_row_for_every_signal() -> None:
    assert said(policy()) == []
    assert {each["signal"] for each in default_spec()["rows"]} == set(SIGNALS)
    assert all(each["failureMode"] for each in default_spec()["rows"])


def test_signals_that_nothing_acts_on_only_report() -> None:
    acting = {
        each["signal"] for each in default_spec()["rows"] if [a["act"] for a in each["acts"]] != [REPORT]
    }
    assert acting == {name for name, signal in SIGNALS.items() if signal.acts != (REPORT,)}


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("signal", SIGNALS)
def test_no_row_gets_authority_that_its_confidence_or_its_signal_does_not_bear(
    signal: str, act: str, confidence: str
) -> None:
    known = SIGNALS[signal]
    trusted = CONFIDENCES.index(confidence) <= CONFIDENCES.index(known.confidence)
    allowed = trusted and act in AUTHORITY[confidence] and act in known.acts
    assert (said(one(signal, confidence, acts=[{"act": act}])) == []) == allowed


def test_more_confidence_never_means_less_authority() -> None:
    low, medium, high = (set(AUTHORITY[each]) for each in CONFIDENCES)
    assert low < medium < high == set(ACTS)


@pytest.mark.parametrize(
    ("obj", "field"),
    [
        (one(name="no spaces"), "spec.rows[0].name"),
        (one(signal="Rumour"), "spec.rows[0].signal"),
        (one(failureMode=" "), "spec.rows[0].failureMode"),
        (one(acts=[]), "spec.rows[0].acts"),
        (one(acts=[{"act": "Explode"}]), "spec.rows[0].acts[0].act"),
        (one(acts=[{"act": "Report", "afterSeconds": -1}]), "spec.rows[0].acts[0].afterSeconds"),
        (one(acts=[{"act": "Report", "afterSeconds": 1e9}]), "spec.rows[0].acts[0].afterSeconds"),
        (one(acts=[{"act": "Release"}, {"act": "Release"}]), "spec.rows[0].acts[1].act"),
        (policy(rows=[*one()["spec"]["rows"], *one()["spec"]["rows"]]), "spec.rows[1].name"),
        (policy(rows=[{**one()["spec"]["rows"][0], "name": f"r{n}"} for n in range(65)]), "spec.rows"),
        (policy(zones={"slowedShare": 1.5}), "spec.zones.slowedShare"),
        (policy(zones={"slowedShare": 0.9, "stoppedShare": 0.8}), "spec.zones.slowedShare"),
        (
            policy(zones={"releasesPerMinute": 1, "slowedReleasesPerMinute": 2}),
            "spec.zones.slowedReleasesPerMinute",
        ),
        (policy(zones={"releasesPerMinute": -1}), "spec.zones.releasesPerMinute"),
        (policy(zones={"silentNodesMin": 0}), "spec.zones.silentNodesMin"),
        (policy(regions={"silentNodesMin": 0}), "spec.regions.silentNodesMin"),
        (policy(regions={"slowedShare": 0.9, "stoppedShare": 0.8}), "spec.regions.slowedShare"),
        ({**policy(), "metadata": {"name": "mine"}}, "metadata.name"),
    ],
)
def test_what_is_wrong_is_named_with_its_field(obj: Json, field: str) -> None:
    assert field in [each for each, _ in said(obj)]


def test_what_a_confidence_allows_is_told() -> None:
    ((_, message),) = said(one("ApiTimeout", "low", acts=[{"act": "Release"}]))
    assert "confidence low allows Report, RetryScheduling" in message


def test_two_signals_may_do_the_same() -> None:
    assert (
        said(
            policy(rows=[*one()["spec"]["rows"], {**one("QueueAge", "low")["spec"]["rows"][0], "name": "Q"}])
        )
        == []
    )


def test_columns() -> None:
    zones = [
        {"name": "a", "state": "Stopped", "message": "3 of 3 nodes are silent", "silent": 3, "nodes": 3},
        {"name": "b", "state": "Normal", "nodes": 2},
    ]
    assert shown(KIND) == ["STATE", "SILENT", "BRAKED", "AGE"]
    found = row(KIND, {**policy(), "status": {"state": "Stopped", "zones": zones}})
    assert (found["State"], found["Silent"], found["Braked"]) == ("Stopped", "3/5", "a=Stopped")
    assert found["Why"] == "a: 3 of 3 nodes are silent"
    empty = row(KIND, policy())
    assert (empty["State"], empty["Silent"], empty["Braked"]) == ("Unknown", "0/0", "<none>")
