"""Whose rights a run has, who may say so, and what may be changed of it afterwards."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from fairlead.api.access.users import AUTHENTICATED, MASTERS, User
from fairlead.api.runbooks.acting import RUNNER
from fairlead.api.runbooks.stamping import RUNS_MAX
from fairlead.model.key import Key
from fairlead.model.premise import Premise, Premises
from fairlead.port.request import MERGE_PATCH, Reply, Request
from tests.inprocess import ADMIN, InProcess
from tests.samples import SAMPLES

Json = dict[str, Any]
ALICE = User("alice", uid="7", groups=("on-call", AUTHENTICATED), extra=(("scope", ("a", "b")),))
BOB = User("bob", groups=(AUTHENTICATED,))
RUNS = Key("runbookruns.fairlead.dev", "default", "hold-1")
_RUNNER = User(RUNNER, groups=(MASTERS,))


class Rights:
    """A plane with a runbook; alice may run things and read Deployments, and what else is given."""

    def __init__(self, *further: Json) -> None:
        self.plane = InProcess()
        assert self.send("create", "runbooks", SAMPLES["Runbook"], ADMIN, namespace="")[0] == 201
        runs = {"apiGroups": ["fairlead.dev"], "resources": ["runbookruns"], "verbs": ["*"]}
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "on-call"}}
        roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
        assert self.plane.post(f"{roles}/roles", {**role, "rules": [runs, *further]})[0] == 201
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "on-call"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "on-call"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "on-call"}],
        }
        assert self.plane.post(f"{roles}/rolebindings", binding)[0] == 201

    def send(
        self,
        verb: str,
        plural: str,
        body: Json,
        user: User,
        name: str = "",
        subresource: str = "",
        namespace: str = "default",
        premises: Premises = (),
    ) -> tuple[int, Json]:
        group = "" if plural in ("configmaps", "pods") else "fairlead.dev"
        sent = copy.deepcopy(body)
        sent.get("metadata", {}).pop("namespace", None)
        reply = self.plane.send(
            Request(
                verb=verb,
                group=group,
                version="v1",
                plural=plural,
                namespace=namespace,
                name=name,
                subresource=subresource,
                body=json.dumps(sent).encode(),
                content_type=MERGE_PATCH if verb == "patch" else "application/json",
                premises=premises,
            ),
            user,
        )
        assert isinstance(reply, Reply)
        return reply.status, json.loads(reply.body)

    def run(self, user: User = ALICE, name: str = "hold-1", **spec: Any) -> tuple[int, Json]:
        body = copy.deepcopy(SAMPLES["RunbookRun"])
        body["metadata"]["name"] = name
        body["spec"].update(spec)
        return self.send("create", "runbookruns", body, user)

    def report(self, status: Json) -> Json:
        code, found = self.send("patch", "runbookruns", {"status": status}, _RUNNER, "hold-1", "status")
        assert code == 200, found
        return found

    def acts(self, revision: int) -> tuple[int, Json]:
        """What the controller sends for the first step."""
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}}
        return self.send("create", "configmaps", body, _RUNNER, premises=(Premise(RUNS, revision),))


_READS = {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]}
_MAKES = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}
_UNDER_WAY = {"phase": "Running", "steps": [{"name": "mark", "state": "Running"}]}


def test_who_creates_a_run_is_written_by_the_server_whatever_is_sent() -> None:
    rights = Rights(_READS)
    forged = {"username": "admin", "groups": [MASTERS]}
    status, run = rights.run(requestedBy=forged, procedure={"summary": "mine"})
    assert status == 201, run
    groups = ["on-call", AUTHENTICATED]
    assert run["spec"]["requestedBy"] == {
        "username": "alice",
        "uid": "7",
        "groups": groups,
        "extra": {"scope": ["a", "b"]},
    }
    expected = {name: value for name, value in SAMPLES["Runbook"]["spec"].items() if name != "page"}
    assert run["spec"]["procedure"].keys() == expected.keys()
    assert run["spec"]["procedure"]["steps"][0] == expected["steps"][0]


@pytest.mark.parametrize(
    "change",
    [
        {"requestedBy": {"username": "admin"}},
        {"requestedBy": None},
        {"procedure": {"summary": "another"}},
        {"runbook": "other"},
        {"params": {"workload": "other"}},
    ],
)
def test_nobody_changes_it_afterwards(change: Json) -> None:
    rights = Rights(_READS)
    _, before = rights.run()
    for user in (ALICE, ADMIN):
        status, body = rights.send("patch", "runbookruns", {"spec": change}, user, "hold-1")
        assert status == 422 or body["spec"] == before["spec"], body


def test_a_change_of_the_runbook_changes_no_run() -> None:
    rights = Rights(_READS)
    _, before = rights.run()
    changed = {"spec": {"steps": [{"name": "x", "wait": {"until": "true"}}]}}
    assert rights.send("patch", "runbooks", changed, ADMIN, "hold", namespace="")[0] == 200
    _, after = rights.send("get", "runbookruns", {}, ALICE, "hold-1")
    assert after["spec"] == before["spec"]


def test_who_may_not_read_what_it_reads_may_not_run_it() -> None:
    status, body = Rights().run()
    assert (status, 'cannot get resource "deployments"' in body["message"]) == (403, True)


def test_a_step_needs_the_rights_of_who_created_the_run() -> None:
    rights = Rights(_READS)
    rights.run()
    found = rights.report(_UNDER_WAY)
    status, body = rights.acts(int(found["metadata"]["resourceVersion"]))
    assert (status, 'User "alice" cannot create resource "configmaps"' in body["message"]) == (403, True)
    _, after = rights.send("get", "runbookruns", {}, ALICE, "hold-1")
    assert after["status"] == found["status"]


def test_what_was_done_and_that_it_was_are_one_commit_in_the_name_of_both() -> None:
    rights = Rights(_READS, _MAKES)
    rights.run()
    found = rights.report(_UNDER_WAY)
    revision = int(found["metadata"]["resourceVersion"])
    status, made = rights.acts(revision)
    assert status == 201, made
    _, after = rights.send("get", "runbookruns", {}, ALICE, "hold-1")
    (record,) = after["status"]["steps"]
    assert (record["state"], record["by"]) == ("Done", "alice")
    assert record["made"] == {
        "apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "made", "uid": made["metadata"]["uid"],
    }  # fmt: skip
    assert int(made["metadata"]["resourceVersion"]) == int(after["metadata"]["resourceVersion"]) + 1
    lines = [json.loads(note.body) for *_, note in rights.plane.journal.notes("audit", 0, 1000)][-2:]
    told = [(each["user"], each["impersonatedUser"], each["verb"]) for each in lines]
    assert told == [(RUNNER, "alice", "patch"), (RUNNER, "alice", "create")]
    assert rights.acts(revision)[0] == 409, "the same write once more"
    status, body = rights.acts(int(after["metadata"]["resourceVersion"]))
    assert (status, body["message"]) == (403, "no step of the run hold-1 is under way")


def test_a_namespace_has_so_many_runs_that_have_not_ended() -> None:
    rights = Rights(_READS)
    for number in range(RUNS_MAX):
        assert rights.run(name=f"run-{number}")[0] == 201
    status, body = rights.run(name="one-more")
    assert (status, "20 runs of this namespace have not ended, such as run-0" in body["message"]) == (
        403,
        True,
    ), body
    ended = rights.send("patch", "runbookruns", {"status": {"phase": "Failed"}}, _RUNNER, "run-3", "status")
    assert (ended[0], rights.run(name="one-more")[0]) == (200, 201)


def test_the_controller_has_no_rights_of_its_own() -> None:
    rights = Rights(_READS)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}}
    status, told = rights.send("create", "configmaps", body, _RUNNER)
    assert (status, "acts for runs alone" in told["message"]) == (403, True)


def test_who_has_no_more_than_the_name_of_the_controller_acts_for_no_run() -> None:
    """Who may take names, but not the group of administrators, must not come to it by the run of one."""
    rights = Rights(_READS)
    assert rights.run(user=ADMIN)[0] == 201
    revision = int(rights.report(_UNDER_WAY)["metadata"]["resourceVersion"])
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}}
    namesake = User(RUNNER, groups=(AUTHENTICATED,))
    status, told = rights.send("create", "configmaps", body, namesake, premises=(Premise(RUNS, revision),))
    assert (status, f'User "{RUNNER}" cannot create' in str(told)) == (403, True), told


def test_a_run_that_a_run_creates_is_of_who_created_the_first() -> None:
    """A Runbook whose step is another run must not lead to the rights of the controller, which are all there are."""
    rights = Rights(_READS)
    rights.run()
    inner = copy.deepcopy(SAMPLES["RunbookRun"])
    inner["metadata"]["name"] = "inner"
    status, told = rights.send("create", "runbookruns", inner, _RUNNER)
    assert (status, "acts for runs alone" in str(told)) == (403, True)
    revision = int(rights.report(_UNDER_WAY)["metadata"]["resourceVersion"])
    step = (Premise(RUNS, revision),)
    status, made = rights.send("create", "runbookruns", inner, _RUNNER, premises=step)
    assert (status, made["spec"]["requestedBy"]["username"]) == (201, "alice"), made
    _, outer = rights.send("get", "runbookruns", {}, ALICE, "hold-1")
    assert outer["status"]["steps"][0]["state"] == "Done"


def test_a_run_that_a_run_deletes_is_one_that_its_creator_may_delete() -> None:
    rights = Rights(_READS)
    rights.run()
    other = copy.deepcopy(SAMPLES["RunbookRun"])
    other["metadata"] = {"name": "theirs"}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}}
    assert rights.plane.post("/api/v1/namespaces", space)[0] == 201
    assert rights.send("create", "runbookruns", other, ADMIN, namespace="elsewhere")[0] == 201
    revision = int(rights.report(_UNDER_WAY)["metadata"]["resourceVersion"])
    where: Json = {"name": "theirs", "namespace": "elsewhere"}
    status, told = rights.send(
        "delete", "runbookruns", {}, _RUNNER, **where, premises=(Premise(RUNS, revision),)
    )
    assert (status, 'User "alice" cannot delete' in str(told)) == (403, True), told
    assert rights.send("delete", "runbookruns", {}, _RUNNER, **where)[0] == 200, "one of too many that ended"


def test_only_the_step_that_asks_is_answered_and_once() -> None:
    rights = Rights(_READS)
    rights.run()
    answer = {"spec": {"answers": [{"step": "confirm", "values": {"go": "true"}, "by": "admin"}]}}
    status, body = rights.send("patch", "runbookruns", answer, ALICE, "hold-1")
    assert (status, "confirm is not asked now: the run is Pending" in body["message"]) == (422, True)
    rights.report({"phase": "Asking", "step": "confirm"})
    wrong = {"spec": {"answers": [{"step": "confirm", "values": {"go": "yes", "why": "x"}}]}}
    _, body = rights.send("patch", "runbookruns", wrong, ALICE, "hold-1")
    fields = {each["field"] for each in body["details"]["causes"]}
    assert fields == {"spec.answers[0].values.go", "spec.answers[0].values.why"}
    status, body = rights.send("patch", "runbookruns", answer, ALICE, "hold-1")
    assert status == 200, body
    assert body["spec"]["answers"][0]["by"] == "alice"
    answer["spec"]["answers"][0]["values"] = {"go": "false"}
    status, body = rights.send("patch", "runbookruns", answer, ADMIN, "hold-1")
    assert (status, "was answered by alice already" in body["message"]) == (422, True)
    status, body = rights.send("patch", "runbookruns", {"spec": {"answers": None}}, ADMIN, "hold-1")
    assert (status, "may not be taken back" in body["message"]) == (422, True)


def test_who_aborts_is_written_by_the_server_and_it_cannot_be_taken_back() -> None:
    rights = Rights(_READS)
    rights.run()
    abort = {"spec": {"abort": {"reason": "wrong zone", "by": "admin"}}}
    status, body = rights.send("patch", "runbookruns", abort, ALICE, "hold-1")
    assert (status, body["spec"]["abort"]["by"]) == (200, "alice")
    status, body = rights.send("patch", "runbookruns", {"spec": {"abort": None}}, ALICE, "hold-1")
    assert (status, "cannot be taken back" in body["message"]) == (422, True)


def test_a_run_that_has_ended_stays_as_it_is() -> None:
    rights = Rights(_READS)
    rights.run()
    rights.report({"phase": "Succeeded"})
    status, body = rights.send(
        "patch", "runbookruns", {"spec": {"abort": {"reason": "late"}}}, ALICE, "hold-1"
    )
    assert (status, "the run has ended (Succeeded)" in body["message"]) == (422, True)
    status, body = rights.send(
        "patch", "runbookruns", {"status": {"phase": "Running"}}, ADMIN, "hold-1", "status"
    )
    assert status == 422


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"runbook": "none"}, 'spec.runbook: Not found: "none"'),
        ({"params": {"wrkload": "x"}}, "spec.params.wrkload"),
        ({"answers": [{"step": "confirm"}]}, "spec.answers: Forbidden: a new run has none yet"),
        ({"abort": {"reason": "x"}}, "spec.abort: Forbidden"),
    ],
)
def test_a_run_that_makes_no_sense_is_refused(spec: Json, says: str) -> None:
    status, body = Rights(_READS).run(**spec)
    assert (status, says in body["message"]) == (422, True), body


_ABOUT = {"name": "decided", "apiVersion": "apps/v1", "kind": "StatefulSet", "objectName": "${workload}"}
_METRIC = {"name": "depth", "metric": "fairlead_store_revision"}


@pytest.mark.parametrize(
    ("field", "given", "says"),
    [
        ("decisions", _ABOUT, 'cannot get resource "statefulsets"'),
        ("metrics", _METRIC, 'cannot get path "/metrics"'),
    ],
)
def test_who_may_not_read_what_it_measures_may_not_run_it(field: str, given: Json, says: str) -> None:
    rights = Rights(_READS)
    change = {"spec": {field: [given]}}
    assert rights.send("patch", "runbooks", change, ADMIN, "hold", namespace="")[0] == 200
    status, body = rights.run()
    assert (status, says in body["message"]) == (403, True), body["message"]
    assert rights.run(ADMIN)[0] == 201


def test_decisions_about_what_is_in_no_namespace_are_for_who_may_read_all_of_them() -> None:
    """As `/fairlead/v1/decisions` shows them: `get` of the object is not enough."""
    rights = Rights(_READS)
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    meta = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "on-call"}}
    nodes = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}
    binding = {
        **meta,
        "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "on-call"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "on-call"}],
    }
    plane = rights.plane
    assert plane.post(f"{rbac}/clusterroles", {**meta, "kind": "ClusterRole", "rules": [nodes]})[0] == 201
    assert plane.post(f"{rbac}/clusterrolebindings", binding)[0] == 201
    about = {"name": "decided", "apiVersion": "v1", "kind": "Node", "objectName": "node-1"}
    change = {"spec": {"decisions": [about]}}
    assert rights.send("patch", "runbooks", change, ADMIN, "hold", namespace="")[0] == 200
    status, body = rights.run()
    assert (status, 'cannot get path "/fairlead/v1/decisions"' in body["message"]) == (403, True), body
    path = {"nonResourceURLs": ["/fairlead/v1/decisions"], "verbs": ["get"]}
    assert plane.patch(f"{rbac}/clusterroles/on-call", {"rules": [nodes, path]})[0] == 200
    assert rights.run()[0] == 201
