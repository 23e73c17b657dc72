"""Policies that judge: what they see, whom they refuse, and what a refusal says."""

from __future__ import annotations

import json

import pytest

from fairlead.api.access.users import MASTERS, NODES, User
from fairlead.api.plan import AGAIN, Plan
from fairlead.port.request import Request
from tests.inprocess import ADMIN, InProcess
from tests.unit.api.admission.policing import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    GROUP,
    PODS,
    Json,
    audited,
    binding,
    config_map,
    create,
    path_of,
    put_in_force,
    validating,
)
from tests.unit.api.things import pod

PLANE = User("system:fairlead:replicaset", groups=(MASTERS,))


@pytest.fixture
def plane() -> InProcess:
    return InProcess()


def test_a_request_that_a_policy_denies_is_refused_in_kubernetes_words(plane: InProcess) -> None:
    put_in_force(plane, validating("few-keys", "size(object.data) <= 1"))
    status, told = create(plane, config_map(data={"a": "1", "b": "2"}))
    assert status == 422
    message = (
        "ValidatingAdmissionPolicy 'few-keys' with binding 'few-keys-binding' denied request: "
        "failed expression: size(object.data) <= 1"
    )
    assert told["message"] == f'configmaps "settings" is forbidden: {message}'
    assert told["reason"] == "Invalid"
    assert [each["message"] for each in told["details"]["causes"]] == [message]
    assert create(plane, config_map(data={"a": "1"}))[0] == 201


def test_the_status_says_that_the_expressions_were_checked(plane: InProcess) -> None:
    policy = validating("p", "true")
    assert plane.post(path_of(policy), policy)[1]["status"] == {"observedGeneration": 1, "typeChecking": {}}
    _, told = plane.patch(f"{GROUP}/validatingadmissionpolicies/p", {"spec": {"failurePolicy": "Ignore"}})
    assert told["status"]["observedGeneration"] == told["metadata"]["generation"] == 2


def test_a_policy_without_a_binding_is_in_force_nowhere(plane: InProcess) -> None:
    policy = validating("never", "false")
    assert plane.post(path_of(policy), policy)[0] == 201
    assert create(plane, config_map())[0] == 201


def test_a_policy_that_is_deleted_or_changed_is_so_at_once(plane: InProcess) -> None:
    policy = validating("never", "false")
    put_in_force(plane, policy)
    assert create(plane, config_map())[0] == 422
    _, current = plane.get(f"{GROUP}/validatingadmissionpolicies/never")
    current["spec"]["validations"][0]["expression"] = "object.metadata.name == 'settings'"
    assert plane.put(f"{GROUP}/validatingadmissionpolicies/never", current)[0] == 200
    assert create(plane, config_map())[0] == 201
    assert create(plane, config_map("other"))[0] == 422
    assert plane.delete(f"{GROUP}/validatingadmissionpolicies/never")[0] == 200
    assert create(plane, config_map("other"))[0] == 201


def test_a_server_that_starts_judges_by_what_is_stored(plane: InProcess) -> None:
    put_in_force(plane, validating("never", "false"))
    assert plane.assembly.policies.active
    fresh = type(plane.assembly)(plane.store, plane.api.sign_in.tokens, b"secret")
    assert fresh.troubles == ()
    assert [each.policy.name for each in fresh.policies.validating] == ["never"]


@pytest.mark.parametrize(
    ("validation", "status", "reason", "message"),
    [
        ({"message": "no maps today"}, 422, "Invalid", "no maps today"),
        ({"messageExpression": "'not ' + object.metadata.name"}, 422, "Invalid", "not settings"),
        ({"messageExpression": "object.metadata.nothing", "message": "plain"}, 422, "Invalid", "plain"),
        ({"messageExpression": "' '", "message": "plain"}, 422, "Invalid", "plain"),
        ({"reason": "Forbidden", "message": "m"}, 403, "Forbidden", "m"),
        ({"reason": "Unauthorized", "message": "m"}, 401, "Unauthorized", "m"),
        ({"reason": "RequestEntityTooLarge", "message": "m"}, 413, "RequestEntityTooLarge", "m"),
    ],
)
def test_message_and_reason(
    plane: InProcess, validation: Json, status: int, reason: str, message: str
) -> None:
    put_in_force(plane, validating("p", {"expression": "false", **validation}))
    found, told = create(plane, config_map())
    assert (found, told["reason"]) == (status, reason)
    assert told["message"].endswith(f"denied request: {message}")


@pytest.mark.parametrize(("failure", "status"), [("Fail", 422), ("Ignore", 201)])
def test_an_expression_without_a_value_follows_the_failure_policy(
    plane: InProcess, failure: str, status: int
) -> None:
    put_in_force(plane, validating("p", "object.data.missing == 'x'", failurePolicy=failure))
    found, told = create(plane, config_map())
    assert found == status
    if status == 422:
        assert (
            "expression 'object.data.missing == 'x'' resulted in error: no such key: missing"
            in told["message"]
        )


def test_what_ignores_errors_still_refuses_what_is_false(plane: InProcess) -> None:
    put_in_force(plane, validating("p", "object.data.missing == 'x'", "false", failurePolicy="Ignore"))
    assert create(plane, config_map())[0] == 422


def test_an_expression_that_takes_too_long_is_an_error(plane: InProcess) -> None:
    text = "object.data.all(a, object.data.all(b, object.data.all(c, a + b + c != '')))"
    put_in_force(plane, validating("slow", text))
    status, told = create(plane, config_map(data={str(each): "" for each in range(200)}))
    assert status == 422
    assert "cost limit exceeded" in told["message"]


def test_warn_lets_it_pass_and_audit_names_the_policy(plane: InProcess) -> None:
    policy = validating("p", {"expression": "false", "message": "hm"})
    put_in_force(plane, policy, binding(policy, validationActions=["Warn"]))
    assert create(plane, config_map())[0] == 201
    assert plane.warnings == (
        "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p-binding': hm",
    )
    assert b'"policies":["p: would have refused (p-binding)"]' in audited(plane)


def test_audit_alone_says_nothing_to_the_client(plane: InProcess) -> None:
    policy = validating(
        "p",
        "false",
        auditAnnotations=[{"key": "keys", "valueExpression": "'%d keys'.format([size(object.data)])"}],
    )
    put_in_force(plane, policy, binding(policy, validationActions=["Audit"]))
    assert create(plane, config_map(data={"a": "1"}))[0] == 201
    assert plane.warnings == ()
    line = audited(plane)
    assert b'"policies":["p: would have refused (p-binding)"]' in line
    assert b'"annotations":{"p/keys":"1 keys"}' in line


def test_no_annotation_is_kept_of_a_kind_with_sensitive_fields(plane: InProcess) -> None:
    rules = [{**CONFIG_MAPS, "resources": ["secrets"]}]
    annotation = {"key": "all", "valueExpression": "object.data.password"}
    put_in_force(plane, validating("p", "true", rules=rules, auditAnnotations=[annotation]))
    secret = {**config_map(data={"password": "aHVudGVyMg=="}), "kind": "Secret"}
    assert create(plane, secret)[0] == 201
    line = audited(plane)
    assert b"aHVudGVyMg" not in line
    assert b"withheld" in line


def test_variables_are_found_when_they_are_asked_for(plane: InProcess) -> None:
    variables = [
        {"name": "broken", "expression": "object.data.missing"},
        {"name": "keys", "expression": "object.data.map(k, k)"},
        {"name": "many", "expression": "size(variables.keys) > 1"},
    ]
    put_in_force(plane, validating("p", "!variables.many", variables=variables))
    assert create(plane, config_map(data={"a": "1"}))[0] == 201
    assert create(plane, config_map("b", data={"a": "1", "b": "2"}))[0] == 422


@pytest.mark.parametrize(
    ("conditions", "status"),
    [
        (["request.userInfo.username != 'admin'"], 201),
        (["request.userInfo.username == 'admin'"], 422),
        (["object.data.missing == 'x'"], 422),
        (["object.data.missing == 'x'", "false"], 201),
    ],
)
def test_match_conditions(plane: InProcess, conditions: list[str], status: int) -> None:
    given = [{"name": f"c{place}", "expression": each} for place, each in enumerate(conditions)]
    put_in_force(plane, validating("p", "false", matchConditions=given))
    assert create(plane, config_map())[0] == status


def test_old_and_new_are_seen_by_operation(plane: InProcess) -> None:
    put_in_force(
        plane,
        validating(
            "p",
            "request.operation != 'CREATE' || oldObject == null",
            "request.operation != 'UPDATE' || size(object.data) >= size(oldObject.data)",
            "request.operation != 'DELETE' || (object == null && oldObject.data['a'] != 'keep')",
        ),
    )
    assert create(plane, config_map(data={"a": "keep"}))[0] == 201
    where = "/api/v1/namespaces/default/configmaps/settings"
    assert plane.patch(where, {"data": {"a": None}})[0] == 422
    assert plane.patch(where, {"data": {"b": "1"}})[0] == 200
    assert plane.delete(where)[0] == 422
    assert plane.patch(where, {"data": {"a": "go"}})[0] == 200
    assert plane.delete(where)[0] == 200


def test_namespace_and_authorizer_are_seen(plane: InProcess) -> None:
    put_in_force(
        plane,
        validating(
            "p",
            "namespaceObject.metadata.name == request.namespace",
            "authorizer.requestResource.check('create').allowed()",
            "!authorizer.serviceAccount('default', 'x').group('').resource('pods').check('create').allowed()",
            "authorizer.path('/healthz').check('get').allowed()",
        ),
    )
    status, told = create(plane, config_map())
    assert status == 201, told


LIMITS: Json = {**config_map("limits", {"most": "1"}, labels={"use": "limits"}), "kind": "ConfigMap"}
PARAMS: Json = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
ONLY_SECRETS = [{**CONFIG_MAPS, "resources": ["secrets"]}]


def _secret(**data: str) -> Json:
    return {**config_map(data=dict(data)), "kind": "Secret"}


@pytest.mark.parametrize(
    "reference",
    [
        {"name": "limits", "namespace": "default"},
        {"name": "limits"},
        {"selector": {"matchLabels": {"use": "limits"}}},
    ],
)
def test_parameters_by_name_or_labels(plane: InProcess, reference: Json) -> None:
    assert create(plane, LIMITS)[0] == 201
    policy = validating("p", "size(object.data) <= int(params.data.most)", rules=ONLY_SECRETS, **PARAMS)
    put_in_force(plane, policy, binding(policy, paramRef={**reference, "parameterNotFoundAction": "Deny"}))
    assert create(plane, _secret(a="", b=""))[0] == 422
    where = "/api/v1/namespaces/default/configmaps/limits"
    assert plane.patch(where, {"data": {"most": "2"}})[0] == 200
    assert create(plane, _secret(a="", b=""))[0] == 201


@pytest.mark.parametrize(("action", "status"), [("Deny", 422), ("Allow", 201)])
def test_a_parameter_that_is_not_there(plane: InProcess, action: str, status: int) -> None:
    policy = validating("p", "false", rules=ONLY_SECRETS, **PARAMS)
    put_in_force(plane, policy, binding(policy, paramRef={"name": "no", "parameterNotFoundAction": action}))
    assert create(plane, _secret())[0] == status


def test_every_parameter_that_a_selector_finds_is_asked(plane: InProcess) -> None:
    for name, most in (("one", "5"), ("two", "1")):
        assert create(plane, config_map(name, {"most": most}, labels={"use": "limits"}))[0] == 201
    policy = validating("p", "size(object.data) <= int(params.data.most)", rules=ONLY_SECRETS, **PARAMS)
    reference = {"selector": {}, "parameterNotFoundAction": "Deny"}
    put_in_force(plane, policy, binding(policy, paramRef=reference))
    assert create(plane, _secret(a="", b=""))[0] == 422


def test_a_kind_of_parameters_that_is_not_served_follows_the_failure_policy(plane: InProcess) -> None:
    policy = validating("p", "true", paramKind={"apiVersion": "example.com/v1", "kind": "Limit"})
    put_in_force(plane, policy, binding(policy, paramRef={"name": "x", "parameterNotFoundAction": "Allow"}))
    status, told = create(plane, config_map())
    assert status == 422
    assert "failed to find resource referenced by paramKind" in told["message"]


@pytest.mark.parametrize(
    ("match", "status"),
    [
        ({"resourceRules": [CONFIG_MAPS]}, 422),
        ({"resourceRules": [{**CONFIG_MAPS, "operations": ["UPDATE", "DELETE"]}]}, 201),
        ({"resourceRules": [{**CONFIG_MAPS, "operations": ["CREATE"]}]}, 422),
        ({"resourceRules": [{**CONFIG_MAPS, "apiGroups": ["apps"]}]}, 201),
        ({"resourceRules": [{**CONFIG_MAPS, "apiVersions": ["v2"]}]}, 201),
        ({"resourceRules": [{**CONFIG_MAPS, "resources": ["*"]}]}, 422),
        ({"resourceRules": [{**CONFIG_MAPS, "resources": ["*/*"]}]}, 422),
        ({"resourceRules": [{**CONFIG_MAPS, "resources": ["*/status"]}]}, 201),
        ({"resourceRules": [{**CONFIG_MAPS, "scope": "Cluster"}]}, 201),
        ({"resourceRules": [{**CONFIG_MAPS, "scope": "Namespaced"}]}, 422),
        ({"resourceRules": [{**CONFIG_MAPS, "resourceNames": ["other"]}]}, 201),
        ({"resourceRules": [CONFIG_MAPS], "excludeResourceRules": [CONFIG_MAPS]}, 201),
        ({"resourceRules": [CONFIG_MAPS], "objectSelector": {"matchLabels": {"a": "b"}}}, 422),
        ({"resourceRules": [CONFIG_MAPS], "objectSelector": {"matchLabels": {"a": "c"}}}, 201),
        ({"resourceRules": [CONFIG_MAPS], "namespaceSelector": {"matchLabels": {"tier": "x"}}}, 201),
        (
            {
                "resourceRules": [CONFIG_MAPS],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
            },
            422,
        ),
    ],
)
@pytest.mark.parametrize("where", ["policy", "binding"])
def test_what_a_policy_is_about(plane: InProcess, match: Json, status: int, where: str) -> None:
    policy = validating("p", "false")
    bound = binding(policy)
    if where == "policy":
        policy["spec"]["matchConstraints"] = match
    else:
        bound["spec"]["matchResources"] = match
    put_in_force(plane, policy, bound)
    assert create(plane, config_map(labels={"a": "b"}))[0] == status


@pytest.mark.parametrize(("policy", "status"), [("Equivalent", 422), ("Exact", 201)])
def test_a_rule_for_another_version_means_this_one_too(plane: InProcess, policy: str, status: int) -> None:
    rules = [
        {
            **PODS,
            "apiGroups": ["autoscaling"],
            "apiVersions": ["v2"],
            "resources": ["horizontalpodautoscalers"],
        }
    ]
    made = validating("p", "!has(object.spec.metrics) && object.apiVersion == 'autoscaling/v1'", rules=rules)
    made["spec"]["matchConstraints"]["matchPolicy"] = policy
    put_in_force(plane, made)
    scaler = {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "maxReplicas": 3,
            "targetCPUUtilizationPercentage": 50,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        },
    }
    found = plane.post("/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers", scaler)
    assert found[0] == status, found


def test_policies_and_bindings_are_subject_to_no_policy(plane: InProcess) -> None:
    everything = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    put_in_force(plane, validating("never", "false", rules=[everything]))
    other = validating("other", "true")
    put_in_force(plane, other)
    assert plane.delete(f"{GROUP}/validatingadmissionpolicybindings/other-binding")[0] == 200
    assert plane.delete(f"{GROUP}/validatingadmissionpolicies/never")[0] == 200


def test_no_policy_ends_the_plane(plane: InProcess) -> None:
    everything = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    assert (
        create(plane, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-node-lease"}})[0]
        == 201
    )
    assert create(plane, pod("before", namespace="default"))[0] == 201
    put_in_force(plane, validating("never", "object.no.such.field", rules=[everything]))
    node = User("system:node:n1", groups=(NODES,))
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"holderIdentity": "n1"}}
    for space, user in (("kube-node-lease", node), ("kube-system", PLANE), ("kube-system", ADMIN)):
        name = "n1" if space == "kube-node-lease" else f"leader-{user.name.replace(':', '-')}"
        found = create(plane, {**lease, "metadata": {"name": name, "namespace": space}}, user)
        assert found[0] == 201, found
    status = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    where = "/api/v1/namespaces/default/pods/before/status"
    assert plane.patch(where, status, user=PLANE)[0] == 200
    assert plane.patch(where, {"status": {"message": "x"}}, user=ADMIN)[0] == 422
    assert (
        create(plane, pod("after", namespace="default"), PLANE)[0] == 422
    )  # what the plane does for people is judged like theirs
    elsewhere = {**lease, "metadata": {"name": "x", "namespace": "default"}}
    assert create(plane, elsewhere)[0] == 422


def test_creates_that_are_alike_are_judged_one_by_one(plane: InProcess) -> None:
    for name in ("a", "b", "c"):  # learned, repeated, and repeated again
        assert create(plane, pod(name, namespace="default"))[0] == 201
    put_in_force(plane, validating("p", "object.metadata.name != 'e'", rules=[PODS]))
    assert create(plane, pod("d", namespace="default"))[0] == 201
    assert create(plane, pod("e", namespace="default"))[0] == 422
    assert create(plane, pod("f", namespace="default"))[0] == 201


def test_a_scale_is_seen_as_a_scale(plane: InProcess) -> None:
    rules = [{**DEPLOYMENTS, "resources": ["deployments/scale"]}]
    put_in_force(plane, validating("p", "object.kind == 'Scale' && object.spec.replicas < 5", rules=rules))
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 9, "selector": {"matchLabels": {"a": "b"}}, "template": template},
    }
    assert create(plane, deployment)[0] == 201
    where = "/apis/apps/v1/namespaces/default/deployments/web/scale"
    assert plane.patch(where, {"spec": {"replicas": 7}})[0] == 422
    assert plane.patch(where, {"spec": {"replicas": 3}})[0] == 200


def test_a_write_that_was_judged_by_an_older_policy_is_judged_anew(plane: InProcess) -> None:
    """The policy changes between the plan and the commit: the plan's preconditions notice."""
    policy = validating("p", "object.metadata.name != 'late'")
    put_in_force(plane, policy)
    body = json.dumps(config_map("other")).encode()
    request = Request(
        verb="create", group="", version="v1", plural="configmaps", namespace="default", name="", body=body,
        content_type="application/json",
    )  # fmt: skip
    plan = plane.plan(request)
    assert isinstance(plan, Plan)
    changed = plane.patch(f"{GROUP}/validatingadmissionpolicies/p", {"spec": {"failurePolicy": "Ignore"}})
    assert changed[0] == 200
    assert plan.finish(plane.commit(plan.transaction)) is AGAIN


def test_dry_run_is_judged_as_well(plane: InProcess) -> None:
    put_in_force(plane, validating("p", "request.dryRun == false"))
    assert create(plane, config_map(), query="?dryRun=All")[0] == 422
    assert create(plane, config_map())[0] == 201
