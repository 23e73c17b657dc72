"""A write that was planned before a policy or a role is durable, and judged after it, is planned anew with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead.api.access.users import AUTHENTICATED, User
from fairlead.api.conversation import Conversation, stored_reply
from fairlead.port.request import Reply, Request
from fairlead.store.contract import Transaction
from fairlead.store.events import Append, Appended, Flush, Instruction, Resolve, Submitted
from tests.inprocess import ADMIN, InProcess
from tests.unit.api.admission.policing import GROUP, binding, config_map, mutating, path_of, validating

DEV = User("dev", groups=(AUTHENTICATED,))
RBAC = "/apis/rbac.authorization.k8s.io/v1"
EDITOR = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "dev", "namespace": "default"},
    "subjects": [{"kind": "User", "name": "dev", "apiGroup": "rbac.authorization.k8s.io"}],
    "roleRef": {"kind": "ClusterRole", "name": "writer", "apiGroup": "rbac.authorization.k8s.io"},
}


WRITER = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "writer"},
    "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}],
}


class Batched:
    """Requests whose transactions share one append: all are planned before any is durable."""

    def __init__(self, plane: InProcess) -> None:
        self.plane = plane
        self.replies: dict[int, Reply] = {}
        self.plans: dict[int, int] = {}
        self._waiting: dict[int, tuple[int, Conversation]] = {}
        self._tickets = 1_000_000

    def send(self, number: int, method: str, target: str, body: Any = None, user: User = ADMIN) -> None:
        conversation = Conversation(self.plane.api, _request(method, target, body), self.plane.context(user))
        self._go(number, conversation, conversation.begin())

    def _go(self, number: int, conversation: Conversation, step: Any) -> None:
        if not isinstance(step, Transaction):
            self.replies[number] = stored_reply(step)
            return
        self.plans[number] = self.plans.get(number, 0) + 1
        self._tickets += 1
        self._waiting[self._tickets] = number, conversation
        self._carry_out(self.plane.store.handle(Submitted(self._tickets, step)))

    def flush(self) -> None:
        while self._waiting:
            self._carry_out(self.plane.store.handle(Flush(self.plane.now)))

    def _carry_out(self, instructions: tuple[Instruction, ...]) -> None:
        for each in instructions:
            if isinstance(each, Append):
                self.plane.journal.append(each.batch)
                self._carry_out(self.plane.store.handle(Appended()))
            elif isinstance(each, Resolve):
                number, conversation = self._waiting.pop(each.ticket)
                self._go(number, conversation, conversation.resolved(each.outcome))
            else:
                self.plane.carry_out((each,))


def _request(method: str, target: str, body: Any) -> Request:
    from fairlead.wire.routes import resource_request, split_target

    path, query = split_target(target.encode())
    raw = b"" if body is None else json.dumps(body).encode()
    request = resource_request(method.encode(), path, query, raw, "application/json", "application/json")
    assert request is not None
    return request


MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def plane() -> InProcess:
    plane = InProcess()
    assert plane.post(f"{RBAC}/clusterroles", WRITER)[0] == 201
    return plane


@pytest.mark.parametrize("last", ["policy", "binding"])
def test_a_create_that_was_planned_before_a_policy_is_durable_is_judged_by_it(
    plane: InProcess, last: str
) -> None:
    policy = validating("never", "false")
    both = [policy, binding(policy)] if last == "binding" else [binding(policy), policy]
    assert plane.post(path_of(both[0]), both[0])[0] == 201
    batch = Batched(plane)
    batch.send(1, "POST", path_of(both[1]), both[1])
    batch.send(2, "POST", MAPS, config_map())
    batch.flush()
    assert batch.replies[1].status == 201
    assert batch.replies[2].status == 422
    assert plane.get(f"{MAPS}/settings")[0] == 404
    assert not plane.desk.under_way.keys


def test_a_create_that_was_submitted_before_the_policy_is_not_held_up(plane: InProcess) -> None:
    policy = validating("never", "false")
    assert plane.post(path_of(policy), policy)[0] == 201
    batch = Batched(plane)
    batch.send(2, "POST", MAPS, config_map())
    batch.send(1, "POST", path_of(binding(policy)), binding(policy))
    batch.flush()
    assert (batch.replies[1].status, batch.replies[2].status, batch.plans[2]) == (201, 201, 1)


def test_what_a_new_policy_changes_is_changed_in_what_was_under_way(plane: InProcess) -> None:
    policy = mutating("label", "Object{metadata: Object.metadata{labels: {'a': 'b'}}}")
    assert plane.post(path_of(policy), policy)[0] == 201
    batch = Batched(plane)
    batch.send(1, "POST", path_of(binding(policy)), binding(policy))
    batch.send(2, "POST", MAPS, config_map())
    batch.flush()
    assert plane.get(f"{MAPS}/settings")[1]["metadata"]["labels"] == {"a": "b"}


def test_a_write_of_whom_the_right_was_taken_away_meanwhile_is_refused(plane: InProcess) -> None:
    assert plane.post(f"{RBAC}/namespaces/default/rolebindings", EDITOR)[0] == 201
    batch = Batched(plane)
    batch.send(1, "DELETE", f"{RBAC}/namespaces/default/rolebindings/dev")
    batch.send(2, "POST", MAPS, config_map(), user=DEV)
    batch.send(3, "POST", MAPS, config_map("of-the-admin"))
    batch.flush()
    assert (batch.replies[1].status, batch.replies[2].status) == (200, 403)
    assert (batch.replies[3].status, batch.plans[3]) == (201, 1)


def test_a_role_of_another_namespace_holds_up_nobody(plane: InProcess) -> None:
    assert plane.post(f"{RBAC}/namespaces/default/rolebindings", EDITOR)[0] == 201
    other = {**EDITOR, "metadata": {"name": "x", "namespace": "kube-system"}}
    batch = Batched(plane)
    batch.send(1, "POST", f"{RBAC}/namespaces/kube-system/rolebindings", other)
    batch.send(2, "POST", MAPS, config_map(), user=DEV)
    batch.flush()
    assert (batch.replies[2].status, batch.plans[2]) == (201, 1)


def test_a_change_of_a_policy_that_comes_to_nothing_is_under_way_no_more(plane: InProcess) -> None:
    policy = validating("never", "false")
    batch = Batched(plane)
    batch.send(1, "POST", path_of(policy), policy)
    batch.send(2, "POST", path_of(policy), policy)
    batch.send(3, "DELETE", f"{GROUP}/validatingadmissionpolicies/never")
    batch.flush()
    assert (batch.replies[1].status, batch.replies[2].status, batch.replies[3].status) == (201, 409, 404)
    assert not plane.desk.under_way.keys
