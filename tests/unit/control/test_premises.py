"""What is done for an owner is bound to the owner as it was, beside the leader's fence; late requests come to nothing."""

from __future__ import annotations

from typing import Any

from fairlead.model.key import Key
from fairlead.model.premise import Premise
from fairlead.port.request import Reply, Request
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver

SET = Key("replicasets.apps", "default", "web")
SETS = "/apis/apps/v1/namespaces/default/replicasets"


def workload(replicas: int) -> dict[str, Any]:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"}, "spec": spec}


def of_pods(driver: Driver, verb: str) -> list[Request]:
    found = (each for each in driver.sent if each.verb == verb and each.plural == "pods")
    return [each for each in found if SET in [premise.key for premise in each.premises]]


def test_creates_and_deletes_of_pods_carry_the_fence_and_their_set() -> None:
    api = InProcess()
    made = api.post(SETS, workload(2))[1]
    driver = Driver(api)
    driver.run(30)
    creates = of_pods(driver, "create")
    assert len(creates) == 2
    leader, premise = creates[0].premises
    assert leader.key == Key("leases.coordination.k8s.io", "kube-system", "fairlead-plane-fence")
    assert premise == Premise(SET, int(made["metadata"]["resourceVersion"]))
    api.patch(f"{SETS}/web", {"spec": {"replicas": 1}})
    driver.run(30)
    assert len(of_pods(driver, "delete")) == 1
    assert len(driver.live_pods()) == 1


def test_a_create_that_arrives_when_its_set_has_changed_makes_no_pod() -> None:
    api = InProcess()
    api.post(SETS, workload(3))
    driver = Driver(api, lambda request: "request" if not driver.lost and request.plural == "pods" else "")
    driver.run(60)
    (late,) = driver.lost
    assert len(driver.live_pods()) == 3
    api.patch(f"{SETS}/web", {"spec": {"replicas": 0}})
    driver.run(60)
    assert driver.live_pods() == []
    answer = api.send(late)
    assert isinstance(answer, Reply)
    assert answer.status == 409
    assert driver.live_pods() == []
