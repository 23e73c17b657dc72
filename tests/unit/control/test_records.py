"""One identity through the signals: a decision's id is in its record, in the audit line of its writes, in its Events."""

from __future__ import annotations

import json
from typing import Any

from fairlead.control.instructions import TURNS
from fairlead.control.term import Term
from fairlead.port.request import Request
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver, Lose
from tests.unit.control.test_plane import DEPLOYMENTS, deployment

PODS = "/api/v1/namespaces/default/pods"


def audit(api: InProcess) -> list[dict[str, Any]]:
    return [json.loads(note.body) for _, _, note in api.journal.notes("audit", 0, 10_000)]


def run(lose: Lose | None = None, replicas: int = 2) -> tuple[InProcess, Driver]:
    api = InProcess()
    driver = Driver(api, lose)
    driver.run(5)
    api.post(DEPLOYMENTS, deployment(replicas))
    driver.run(60)
    return api, driver


def test_every_write_of_a_controller_names_the_decision_that_it_carries_out() -> None:
    api, driver = run()
    decided = {each["id"]: each for each in driver.records if "id" in each}
    writes = [each for each in audit(api) if each["user"].startswith("system:") or "decision" in each]
    named = [each for each in writes if "decision" in each]
    assert len(named) > 6, "pods are created, bound, and told of"
    for line in named:
        record = decided[line["decision"]]
        of = line["object"]
        resource = f"{of['resource']}.{of['group']}" if of.get("group") else of["resource"]
        named_there = "/".join(filter(None, (resource, of.get("namespace", ""), of["name"])))
        assert named_there in (record["object"], *record.get("about", ())), (line, record)
    bound = [each for each in named if each["object"].get("subresource") == "binding"]
    assert {decided[each["decision"]]["verdict"] for each in bound} == {"Placed"}


def test_ids_are_given_once_and_name_the_term_that_is_opened_by_a_line() -> None:
    _, driver = run()
    ids = [each["id"] for each in driver.records if "id" in each]
    assert len(ids) == len(set(ids))
    [opening] = [each for each in driver.records if "term" in each]
    assert {each.rpartition("-")[0] for each in ids} == {opening["term"]}
    assert "scheduler" in opening["flags"]
    assert "controller/deployment" in opening["flags"]


def test_who_leads_next_has_another_term_although_its_name_is_the_same() -> None:
    one, other = Term(), Term()
    one.begin("host", 7, 100.0)
    other.begin("host", 9, 100.0)
    assert one.name != other.name
    assert one.next_id().endswith("-1")
    assert one.next_id().endswith("-2")


def test_an_event_names_the_newest_decision_that_it_tells_of() -> None:
    api, driver = run()
    decided = {each["id"]: each for each in driver.records if "id" in each}
    found = api.get("/api/v1/namespaces/default/events")[1]["items"]
    told = [each for each in found if each["reason"] == "Scheduled"]
    assert len(told) == 2
    for event in told:
        record = decided[event["metadata"]["annotations"]["fairlead.dev/decision"]]
        assert record["object"] == f"pods/default/{event['involvedObject']['name']}"
        assert record["uid"] == event["involvedObject"]["uid"]


def test_a_record_names_uid_generation_what_it_touches_and_its_digest() -> None:
    api, driver = run()
    web = api.get(f"{DEPLOYMENTS}/web")[1]["metadata"]
    [record, *_] = [
        each
        for each in driver.records
        if each.get("object") == "deployments.apps/default/web" and each.get("effects")
    ]
    assert (record["uid"], record["generation"]) == (web["uid"], web["generation"])
    assert all(len(each["digest"]) == 16 for each in driver.records if "effects" in each)
    creating = [
        each for each in driver.records if any("Create" in effect for effect in each.get("effects", ()))
    ]
    assert any(
        each.startswith("pods/default/web-") for record in creating for each in record.get("about", ())
    )


def test_what_was_committed_without_an_answer_is_told_as_unknown_and_then_as_looked_up() -> None:
    lost: list[Request] = []

    def lose(request: Request) -> str:
        if request.verb == "create" and request.plural == "replicasets" and not lost:
            lost.append(request)
            return "reply"
        return ""

    _, driver = run(lose)
    [unknown] = [each for each in driver.records if each.get("outcome") == "unknown"]
    [found] = [each for each in driver.records if each.get("outcome") == "looked up"]
    assert unknown["of"] == found["of"]
    assert unknown["object"] == "deployments.apps/default/web"


def test_turns_without_effect_are_kept_apart() -> None:
    _, driver = run()
    quiet = [each for each, stream in zip(driver.records, driver.streams, strict=True) if stream == TURNS]
    loud = [each for each, stream in zip(driver.records, driver.streams, strict=True) if stream != TURNS]
    assert quiet
    assert all(each["verdict"] == "Settled" and "effects" not in each for each in quiet)
    empty = [each for each in loud if each.get("verdict") == "Settled" and "effects" not in each]
    assert not [each for each in empty if "of" not in each]
