"""Policies and bindings for tests, in a few words."""

from __future__ import annotations

from typing import Any

from fairlead.api.access.users import User
from tests.inprocess import ADMIN, InProcess

GROUP = "/apis/admissionregistration.k8s.io/v1"
Json = dict[str, Any]

PODS: Json = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
CONFIG_MAPS: Json = {**PODS, "resources": ["configmaps"]}
DEPLOYMENTS: Json = {**PODS, "apiGroups": ["apps"], "resources": ["deployments"]}


def validating(name: str, *expressions: str | Json, rules: list[Json] | None = None, **spec: Any) -> Json:
    validations = [each if isinstance(each, dict) else {"expression": each} for each in expressions]
    return _policy("ValidatingAdmissionPolicy", name, rules, {"validations": validations, **spec})


def mutating(name: str, *mutations: str | Json, rules: list[Json] | None = None, **spec: Any) -> Json:
    found = [
        each
        if isinstance(each, dict)
        else {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": each}}
        for each in mutations
    ]
    return _policy(
        "MutatingAdmissionPolicy", name, rules, {"mutations": found, "reinvocationPolicy": "Never", **spec}
    )


def json_patch(text: str) -> Json:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": text}}


def _policy(kind: str, name: str, rules: list[Json] | None, spec: Json) -> Json:
    match = {"resourceRules": rules or [CONFIG_MAPS]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"matchConstraints": match, **spec},
    }


def binding(policy: Json, name: str = "", **spec: Any) -> Json:
    more = {"validationActions": ["Deny"]} if policy["kind"].startswith("Validating") else {}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{policy['kind']}Binding",
        "metadata": {"name": name or f"{policy['metadata']['name']}-binding"},
        "spec": {"policyName": policy["metadata"]["name"], **more, **spec},
    }


def path_of(obj: Json) -> str:
    kind: str = obj["kind"]
    plural = kind.lower() + "s" if kind.endswith("Binding") else kind.lower()[:-1] + "ies"
    return f"{GROUP}/{plural}"


def put_in_force(plane: InProcess, policy: Json, *bindings: Json) -> None:
    """The policy with these bindings, or with one that says nothing more."""
    for each in (policy, *(bindings or (binding(policy),))):
        status, told = plane.post(path_of(each), each)
        assert status == 201, told


def config_map(name: str = "settings", data: Json | None = None, **metadata: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "data": data or {},
    }


def create(plane: InProcess, obj: Json, user: User = ADMIN, query: str = "") -> tuple[int, Any]:
    plural = f"{obj['kind'].lower()}s"
    group = "/api/v1" if "/" not in obj["apiVersion"] else f"/apis/{obj['apiVersion']}"
    space = obj["metadata"].get("namespace")
    where = f"{group}/namespaces/{space}/{plural}" if space else f"{group}/{plural}"
    return plane.post(where + query, obj, user=user)


def audited(plane: InProcess) -> bytes:
    """The last line of the audit log."""
    *_, (_, _, note) = plane.journal.notes("audit", 0, 1000)
    return note.body
