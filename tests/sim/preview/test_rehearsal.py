"""Runbooks that come with Fairlead, each rehearsed in virtual time on a state in which it applies: how each ends, what
people are taken to do, what is left. Whatever a person or nature has to do for it is given as `meanwhile`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from fairlead.core import codec
from fairlead.port.request import Request
from fairlead.sim.preview.change import ProposedChange
from fairlead.sim.preview.rehearsal import Rehearsal, Rehearsed, rehearse
from fairlead.sim.preview.state import LiveState, live_state
from tests.sim.preview.states import autoscaler, came_to, deployment, edit, made, names

Json = dict[str, Any]
FOLDER = Path(__file__).parents[3] / "runbooks"
BOOKS: dict[str, Json] = {
    book["metadata"]["name"]: book
    for book in map(yaml.safe_load, map(Path.read_text, sorted(FOLDER.glob("*.yaml"))))
}


def _shop() -> LiveState:
    return made([deployment("web", 6), autoscaler("web", 2, 8)])


def _short() -> LiveState:
    return made([deployment("web", 18)])  # of 16 cpu


def _full() -> LiveState:
    quota = {"kind": "ResourceQuota", "metadata": {"name": "small"}, "spec": {"hard": {"pods": "3"}}}
    return came_to(made([("v1", "resourcequotas", quota)]), ProposedChange((_created(deployment("web", 5)),)))


def _created(object_: tuple[str, str, Json]) -> Request:
    version, plural, body = object_
    group, _, number = version.rpartition("/")
    return Request("create", group, number, plural, "default", body=codec.encode(body))


def _stuck() -> LiveState:
    """A template that fits nowhere."""
    new = deployment("web", 6, cpu="64")[2]["spec"]["template"]
    return came_to(_shop(), ProposedChange((edit("deployments", "web", {"spec": {"template": new}}),)))


def _silent() -> LiveState:
    return came_to(_shop(), ProposedChange((_ready("node-0", "Unknown"),)))


def _ready(node: str, status: str) -> Request:
    condition = {"type": "Ready", "status": status, "lastHeartbeatTime": None}
    return edit("nodes", node, {"status": {"conditions": [condition]}}, "", "", "status")


def _scaled(replicas: int) -> ProposedChange:
    return ProposedChange(
        (edit("deployments", "web", {"spec": {"replicas": replicas}}),), told=f"scale to {replicas}"
    )


def _on_node(state: LiveState) -> Mapping[str, str]:
    pods = [codec.decode(data) for key, data in state.objects if key.resource == "pods"]
    pod = next(each for each in pods if each["spec"].get("nodeName") == "node-0")
    owner = pod["metadata"]["ownerReferences"][0]["name"]
    return {"pod": pod["metadata"]["name"], "workload": owner, "node": "node-0"}


class Incident(NamedTuple):
    state: Callable[[], LiveState]
    params: Mapping[str, str] | Callable[[LiveState], Mapping[str, str]]
    meanwhile: Mapping[str, ProposedChange] = {}
    answers: Mapping[str, Mapping[str, str]] = {}
    namespace: str = "default"


_RAISED = ProposedChange(
    (edit("resourcequotas", "small", {"spec": {"hard": {"pods": "9"}}}, ""),), told="raise it"
)
INCIDENTS = {
    "recover-workload": Incident(
        _short,
        {"workload": "web"},
        {"recovered": _scaled(8)},
        {"confirm": {"zone": "zone-0", "region": "eu-west"}},
    ),
    "drain-zone": Incident(_shop, {"zone": "zone-0"}, namespace="kube-system"),
    "flapping-node": Incident(_shop, {"node": "node-0"}),
    "rollout-stuck": Incident(_stuck, {"workload": "web"}),
    "quota-full": Incident(_full, {"workload": "web", "quota": "small"}, {"room": _RAISED}),
    "pending-backlog": Incident(_short, {"many": "2", "few": "1"}, {"workedOff": _scaled(8)}),
    "freeze-autoscaling": Incident(_shop, {"workload": "web", "ticket": "INC-1"}),
    "shift-traffic": Incident(_shop, {"workload": "web", "away": "zone-0", "to": "zone-1"}),
    "release-ambiguous-pod": Incident(
        _silent,
        _on_node,
        {"decided": ProposedChange((_ready("node-0", "True"),))},
        {"seen": {"state": "back"}},
    ),
    "after-full-disk": Incident(
        _silent, {}, {"heard": ProposedChange((_ready("node-0", "True"),))}, namespace="kube-system"
    ),
}


def rehearsed(name: str, incident: Incident, book: Json | None = None, **params: str) -> Rehearsed:
    state = incident.state()
    given = incident.params(state) if callable(incident.params) else incident.params
    wanted = Rehearsal(name, incident.namespace, {**given, **params}, incident.answers, incident.meanwhile)
    return rehearse(_with(state, book or BOOKS[name]), wanted)


def _with(state: LiveState, book: Json) -> LiveState:
    stored = {**book, "metadata": {**book["metadata"], "uid": "u-book", "resourceVersion": "1"}}
    found = [(key.resource, data) for key, data in state.objects]
    return live_state([*found, ("runbooks.fairlead.dev", codec.encode(stored))], state.now, state.revision)


def test_there_is_an_incident_for_each() -> None:
    assert set(BOOKS) == set(INCIDENTS)


@pytest.mark.parametrize("name", sorted(BOOKS))
def test_no_text_of_one_fell_apart_at_a_comma(name: str) -> None:
    """What is not quoted in {} ends at a comma; the rest of it is a field without a value."""
    assert None not in list(_values(BOOKS[name]))


def _values(tree: Any) -> Iterator[Any]:
    for each in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(each, dict | list):
            yield from _values(each)
        else:
            yield each


@pytest.mark.parametrize("name", sorted(BOOKS))
def test_each_is_rehearsed_to_its_end_and_leaves_nothing(name: str) -> None:
    found = rehearsed(name, INCIDENTS[name])
    assert (found.phase, found.message) == ("Succeeded", "it helped"), found
    assert [each.name for each in found.steps] == [each["name"] for each in BOOKS[name]["spec"]["steps"]]
    assert {each.state for each in found.steps} <= {"Done", "Skipped"}
    assert found.left == ()


def test_a_drain_shows_what_moves_and_that_a_second_person_was_needed() -> None:
    """Half of the nodes are more than one person may close."""
    found = rehearsed("drain-zone", INCIDENTS["drain-zone"])
    assert any(each.startswith("a second person approves") for each in found.played)
    assert "work: done=yes (assumed: done)" in found.played
    moved = [each for each in found.acts if (each.by, each.does) == ("override-drain", "deletes")]
    assert [each.count for each in moved] == [3]


def _with_a_request(name: str = "others") -> LiveState:
    """Somebody else has asked to close half of the nodes, and nobody has approved it yet."""
    spec = {"target": "zone/zone-0", "reason": "works", "expiresAfter": "1m", "changes": {"cordon": True}}
    where = ("fairlead.dev", "v1", "scheduleroverrides", "kube-system")
    body = codec.encode({"metadata": {"name": name}, "spec": spec})
    return came_to(_shop(), ProposedChange((Request("create", *where, body=body),)))


def test_what_others_have_asked_for_is_not_approved_by_the_way() -> None:
    """It may have ended since: its approval was refused, and that ended the rehearsal."""
    state = _with_a_request()
    waiting = [codec.decode(data) for key, data in state.objects if key.resource.startswith("scheduleroverr")]
    assert [each["spec"].get("approval", "")[:9] for each in waiting] == ["it closes"]
    book = "freeze-autoscaling"
    found = rehearsed(book, INCIDENTS[book]._replace(state=lambda: state))
    assert (found.phase, [each for each in found.played if "second person" in each]) == ("Succeeded", [])


def test_what_nobody_does_is_waited_for_and_then_aborted() -> None:
    """Without the quota being raised the run does not help; what it made is undone."""
    found = rehearsed("quota-full", INCIDENTS["quota-full"]._replace(meanwhile={}))
    assert (found.phase, found.left) == ("Aborted", ())
    assert "room was not done within 3600 s" in found.message
    assert next((each.name, each.state) for each in found.steps) == ("hold", "Undone")


def test_where_it_does_not_apply_nothing_is_done() -> None:
    found = rehearsed("rollout-stuck", INCIDENTS["rollout-stuck"]._replace(state=_shop))
    assert (found.phase, found.reason, found.steps) == ("Failed", "PreconditionFailed", ())


def test_what_the_api_refuses_is_told_and_not_begun() -> None:
    found = rehearsed("flapping-node", INCIDENTS["flapping-node"], colour="red")
    assert (found.phase, found.succeeded) == ("", False)
    assert "spec.params.colour" in found.message


def test_an_answer_that_is_refused_ends_it() -> None:
    wrong = INCIDENTS["drain-zone"]._replace(answers={"work": {"done": "perhaps"}})
    found = rehearsed("drain-zone", wrong)
    assert not found.succeeded
    assert "must be one of yes" in found.message


def test_a_state_is_not_changed_by_a_rehearsal() -> None:
    state = _with(_shop(), BOOKS["drain-zone"])
    before = dict(state.objects)
    rehearse(state, Rehearsal("drain-zone", "kube-system", {"zone": "zone-0"}))
    assert dict(state.objects) == before
    assert names(state, "scheduleroverrides.fairlead.dev") == []
