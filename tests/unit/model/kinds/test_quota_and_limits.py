"""ResourceQuotas and LimitRanges: what they may say, and how they are shown."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.problems import Problems
from fairlead.model.kind import Kind
from fairlead.model.kinds.limitrange import KIND as LIMITS
from fairlead.model.kinds.resourcequota import KIND as QUOTA

Json = dict[str, Any]


def causes(kind: Kind, **spec: Any) -> list[str]:
    obj = {"spec": spec}
    kind.defaults(obj)
    problems = Problems()
    kind.validate(obj, problems)
    return [f"{cause.field}: {cause.message}" for cause in problems.causes]


def selecting(**expression: Any) -> Json:
    return {"scopeSelector": {"matchExpressions": [expression]}}


@pytest.mark.parametrize(
    "spec",
    [
        {"hard": {"pods": "10", "requests.cpu": "1500m", "limits.memory": "1Gi", "count/jobs.batch": 5}},
        {"hard": {"requests.nvidia.com/gpu": "2", "hugepages-2Mi": "1Gi"}},
        {"hard": {"pods": "1"}, "scopes": ["BestEffort"]},
        {"hard": {"cpu": "1"}, "scopes": ["Terminating", "NotBestEffort"]},
        {"hard": {"pods": "1"}, **selecting(scopeName="PriorityClass", operator="In", values=["high"])},
    ],
)
def test_good_quotas_pass(spec: Json) -> None:
    assert causes(QUOTA, **spec) == []


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        (
            {"hard": {"bananas": "1"}},
            'spec.hard[bananas]: Invalid value: "bananas": must be a standard resource',
        ),
        (
            {"hard": {"pods": "-1"}},
            'spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0',
        ),
        ({"hard": {"pods": "1.5"}}, 'spec.hard[pods]: Invalid value: "1500m": must be an integer'),
        (
            {"hard": {"cpu": "1"}, "scopes": ["BestEffort"]},
            'spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource',
        ),
        (
            {"hard": {"secrets": "1"}, "scopes": ["NotTerminating"]},
            'spec.scopes: Invalid value: ["NotTerminating"]: unsupported scope',
        ),
        (
            {"scopes": ["Terminating", "NotTerminating"]},
            'spec.scopes: Invalid value: ["Terminating","NotTerminating"]: conflicting scopes',
        ),
        (
            selecting(scopeName="PriorityClass", operator="In"),
            "spec.scopeSelector.matchExpressions[0].values: Required value: must be at least one value",
        ),
        (
            selecting(scopeName="PriorityClass", operator="Exists", values=["a"]),
            'spec.scopeSelector.matchExpressions[0].values: Invalid value: ["a"]: must be no value',
        ),
        (
            {"hard": {"secrets": "1"}, **selecting(scopeName="BestEffort", operator="Exists")},
            'spec.scopeSelector.matchExpressions[0].scopeName: Invalid value: "BestEffort": unsupported scope',
        ),
        (
            selecting(scopeName="BestEffort", operator="In", values=["a"]),
            'spec.scopeSelector.matchExpressions[0].operator: Invalid value: "In": must be',
        ),
    ],
)
def test_bad_quotas_are_named(spec: Json, wanted: str) -> None:
    (found,) = causes(QUOTA, **spec)
    assert found.startswith(wanted)


def test_the_scopes_of_a_quota_never_change() -> None:
    problems = Problems()
    old = {"spec": {"scopes": ["Terminating", "NotBestEffort"]}}
    QUOTA.validate_update({"spec": {"scopes": ["NotBestEffort", "Terminating"]}}, old, problems)
    assert not problems
    QUOTA.validate_update({"spec": {}}, old, problems)
    assert [cause.field for cause in problems.causes] == ["spec.scopes"]


def test_a_quotas_status_is_checked_like_its_spec() -> None:
    problems = Problems()
    QUOTA.validate_status({"status": {"used": {"pods": "-1"}}}, {}, problems)
    assert [cause.field for cause in problems.causes] == ["status.used[pods]"]


def test_a_quota_shows_requests_and_limits_apart() -> None:
    hard = {"pods": "3", "limits.cpu": "4", "requests.cpu": "2"}
    quota: Json = {"status": {"hard": hard, "used": {"pods": "1", "requests.cpu": "500m"}}}
    shown = {column.name: column.cell(quota, 0.0) for column in QUOTA.columns}
    assert list(shown) == ["Request", "Limit", "Age"]
    assert shown["Request"] == "pods: 1/3, requests.cpu: 500m/2"
    assert shown["Limit"] == "limits.cpu: 0/4"


def test_a_container_limit_fills_in_its_defaults() -> None:
    item: Json = {
        "type": "Container",
        "max": {"cpu": "2000m"},
        "min": {"memory": "1Mi"},
        "default": {"memory": "2Mi"},
    }
    LIMITS.defaults({"spec": {"limits": [item]}})
    assert item["max"] == {"cpu": "2"}
    assert item["default"] == {"cpu": "2", "memory": "2Mi"}
    assert item["defaultRequest"] == {"cpu": "2", "memory": "2Mi"}


def test_limits_in_order_pass() -> None:
    item = {
        "type": "Container",
        "min": {"cpu": "100m"},
        "defaultRequest": {"cpu": "200m"},
        "default": {"cpu": "500m"},
        "max": {"cpu": "1"},
        "maxLimitRequestRatio": {"cpu": "10"},
    }
    claim = {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}
    assert causes(LIMITS, limits=[item, claim, {"type": "Pod", "max": {"cpu": "2"}}]) == []


@pytest.mark.parametrize(
    ("item", "wanted"),
    [
        (
            {"type": "Bucket"},
            '.type: Invalid value: "Bucket": must be a standard limit type or fully qualified',
        ),
        (
            {"type": "Pod", "default": {"cpu": "1"}},
            ".default: Forbidden: may not be specified when `type` is 'Pod'",
        ),
        ({"type": "PersistentVolumeClaim"}, ": Required value: either minimum or maximum storage value"),
        (
            {"type": "Pod", "min": {"cpu": "2"}, "max": {"cpu": "1"}},
            '.min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
        ),
        (
            {"type": "Container", "defaultRequest": {"cpu": "2"}, "default": {"cpu": "1"}},
            '.defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than default limit value 1',
        ),
        (
            {
                "type": "Container",
                "defaultRequest": {"cpu": "1"},
                "default": {"cpu": "3"},
                "max": {"cpu": "2"},
            },
            '.default[cpu]: Invalid value: "3": default value 3 is greater than max value 2',
        ),
        (
            {"type": "Pod", "maxLimitRequestRatio": {"cpu": "500m"}},
            '.maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1',
        ),
        (
            {"type": "Pod", "min": {"cpu": "1"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "3"}},
            '.maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater than max/min = 2.000000',
        ),
        (
            {"type": "Pod", "max": {"cpu": "-1"}},
            '.max[cpu]: Invalid value: "-1": must be greater than or equal',
        ),
        ({"type": "Pod", "max": {"a b/c": "1"}}, '.max[a b/c]: Invalid value: "a b/c": prefix part'),
        ({"type": "Pod", "max": {"x": "1"}}, '.max[x]: Invalid value: "x": must be a standard resource'),
    ],
)
def test_bad_limits_are_named(item: Json, wanted: str) -> None:
    (found,) = causes(LIMITS, limits=[item])
    assert found.startswith(f"spec.limits[0]{wanted}")


def test_a_type_is_limited_once() -> None:
    assert causes(LIMITS, limits=[{"type": "Pod"}, {"type": "Pod"}]) == [
        'spec.limits[1].type: Duplicate value: "Pod"'
    ]


def test_a_limit_range_shows_when_it_was_created() -> None:
    (column,) = LIMITS.columns
    made = {"metadata": {"creationTimestamp": "2023-11-14T22:13:20Z"}}
    assert (column.name, column.cell(made, 0.0)) == ("Created At", "2023-11-14T22:13:20Z")
