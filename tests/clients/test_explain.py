"""kubectl explain, for every kind that is served: it finds the kind, knows its fields and says something of each."""

from __future__ import annotations

import re

import pytest

from fairlead.api.access.reviews import REVIEWS
from fairlead.model.catalog import CATALOG
from fairlead.model.kind import Kind
from tests.clients.kubectl import Operator
from tests.conftest import SOAK

KINDS = tuple(CATALOG)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.kind}-{kind.version}")
def test_every_kind_is_explained_with_all_its_fields(kubectl: Operator, kind: Kind) -> None:
    name = kind.plural if not kind.group else f"{kind.plural} --api-version={kind.api_version}"
    told = kubectl(f"explain {name}")
    assert re.search(rf"^KIND:\s+{kind.kind}$", told, re.M)
    assert re.search(rf"^VERSION:\s+{kind.version}$", told, re.M)
    for field in ("apiVersion", "kind", "metadata"):
        assert f"  {field}\t<" in told
    assert "<no description>" not in told
    assert "  metadata\t<ObjectMeta>" in told
    if kind.group and kind.group != "fairlead.dev" and not SOAK:
        return  # what is below is read from the same document
    whole = kubectl(f"explain {name} --recursive")
    assert "    finalizers\t<[]string>" in whole
    assert len(whole.splitlines()) > len(told.splitlines())


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.soak if place % 6 else (), id=f"{kind.kind}-{kind.version}")
        for place, kind in enumerate(KINDS)
    ],
)
def test_every_kind_is_explained_from_version_2_as_well(kubectl: Operator, kind: Kind) -> None:
    name = kind.plural if not kind.group else f"{kind.plural} --api-version={kind.api_version}"
    told = kubectl(f"explain {name} --output=plaintext-openapiv2")
    assert re.search(rf"^KIND:\s+{kind.kind}$", told, re.M)
    assert "metadata" in told


@pytest.mark.parametrize("review", REVIEWS, ids=lambda review: review.kind)
def test_questions_are_explained_though_they_are_not_stored(kubectl: Operator, review: object) -> None:
    told = kubectl(f"explain {review.plural}")  # type: ignore[attr-defined]
    assert f"KIND:       {review.kind}" in told  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("path", "kind", "says"),
    [
        ("pod.spec.containers.livenessProbe.httpGet", "<HTTPGetAction>", "port\t<IntOrString> -required-"),
        ("pods.spec.affinity.podAntiAffinity", "<PodAntiAffinity>", "preferredDuringScheduling"),
        ("pods.status.containerStatuses.state", "<ContainerState>", "terminated\t<ContainerStateTerminated>"),
        ("deployment.spec.strategy.rollingUpdate", "<RollingUpdateDeployment>", "maxSurge\t<IntOrString>"),
        ("deploy.spec.template.spec.volumes", "<[]Volume>", "emptyDir\t<EmptyDirVolumeSource>"),
        ("svc.spec.ports", "<[]ServicePort>", "targetPort\t<IntOrString>"),
        ("jobs.spec.podFailurePolicy.rules", "<[]PodFailurePolicyRule>", "action\t<string> -required-"),
        ("no.status.conditions", "<[]NodeCondition>", "lastHeartbeatTime\t<string>"),
        ("reservations.spec", "", "KIND:       Reservation"),
        ("schedulingpolicies.spec", "", "KIND:       SchedulingPolicy"),
        ("evidencepolicies.spec", "", "KIND:       EvidencePolicy"),
        ("planesettings.spec", "", "KIND:       PlaneSettings"),
        ("placementquotas.spec", "", "KIND:       PlacementQuota"),
        ("runbooks.spec.steps", "", "KIND:       Runbook"),
        ("runbookruns.status.steps.made", "", "KIND:       RunbookRun"),
    ],
)
def test_a_field_is_explained_by_its_path(kubectl: Operator, path: str, kind: str, says: str) -> None:
    told = kubectl(f"explain {path}")
    assert kind in told
    assert says in told
    assert "<no description>" not in told
    assert kubectl(f"explain {path} --recursive")


def test_what_does_not_exist_is_not_explained(kubectl: Operator) -> None:
    assert 'field "nonsense" does not exist' in kubectl.refused("explain pod.spec.nonsense")
    assert "doesn't have a resource type" in kubectl.refused("explain nothings")


TIDES = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "tides.sea.example.com"},
    "spec": {
        "group": "sea.example.com",
        "scope": "Namespaced",
        "names": {"plural": "tides", "singular": "tide", "kind": "Tide", "shortNames": ["td"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "description": "how high the water is",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "description": "what is wanted",
                                "required": ["height"],
                                "properties": {
                                    "height": {"type": "integer", "description": "in metres"},
                                    "gate": {
                                        "x-kubernetes-int-or-string": True,
                                        "description": "number or name",
                                    },
                                    "free": {
                                        "type": "object",
                                        "description": "anything",
                                        "x-kubernetes-preserve-unknown-fields": True,
                                    },
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}


def test_a_custom_kind_is_found_and_explained_as_soon_as_it_is_defined(kubectl: Operator) -> None:
    assert "doesn't have a resource type" in kubectl.refused("get td")
    kubectl("apply -f -", TIDES)
    kubectl("wait --for=condition=Established crd/tides.sea.example.com --timeout=90s")
    assert "sea.example.com/v1" in kubectl("api-versions").split()
    row = next(line for line in kubectl("api-resources").splitlines() if line.startswith("tides "))
    assert row.split() == ["tides", "td", "sea.example.com/v1", "true", "Tide"]
    for output in ("plaintext", "plaintext-openapiv2"):
        told = kubectl(f"explain td.spec --output={output}")
        assert "what is wanted" in told
        assert "height\t<integer> -required-" in told
        assert "in metres" in told
    assert "free\t<Object>" in kubectl("explain tides --recursive")
    tide = {"apiVersion": "sea.example.com/v1", "kind": "Tide", "metadata": {"name": "spring"}}
    kubectl("apply -f -", {**tide, "spec": {"height": 3, "gate": "north", "free": {"a": [{"b": 1}]}}})
    assert kubectl.asked("get td spring -o jsonpath={.spec.free.a[0].b}") == "1"
    refused = kubectl.refused("apply -f -", {**tide, "spec": {"height": 3, "heigth": 4}})
    assert 'unknown field "spec.heigth"' in refused
    listed = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [{**tide, "spec": {"height": 5, "free": {"x": 1}}}],
    }
    assert "tide.sea.example.com/spring configured" in kubectl("apply -f -", listed)
    kubectl("delete crd tides.sea.example.com")
    # kubectl keeps for a while what it knows of a server; who asks anew is told that it is gone.
    assert "sea.example.com/v1" not in kubectl("api-versions").split()
