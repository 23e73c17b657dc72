"""What any controller decided at a moment is found, run again on history, and compared with the one before."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from fairlead.api.access.contract import AccessRules, AccessVerdict, Attributes
from fairlead.api.access.sight import EVERYTHING, Sight
from fairlead.api.access.users import User
from fairlead.core.errors import NotFound
from fairlead.explain.asking import answered
from fairlead.explain.decided.answer import Question, explain_decisions
from fairlead.model.key import Key
from tests.unit.explain.asking import Asked
from tests.unit.explain.stages import deploy

Json = dict[str, Any]
WEB = Key("deployments.apps", "default", "web")
QUOTAS = "/api/v1/namespaces/default/resourcequotas"


def ask(asked: Asked, question: Question, sight: Sight = EVERYTHING) -> Json:
    return answered(explain_decisions(asked.sources, question, sight))


def by_controller(answer: Json) -> dict[str, Json]:
    return {each["controller"]: each for each in answer["decisions"]}


@pytest.fixture
def rolled_out() -> Asked:
    asked = Asked()
    deploy(asked, replicas=2)
    asked.run(30)
    return asked


def replicaset(asked: Asked) -> Key:
    (found,) = asked.api.get("/apis/apps/v1/namespaces/default/replicasets")[1]["items"]
    return Key("replicasets.apps", "default", found["metadata"]["name"])


def test_the_latest_of_each_controller_is_told_and_agrees(rolled_out: Asked) -> None:
    found = by_controller(ask(rolled_out, Question(WEB)))
    assert {"deployment", "progress"} <= set(found)
    assert all(each["again"]["agrees"] for each in found.values())
    assert {each["resource"] for each in found["deployment"]["reads"]} >= {"deployments.apps", "pods"}


def test_a_moment_of_the_past_has_the_decision_of_then(rolled_out: Asked) -> None:
    first = next(each for each in rolled_out.driver.records if each.get("controller") == "deployment")
    rolled_out.api.patch("/apis/apps/v1/namespaces/default/deployments/web", {"spec": {"replicas": 4}})
    rolled_out.run(30)
    then = ask(rolled_out, Question(WEB, rolled_out.api.now - 31, controller="deployment"))["decisions"]
    now = ask(rolled_out, Question(WEB, controller="deployment"))["decisions"]
    assert then[0]["id"] != now[0]["id"]
    assert then[0]["again"]["agrees"] is now[0]["again"]["agrees"] is True
    assert ask(rolled_out, Question(WEB, decision=first["id"]))["decisions"][0]["effects"] == first["effects"]


def test_a_record_that_does_not_agree_is_told(rolled_out: Asked) -> None:
    rolled_out.driver.records.append(
        {**rolled_out.driver.records[-1], "id": "00000000-1", "object": "/".join(WEB), "controller": "deployment",
         "digest": "0" * 16, "reads": {"deployments.apps": [5, 5], "replicasets.apps": [5, 5], "pods": [5, 5],
                                       "scheduleroverrides.fairlead.dev": [5, 5]}}
    )  # fmt: skip
    rolled_out.run(0)
    (found,) = ask(rolled_out, Question(WEB, decision="00000000-1"))["decisions"]
    assert found["again"]["agrees"] is False


def test_the_input_that_made_the_difference_is_named(rolled_out: Asked) -> None:
    rolled_out.api.patch("/apis/apps/v1/namespaces/default/deployments/web", {"spec": {"replicas": 3}})
    rolled_out.run(30)
    scaled = next(
        each["id"]
        for each in rolled_out.driver.records
        if each.get("controller") == "deployment" and each.get("reason") == "Scaling"
    )
    (found,) = ask(rolled_out, Question(WEB, decision=scaled, diff=True))["decisions"]
    diff = found["diff"]
    assert diff["verdict"]["after"]["reason"] == "Scaling"
    decisive = [each for each in diff["inputs"] if each["decisive"]]
    assert [each["object"] for each in decisive] == ["deployments.apps/default/web"]
    assert "replicas 2 -> 3" in decisive[0]["what"]
    assert diff["effects"]["new"] == found["effects"]


def test_a_refusal_that_held_a_decision_back_is_told(rolled_out: Asked) -> None:
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}}
    assert rolled_out.api.post(QUOTAS, quota)[0] == 201
    rolled_out.run(5)
    rolled_out.api.patch("/apis/apps/v1/namespaces/default/deployments/web", {"spec": {"replicas": 3}})
    rolled_out.run(20)
    rolled_out.api.patch(f"{QUOTAS}/q", {"spec": {"hard": {"pods": "5"}}})
    rolled_out.run(20)
    key = replicaset(rolled_out)
    lines = [
        each for each in rolled_out.driver.records if each.get("object") == "/".join(key) and "id" in each
    ]
    first_free = next(
        later["id"] for earlier, later in pairwise(lines) if "held" in earlier and "held" not in later
    )
    (found,) = ask(rolled_out, Question(key, decision=first_free, diff=True))["decisions"]
    assert "exceeded quota: q" in found["diff"]["held"]["before"]
    assert found["diff"]["held"]["after"] == ""


def test_two_attempts_to_place_a_pod_are_compared(rolled_out: Asked) -> None:
    rolled_out.create("big", cpu="40")
    rolled_out.run(10)
    status = {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110"}}
    rolled_out.api.patch("/api/v1/nodes/node-1/status", {"status": status})
    rolled_out.run(60)
    (found,) = ask(rolled_out, Question(Key("pods", "default", "big"), controller="scheduler", diff=True))[
        "decisions"
    ]
    assert found["node"] == "node-1"
    assert found["again"]["agrees"] is True
    diff = found["diff"]
    assert {"filter": "NodeResourcesFit", "before": 0, "after": 1} in diff["filters"]
    assert any(each["object"] == "nodes/node-1" for each in diff["inputs"])


def test_what_was_never_decided_is_said(rolled_out: Asked) -> None:
    with pytest.raises(
        NotFound, match='there is no deployment "nope" in namespace "default", and no decision'
    ):
        ask(rolled_out, Question(Key("deployments.apps", "default", "nope")))
    with pytest.raises(
        NotFound, match=r"no decision of job about it by then; there are some of: .*deployment"
    ):
        ask(rolled_out, Question(WEB, controller="job"))
    with pytest.raises(NotFound, match="no decision 12345678-9"):
        ask(rolled_out, Question(WEB, decision="12345678-9"))


class Namespaced:
    """Lets a tenant read what is in a namespace."""

    def authorize(self, asked: Attributes) -> AccessVerdict:
        return AccessVerdict("allowed" if asked.namespace else "denied", "")

    def rules_for(self, user: User, namespace: str) -> AccessRules:
        raise AssertionError("nobody asks")


def test_a_tenant_is_not_told_the_names_of_others(rolled_out: Asked) -> None:
    key = Key("pods", "default", "big")
    rolled_out.create("big", cpu="40")
    rolled_out.run(10)
    status = {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110"}}
    rolled_out.api.patch("/api/v1/nodes/node-1/status", {"status": status})
    rolled_out.run(60)
    tenant = Sight(Namespaced(), User("jane"))
    (found,) = ask(rolled_out, Question(key, controller="scheduler", diff=True), tenant)["decisions"]
    assert not any(each["object"].startswith("nodes/") for each in found["diff"]["inputs"])
    assert found["diff"]["hidden"] > 0
    assert any(each["object"].startswith("pods/default/") for each in found["diff"]["inputs"])


class OfDefault(Namespaced):
    def authorize(self, asked: Attributes) -> AccessVerdict:
        return AccessVerdict("allowed" if asked.namespace == "default" else "denied", "")


@pytest.mark.parametrize("diff", [False, True])
def test_a_decision_about_a_node_names_no_pods_of_others(diff: bool) -> None:
    """A node's pods are looked after in one turn, whose they are; who may get one of them is told of that one."""
    asked = Asked()
    assert asked.api.post("/api/v1/namespaces", {"metadata": {"name": "bank"}})[0] == 201
    for round_ in ("early", "late"):
        for node in ("node-0", "node-1"):
            place = {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}
            for space, name in (("default", f"web-{round_}"), ("bank", f"ledger-{round_}")):
                body = {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"name": f"{name}-{node}"},
                    "spec": place,
                }
                assert asked.api.post(f"/api/v1/namespaces/{space}/pods", body)[0] == 201
        asked.run(10)
    question = Question(Key("pods", "default", "web-late-node-0"), controller="hollow", diff=diff)
    whole = ask(asked, question)
    assert "ledger" in str(whole)
    assert ("'diff'" in str(whole)) is diff
    answer = ask(asked, question, Sight(OfDefault(), User("jane")))
    (found,) = answer["decisions"]
    assert "ledger" not in str(answer)
    assert "*" in found["about"]
    assert "pods/default/web-late-node-0" in found["about"]
    assert {each["namespace"] for each in found["again"]["effects"]} == {"default"}
    assert found["again"]["hidden"] == 1
