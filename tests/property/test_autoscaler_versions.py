"""A HorizontalPodAutoscaler on its way between its versions: what has gone through both once stays as it is for ever."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.kind import Json
from fairlead.model.kinds.horizontalpodautoscaler.kind import KIND as SECOND
from fairlead.model.kinds.horizontalpodautoscaler.versions import as_v1, as_v2

names = st.sampled_from(["cpu", "memory", "depth"])
amounts = st.sampled_from(["1", "0", "250m", "1Gi", "2k"])
selectors = st.sampled_from(
    [{"matchLabels": {"a": "b"}}, {"matchExpressions": [{"key": "k", "operator": "Exists"}]}, {}]
)
references = st.fixed_dictionaries({"kind": st.just("Service"), "name": names})
identifiers = st.fixed_dictionaries({"name": names}, optional={"selector": selectors})
targets = st.fixed_dictionaries(
    {"type": st.sampled_from(["Utilization", "Value", "AverageValue"])},
    optional={"averageUtilization": st.integers(1, 100), "averageValue": amounts, "value": amounts},
)


def metric(kind: str, part: str, **fields: Any) -> st.SearchStrategy[Json]:
    inside = st.fixed_dictionaries({**fields, "target": targets})
    return st.fixed_dictionaries({"type": st.just(kind), part: inside})


metrics = st.lists(
    st.one_of(
        metric("Resource", "resource", name=names),
        metric("ContainerResource", "containerResource", name=names, container=names),
        metric("Pods", "pods", metric=identifiers),
        metric("External", "external", metric=identifiers),
        metric("Object", "object", metric=identifiers, describedObject=references),
    ),
    max_size=4,
)
rules = st.fixed_dictionaries(
    {"policies": st.just([{"type": "Pods", "value": 1, "periodSeconds": 5}])},
    optional={"stabilizationWindowSeconds": st.integers(0, 9), "tolerance": amounts},
)
behaviours = st.fixed_dictionaries({}, optional={"scaleUp": rules, "scaleDown": rules})
texts = st.dictionaries(
    st.sampled_from(["own", "autoscaling.alpha.kubernetes.io/metrics"]), st.text(max_size=9)
)
specs = st.fixed_dictionaries(
    {"scaleTargetRef": references, "maxReplicas": st.integers(1, 9), "metrics": metrics},
    optional={"behavior": behaviours, "minReplicas": st.integers(1, 9)},
)


def whole(spec: Json, annotations: Json) -> Json:
    metadata = {"name": "web", **({"annotations": annotations} if annotations else {})}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": metadata,
        "spec": spec,
    }


@given(specs, texts)
def test_once_through_both_versions_nothing_changes_any_more(spec: Json, annotations: Json) -> None:
    obj = whole(spec, annotations)
    SECOND.defaults(obj)
    before = copy.deepcopy(obj)
    first = as_v1(obj)
    again = as_v2(first)
    assert obj == before, "what is converted stays as it is"
    assert as_v1(again) == first
    assert as_v2(as_v1(again)) == again
    assert len(again["spec"]["metrics"]) == len(obj["spec"]["metrics"])
    assert again["spec"].get("behavior") == obj["spec"].get("behavior")
