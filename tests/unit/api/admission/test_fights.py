"""Whoever writes by hand is told whom the write meets, and the audit line keeps it; controllers and nodes are not."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.access.users import MASTERS, User
from fairlead.api.admission import DEFAULT_STEPS, AdmissionChain
from fairlead.api.admission.fights import PAST
from fairlead.api.assembly import Remembered
from fairlead.control.authority import AGENT, SCHEDULER, rows, warning_steps
from fairlead.control.roster import default_deciders
from fairlead.core import codec
from fairlead.ledger.repair import TRACKING
from fairlead.model.catalog import CATALOG
from tests.inprocess import InProcess

CONTROLLER = User("system:fairlead:replicaset", groups=(MASTERS,))
POD = {"containers": [{"name": "main", "image": "web"}]}
PODS = "/api/v1/namespaces/default/pods"
SETS = "/apis/apps/v1/namespaces/default/replicasets"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def owned(kind: str, name: str) -> list[dict[str, Any]]:
    group = "batch/v1" if kind == "Job" else "apps/v1"
    return [{"apiVersion": group, "kind": kind, "name": name, "uid": "u-1", "controller": True}]


def workload(kind: str, name: str, **meta: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": name}}, "spec": POD}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, **meta}, "spec": spec}


@pytest.fixture
def api() -> InProcess:
    plane = InProcess(remembered=Remembered(chain=AdmissionChain(warning_steps(DEFAULT_STEPS))))
    plane.post(DEPLOYMENTS, workload("Deployment", "web"))
    plane.post(SETS, workload("ReplicaSet", "web-1", ownerReferences=owned("Deployment", "web")))
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web-1-a", "ownerReferences": owned("ReplicaSet", "web-1")},
    }
    plane.post(PODS, {**pod, "spec": POD})
    return plane


def last_line(api: InProcess) -> dict[str, Any]:
    found: dict[str, Any] = codec.decode(api.journal.notes("audit", 0, 1000)[-1][2].body)
    return found


def test_a_pod_that_will_be_made_again_is_deleted_with_a_warning_that_names_the_controller(
    api: InProcess,
) -> None:
    status, _ = api.delete(f"{PODS}/web-1-a")
    (warning,) = api.warnings
    assert status == 200
    assert warning.startswith("delete pod/web-1-a meets replicaset, which makes another in its place")
    assert "replicaset/web-1" in warning
    line = last_line(api)
    assert (line["user"], line["annotations"][PAST]) == ("admin", "replicaset")


def test_replicas_of_what_a_deployment_owns_are_the_deployments(api: InProcess) -> None:
    api.patch(f"{SETS}/web-1", {"spec": {"replicas": 5}})
    (warning,) = api.warnings
    assert (
        "spec.replicas meets deployment, which sets spec.replicas back to what deployment/web asks for"
        in warning
    )
    assert last_line(api)["annotations"][PAST] == "deployment spec.replicas"


def test_replicas_are_the_autoscalers_only_where_one_has_them_as_its_target(api: InProcess) -> None:
    api.patch(f"{DEPLOYMENTS}/web", {"spec": {"replicas": 3}})
    assert not api.warnings
    assert PAST not in last_line(api).get("annotations", {})
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    scaler = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}}
    spec = {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 9}
    api.post("/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", {**scaler, "spec": spec})
    api.patch(f"{DEPLOYMENTS}/web", {"spec": {"replicas": 4}})
    (warning,) = api.warnings
    assert "autoscaler" in warning
    assert "web (2 to 9)" in warning
    api.patch(f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 5}})
    assert "autoscaler" in api.warnings[0]


def test_a_status_is_its_controllers(api: InProcess) -> None:
    api.patch(f"{DEPLOYMENTS}/web/status", {"status": {"observedGeneration": 9}})
    (warning,) = api.warnings
    assert warning.startswith("status")
    assert "meets deployment, which writes" in warning


def test_a_finalizer_that_is_taken_away_by_hand_is_no_clean_up(api: InProcess) -> None:
    meta = {"name": "count-a", "finalizers": [TRACKING], "ownerReferences": owned("Job", "count")}
    api.post(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": POD})
    api.patch(f"{PODS}/count-a", {"metadata": {"finalizers": None}})
    told = " ".join(api.warnings)
    assert f"finalizer {TRACKING} meets job, which counts" in told
    assert "repair, which does not take this for finished" in told


def test_who_is_no_person_is_not_warned(api: InProcess) -> None:
    for user in (CONTROLLER, User("system:serviceaccount:default:operator", groups=(MASTERS,))):
        api.patch(f"{SETS}/web-1", {"spec": {"replicas": 7 + len(user.name)}}, user=user)
        assert not api.warnings
        assert PAST not in last_line(api).get("annotations", {})


def test_an_edit_of_ones_own_field_is_not_warned_about(api: InProcess) -> None:
    api.patch(f"{DEPLOYMENTS}/web", {"metadata": {"labels": {"team": "x"}}})
    assert not api.warnings


def test_every_row_names_a_controller_and_a_kind_that_there_are() -> None:
    known = {decider.name for decider in default_deciders()} | {SCHEDULER, AGENT}
    for row in rows():
        assert row.controller in known, row
        assert not row.resource or CATALOG.of_resource(row.resource) is not None, row
