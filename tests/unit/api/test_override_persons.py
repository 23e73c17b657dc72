"""Who is a second person for a SchedulerOverride, and that who deletes one has ended it."""

from __future__ import annotations

import pytest
from msgspec import structs

from fairlead.api.access.users import MASTERS, User
from fairlead.api.deletion import DeleteOptions, begin_deletion, is_finished
from fairlead.api.plan import Context
from fairlead.core import codec
from fairlead.core.times import timestamp
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.kinds.scheduleroverride import KIND
from fairlead.model.premise import Premise
from fairlead.port.request import Reply, Request
from tests.inprocess import ADMIN, InProcess
from tests.unit.api.test_overrides import (
    ANN,
    JANE,
    OTHER,
    OVERRIDES,
    PLANE,
    _operators,
    made,
    override,
    plane,
)

__all__ = ["plane"]


@pytest.mark.parametrize("taken_for", [OTHER, PLANE])
def test_who_acts_as_somebody_else_is_no_second_person(plane: InProcess, taken_for: User) -> None:
    """Whoever may impersonate could ask, and say yes to it, or ask as another and say yes as oneself."""

    def as_another(method: str, path: str, body: Json) -> tuple[int, Json]:
        plain = plane.context

        def acting(user: User = ADMIN) -> Context:
            return structs.replace(plain(taken_for), impersonator=user)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(plane, "context", acting)
            return plane.request(
                method, path, body, f"application/{'merge-patch+' if method == 'PATCH' else ''}json"
            )

    path = OVERRIDES.format("kube-system")
    assert made(plane, override("zone/b", changes={"cordon": True}), "kube-system")[0] == 201
    approved = {"status": {"conditions": [{"type": "Approved", "status": "True"}]}}
    for part in ("approval", "status"):
        status, answer = as_another("PATCH", f"{path}/calm/{part}", approved)
        assert (status, "under one's own name" in answer["message"]) == (403, True), answer
    large = override("zone/b", changes={"cordon": True}, name="large")
    status, answer = as_another("POST", path, large)
    assert (status, "it closes 3 of 4 nodes" in answer["message"]) == (403, True), answer
    small = override("zone/a", changes={"cordon": True}, name="small")
    assert as_another("POST", path, small)[0] == 201, "what nobody has to approve may be asked for so"


@pytest.mark.parametrize("said", ["False", "Unknown", ""])
def test_who_does_not_say_yes_approves_nothing(plane: InProcess, said: str) -> None:
    """Nor does who takes an approval back: it is ended instead."""
    path = f"{OVERRIDES.format('kube-system')}/calm"
    assert made(plane, override("zone/b", changes={"cordon": True}), "kube-system")[0] == 201

    def say(said: str) -> tuple[int, Json]:
        told = [{"type": "Approved", "status": said}] if said else [{"type": "Observed", "status": "True"}]
        return plane.patch(f"{path}/approval", {"status": {"conditions": told}}, user=OTHER)

    assert say(said)[0] == 403
    assert "conditions" not in (plane.get(path)[1].get("status") or {})
    assert say("True")[0] == 200
    status, answer = say(said)
    assert (status, "cannot be taken back" in answer.get("message", "")) == (403, True), answer


def test_a_plane_in_a_process_of_its_own_writes_the_status_and_approves_nothing(plane: InProcess) -> None:
    """It signs in as an administrator, and acts as the plane's user: it is no person, and approves for none."""
    plain, path = plane.context, f"{OVERRIDES.format('kube-system')}/calm/status"
    assert made(plane, override("zone/b", changes={"cordon": True}), "kube-system")[0] == 201
    approval: Json = {"type": "Approved", "status": "True", "reason": "Approved", "message": "by nobody"}
    observed: Json = {"type": "Observed", "status": "True", "reason": "Observed", "message": "it is heeded"}

    def told(*conditions: Json) -> tuple[int, Json]:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(plane, "context", lambda user: structs.replace(plain(PLANE), impersonator=user))
            return plane.patch(path, {"status": {"conditions": list(conditions)}})

    status, found = told(observed)
    assert (status, [each["type"] for each in found["status"]["conditions"]]) == (200, ["Observed"]), found
    status, answer = told(observed, approval)
    assert (status, "under one's own name" in answer["message"]) == (403, True), answer
    assert plane.patch(path, {"status": {"conditions": [observed, approval]}}, user=OTHER)[0] == 200
    status, answer = told(observed)
    assert (status, "under one's own name" in answer["message"]) == (403, True), "nor takes it away"


def test_a_run_of_a_runbook_asks_as_who_created_it(plane: InProcess) -> None:
    book = User("system:fairlead:runbook", groups=(MASTERS,))
    plain = plane.context
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(plane, "context", lambda user=ADMIN: structs.replace(plain(user), impersonator=book))
        status, found = made(plane, override("zone/b", changes={"cordon": True}), "kube-system")
    assert (status, found["spec"]["requestedBy"]) == (201, "admin")


def test_a_run_that_was_created_in_anothers_name_is_no_second_person(plane: InProcess) -> None:
    """Nor is it the first: who took the name could approve as oneself what the run asks for."""
    closed = override("zone/b", changes={"cordon": True})
    step = {"name": "close", "create": {"object": {**closed, "metadata": {}}}}
    book = {
        "apiVersion": "fairlead.dev/v1",
        "kind": "Runbook",
        "metadata": {"name": "close"},
        "spec": {
            "summary": "closes a zone",
            "preconditions": [{"name": "always", "expression": "true"}],
            "steps": [step],
            "postconditions": [{"name": "always", "expression": "true"}],
        },
    }
    assert plane.post("/apis/fairlead.dev/v1/runbooks", book)[0] == 201
    plain, path = plane.context, "/apis/fairlead.dev/v1/namespaces/kube-system/runbookruns"
    body = {
        "apiVersion": "fairlead.dev/v1",
        "kind": "RunbookRun",
        "metadata": {"name": "r"},
        "spec": {"runbook": "close"},
    }
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(plane, "context", lambda user: structs.replace(plain(OTHER), impersonator=user))
        status, run = plane.post(path, body)
    assert (status, run["spec"]["requestedBy"]["username"]) == (201, "jane"), run
    under_way = {"status": {"phase": "Running", "steps": [{"name": "close", "state": "Running"}]}}
    runner = User("system:fairlead:runbook", groups=(MASTERS,))
    status, run = plane.patch(f"{path}/r/status", under_way, user=runner)
    assert status == 200, run
    premise = Premise(
        Key("runbookruns.fairlead.dev", "kube-system", "r"), int(run["metadata"]["resourceVersion"])
    )
    reply = plane.send(
        Request(
            "create",
            *("fairlead.dev", "v1", "scheduleroverrides", "kube-system"),
            body=codec.encode(closed),
            premises=(premise,),
        ),
        runner,
    )
    assert isinstance(reply, Reply)
    assert (reply.status, b"under one's own name" in reply.body) == (403, True), reply.body


@pytest.mark.parametrize("policy", ["", "Background", "Foreground"])
def test_who_deletes_it_has_ended_it_whatever_should_be_waited_for(plane: InProcess, policy: str) -> None:
    held = override()
    held["metadata"]["finalizers"] = ["example.com/audit"]
    status, answer = made(plane, held)
    assert (status, "metadata.finalizers: Forbidden: who deletes it has ended it" in answer["message"]) == (
        422,
        True,
    )
    assert made(plane, override())[0] == 201
    path = OVERRIDES.format("default") + "/calm"
    status, answer = plane.patch(path, {"metadata": {"finalizers": ["example.com/audit"]}})
    assert (status, "metadata.finalizers" in answer["message"]) == (422, True)
    body = {"propagationPolicy": policy} if policy else None
    assert plane.request("DELETE", path, body)[0] == 200
    assert plane.get(path)[0] == 404


def test_one_that_was_stored_with_a_finalizer_goes_at_once_too(plane: InProcess) -> None:
    found = {**override(), "metadata": {"name": "calm", "finalizers": ["example.com/audit"]}}
    ended = begin_deletion(KIND, found, DeleteOptions(), plane.now)
    assert is_finished(ended)
    stuck = {**found, "metadata": {**found["metadata"], "deletionTimestamp": timestamp(plane.now)}}
    assert is_finished(begin_deletion(KIND, stuck, DeleteOptions(), plane.now)), "who asks again ends it"
    kept = begin_deletion(KIND, override(), DeleteOptions(policy="Orphan"), plane.now)
    assert kept["metadata"]["finalizers"] == ["orphan"], "its dependents are let go of first"


@pytest.mark.parametrize("sort", ["merge-patch", "apply-patch", "update"])
def test_nobody_ties_an_override_of_another_to_an_object_with_which_it_would_go(
    plane: InProcess, sort: str
) -> None:
    """The garbage collector takes away what an object owns that is gone, whoever said that it does."""
    _operators(plane, "create", "get", "update", "patch")
    path = f"{OVERRIDES.format('default')}/calm"
    assert made(plane, override(), user=JANE)[0] == 201
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "nobody"}

    def tie(user: User) -> tuple[int, Json]:
        tied: Json = {"metadata": {"name": "calm", "ownerReferences": [owner]}}
        if sort == "merge-patch":
            return plane.patch(path, tied, user=user)
        if sort == "apply-patch":
            body = {"apiVersion": "fairlead.dev/v1", "kind": "SchedulerOverride", **tied}
            where = f"{path}?fieldManager=ann"
            return plane.request("PATCH", where, body, "application/apply-patch+yaml", user=user)
        found = plane.get(path)[1]
        found["metadata"]["ownerReferences"] = [owner]
        return plane.put(path, found, user=user)

    status, answer = tie(ANN)
    assert (status, 'it is held by "jane"' in answer["message"]) == (403, True), answer
    assert plane.patch(path, {"metadata": {"labels": {"a": "b"}}}, user=ANN)[0] == 200
    assert tie(JANE)[0] == 200
    assert plane.patch(path, {"metadata": {"labels": {"a": "c"}}}, user=ANN)[0] == 200
