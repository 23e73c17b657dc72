"""Policies with kubectl on a real server: what is refused is refused in Kubernetes' words, and who changed what is seen."""

from __future__ import annotations

import json
from typing import Any

from tests.clients.kubectl import Operator
from tests.clients.test_audit_reads import audited
from tests.running import Running

VERSION = "admissionregistration.k8s.io/v1"


def about(team: Operator, resource: str, group: str = "") -> dict[str, Any]:
    """Only in the test's own namespace: others share the server."""
    rule = {
        "operations": ["CREATE", "UPDATE"],
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "resources": [resource],
    }
    here = {"matchLabels": {"kubernetes.io/metadata.name": team.namespace}}
    return {"resourceRules": [rule], "namespaceSelector": here}


def policy(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def test_a_policy_refuses_warns_and_is_ended_by_deleting_it(
    kubectl: Operator, team: Operator, server: Running
) -> None:
    made = policy(
        "ValidatingAdmissionPolicy",
        "demo-policy.example.com",
        matchConstraints=about(team, "deployments", "apps"),
        validations=[{"expression": "object.spec.replicas <= 5"}],
    )
    bound = policy(
        "ValidatingAdmissionPolicyBinding",
        "demo-binding.example.com",
        policyName="demo-policy.example.com",
        validationActions=["Deny"],
    )
    team("apply -f -", made)
    team("apply -f -", bound)
    told = team.refused("create deployment web --image=web --replicas=9")
    said = (
        "ValidatingAdmissionPolicy 'demo-policy.example.com' with binding 'demo-binding.example.com' "
        "denied request: failed expression: object.spec.replicas <= 5"
    )
    assert said in told
    applied = team.refused("apply -f -", deployment(9))
    assert f'The deployments "web" is invalid: : {said}' in applied
    line = next(each for each in reversed(audited(server)) if each.get("policies"))
    assert line["policies"] == ["demo-policy.example.com: refused (demo-binding.example.com)"]
    assert (line["code"], line["object"]["resource"]) == (422, "deployments")

    team(
        f"patch validatingadmissionpolicybinding demo-binding.example.com --type=merge -p {_quoted(['Warn'])}"
    )
    done = team.run("create deployment web --image=web --replicas=9")
    assert done.code == 0
    assert "Warning: Validation failed for ValidatingAdmissionPolicy 'demo-policy.example.com'" in done.err

    kubectl("delete validatingadmissionpolicy demo-policy.example.com")
    assert team.run("scale deployment web --replicas=3").err == ""
    kubectl("delete validatingadmissionpolicybinding demo-binding.example.com")


def _quoted(actions: list[str]) -> str:
    return "'" + json.dumps({"spec": {"validationActions": actions}}) + "'"


def deployment(replicas: int) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "web"}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }


def test_a_syntax_error_names_the_field_and_the_place(team: Operator) -> None:
    wrong = policy(
        "ValidatingAdmissionPolicy",
        "wrong.example.com",
        matchConstraints=about(team, "configmaps"),
        validations=[{"expression": "true"}, {"expression": "object.data.size() <"}],
    )
    told = team.refused("apply -f -", wrong)
    assert "spec.validations[1].expression: Invalid value" in told
    assert "ERROR: <input>:1:21: Syntax error: mismatched input '<EOF>'" in told


def test_who_changed_an_object_is_seen_in_its_managers(
    kubectl: Operator, team: Operator, server: Running
) -> None:
    expression = "Object{metadata: Object.metadata{labels: {'team': 'risk'}}}"
    made = policy(
        "MutatingAdmissionPolicy",
        "team.example.com",
        matchConstraints=about(team, "configmaps"),
        mutations=[{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}],
        reinvocationPolicy="Never",
    )
    team("apply -f -", made)
    team(
        "apply -f -",
        policy("MutatingAdmissionPolicyBinding", "team.example.com", policyName="team.example.com"),
    )
    team("create configmap colours --from-literal=a=red")
    shown = team.yaml("get configmap colours -o yaml --show-managed-fields")
    assert shown["metadata"]["labels"] == {"team": "risk"}
    managers = {each["manager"]: each["fieldsV1"] for each in shown["metadata"]["managedFields"]}
    owned = managers["admission-policy:team.example.com"]["f:metadata"]["f:labels"]
    assert "f:team" in owned
    line = next(each for each in reversed(audited(server)) if each.get("policies"))
    assert line["policies"] == ["team.example.com: changed"]
    assert line["object"]["name"] == "colours"
    kubectl("delete mutatingadmissionpolicy,mutatingadmissionpolicybinding team.example.com")
    team("create configmap plain --from-literal=a=red")
    assert "labels" not in team.yaml("get configmap plain -o yaml")["metadata"]
