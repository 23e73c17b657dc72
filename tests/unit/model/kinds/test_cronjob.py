"""CronJobs: defaults, schedules and zones, the job template, columns."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.times import timestamp
from fairlead.model.kind import Json
from fairlead.model.kinds.cronjob import KIND
from tests.unit.model.kinds.workload_objects import NOW, defaulted, mistakes, row, shown, template, whole


def cronjob(name: str = "nightly", job: Json | None = None, **spec: Any) -> Json:
    inner = {"template": template(restartPolicy="OnFailure"), **(job or {})}
    return whole(KIND, name, spec={"schedule": "0 3 * * *", "jobTemplate": {"spec": inner}, **spec})


def test_defaults() -> None:
    spec = defaulted(KIND, cronjob())["spec"]
    assert (spec["concurrencyPolicy"], spec["suspend"]) == ("Allow", False)
    assert (spec["successfulJobsHistoryLimit"], spec["failedJobsHistoryLimit"]) == (3, 1)
    job = spec["jobTemplate"]["spec"]
    assert job["template"]["spec"]["dnsPolicy"] == "ClusterFirst"
    # The job that is made from it gets its own defaults; the template does not.
    assert "backoffLimit" not in job
    assert "selector" not in job
    assert mistakes(KIND, cronjob()) == []


def test_conditions_without_a_status_mean_true() -> None:
    job = {"podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "A"}]}]}}
    after = defaulted(KIND, cronjob(job=job))["spec"]["jobTemplate"]["spec"]
    assert after["podFailurePolicy"]["rules"][0]["onPodConditions"] == [{"type": "A", "status": "True"}]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"timeZone": "Europe/Berlin"}, []),
        ({"timeZone": "Etc/UTC"}, []),
        ({"schedule": "@hourly"}, []),
        ({"schedule": ""}, ["spec.schedule: Required value"]),
        (
            {"schedule": "* * * *"},
            ['spec.schedule: Invalid value: "* * * *": expected exactly 5 fields, found 4: [* * * *]'],
        ),
        (
            {"schedule": "TZ=Etc/UTC 0 3 * * *"},
            [
                'spec.schedule: Invalid value: "TZ=Etc/UTC 0 3 * * *": '
                "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            ],
        ),
        (
            {"timeZone": ""},
            ['spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string'],
        ),
        (
            {"timeZone": "Mars/Olympus"},
            ['spec.timeZone: Invalid value: "Mars/Olympus": unknown time zone Mars/Olympus'],
        ),
        (
            {"timeZone": "../etc/passwd"},
            ['spec.timeZone: Invalid value: "../etc/passwd": unknown time zone ../etc/passwd'],
        ),
        (
            {"timeZone": "local"},
            [
                'spec.timeZone: Invalid value: "local": '
                "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
            ],
        ),
        (
            {"concurrencyPolicy": "Queue"},
            [
                'spec.concurrencyPolicy: Unsupported value: "Queue": '
                'supported values: "Allow", "Forbid", "Replace"'
            ],
        ),
        (
            {"startingDeadlineSeconds": -1, "successfulJobsHistoryLimit": -1, "failedJobsHistoryLimit": -1},
            [
                f"spec.{name}: Invalid value: -1: must be greater than or equal to 0"
                for name in (
                    "startingDeadlineSeconds",
                    "successfulJobsHistoryLimit",
                    "failedJobsHistoryLimit",
                )
            ],
        ),
    ],
)
def test_specs(spec: dict[str, Any], expected: list[str]) -> None:
    assert mistakes(KIND, cronjob(**spec)) == expected


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (
            {"template": template()},
            ['.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
        ),
        (
            {"selector": {"matchLabels": {"app": "web"}}},
            ['.selector: Invalid value: {"matchLabels":{"app":"web"}}: `selector` will be auto-generated'],
        ),
        (
            {"manualSelector": True},
            ['.manualSelector: Unsupported value: true: supported values: "nil", "false"'],
        ),
        ({"backoffLimit": -1}, [".backoffLimit: Invalid value: -1: must be greater than or equal to 0"]),
        (
            {"completionMode": "Indexed"},
            [".completions: Required value: when completion mode is Indexed"],
        ),
    ],
)
def test_the_job_template_obeys_the_rules_of_jobs(job: Json, expected: list[str]) -> None:
    assert mistakes(KIND, cronjob(job=job)) == [f"spec.jobTemplate.spec{text}" for text in expected]


def test_names_leave_room_for_the_names_of_jobs() -> None:
    assert mistakes(KIND, cronjob("a" * 52)) == []
    assert mistakes(KIND, cronjob("a" * 53)) == [
        f'metadata.name: Invalid value: "{"a" * 53}": must be no more than 52 characters'
    ]


def test_columns_are_those_of_kubectl() -> None:
    assert shown(KIND) == ["SCHEDULE", "TIMEZONE", "SUSPEND", "ACTIVE", "LAST SCHEDULE", "AGE"]
    assert shown(KIND, wide=True)[6:] == ["CONTAINERS", "IMAGES", "SELECTOR"]
    obj = defaulted(KIND, cronjob())
    cells = row(KIND, obj)
    assert cells["Schedule"] == "0 3 * * *"
    assert (cells["Timezone"], cells["Suspend"], cells["Active"]) == ("<none>", "False", 0)
    assert cells["Last Schedule"] == "<none>"
    assert (cells["Containers"], cells["Images"], cells["Selector"]) == ("main", "nginx:1.27", "<none>")
    obj["spec"] |= {"suspend": True, "timeZone": "Etc/UTC"}
    obj["status"] = {"active": [{}, {}], "lastScheduleTime": timestamp(NOW - 45)}
    cells = row(KIND, obj)
    assert (cells["Timezone"], cells["Suspend"], cells["Active"]) == ("Etc/UTC", "True", 2)
    assert cells["Last Schedule"] == "45s"
