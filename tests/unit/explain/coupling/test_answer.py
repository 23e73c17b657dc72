"""Who can change what a controller decides on, of a plane that ran: declared, seen, and what tenants are told of it."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.audit.recording import STREAM as AUDIT
from fairlead.core import codec
from fairlead.core.errors import NotFound
from fairlead.explain.asking import answered
from fairlead.explain.coupling.answer import coupled
from fairlead.explain.coupling.contract import (
    API_BUDGET,
    CACHE_LAG,
    LABEL_MUTATION,
    OVERLAP,
    SHARED_CAPACITY,
    SHARED_FIELD,
    Coupling,
)
from fairlead.store.contract import Batch, Note
from tests.unit.api.access.test_sight import role, rule, sight_of
from tests.unit.explain.asking import Asked

POLICIES = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"


@pytest.fixture
def asked() -> Asked:
    asked = Asked()
    asked.create("web")
    asked.run(5)
    started = {
        "time": "2027-01-15T08:00:05.000Z",
        "user": "system:fairlead:hollow",
        "verb": "patch",
        "object": {"resource": "pods", "namespace": "default", "name": "web", "subresource": "status"},
        "code": 200,
        "changed": ["status.phase", "status.conditions[0]"],
    }
    asked.api.journal.append(Batch((), (Note(AUDIT, codec.encode(started), 0),), asked.driver.now))
    return asked


def found(asked: Asked, controller: str, **chosen: str) -> list[Coupling]:
    couplings: list[Coupling] = answered(coupled(asked.sources, controller))["couplings"]
    return [each for each in couplings if all(getattr(each, name) == chosen[name] for name in chosen)]


def test_who_writes_what_the_scheduler_decides_on(asked: Asked) -> None:
    (marks,) = found(asked, "scheduler", writer="node-health", form=SHARED_CAPACITY)
    assert (marks.resource, marks.fields, marks.declared) == ("nodes", ("spec.taints",), True)
    (hollow,) = found(asked, "scheduler", writer="hollow", resource="pods", form=SHARED_FIELD)
    assert "status.phase" in hollow.fields
    assert hollow.writes >= 1
    assert hollow.last_object == "pods/default/web"
    assert hollow.last_user == "system:fairlead:hollow"
    assert found(asked, "scheduler", writer="admission:Priority")[0].form == LABEL_MUTATION
    assert {each.form for each in found(asked, "job", writer="job-orphans")} >= {OVERLAP}
    assert not found(asked, "scheduler", writer="scheduler")


def test_people_are_told_by_what_they_did(asked: Asked) -> None:
    asked.api.patch("/api/v1/nodes/node-1", {"metadata": {"labels": {"disk": "ssd"}}})
    asked.run(1)
    (labels,) = [each for each in found(asked, "scheduler", sort="person") if each.form == LABEL_MUTATION]
    assert (labels.resource, labels.fields, labels.writes) == ("nodes", ("metadata.labels",), 1)
    assert not labels.declared
    anybody = found(asked, "scheduler", writer="people", resource="nodes")
    assert [each.fields for each in anybody] == [("*",)]


def test_a_copy_that_has_not_heard_of_a_write_lags(asked: Asked) -> None:
    assert found(asked, "scheduler", form=CACHE_LAG) == []
    asked.api.patch("/api/v1/nodes/node-1", {"metadata": {"labels": {"disk": "ssd"}}})
    (lag,) = found(asked, "scheduler", form=CACHE_LAG)
    assert (lag.resource, lag.lag) == ("nodes", 1)
    assert all(each.lag == 1 for each in found(asked, "scheduler", resource="nodes"))


def test_a_policy_is_a_writer_before_it_ever_wrote(asked: Asked) -> None:
    expression = 'Object{metadata: Object.metadata{labels: {"tier": "gold"}}}'
    asked.api.post(POLICIES, policy("gold", "applyConfiguration", expression))
    (gold,) = found(asked, "scheduler", writer="policy:gold")
    assert (gold.form, gold.resource, gold.fields) == (LABEL_MUTATION, "pods", ("metadata.labels",))
    assert gold.writes == 0


def test_retries_are_paid_from_one_purse(asked: Asked) -> None:
    (purse,) = found(asked, "scheduler", form=API_BUDGET)
    assert purse.writer == "all controllers"
    asked.driver.plane.controllers[0].queue.retried = 3
    (purse,) = found(asked, "scheduler", form=API_BUDGET)
    assert (purse.writer, purse.writes) == (asked.driver.plane.controllers[0].decider.name, 3)


def test_timers_that_coincide(asked: Asked) -> None:
    groups = answered(coupled(asked.sources, "scheduler"))["timers"]
    resync = next(group for group in groups if group[0].seconds == 300.0)
    assert {each.what for each in resync} == {"resync", "tries again what waits without a cause"}
    assert len({each.controller for each in resync}) > 20


def test_without_a_name_all_are_told(asked: Asked) -> None:
    told = answered(coupled(asked.sources))
    assert {each.reader for each in told["couplings"]} == set(told["controllers"]) >= {"scheduler", "job"}


def test_a_controller_that_is_not_there(asked: Asked) -> None:
    with pytest.raises(NotFound, match=r"there is no controller .schedular.: known are .*scheduler"):
        answered(coupled(asked.sources, "schedular"))


def test_a_tenant_is_told_of_nobody_elses_objects(asked: Asked) -> None:
    jane = sight_of(*role("team-a", rule("pods")))
    told = answered(coupled(asked.sources, "scheduler", jane))
    assert told["observed"]["lines"] == 0
    assert told["observed"]["hidden"] > 0
    assert [each for each in told["couplings"] if each.last_object or each.last_user] == []
    assert {each.writer for each in told["couplings"]} >= {"node-health", "hollow"}  # as the sources have it
    owner = sight_of(*role("default", rule("pods")))
    theirs = answered(coupled(asked.sources, "scheduler", owner))["couplings"]
    assert {each.last_object for each in theirs if each.last_object} == {"pods/default/web"}


def policy(name: str, part: str, expression: str) -> dict[str, Any]:
    kinds = {"jsonPatch": "JSONPatch", "applyConfiguration": "ApplyConfiguration"}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "reinvocationPolicy": "Never",
            "matchConstraints": {"resourceRules": [rule]},
            "mutations": [{"patchType": kinds[part], part: {"expression": expression}}],
        },
    }


def written_by(asked: Asked, user: str, group: str, agent: str, **more: Any) -> None:
    line = {
        "time": "2027-01-15T08:00:05.000Z",
        "user": user,
        "groups": [group, "system:authenticated"],
        "verb": "patch",
        "object": {"resource": "pods", "namespace": "default", "name": "web"},
        "code": 200,
        "userAgent": agent,
        **more,
    }
    asked.api.journal.append(Batch((), (Note(AUDIT, codec.encode(line), 0),), asked.driver.now))


def test_requests_of_one_priority_level_wait_for_the_same_seats(asked: Asked) -> None:
    """A plane in another process that may not impersonate as a master of all; beside it a person, and an exempt one."""
    control = {"impersonatedUser": "system:fairlead:scheduler", "decision": "aa-1"}
    written_by(
        asked, "fleet", "fleets", "fairlead-control/1", **control, impersonatedGroups=["system:authenticated"]
    )
    written_by(asked, "eve", "people", "kubectl/1")
    written_by(asked, "eve", "people", "kubectl/1")
    written_by(asked, "root", "system:masters", "kubectl/1")
    (shared,) = found(asked, "scheduler", form=API_BUDGET, sort="person")
    assert (shared.writer, shared.writes) == ("eve", 2)
    assert shared.resource == "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io"
    assert shared.fields[0].startswith("seats of ")
    assert not found(asked, "deployment", form=API_BUDGET, sort="person"), "it has asked for nothing there"


def test_a_plane_in_the_servers_process_waits_for_no_seat(asked: Asked) -> None:
    written_by(asked, "system:fairlead:scheduler", "system:authenticated", "fairlead")
    written_by(asked, "eve", "people", "kubectl/1")
    assert not found(asked, "scheduler", form=API_BUDGET, sort="person")
