"""Policies that change: what they may set, who owns it then, in which order, and what they may not touch."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.access.users import MASTERS, User
from tests.inprocess import InProcess
from tests.unit.api.admission.policing import (
    CONFIG_MAPS,
    GROUP,
    PODS,
    Json,
    audited,
    binding,
    config_map,
    create,
    json_patch,
    mutating,
    put_in_force,
    validating,
)
from tests.unit.api.things import pod

LABEL = "Object{metadata: Object.metadata{labels: {'team': 'risk'}}}"
PLANE = User("system:fairlead:replicaset", groups=(MASTERS,))


@pytest.fixture
def plane() -> InProcess:
    return InProcess()


def _labels(told: Json) -> Json:
    found: Json = told["metadata"].get("labels") or {}
    return found


def test_a_policy_sets_a_label_and_leaves_the_rest(plane: InProcess) -> None:
    put_in_force(plane, mutating("teams", LABEL))
    status, told = create(plane, config_map(data={"a": "1"}, labels={"app": "web"}))
    assert status == 201
    assert _labels(told) == {"app": "web", "team": "risk"}
    assert told["data"] == {"a": "1"}


def test_what_a_policy_set_is_owned_by_a_manager_named_after_it(plane: InProcess) -> None:
    put_in_force(plane, mutating("teams", LABEL))
    _, told = create(plane, config_map(labels={"app": "web"}))
    owned = {each["manager"]: each["fieldsV1"] for each in told["metadata"]["managedFields"]}
    assert owned["admission-policy:teams"] == {"f:metadata": {"f:labels": {"f:team": {}}}}
    assert "f:team" not in owned["test"]["f:metadata"]["f:labels"]


def test_the_audit_line_names_who_changed_it(plane: InProcess) -> None:
    put_in_force(plane, mutating("teams", LABEL))
    create(plane, config_map())
    assert b'"policies":["teams: changed"]' in audited(plane)
    create(plane, config_map("two", labels={"team": "risk"}))  # nothing to change
    assert b'"policies"' not in audited(plane)


def test_a_policy_that_has_nothing_to_change_owns_nothing(plane: InProcess) -> None:
    put_in_force(plane, mutating("teams", LABEL))
    _, told = create(plane, config_map(labels={"team": "risk"}))
    assert [each["manager"] for each in told["metadata"]["managedFields"]] == ["test"]


def test_items_of_a_list_are_merged_by_their_key(plane: InProcess) -> None:
    text = (
        "Object{spec: Object.spec{initContainers: [Object.spec.initContainers{name: 'mesh', image: 'mesh:1', "
        "restartPolicy: 'Always'}], containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, "
        "env: [Object.spec.containers.env{name: 'MODE', value: 'fast'}]})}}"
    )
    put_in_force(plane, mutating("mesh", text, rules=[PODS]))
    status, told = create(plane, pod("web", namespace="default"))
    assert status == 201, told
    assert [each["name"] for each in told["spec"]["initContainers"]] == ["mesh"]
    (container,) = told["spec"]["containers"]
    assert container["image"] == "web:1"
    assert container["env"] == [{"name": "MODE", "value": "fast"}]
    assert (
        told["spec"]["initContainers"][0]["imagePullPolicy"] == "IfNotPresent"
    )  # defaults of what was added


def test_json_patch_with_values_of_every_sort(plane: InProcess) -> None:
    text = (
        "[JSONPatch{op: 'add', path: '/metadata/labels', value: {}}, "
        "JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('example.com/team'), value: 'risk'}, "
        "JSONPatch{op: 'add', path: '/data', value: {'n': string(1 + 1), 'from': object.metadata.name}}]"
    )
    put_in_force(plane, mutating("patch", json_patch(text)))
    status, told = create(plane, config_map())
    assert status == 201, told
    assert _labels(told) == {"example.com/team": "risk"}
    assert told["data"] == {"n": "2", "from": "settings"}


def test_a_patch_that_does_not_fit_follows_the_failure_policy(plane: InProcess) -> None:
    text = "[JSONPatch{op: 'test', path: '/data/a', value: 'x'}, JSONPatch{op: 'remove', path: '/data/a'}]"
    put_in_force(plane, mutating("patch", json_patch(text)))
    status, told = create(plane, config_map(data={"a": "1"}))
    assert status == 422
    assert "MutatingAdmissionPolicy 'patch' with binding 'patch-binding' denied request" in told["message"]
    plane.patch(f"{GROUP}/mutatingadmissionpolicies/patch", {"spec": {"failurePolicy": "Ignore"}})
    status, told = create(plane, config_map(data={"a": "1"}))
    assert (status, told["data"]) == (201, {"a": "1"})


@pytest.mark.parametrize(
    ("mutation", "why"),
    [
        ("Object{metadata: Object.metadata{name: 'other'}}", "metadata.name may not be changed"),
        (json_patch("[JSONPatch{op: 'remove', path: '/metadata/uid'}]"), "metadata.uid may not be changed"),
        (json_patch("[JSONPatch{op: 'replace', path: '/kind', value: 'Secret'}]"), "kind may not be changed"),
        ("Object{dato: 'x'}", 'unknown field "dato"'),
        ("Object{data: 'x'}", "the outcome does not fit the kind"),
        ("Object{metadata: Object.spec{labels: {}}}", "Object.spec stands where Object.metadata is expected"),
        ("object.data.missing", "no such key: missing"),
    ],
)
def test_what_a_policy_may_not_do(plane: InProcess, mutation: str | Json, why: str) -> None:
    put_in_force(plane, mutating("wrong", mutation))
    status, told = create(plane, config_map())
    assert status == 422
    assert why in told["message"]
    assert plane.get("/api/v1/namespaces/default/configmaps/settings")[0] == 404


def test_what_is_replaced_as_a_whole_is_not_applied(plane: InProcess) -> None:
    text = "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'web', args: ['-v']}]}}"
    put_in_force(plane, mutating("args", text, rules=[PODS]))
    status, told = create(plane, pod("web", namespace="default"))
    assert status == 422
    assert "spec.containers.args: may not be set by ApplyConfiguration" in told["message"]


def test_updates_are_changed_as_well_and_see_the_old_object(plane: InProcess) -> None:
    text = "Object{data: {'before': oldObject == null ? 'none' : string(size(oldObject.data))}}"
    put_in_force(plane, mutating("count", text))
    assert create(plane, config_map(data={"a": "1"}))[1]["data"] == {"a": "1", "before": "none"}
    where = "/api/v1/namespaces/default/configmaps/settings"
    assert plane.patch(where, {"data": {"b": "2"}})[1]["data"] == {"a": "1", "b": "2", "before": "2"}
    assert plane.delete(where)[0] == 200


def test_policies_are_asked_by_name_and_see_what_those_before_made(plane: InProcess) -> None:
    put_in_force(plane, mutating("b", "Object{data: {'b': has(object.data.a) ? 'after a' : 'first'}}"))
    put_in_force(plane, mutating("a", "Object{data: {'a': has(object.data.b) ? 'after b' : 'first'}}"))
    assert create(plane, config_map(data={"x": "1"}))[1]["data"] == {"a": "first", "b": "after a", "x": "1"}


@pytest.mark.parametrize(("again", "expected"), [("Never", "first"), ("IfNeeded", "after b")])
def test_a_policy_is_asked_once_more_where_it_says_so(plane: InProcess, again: str, expected: str) -> None:
    put_in_force(plane, mutating("b", "Object{data: {'b': 'b'}}"))
    text = "Object{data: {'a': has(object.data.b) ? 'after b' : 'first'}}"
    put_in_force(plane, mutating("a", text, reinvocationPolicy=again))
    assert create(plane, config_map(data={"x": "1"}))[1]["data"]["a"] == expected


def test_several_mutations_of_one_policy_build_on_each_other(plane: InProcess) -> None:
    put_in_force(
        plane,
        mutating("two", "Object{data: {'a': '1'}}", "Object{data: {'b': object.data.a + '2'}}"),
    )
    assert create(plane, config_map())[1]["data"] == {"a": "1", "b": "12"}


def test_validating_policies_see_what_was_changed(plane: InProcess) -> None:
    put_in_force(plane, mutating("teams", LABEL))
    put_in_force(plane, validating("need-team", "object.metadata.labels['team'] == 'risk'"))
    assert create(plane, config_map())[0] == 201


def test_what_the_kind_itself_refuses_is_refused_after_a_policy_too(plane: InProcess) -> None:
    put_in_force(
        plane, mutating("bad", "Object{metadata: Object.metadata{labels: {'team': 'not a label!'}}}")
    )
    status, told = create(plane, config_map())
    assert status == 422
    assert "metadata.labels" in told["message"]


def test_admission_of_the_plane_follows_what_a_policy_set(plane: InProcess) -> None:
    """A priority class that a policy names becomes a number, as if the client had named it."""
    made = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 1000,
    }
    assert plane.post("/apis/scheduling.k8s.io/v1/priorityclasses", made)[0] == 201
    text = "Object{spec: Object.spec{priorityClassName: 'high'}}"
    put_in_force(plane, mutating("p", text, rules=[PODS]))
    status, told = create(plane, pod("web", namespace="default"), PLANE)
    assert status == 201, told
    assert told["spec"]["priority"] == 1000


def test_pods_that_are_alike_are_changed_one_by_one(plane: InProcess) -> None:
    for name in ("a", "b"):
        assert _labels(create(plane, pod(name, namespace="default"), PLANE)[1]) == {}
    put_in_force(plane, mutating("teams", LABEL, rules=[PODS]))
    for name in ("c", "d", "e"):
        assert _labels(create(plane, pod(name, namespace="default"), PLANE)[1]) == {"team": "risk"}
    assert plane.delete(f"{GROUP}/mutatingadmissionpolicybindings/teams-binding")[0] == 200
    assert _labels(create(plane, pod("f", namespace="default"), PLANE)[1]) == {}


def test_generated_names_are_kept(plane: InProcess) -> None:
    put_in_force(plane, mutating("teams", LABEL, rules=[PODS]))
    made: Any = pod("", namespace="default", generateName="web-")
    del made["metadata"]["name"]
    status, told = create(plane, made)
    assert status == 201, told
    assert told["metadata"]["name"].startswith("web-")


def test_parameters_are_seen(plane: InProcess) -> None:
    assert create(plane, config_map("teams", {"team": "fraud"}))[0] == 201
    rules = [{**CONFIG_MAPS, "resources": ["secrets"]}]
    policy = mutating(
        "teams",
        "Object{metadata: Object.metadata{labels: {'team': params.data.team}}}",
        rules=rules,
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
    )
    put_in_force(
        plane, policy, binding(policy, paramRef={"name": "teams", "parameterNotFoundAction": "Deny"})
    )
    secret = {**config_map(), "kind": "Secret"}
    assert _labels(create(plane, secret)[1]) == {"team": "fraud"}


def test_through_the_status_nothing_else_changes(plane: InProcess) -> None:
    assert create(plane, pod("web", namespace="default"))[0] == 201
    rules = [{**PODS, "resources": ["pods/status"]}]
    text = "[JSONPatch{op: 'add', path: '/status/message', value: 'm'}, JSONPatch{op: 'replace', path: " \
        "'/spec/restartPolicy', value: 'Never'}]"  # fmt: skip
    put_in_force(plane, mutating("p", json_patch(text), rules=rules))
    where = "/api/v1/namespaces/default/pods/web/status"
    status, told = plane.patch(where, {"status": {"reason": "r"}})
    assert status == 200, told
    assert told["status"]["message"] == "m"
    assert told["spec"]["restartPolicy"] == "Always"


def test_applying_again_does_not_fight_the_policy(plane: InProcess) -> None:
    put_in_force(plane, mutating("teams", LABEL))
    where = "/api/v1/namespaces/default/configmaps/settings?fieldManager=me"
    revisions = []
    for _ in range(3):
        status, told = plane.request(
            "PATCH", where, config_map(data={"a": "1"}), "application/apply-patch+yaml"
        )
        assert status in (200, 201), told
        assert _labels(told) == {"team": "risk"}
        revisions.append(told["metadata"]["resourceVersion"])
    assert len(set(revisions)) == 1
