"""ChaosExperiments as they come in: refused where they are not allowed, one at a time, stamped, never changed."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.access.users import MASTERS, User
from fairlead.core.times import timestamp
from fairlead.model.kind import Json
from fairlead.model.kinds.chaosexperiment import FAULTS
from fairlead.sim.faults import MEANING
from tests.inprocess import InProcess

PATH = "/apis/fairlead.dev/v1/chaosexperiments"
PLANE = User("system:fairlead:chaos", groups=(MASTERS,))


def experiment(name: str = "drill", **spec: Any) -> Json:
    given = {"faults": [{"name": "reply_lost", "percent": 30}], "controllers": ["scheduler"], "seconds": 60}
    return {
        "apiVersion": "fairlead.dev/v1",
        "kind": "ChaosExperiment",
        "metadata": {"name": name},
        "spec": {**given, "reason": "a drill", **spec},
    }


def plane(allowed: bool = True) -> InProcess:
    found = InProcess()
    settings = {"apiVersion": "fairlead.dev/v1", "kind": "PlaneSettings", "metadata": {"name": "default"}}
    spec = {"chaos": {"allowed": allowed}}
    assert found.post("/apis/fairlead.dev/v1/planesettings", {**settings, "spec": spec})[0] == 201
    return found


def test_a_plane_allows_none_until_its_settings_say_so() -> None:
    for refusing in (InProcess(), plane(allowed=False)):
        status, said = refusing.post(PATH, experiment())
        assert status == 403
        assert "allowed" in said["message"]
    assert "kubectl patch planesettings default" in said["message"]
    assert (
        '"kind":"PlaneSettings","metadata":{"name":"default"}'
        in InProcess().post(PATH, experiment())[1]["message"]
    )


def test_its_end_is_the_servers_and_one_runs_at_a_time() -> None:
    found = plane()
    status, made = found.post(PATH, {**experiment(), "status": {"endsAt": "2099-01-01T00:00:00Z"}})
    assert status == 201, made
    assert made["status"] == {"endsAt": timestamp(found.now + 60)}
    status, said = found.post(PATH, experiment("second"))
    assert (status, "drill runs" in said["message"]) == (403, True)
    found.now += 61
    assert found.post(PATH, experiment("second"))[0] == 201


def test_it_cannot_be_changed_and_only_the_plane_writes_its_status() -> None:
    found = plane()
    found.post(PATH, experiment())
    assert found.patch(f"{PATH}/drill", {"spec": {"seconds": 3000}})[0] == 422
    later = {"status": {"endsAt": "2099-01-01T00:00:00Z"}}
    assert found.patch(f"{PATH}/drill/status", later)[1]["status"] == {"endsAt": timestamp(found.now + 60)}
    counted = {"status": {"injected": [{"name": "reply_lost", "count": 3}]}}
    _, told = found.patch(f"{PATH}/drill/status", counted, user=PLANE)
    assert told["status"]["injected"] == [{"name": "reply_lost", "count": 3}]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"seconds": 3601}, "spec.seconds"),
        ({"seconds": 0}, "spec.seconds"),
        ({"reason": " "}, "spec.reason"),
        ({"faults": []}, "spec.faults"),
        ({"faults": [{"name": "power_loss", "percent": 1}]}, "spec.faults[0].name"),
        ({"faults": [{"name": "reply_lost", "percent": 101}]}, "spec.faults[0].percent"),
        ({"controllers": []}, "spec.controllers"),
        ({"controllers": ["kubelet"]}, "spec.controllers[0]"),
        ({"faults": [{"name": "watch_lag", "percent": 5}]}, "spec.resources"),
        ({"resources": ["nodes"]}, "spec.resources[0]"),
        ({"resources": ["leases.coordination.k8s.io"]}, "spec.resources[0]"),
        (
            {"faults": [{"name": "reply_lost", "percent": 60}, {"name": "throttled", "percent": 60}]},
            "spec.faults",
        ),
    ],
)
def test_it_is_bounded_and_says_what_to_change(spec: Json, field: str) -> None:
    status, said = plane().post(PATH, experiment(**spec))
    assert status == 422, said
    assert field in [each["field"] for each in said["details"]["causes"]]


def test_watches_of_nodes_can_be_asked_for() -> None:
    lag = [{"name": "watch_lag", "percent": 5}]
    asked = experiment(resources=["nodes"], touchesNodes=True, faults=lag)
    assert plane().post(PATH, asked)[0] == 201


def test_faults_have_the_names_that_the_simulator_gives_them() -> None:
    assert set(FAULTS) <= set(MEANING)
