"""Policies about parts of objects: what they see there, whom they refuse, what they change."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.access.users import MASTERS, NODES, User
from fairlead.model.key import Key
from fairlead.port.request import Binding, Reply
from tests.inprocess import InProcess
from tests.unit.api.admission.policing import (
    DEPLOYMENTS,
    PODS,
    Json,
    audited,
    binding,
    config_map,
    create,
    mutating,
    path_of,
    put_in_force,
    validating,
)
from tests.unit.api.test_bindings_together import together
from tests.unit.api.things import deployment, pod, sample

AT = "/api/v1/namespaces/default/pods"
SCHEDULER = User("system:fairlead:scheduler", groups=(MASTERS,))


def on(subresource: str, rule: Json = PODS) -> list[Json]:
    return [{**rule, "resources": [f"{rule['resources'][0]}/{subresource}"]}]


ACCOUNTS: Json = {**PODS, "resources": ["serviceaccounts"]}
REQUESTS: Json = {**PODS, "apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"]}


@pytest.fixture
def plane() -> InProcess:
    plane = InProcess()
    assert plane.post(AT, pod("web"))[0] == 201
    return plane


def bind(plane: InProcess, node: str = "node-1", **options: Any) -> tuple[int, Any]:
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "web"}, "target": {"name": node}}
    return plane.post(f"{AT}/web/binding", body, **options)


def evict(plane: InProcess, **options: Any) -> tuple[int, Any]:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web"}, **options}
    return plane.post(f"{AT}/web/eviction", body)


def test_a_binding_is_judged_as_what_was_sent(plane: InProcess) -> None:
    holds = [
        "object.target.name != 'node-1'",
        "object.kind == 'Binding' && oldObject == null",
        "request.kind.kind == 'Binding' && request.resource.resource == 'pods'",
        "request.subResource == 'binding' && request.operation == 'CREATE' && request.name == 'web'",
    ]
    put_in_force(plane, validating("not-there", *holds, rules=on("binding")))
    status, told = bind(plane, user=SCHEDULER)
    assert (status, told["reason"]) == (422, "Invalid")
    assert "failed expression: object.target.name != 'node-1'" in told["message"]
    assert bind(plane, "node-2", user=SCHEDULER)[0] == 201
    assert plane.get(f"{AT}/web")[1]["spec"]["nodeName"] == "node-2"


def test_bindings_that_are_decided_together_are_asked_for_one_by_one(plane: InProcess) -> None:
    put_in_force(plane, validating("none", "false", rules=on("binding")))
    entry = plane.store.get(Key("pods", "default", "web"))
    assert entry is not None
    reply = plane.send(together(Binding("default", "web", entry.uid, "node-1")), SCHEDULER)
    assert isinstance(reply, Reply)
    assert reply.each == (False,)


def test_a_policy_about_pods_leaves_bindings_alone(plane: InProcess) -> None:
    put_in_force(plane, validating("none", "false", rules=[PODS]))
    pods = plane.api.desk.catalog.of_resource("pods")
    assert pods is not None
    assert plane.desk.policies.concern(pods)
    assert not plane.desk.policies.concern(pods, "binding")
    assert bind(plane)[0] == 201


def test_a_mutating_policy_changes_the_binding_that_was_sent(plane: InProcess) -> None:
    marks = "Object{metadata: Object.metadata{annotations: {'seen': request.userInfo.username}}}"
    put_in_force(plane, mutating("mark", marks, rules=on("binding")))
    assert bind(plane)[0] == 201
    assert b'"mark: changed"' in audited(plane)
    _, told = plane.get(f"{AT}/web")
    assert told["metadata"]["annotations"]["seen"] == "admin"
    assert told["spec"]["nodeName"] == "node-1"


def test_an_eviction_is_judged_and_changed_as_what_was_sent(plane: InProcess) -> None:
    patient = validating("patient", "object.deleteOptions.gracePeriodSeconds >= 30", rules=on("eviction"))
    put_in_force(plane, patient)
    assert evict(plane, deleteOptions={"gracePeriodSeconds": 5})[0] == 422
    longer = "Object{deleteOptions: Object.deleteOptions{gracePeriodSeconds: 45}}"
    put_in_force(plane, mutating("longer", longer, rules=on("eviction")))
    assert bind(plane)[0] == 201
    assert evict(plane, deleteOptions={"gracePeriodSeconds": 5})[0] == 201
    assert plane.get(f"{AT}/web")[1]["metadata"]["deletionGracePeriodSeconds"] == 45


def test_conditions_and_parameters_hold_for_bindings_too(plane: InProcess) -> None:
    allowed = config_map("nodes", data={"node-1": "yes"})
    assert create(plane, allowed)[0] == 201
    policy = validating(
        "listed",
        "object.target.name in params.data",
        rules=on("binding"),
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        matchConditions=[{"name": "others", "expression": "!request.userInfo.username.startsWith('free')"}],
    )
    reference = {"name": "nodes", "namespace": "default", "parameterNotFoundAction": "Deny"}
    put_in_force(plane, policy, binding(policy, paramRef=reference))
    assert bind(plane, "node-2")[0] == 422
    assert bind(plane, "node-2", user=User("freelance", groups=(MASTERS,)))[0] == 201


def test_the_scale_is_changed_through_the_number_of_its_parent(plane: InProcess) -> None:
    at = "/apis/apps/v1/namespaces/default/deployments"
    assert plane.post(at, deployment("web", replicas=1))[0] == 201
    few = "Object{spec: Object.spec{replicas: object.spec.replicas > 3 ? 3 : object.spec.replicas}}"
    put_in_force(plane, mutating("few", few, rules=on("scale", DEPLOYMENTS)))
    status, told = plane.patch(f"{at}/web/scale", {"spec": {"replicas": 9}})
    assert (status, told["spec"]["replicas"]) == (200, 3)
    owners = {each["manager"]: each for each in plane.get(f"{at}/web")[1]["metadata"]["managedFields"]}
    assert owners["admission-policy:few"]["fieldsV1"] == {"f:spec": {"f:replicas": {}}}


def test_a_token_is_asked_for_under_policies(plane: InProcess) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
    at = "/api/v1/namespaces/default/serviceaccounts"
    assert plane.post(at, account)[0] == 201
    put_in_force(
        plane, validating("short", "object.spec.expirationSeconds <= 3600", rules=on("token", ACCOUNTS))
    )
    asked: Json = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1"}
    assert plane.post(f"{at}/robot/token", {**asked, "spec": {"expirationSeconds": 600}})[0] == 201
    assert plane.post(f"{at}/robot/token", {**asked, "spec": {"expirationSeconds": 7200}})[0] == 422


def test_an_approval_is_judged_as_such_and_so_named_in_the_audit_log(plane: InProcess) -> None:
    request = sample("CertificateSigningRequest")
    at = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    assert plane.post(at, request)[0] == 201
    name = request["metadata"]["name"]
    put_in_force(plane, validating("none", "false", rules=on("status", REQUESTS)))
    conditions = [{"type": "Approved", "status": "True", "reason": "r", "message": "m"}]
    assert plane.patch(f"{at}/{name}/approval", {"status": {"conditions": conditions}})[0] == 200
    assert b'"subresource":"approval"' in audited(plane)
    put_in_force(plane, validating("never", "false", rules=on("approval", REQUESTS)))
    assert plane.patch(f"{at}/{name}/approval", {"metadata": {"labels": {"a": "b"}}})[0] == 422


def test_a_status_that_a_node_reports_is_not_judged(plane: InProcess) -> None:
    put_in_force(plane, validating("none", "false", rules=on("status")))
    node = User("system:node:node-1", groups=(NODES,))
    assert bind(plane)[0] == 201
    assert plane.patch(f"{AT}/web/status", {"status": {"phase": "Running"}}, user=node)[0] == 200
    assert plane.patch(f"{AT}/web/status", {"status": {"phase": "Failed"}})[0] == 422


@pytest.mark.parametrize("operation", ["DELETE", "CONNECT"])
def test_what_is_deleted_or_connected_to_cannot_be_changed(plane: InProcess, operation: str) -> None:
    policy = mutating("late", "Object{}", rules=[{**PODS, "operations": [operation]}])
    status, told = plane.post(path_of(policy), policy)
    assert status == 422
    named = f'operations[0]: Unsupported value: "{operation}": supported values: "CREATE", "UPDATE"'
    assert named in told["message"]
