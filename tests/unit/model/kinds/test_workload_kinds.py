"""What all workload and policy kinds owe the API: names, fields that the tables know, no crash."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead.core.problems import Problems
from fairlead.model.fields import ListOf, MapOf, Ref, Scalar, Type
from fairlead.model.files import load_tables
from fairlead.model.kind import Json, Kind
from fairlead.model.kinds import (
    controllerrevision,
    cronjob,
    daemonset,
    deployment,
    endpointslice,
    lease,
    poddisruptionbudget,
    priorityclass,
    replicaset,
    statefulset,
)
from fairlead.model.kinds.horizontalpodautoscaler import kind as horizontalpodautoscaler
from fairlead.model.kinds.job import kind as job
from fairlead.model.shapes import fits
from tests.unit.model.kinds.workload_objects import NOW, template, whole, workload

ALL = [
    module.KIND
    for module in (
        cronjob,
        daemonset,
        deployment,
        endpointslice,
        horizontalpodautoscaler,
        job,
        lease,
        poddisruptionbudget,
        priorityclass,
        replicaset,
        statefulset,
    )
]
DEPTH_MAX = 6


@pytest.mark.parametrize(
    ("kind", "path", "short_names", "categories", "subresources"),
    [
        (controllerrevision.KIND, "apps/v1/controllerrevisions", (), (), ()),
        (cronjob.KIND, "batch/v1/cronjobs", ("cj",), ("all",), ("status",)),
        (daemonset.KIND, "apps/v1/daemonsets", ("ds",), ("all",), ("status",)),
        (deployment.KIND, "apps/v1/deployments", ("deploy",), ("all",), ("status", "scale")),
        (endpointslice.KIND, "discovery.k8s.io/v1/endpointslices", (), (), ()),
        (
            horizontalpodautoscaler.KIND,
            "autoscaling/v2/horizontalpodautoscalers",
            ("hpa",),
            ("all",),
            ("status",),
        ),
        (job.KIND, "batch/v1/jobs", (), ("all",), ("status",)),
        (lease.KIND, "coordination.k8s.io/v1/leases", (), (), ()),
        (poddisruptionbudget.KIND, "policy/v1/poddisruptionbudgets", ("pdb",), (), ("status",)),
        (priorityclass.KIND, "scheduling.k8s.io/v1/priorityclasses", ("pc",), (), ()),
        (replicaset.KIND, "apps/v1/replicasets", ("rs",), ("all",), ("status", "scale")),
        (statefulset.KIND, "apps/v1/statefulsets", ("sts",), ("all",), ("status", "scale")),
    ],
)
def test_kinds_are_found_under_kubernetes_names(
    kind: Kind,
    path: str,
    short_names: tuple[str, ...],
    categories: tuple[str, ...],
    subresources: tuple[str, ...],
) -> None:
    assert f"{kind.api_version}/{kind.plural}" == path
    assert kind.short_names == short_names
    assert kind.categories == categories
    assert kind.subresources == subresources
    assert (kind.scale is not None) == ("scale" in subresources)
    assert kind.namespaced == (kind is not priorityclass.KIND)


SPECS: dict[str, Json] = {
    "CronJob": {"schedule": "@daily", "jobTemplate": {"spec": {"template": template(restartPolicy="Never")}}},
    "HorizontalPodAutoscaler": {
        "maxReplicas": 3,
        "scaleTargetRef": {"kind": "Deployment", "name": "web"},
        "behavior": {},
    },
    "Job": {"template": template(restartPolicy="Never")},
    "StatefulSet": {"volumeClaimTemplates": [{}]},
}


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.kind)
def test_defaults_write_only_what_the_field_tables_know(kind: Kind) -> None:
    if kind.group == "apps":
        obj = workload(kind, **SPECS.get(kind.kind, {}))
    elif kind is endpointslice.KIND:
        obj = whole(kind, addressType="IPv4", ports=[{}])
    elif kind.kind in SPECS:
        obj = whole(kind, spec=deepcopy(SPECS[kind.kind]))
    else:
        obj = whole(kind)
    kind.defaults(obj)
    assert fits(load_tables(), kind.schema, obj)


@pytest.mark.parametrize(
    ("kind", "path", "expected"),
    [
        (deployment.KIND, ("strategy", "type"), "RollingUpdate"),
        (daemonset.KIND, ("updateStrategy", "type"), "RollingUpdate"),
        (statefulset.KIND, ("updateStrategy", "type"), "RollingUpdate"),
        (statefulset.KIND, ("podManagementPolicy",), "OrderedReady"),
        (statefulset.KIND, ("persistentVolumeClaimRetentionPolicy", "whenScaled"), "Retain"),
        (job.KIND, ("completionMode",), "NonIndexed"),
        (cronjob.KIND, ("concurrencyPolicy",), "Allow"),
    ],
)
def test_an_empty_choice_counts_as_no_choice(kind: Kind, path: tuple[str, ...], expected: str) -> None:
    spec: Any = ""
    for key in reversed(path):
        spec = {key: spec}
    obj = whole(kind, spec=spec)
    kind.defaults(obj)
    found: Any = obj["spec"]
    for key in path:
        found = found[key]
    assert found == expected


@st.composite
def structured(draw: st.DrawFn, type_name: str, depth: int = 0) -> Json:
    """Any object that the field tables accept; pod templates are left to the tests of pods."""
    fields = load_tables()[type_name].fields
    names = [name for name, field in fields.items() if field.required]
    if depth < DEPTH_MAX:
        names += draw(st.lists(st.sampled_from(sorted(fields)), max_size=8, unique=True))
    return {name: draw(valued(fields[name].type, depth)) for name in names}


def valued(kind: Type, depth: int) -> st.SearchStrategy[Any]:
    if isinstance(kind, ListOf):
        return st.lists(valued(kind.item, depth), max_size=2 if depth < DEPTH_MAX else 0)
    if isinstance(kind, MapOf):
        return st.dictionaries(texts, valued(kind.value, depth), max_size=2)
    if isinstance(kind, Ref):
        return (
            st.just(template()).map(deepcopy)
            if kind.name == "PodTemplateSpec"
            else structured(kind.name, depth + 1)
        )
    assert isinstance(kind, Scalar)
    return st.sampled_from((*kind.enum, "")) if kind.enum else SCALARS[kind.name]


small = st.sampled_from([-1, 0, 1, 3, 100_001, 2**31 - 1])
texts = st.sampled_from(["", "a", "app", "web", "no good", "a/b", "9", "1-2", "@every x", "* * * * *"])
stamps = st.sampled_from(["2023-11-14T22:13:20Z", "2030-01-01T00:00:00+02:00", "2023-11-14T22:13:20.5Z"])
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "string": texts,
    "int32": small,
    "int64": small,
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
    "quantity": st.sampled_from([0, -1, 1.5, "1Gi", "100m", "-2", "1e3"]),
    "time": stamps,
    "microtime": stamps,
    "int-or-string": st.sampled_from([-1, 0, 5, "", "5", "0%", "50%", "101%", "x%"]),
    "any": st.none(),
}


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.kind)
@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_structurally_valid_object_makes_a_kind_stumble(kind: Kind, data: st.DataObject) -> None:
    fields = set(load_tables()[kind.schema].fields) - {"apiVersion", "kind", "metadata"}
    old, new = ({**whole(kind), **_only(data.draw(structured(kind.schema)), fields)} for _ in range(2))
    for obj in (old, new):
        kind.warnings(obj)
        kind.defaults(obj)
        again = deepcopy(obj)
        kind.defaults(again)
        assert again == obj
        kind.validate(obj, Problems())
        for column in kind.columns:
            column.cell(obj, NOW)
        for read in kind.selectable.values():
            assert isinstance(read(obj), str)
    kind.validate_update(new, old, Problems())
    kind.validate_status(new, old, Problems())
    kind.heartbeat(new, old)


def _only(obj: Json, fields: set[str]) -> Json:
    return {name: value for name, value in obj.items() if name in fields}
