"""One HorizontalPodAutoscaler in two versions: whichever is asked for is answered, and nothing is lost through either."""

from __future__ import annotations

import copy
import json

import pytest

from fairlead.api.plan import Watch
from fairlead.port.request import Request
from fairlead.store.contract import ADDED, CommittedChange
from fairlead.store.watch import frame
from tests.inprocess import InProcess
from tests.unit.api.things import METADATA, TABLE, Json, causes, made

FIRST = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
SECOND = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
PREFIX = "autoscaling.alpha.kubernetes.io/"
REFERENCE = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
CPU = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}},
}
MEMORY = {
    "type": "Resource",
    "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 70}},
}
CONDITIONS = [{"type": "AbleToScale", "status": "True", "reason": "Ready", "message": "it is"}]


def scaler(version: str, **spec: object) -> Json:
    return {
        "apiVersion": f"autoscaling/{version}",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {"scaleTargetRef": REFERENCE, "maxReplicas": 9, **spec},
    }


def measured(plane: InProcess) -> Json:
    """Made in version 2, with a status."""
    made(plane, SECOND, scaler("v2", metrics=[MEMORY, CPU]))
    status = {
        "currentReplicas": 2,
        "desiredReplicas": 3,
        "conditions": CONDITIONS,
        "currentMetrics": [
            {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 35}}}
        ],
    }
    code, found = plane.patch(f"{SECOND}/web/status", {"status": status})
    assert code == 200, found
    whole: Json = found
    return whole


def items(plane: InProcess, address: str) -> list[Json]:
    code, found = plane.get(address)
    assert code == 200
    listed: list[Json] = found["items"]
    return listed


def test_get_and_list_give_the_version_that_was_asked_for() -> None:
    plane = InProcess()
    measured(plane)
    for address, version in ((FIRST, "autoscaling/v1"), (SECOND, "autoscaling/v2")):
        code, one = plane.get(f"{address}/web")
        assert (code, one["apiVersion"]) == (200, version)
        assert items(plane, address) == [one]
        assert plane.get(address)[1]["apiVersion"] == version
    one, two = plane.get(f"{FIRST}/web")[1], plane.get(f"{SECOND}/web")[1]
    assert one["spec"]["targetCPUUtilizationPercentage"] == 60
    assert one["status"]["currentCPUUtilizationPercentage"] == 35
    assert "annotations" not in two["metadata"]
    assert one["metadata"]["resourceVersion"] == two["metadata"]["resourceVersion"]


def test_rows_of_a_table_are_the_same_and_hold_the_version_that_was_asked_for() -> None:
    plane = InProcess()
    measured(plane)
    tables = [plane.get(f"{each}?includeObject=Object", accept=TABLE)[1] for each in (FIRST, SECOND)]
    assert tables[0]["columnDefinitions"] == tables[1]["columnDefinitions"]
    assert tables[0]["rows"][0]["cells"] == tables[1]["rows"][0]["cells"]
    assert tables[0]["rows"][0]["cells"][2] == "memory: 35%/70%, cpu: <unknown>/60%"  # by their places
    assert [table["rows"][0]["object"]["apiVersion"] for table in tables] == [
        "autoscaling/v1",
        "autoscaling/v2",
    ]
    for address, told in (
        (FIRST, {PREFIX + "metrics", PREFIX + "current-metrics", PREFIX + "conditions"}),
        (SECOND, set()),
    ):
        found = plane.get(f"{address}/web", accept=METADATA)[1]
        assert set(found["metadata"].get("annotations", {})) == told


def test_a_watch_gives_the_version_that_was_asked_for() -> None:
    plane = InProcess()
    made(plane, FIRST, scaler("v1"))
    for version in ("v1", "v2"):
        watch = plane.send(Request("watch", "autoscaling", version, "horizontalpodautoscalers", "default"))
        assert isinstance(watch, Watch)
        (change,) = [CommittedChange(ADDED, each, None) for each in watch.initial]
        assert json.loads(watch.bookmark(7, False))["object"]["apiVersion"] == f"autoscaling/{version}"
        told = frame(change) if watch.encode is None else watch.encode(change.type, change, plane.now)
        assert json.loads(told)["object"] == plane.get(f"{FIRST.replace('/v1/', f'/{version}/')}/web")[1]


@pytest.mark.parametrize(
    ("change", "value", "spec"),
    [
        ("a bound", {"spec": {"maxReplicas": 4}}, {"maxReplicas": 4}),
        (
            "the use of cpu",
            {"spec": {"targetCPUUtilizationPercentage": 20}},
            {"metrics": [MEMORY, {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 20}}}]},
        ),
        ("no use of cpu", {"spec": {"targetCPUUtilizationPercentage": None}}, {"metrics": [MEMORY]}),
        ("no other metrics", {"metadata": {"annotations": {PREFIX + "metrics": None}}}, {"metrics": [CPU]}),
        ("a label", {"metadata": {"labels": {"a": "b"}}}, {}),
    ],
)  # fmt: skip
def test_a_patch_through_version_1_changes_what_it_names_and_no_more(
    change: str, value: Json, spec: Json
) -> None:
    plane = InProcess()
    before = measured(plane)
    code, answer = plane.patch(f"{FIRST}/web", value)
    assert (code, answer["apiVersion"]) == (200, "autoscaling/v1"), answer
    after = plane.get(f"{SECOND}/web")[1]
    assert after["spec"] == {**before["spec"], **spec}
    assert after["status"] == before["status"]
    assert plane.get(f"{FIRST}/web")[1] == answer


def test_replacing_through_version_1_without_the_annotations_leaves_the_status() -> None:
    plane = InProcess()
    before = measured(plane)
    code, answer = plane.put(f"{FIRST}/web", scaler("v1", targetCPUUtilizationPercentage=15))
    assert code == 200, answer
    after = plane.get(f"{SECOND}/web")[1]
    assert [each["resource"]["target"]["averageUtilization"] for each in after["spec"]["metrics"]] == [15]
    assert after["status"] == before["status"]


def test_the_status_can_be_written_in_version_1() -> None:
    plane = InProcess()
    before = measured(plane)
    shown = plane.get(f"{FIRST}/web")[1]
    sent = copy.deepcopy(shown)
    sent["metadata"]["annotations"][PREFIX + "conditions"] = json.dumps(
        [{**CONDITIONS[0], "status": "False"}]
    )
    sent["status"]["currentReplicas"] = 8
    sent["spec"]["maxReplicas"] = 99
    code, answer = plane.put(f"{FIRST}/web/status", sent)
    assert code == 200, answer
    after = plane.get(f"{SECOND}/web")[1]
    assert after["spec"] == before["spec"]
    assert after["status"]["conditions"] == [{**CONDITIONS[0], "status": "False"}]
    assert after["status"]["currentReplicas"] == 8
    assert after["status"]["currentMetrics"] == before["status"]["currentMetrics"]


def test_writing_what_was_read_changes_nothing_in_either_version() -> None:
    plane = InProcess()
    measured(plane)
    for address in (FIRST, SECOND):
        shown = plane.get(f"{address}/web")[1]
        assert plane.put(f"{address}/web", copy.deepcopy(shown)) == (200, shown)
        assert plane.patch(f"{address}/web", {"spec": {}}) == (200, shown)


def test_a_dry_run_shows_the_version_that_was_asked_for_and_stores_nothing() -> None:
    plane = InProcess()
    code, shown = plane.post(f"{FIRST}?dryRun=All", scaler("v1"))
    assert (code, shown["apiVersion"]) == (201, "autoscaling/v1")
    assert shown["spec"]["targetCPUUtilizationPercentage"] == 80
    assert items(plane, SECOND) == []


def test_what_is_deleted_through_one_version_is_gone_in_both() -> None:
    plane = InProcess()
    stored = made(
        plane, FIRST, {**scaler("v1"), "metadata": {"name": "web", "finalizers": ["example.com/hold"]}}
    )
    code, ending = plane.delete(f"{FIRST}/web")
    assert (code, ending["apiVersion"], ending["spec"]) == (200, "autoscaling/v1", stored["spec"])
    assert plane.get(f"{SECOND}/web")[1]["metadata"]["deletionTimestamp"]
    assert plane.patch(f"{FIRST}/web", {"metadata": {"finalizers": None}})[0] == 200
    assert plane.get(f"{SECOND}/web")[0] == 404
    for name in ("a", "b"):
        made(
            plane,
            SECOND,
            {
                **scaler("v2", metrics=[MEMORY]),
                "metadata": {"name": name, "finalizers": ["example.com/hold"]},
            },
        )
    code, listed = plane.delete(FIRST)
    assert (code, [each["apiVersion"] for each in listed["items"]]) == (200, ["autoscaling/v1"] * 2)
    assert [each["spec"]["metrics"] for each in items(plane, SECOND)] == [[MEMORY], [MEMORY]]


def test_it_is_stored_in_version_2_whatever_it_was_written_in() -> None:
    plane = InProcess()
    made(plane, FIRST, scaler("v1"))
    plane.patch(f"{FIRST}/web", {"spec": {"maxReplicas": 3}})
    plane.delete(f"{FIRST}/web")
    heads = [each.entry.data[:30] for each in plane.published if each.entry.key.name == "web"]
    assert heads == [b'{"apiVersion":"autoscaling/v2"'] * 3


def test_mistakes_are_told_in_the_words_of_the_version() -> None:
    plane = InProcess()
    code, refused = plane.post(FIRST, scaler("v1", targetCPUUtilizationPercentage=-5))
    assert code == 422
    assert [field for _, field in causes(refused)] == ["spec.targetCPUUtilizationPercentage"]
    code, refused = plane.post(f"{FIRST}?fieldValidation=Strict", scaler("v1", metrics=[CPU]))
    assert (code, refused["message"]) == (400, 'strict decoding error: unknown field "spec.metrics"')
    code, refused = plane.post(FIRST, scaler("v1", maxReplicas="many"))
    assert (code, refused["message"].partition(":")[0]) == (400, "HorizontalPodAutoscaler cannot be handled")
    code, refused = plane.post(FIRST, scaler("v2"))
    assert code == 400
