"""ReplicaSets: defaults, rules, status, columns, field selectors."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.kinds.replicaset import KIND
from tests.unit.model.kinds.workload_objects import (
    defaulted,
    mistakes,
    row,
    shown,
    status_mistakes,
    template,
    update_mistakes,
    workload,
)


def test_one_replica_is_the_default_and_zero_is_kept() -> None:
    assert defaulted(KIND, workload(KIND))["spec"]["replicas"] == 1
    assert defaulted(KIND, workload(KIND, replicas=0))["spec"]["replicas"] == 0
    assert mistakes(KIND, workload(KIND)) == []


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"replicas": -3}, ["spec.replicas: Invalid value: -3: must be greater than or equal to 0"]),
        ({"selector": None}, ["spec.selector: Required value"]),
        ({"selector": {}}, ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"]),
        (
            {"selector": {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}},
            [
                'spec.template.metadata.labels: Invalid value: {"app":"web"}: '
                "`selector` does not match template `labels`"
            ],
        ),
        (
            {"selector": {"matchExpressions": [{"key": "app", "operator": "In"}]}},
            [
                "spec.selector.matchExpressions[0].values: Required value: "
                "must be specified when `operator` is 'In' or 'NotIn'"
            ],
        ),
        (
            {"template": template(restartPolicy="OnFailure")},
            ['spec.template.spec.restartPolicy: Unsupported value: "OnFailure": supported values: "Always"'],
        ),
    ],
)
def test_wrong_specs_are_refused_with_their_paths(spec: dict[str, Any], expected: list[str]) -> None:
    assert mistakes(KIND, workload(KIND, **spec)) == expected


def test_the_selector_never_changes() -> None:
    selector = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    found = update_mistakes(KIND, workload(KIND, selector=selector), workload(KIND))
    assert [text.partition(":")[0] for text in found] == ["spec.selector"]
    assert update_mistakes(KIND, workload(KIND, replicas=9), workload(KIND)) == []


@pytest.mark.parametrize("name", ["fullyLabeledReplicas", "readyReplicas"])
def test_no_counter_of_the_status_exceeds_its_replicas(name: str) -> None:
    expected = [f"status.{name}: Invalid value: 2: cannot be greater than status.replicas"]
    assert status_mistakes(KIND, {"replicas": 1, name: 2}) == expected


def test_available_replicas_are_ready() -> None:
    found = status_mistakes(KIND, {"replicas": 2, "readyReplicas": 1, "availableReplicas": 2})
    assert found == ["status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas"]


def test_columns_and_field_selectors() -> None:
    assert shown(KIND, wide=True) == [
        "DESIRED", "CURRENT", "READY", "AGE", "CONTAINERS", "IMAGES", "SELECTOR"
    ]  # fmt: skip
    obj = workload(KIND, replicas=4)
    obj["status"] = {"replicas": 3, "readyReplicas": 2}
    cells = row(KIND, obj)
    assert (cells["Desired"], cells["Current"], cells["Ready"]) == (4, 3, 2)
    assert KIND.selectable["status.replicas"](obj) == "3"
    assert KIND.selectable["status.replicas"](workload(KIND)) == "0"
