"""Which flow a request belongs to, from the moment that schemas and levels are committed."""

from __future__ import annotations

import copy

import pytest

from fairlead.api.access.users import ANONYMOUS, AUTHENTICATED, MASTERS, NODES, SERVICE_ACCOUNTS, User
from fairlead.api.flow.defaults import AUTOUPDATE, default_levels, default_schemas, put_right
from fairlead.api.flow.in_force import FlowControl, Question
from fairlead.model.kind import Json
from tests.inprocess import InProcess
from tests.samples import SAMPLES

FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1"
SCHEMAS, LEVELS = f"{FLOW}/flowschemas", f"{FLOW}/prioritylevelconfigurations"


def user(name: str, *groups: str) -> User:
    return User(name, groups=(*groups, AUTHENTICATED))


ADMIN, NODE, PERSON = user("admin", MASTERS), user("system:node:n1", NODES), user("ann")
ACCOUNT = user("system:serviceaccount:shop:robot", SERVICE_ACCOUNTS)
SYSTEM_ACCOUNT = user("system:serviceaccount:kube-system:dns", SERVICE_ACCOUNTS)
LEASES = {"group": "coordination.k8s.io", "plural": "leases"}


@pytest.fixture
def plane() -> InProcess:
    made = InProcess()
    for address, objects in ((LEVELS, default_levels()), (SCHEMAS, default_schemas())):
        for obj in objects:
            status, answer = made.post(address, copy.deepcopy(obj))
            assert status == 201, answer
    return made


def asked(
    who: User,
    verb: str = "get",
    plural: str = "pods",
    group: str = "",
    subresource: str = "",
    namespace: str = "shop",
) -> Question:
    return who, verb, group, plural, subresource, namespace


def at_path(who: User, path: str) -> Question:
    return who, "get", "", "", "", path


@pytest.mark.parametrize(
    ("request_of", "schema", "level"),
    [
        (asked(ADMIN), "exempt", "exempt"),
        (at_path(ANONYMOUS, "/readyz"), "probes", "exempt"),
        (at_path(PERSON, "/metrics"), "global-default", "global-default"),
        (asked(NODE, "update", namespace="kube-node-lease", **LEASES), "system-node-high", "node-high"),
        (asked(NODE, "patch", "nodes", subresource="status", namespace=""), "system-node-high", "node-high"),
        (asked(NODE, "list"), "system-nodes", "system"),
        (asked(ACCOUNT, "update", namespace="shop", **LEASES), "workload-leader-election", "leader-election"),
        (
            asked(SYSTEM_ACCOUNT, "update", namespace="kube-system", **LEASES),
            "system-leader-election",
            "leader-election",
        ),
        (asked(user("system:kube-scheduler")), "kube-scheduler", "workload-high"),
        (asked(SYSTEM_ACCOUNT), "kube-system-service-accounts", "workload-high"),
        (asked(ACCOUNT), "service-accounts", "workload-low"),
        (asked(PERSON), "global-default", "global-default"),
        (asked(PERSON, "create", "scheduleroverrides", "fairlead.dev"), "intervention", "intervention"),
        (asked(User("nobody")), "catch-all", "catch-all"),
    ],
)
def test_who_belongs_where(plane: InProcess, request_of: Question, schema: str, level: str) -> None:
    flow = plane.assembly.flow_control.flow_of(request_of)
    assert (flow.schema, flow.level) == (schema, level)


def test_without_objects_everybody_is_in_one_of_two_levels() -> None:
    control = FlowControl()
    assert control.flow_of(asked(ADMIN)).level == "exempt"
    assert control.flow_of(asked(PERSON)).level == "catch-all"


def test_flows_are_told_apart_by_user_or_by_namespace(plane: InProcess) -> None:
    control = plane.assembly.flow_control
    assert control.flow_of(asked(PERSON)).hand != control.flow_of(asked(user("bob"))).hand
    assert (
        control.flow_of(asked(PERSON)).hand
        == control.flow_of(asked(PERSON, "list", "jobs", namespace="b")).hand
    )
    assert (
        control.flow_of(asked(SYSTEM_ACCOUNT)).hand
        != control.flow_of(asked(SYSTEM_ACCOUNT, namespace="b")).hand
    )


def test_a_schema_is_in_force_when_it_is_committed_and_no_more_when_it_is_deleted(plane: InProcess) -> None:
    control = plane.assembly.flow_control
    robot = asked(user("robot"), "list")
    assert control.flow_of(robot).schema == "global-default"
    _, made = plane.post(SCHEMAS, SAMPLES["FlowSchema"])
    assert made["status"]["conditions"][0]["status"] == "True", "its level does not exist"
    assert control.flow_of(robot).schema == "global-default"
    _, level = plane.post(LEVELS, SAMPLES["PriorityLevelConfiguration"])
    flow = control.flow_of(robot)
    assert (flow.schema, flow.level) == ("robots", "batch")
    assert made["metadata"]["uid"].encode() in flow.headers
    assert level["metadata"]["uid"].encode() in flow.headers
    plane.patch(f"{SCHEMAS}/robots", {"spec": {"matchingPrecedence": 9950}})
    assert control.flow_of(robot).schema == "global-default"
    plane.patch(f"{SCHEMAS}/robots", {"spec": {"matchingPrecedence": 700}})
    assert control.flow_of(robot).schema == "robots"
    plane.delete(f"{SCHEMAS}/robots")
    assert control.flow_of(robot).schema == "global-default"


def test_a_server_that_starts_again_knows_what_was_committed(plane: InProcess) -> None:
    control = FlowControl()
    assert control.learn(plane.store) == []
    assert control.flow_of(asked(NODE, "list")).schema == "system-nodes"


def test_the_status_says_whether_the_level_exists_as_levels_come_and_go(plane: InProcess) -> None:
    def condition() -> Json:
        found: Json = plane.get(f"{SCHEMAS}/robots")[1]["status"]["conditions"][0]
        return found

    plane.post(SCHEMAS, SAMPLES["FlowSchema"])
    first = condition()
    assert (first["type"], first["status"], first["reason"]) == ("Dangling", "True", "NotFound")
    plane.now += 60
    plane.post(LEVELS, SAMPLES["PriorityLevelConfiguration"])
    second = condition()
    assert (second["status"], second["reason"]) == ("False", "Found")
    assert second["lastTransitionTime"] > first["lastTransitionTime"]
    plane.patch(f"{SCHEMAS}/robots/status", {"status": {"conditions": []}})
    assert condition() == second, "nobody else writes it"
    plane.delete(f"{LEVELS}/batch")
    assert condition()["status"] == "True"
    assert plane.assembly.flow_control.flow_of(asked(user("robot"), "list")).schema == "global-default"


def test_what_is_always_there_stays_in_force_without_its_object(plane: InProcess) -> None:
    for name in ("exempt", "catch-all"):
        assert plane.delete(f"{SCHEMAS}/{name}")[0] == 200
        assert plane.delete(f"{LEVELS}/{name}")[0] == 200
    control = plane.assembly.flow_control
    assert control.flow_of(asked(ADMIN)).level == "exempt"
    assert control.flow_of(asked(User("nobody"))).level == "catch-all"


def test_a_start_puts_right_what_was_changed_unless_it_is_to_stay() -> None:
    wanted = default_levels()[2]
    found = copy.deepcopy(wanted)
    assert put_right(found, wanted) == {}
    found["spec"]["limited"]["nominalConcurrencyShares"] = 1
    assert put_right(found, wanted)["spec"]["limited"] == wanted["spec"]["limited"]
    found["metadata"]["annotations"][AUTOUPDATE] = "false"
    assert put_right(found, wanted) == {}
