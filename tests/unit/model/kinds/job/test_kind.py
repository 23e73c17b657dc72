"""Jobs: generated selectors, defaults, rules, what may change, columns."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.times import timestamp
from fairlead.model.kind import Json
from fairlead.model.kinds.job.kind import KIND
from tests.unit.model.kinds.workload_objects import (
    NOW,
    UID,
    defaulted,
    mistakes,
    row,
    shown,
    template,
    update_mistakes,
    whole,
)

GENERATED = {
    "batch.kubernetes.io/controller-uid": UID,
    "batch.kubernetes.io/job-name": "sum",
    "controller-uid": UID,
    "job-name": "sum",
}


def job(name: str = "sum", **spec: Any) -> Json:
    return whole(KIND, name, spec={"template": template(restartPolicy="Never"), **spec})


def test_a_job_selects_its_pods_by_its_uid() -> None:
    obj = defaulted(KIND, job())
    assert obj["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": UID}}
    assert obj["spec"]["template"]["metadata"]["labels"] == {"app": "web", **GENERATED}
    assert obj["metadata"]["labels"] == {"app": "web", **GENERATED}
    assert mistakes(KIND, job()) == []


def test_a_manual_selector_is_left_alone() -> None:
    obj = job(manualSelector=True, selector={"matchLabels": {"app": "web"}})
    assert mistakes(KIND, obj) == []
    after = defaulted(KIND, obj)
    assert after["spec"]["selector"] == {"matchLabels": {"app": "web"}}
    assert after["spec"]["template"]["metadata"]["labels"] == {"app": "web"}


def test_labels_of_the_job_itself_are_kept() -> None:
    obj = job()
    obj["metadata"]["labels"] = {"team": "a"}
    assert defaulted(KIND, obj)["metadata"]["labels"] == {"team": "a"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, {"completions": 1, "parallelism": 1, "backoffLimit": 6}),
        ({"parallelism": 3}, {"completions": None, "parallelism": 3}),
        ({"completions": 3}, {"completions": 3, "parallelism": 1}),
        ({}, {"completionMode": "NonIndexed", "suspend": False, "manualSelector": False}),
        ({}, {"podReplacementPolicy": "TerminatingOrFailed"}),
        ({"podFailurePolicy": {"rules": []}}, {"podReplacementPolicy": "Failed"}),
        ({"backoffLimitPerIndex": 1}, {"backoffLimit": 2147483647}),
    ],
)
def test_defaults(spec: dict[str, Any], expected: dict[str, Any]) -> None:
    after = defaulted(KIND, job(**spec))["spec"]
    assert {name: after.get(name) for name in expected} == expected


def test_conditions_without_a_status_mean_true_and_templates_are_completed() -> None:
    rules = [{"action": "Ignore", "onPodConditions": [{"type": "A"}, {"type": "B", "status": "False"}]}]
    spec = defaulted(KIND, job(podFailurePolicy={"rules": rules}))["spec"]
    patterns = spec["podFailurePolicy"]["rules"][0]["onPodConditions"]
    assert [pattern["status"] for pattern in patterns] == ["True", "False"]
    assert spec["template"]["spec"]["dnsPolicy"] == "ClusterFirst"


def test_labels_that_contradict_the_generated_ones_are_refused() -> None:
    own = template(restartPolicy="Never")
    own["metadata"]["labels"] = {"job-name": "other"}
    found = mistakes(KIND, job(template=own))
    assert len(found) == 1
    assert found[0].startswith("spec.template.metadata.labels[job-name]: Invalid value: ")
    assert found[0].endswith(": must be 'sum'")


def test_a_selector_without_manual_selector_is_refused() -> None:
    found = mistakes(KIND, job(selector={"matchLabels": {"app": "web"}}))
    assert [text.partition(":")[0] for text in found] == ["spec.selector"]
    assert found[0].endswith("`selector` not auto-generated")


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"manualSelector": True}, "spec.selector: Required value"),
        (
            {"manualSelector": True, "selector": {"matchLabels": {"app": "db"}}},
            "spec.template.metadata.labels: Invalid value: ",
        ),
        (
            {"manualSelector": True, "selector": {"matchExpressions": [{"key": "app", "operator": "In"}]}},
            "spec.selector.matchExpressions[0].values: Required value: ",
        ),
    ],
)
def test_a_manual_selector_must_be_given_well_formed_and_matching(spec: dict[str, Any], path: str) -> None:
    found = mistakes(KIND, job(**spec))
    assert len(found) == 1
    assert found[0].startswith(path)


def test_a_selector_cannot_be_generated_without_a_uid() -> None:
    obj = job()
    del obj["metadata"]["uid"]
    assert mistakes(KIND, obj) == ["metadata.uid: Required value"]


def test_the_selector_never_changes() -> None:
    old = job(manualSelector=True, selector={"matchLabels": {"app": "web"}})
    new = job(manualSelector=True, selector={"matchExpressions": [{"key": "app", "operator": "Exists"}]})
    found = update_mistakes(KIND, new, old)
    assert [text.partition(":")[0] for text in found] == ["spec.selector"]
    assert found[0].endswith("field is immutable")


def test_a_name_that_does_not_fit_in_a_label_is_refused() -> None:
    found = mistakes(KIND, job("a" * 64))
    assert found
    assert all("must be no more than 63" in text for text in found)


def _indexed(**spec: Any) -> dict[str, Any]:
    return {"completionMode": "Indexed", "completions": 5, **spec}


HIGH = "when completions are above 100000 and used with backoff limit per index"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (_indexed(), []),
        (_indexed(backoffLimitPerIndex=1, maxFailedIndexes=5), []),
        (_indexed(backoffLimitPerIndex=1), []),
        (_indexed(parallelism=100_000), []),
        (_indexed(completions=200_000), []),
        (
            _indexed(
                completions=200_000, backoffLimitPerIndex=1, maxFailedIndexes=10_000, parallelism=10_000
            ),
            [],
        ),
        ({"managedBy": "acme.io/" + "q" * 55}, []),
        ({"parallelism": -1}, ["spec.parallelism: Invalid value: -1: must be greater than or equal to 0"]),
        ({"completions": -1}, ["spec.completions: Invalid value: -1: must be greater than or equal to 0"]),
        (
            {"backoffLimit": -1, "ttlSecondsAfterFinished": -1, "activeDeadlineSeconds": -1},
            [
                f"spec.{name}: Invalid value: -1: must be greater than or equal to 0"
                for name in ("activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
            ],
        ),
        (
            {"completionMode": "Indexed", "parallelism": 2},
            ["spec.completions: Required value: when completion mode is Indexed"],
        ),
        (
            _indexed(parallelism=100_001),
            [
                "spec.parallelism: Invalid value: 100001: "
                "must be less than or equal to 100000 when completion mode is Indexed"
            ],
        ),
        (
            _indexed(backoffLimitPerIndex=1, maxFailedIndexes=6),
            ["spec.maxFailedIndexes: Invalid value: 6: must be less than or equal to completions"],
        ),
        (
            _indexed(maxFailedIndexes=1),
            ["spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified"],
        ),
        (
            _indexed(completions=200_000, backoffLimitPerIndex=1),
            ["spec.maxFailedIndexes: Required value: must be specified when completions is above 100000"],
        ),
        (
            _indexed(
                completions=200_000, backoffLimitPerIndex=1, maxFailedIndexes=10_001, parallelism=10_001
            ),
            [
                f"spec.{name}: Invalid value: 10001: must be less than or equal to 10000 {HIGH}"
                for name in ("maxFailedIndexes", "parallelism")
            ],
        ),
        (
            {"backoffLimitPerIndex": 1, "maxFailedIndexes": 1, "successPolicy": {"rules": []}},
            [
                "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
                "spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode",
                'spec.successPolicy: Invalid value: {"rules":[]}: requires indexed completion mode',
            ],
        ),
        (
            {"template": template()},
            ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
        ),
        (
            {"template": template(restartPolicy="OnFailure"), "podFailurePolicy": {"rules": []}},
            [
                'spec.template.spec.restartPolicy: Invalid value: "OnFailure": '
                'only "Never" is supported when podFailurePolicy is specified'
            ],
        ),
        (
            {"podReplacementPolicy": "Soon"},
            [
                'spec.podReplacementPolicy: Unsupported value: "Soon": '
                'supported values: "Failed", "TerminatingOrFailed"'
            ],
        ),
        (
            {"podReplacementPolicy": "TerminatingOrFailed", "podFailurePolicy": {"rules": []}},
            [
                'spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": '
                'supported values: "Failed"'
            ],
        ),
        ({"managedBy": "acme.io/queue"}, []),
        (
            {"managedBy": "queue"},
            [
                'spec.managedBy: Invalid value: "queue": '
                'must be a domain-prefixed path (such as "acme.io/foo")'
            ],
        ),
        (
            {"managedBy": "acme.io/" + "q" * 60},
            ["spec.managedBy: Too long: may not be more than 63 bytes"],
        ),
    ],
)
def test_specs(spec: dict[str, Any], expected: list[str]) -> None:
    assert mistakes(KIND, job(**spec)) == expected


def test_the_pods_of_an_indexed_job_must_fit_in_a_host_name() -> None:
    assert mistakes(KIND, job("a" * 61, **_indexed(completions=10))) == []
    found = mistakes(KIND, job("a" * 61, **_indexed(completions=11)))
    assert found == [
        f'metadata.name: Invalid value: "{"a" * 61}": '
        f"will not able to create pod with invalid DNS label: {'a' * 61}-10"
    ]
    dotted = mistakes(KIND, job("a.b", **_indexed()))
    assert [text.partition(":")[0] for text in dotted] == ["metadata.name"]


@pytest.mark.parametrize(
    ("before", "change", "expected"),
    [
        (
            {"completions": 2},
            {"parallelism": 4, "suspend": True, "backoffLimit": 1, "ttlSecondsAfterFinished": 1},
            [],
        ),
        ({}, {"completions": 2}, ["spec.completions: Invalid value: 2: field is immutable"]),
        (_indexed(parallelism=5), {"completions": 6, "parallelism": 6}, []),
        (
            _indexed(parallelism=5),
            {"completions": 6},
            ["spec.completions: Invalid value: 6: can only be modified in tandem with spec.parallelism"],
        ),
        (
            {"completions": 5},
            {"completionMode": "Indexed"},
            ['spec.completionMode: Invalid value: "Indexed": field is immutable'],
        ),
        (
            _indexed(backoffLimitPerIndex=1),
            {"backoffLimitPerIndex": 2},
            ["spec.backoffLimitPerIndex: Invalid value: 2: field is immutable"],
        ),
        (
            {},
            {"managedBy": "acme.io/q"},
            ['spec.managedBy: Invalid value: "acme.io/q": field is immutable'],
        ),
        (
            {"podFailurePolicy": {"rules": []}},
            {"podFailurePolicy": None},
            ["spec.podFailurePolicy: Invalid value: null: field is immutable"],
        ),
    ],
)
def test_updates(before: dict[str, Any], change: dict[str, Any], expected: list[str]) -> None:
    assert update_mistakes(KIND, job(**before | change), job(**before)) == expected


def test_the_template_is_frozen_once_the_job_may_have_started() -> None:
    placed = template(restartPolicy="Never", nodeSelector={"zone": "a"})
    found = update_mistakes(KIND, job(template=placed), job())
    assert [text.partition(":")[0] for text in found] == ["spec.template"]
    assert found[0].endswith("field is immutable")
    started = job(suspend=True)
    started["status"] = {"startTime": "2023-11-14T22:12:20Z"}
    assert update_mistakes(KIND, job(suspend=True, template=placed), started) == found


def test_a_suspended_job_that_never_started_may_still_be_placed_elsewhere() -> None:
    node: Json = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
    }
    placed = template(
        restartPolicy="Never",
        nodeSelector={"zone": "a"},
        tolerations=[{"operator": "Exists"}],
        schedulingGates=[{"name": "acme.io/gate"}],
        affinity=node,
    )
    placed["metadata"]["annotations"] = {"queue": "a"}
    assert update_mistakes(KIND, job(suspend=True, template=placed), job(suspend=True)) == []
    renamed = template(restartPolicy="OnFailure")
    found = update_mistakes(KIND, job(suspend=True, template=renamed), job(suspend=True))
    assert [text.partition(":")[0] for text in found] == ["spec.template"]
    apart = template(restartPolicy="Never", affinity={"podAntiAffinity": {}})
    assert update_mistakes(KIND, job(suspend=True, template=apart), job(suspend=True))


def _status(**fields: Any) -> Json:
    return {**job(completions=3), "status": fields}


def _held(*types: str) -> list[dict[str, str]]:
    return [{"type": name, "status": "True"} for name in types]


@pytest.mark.parametrize(
    ("conditions", "deleted", "expected"),
    [
        ([], False, "Running"),
        (_held("Suspended"), False, "Suspended"),
        (_held("Suspended"), True, "Terminating"),
        (_held("FailureTarget"), False, "FailureTarget"),
        (_held("FailureTarget", "Failed"), False, "Failed"),
        (_held("SuccessCriteriaMet"), False, "SuccessCriteriaMet"),
        (_held("SuccessCriteriaMet", "Complete"), True, "Complete"),
        ([{"type": "Complete", "status": "False"}], False, "Running"),
    ],
)
def test_the_status_column(conditions: list[dict[str, str]], deleted: bool, expected: str) -> None:
    obj = _status(conditions=conditions)
    if deleted:
        obj["metadata"]["deletionTimestamp"] = "2023-11-14T22:12:20Z"
    assert row(KIND, obj)["Status"] == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"completions": 3}, "2/3"),
        ({"parallelism": 4}, "2/1 of 4"),
        ({"parallelism": 1}, "2/1"),
    ],
)
def test_the_completions_column(spec: dict[str, Any], expected: str) -> None:
    assert row(KIND, {**job(**spec), "status": {"succeeded": 2}})["Completions"] == expected


def test_the_duration_runs_until_completion() -> None:
    start = timestamp(NOW - 90)
    assert row(KIND, _status())["Duration"] == ""
    assert row(KIND, _status(startTime=start))["Duration"] == "90s"
    done = timestamp(NOW - 60)
    assert row(KIND, _status(startTime=start, completionTime=done))["Duration"] == "30s"


def test_columns_and_field_selectors() -> None:
    assert shown(KIND) == ["STATUS", "COMPLETIONS", "DURATION", "AGE"]
    assert shown(KIND, wide=True)[4:] == ["CONTAINERS", "IMAGES", "SELECTOR", "PROGRESS"]
    assert KIND.selectable["status.successful"](_status(succeeded=2)) == "2"
