"""Whose word counts for each field of an object: an override, then a controller, then who wrote it last."""

from __future__ import annotations

from typing import Any

from fairlead.cli.authoritative import ITSELF, Authority, OverriddenField, authorities, holding
from fairlead.control.authority import authority_table
from fairlead.ledger.authority import ScalingBounds
from fairlead.ledger.held_fields import HeldSubject
from fairlead.model.views import Meta

Json = dict[str, Any]
NOW = 1_767_225_600.0  # 2026-01-01T00:00:00Z


def deployment() -> Json:
    wrote: Json = {
        "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
        "f:spec": {"f:replicas": {}, "f:template": {}},
    }
    scaled: Json = {"f:spec": {"f:replicas": {}}}
    status: Json = {"f:status": {"f:conditions": {".": {}}}}
    managed = [
        {"manager": "kubectl-create", "time": "2026-01-01T00:00:00Z", "fieldsV1": wrote},
        {"manager": "fairlead-deployment", "time": "2026-01-01T00:00:01Z", "fieldsV1": status},
        {"manager": "jane", "time": "2026-01-01T00:00:02Z", "fieldsV1": scaled},
    ]
    return {
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "managedFields": managed},
    }


def override(name: str, until: str, **changes: Any) -> Json:
    meta = {"name": name, "namespace": "default", "uid": name}
    return {
        "metadata": meta,
        "spec": {"target": "deployment/web", "reason": "x", "expiresAt": until, "changes": changes},
    }


def told(held: list[OverriddenField], autoscaler: ScalingBounds | None = None) -> dict[str, Authority]:
    found = authorities("deployments.apps", deployment(), held, authority_table(), autoscaler)
    return {each.field: each for each in found}


def test_without_overrides_it_is_the_controller_whose_field_it_is_or_who_wrote_it_last() -> None:
    found = told([])
    assert set(found) == {"metadata.labels", "spec.replicas", "spec.template", "status"}
    assert found["spec.replicas"].authority == "jane"
    assert found["spec.replicas"].managers == ("jane", "kubectl-create")
    assert found["status"].authority == "controller deployment"
    scaled = told([], ScalingBounds("web", 1, 5))["spec.replicas"]
    assert scaled.authority == "controller autoscaler"
    assert "web (1 to 5) scales this" in scaled.reverts[0]


def test_an_override_that_holds_a_field_comes_before_the_controller_that_would_write_it_back() -> None:
    overrides = [
        override("calm", "2026-01-01T01:00:00Z", pauseAutoscaler=True),
        override("later", "2026-01-01T02:00:00Z", pauseAutoscaler=True, pauseRollout=False),
        override("over", "2025-12-31T23:00:00Z", pauseRollout=True),
    ]
    subject = HeldSubject("deployments.apps", Meta("web", "u", "default"))
    found = told(holding(overrides, subject, NOW), ScalingBounds("web", 1, 5))
    replicas = found["spec.replicas"]
    assert replicas.authority == "override default/calm, default/later"
    assert [each["until"] for each in replicas.as_json()["overrides"]] == [
        "2026-01-01T01:00:00Z",
        "2026-01-01T02:00:00Z",
    ]
    assert replicas.reverts[0].startswith("autoscaler: ")
    assert found["spec.template"].authority == "kubectl-create"  # the one that held it has ended


def test_an_object_that_a_controller_would_make_again_says_so() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "r", "controller": True}
    pod = {"kind": "Pod", "metadata": {"name": "web-1-a", "ownerReferences": [owner]}}
    first = authorities("pods", pod, [], authority_table())[0]
    assert (first.field, first.authority) == (ITSELF, "controller replicaset")
