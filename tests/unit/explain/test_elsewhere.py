"""A plane in another process is explained as one in the server's own: by the same code, from what it tells of itself."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from fairlead.api.audit.recording import STREAM as AUDIT
from fairlead.control.plane import Plane
from fairlead.control.roster import serving_deciders
from fairlead.core import codec
from fairlead.core.errors import Unavailable
from fairlead.explain.asking import answered
from fairlead.explain.coupling.answer import coupled
from fairlead.explain.debugging import debug
from fairlead.explain.explaining import explain, why_not_there
from fairlead.explain.plane_told import PlaneTold, told_elsewhere
from fairlead.explain.planning import answer
from fairlead.explain.sources import Sources
from fairlead.explain.timeline.telling import TimelineQuestion, timeline
from fairlead.model.key import Key
from tests.unit.explain.timeline.world import ZONES, World

WEB = Key("deployments.apps", "default", "web")


def blocked() -> World:
    world = World()
    world.limit_pods(2)
    world.run(2)
    world.deploy(3)
    world.run(20)
    return world


def seen_from_the_server(world: World) -> Sources:
    """The server runs no scheduler; what it knows of the plane came over the wire."""
    server = Plane("server", serving_deciders())
    sent = msgspec.json.encode(told_elsewhere(world.driver.plane, world.driver.now))
    told = msgspec.json.decode(sent, type=PlaneTold)
    return replace(world.sources, plane_now=lambda: server, elsewhere=lambda: told)


@pytest.mark.parametrize("is_held_back", [False, True], ids=["full", "held back"])
def test_every_view_is_the_same_from_elsewhere(is_held_back: bool) -> None:
    world = blocked()
    if is_held_back:
        world.driver._follows.pop("placementquotas.fairlead.dev")
        world.api.patch(f"{ZONES}/risk-zone-c", {"spec": {"hard": {"pods": "4"}}})
    there = seen_from_the_server(world)
    here = world.sources
    told = answered(debug(there, WEB))
    assert told["verdict"]["verdict"] == ("stale input" if is_held_back else "durable shortage")
    assert told == answered(debug(here, WEB))
    assert answered(timeline(there, TimelineQuestion(WEB))) == answered(timeline(here, TimelineQuestion(WEB)))
    pod = told["pending"][0]
    assert answered(explain(there, "default", pod)) == answered(explain(here, "default", pod))
    assert answered(coupled(there, "scheduler")) == answered(coupled(here, "scheduler"))
    assert answered(coupled(there)) == answered(coupled(here))


def test_a_plane_that_stands_by_or_tells_nothing_any_more_is_the_boundary() -> None:
    world = blocked()
    there = seen_from_the_server(world)
    told = there.told
    standing_by = replace(there, elsewhere=lambda: msgspec.structs.replace(told, leads=False))
    assert "nobody here leads" in answered(debug(standing_by, WEB))["boundary"]
    silent = replace(there, elsewhere=lambda: msgspec.structs.replace(told, at=told.at - 60))
    assert f"{told.identity} has told nothing for 60 s" in answered(debug(silent, WEB))["boundary"]


def test_without_any_scheduler_that_is_said() -> None:
    world = blocked()
    server = Plane("server", serving_deciders())
    alone = replace(world.sources, plane_now=lambda: server)
    assert any("runs without a scheduler" in each for each in answered(debug(alone, WEB))["unread"])
    with pytest.raises(Unavailable, match="no `fairlead control` has told of itself"):
        answered(why_not_there(alone, "default", waiting_pod(world), "node-1"))


def waiting_pod(world: World) -> str:
    return str(answered(debug(world.sources, WEB))["pending"][0])


def test_why_not_and_plan_are_answered_for_a_scheduler_in_another_process() -> None:
    world = blocked()
    there, here, pod = seen_from_the_server(world), world.sources, waiting_pod(world)
    node = next(iter(here.placer().snapshot.nodes.slot))
    told, own = (answered(why_not_there(each, "default", pod, node)) for each in (there, here))
    assert told["filters"] == own["filters"]
    assert not all(each["passes"] for each in told["filters"])
    assert (told["score"], told["best"], told["outcome"]) == (own["score"], own["best"], own["outcome"])
    identity = there.told.identity
    assert told["when"] == f"now, in the store; {identity} schedules, in another process"
    entry = here.reader.get(Key("pods", "default", pod))
    assert entry is not None
    question = codec.encode({"items": [{"pod": codec.decode(entry.data), "names": ["one", "two"]}]})
    planned, owned = answered(answer(there, question)), answered(answer(here, question))
    assert planned["items"] == owned["items"]
    assert (planned["waiting"], planned["plane"]) == (
        owned["waiting"],
        f"{identity} schedules, in another process",
    )


def test_where_a_placed_pod_is_not_is_told_from_history_whoever_placed_it() -> None:
    world = blocked()
    there, here = seen_from_the_server(world), world.sources
    pod = next(each for each in here.plane.mirrors["pods"].index.all() if each.spec.node_name)
    nodes = sorted(here.placer().snapshot.nodes.slot)
    for node in nodes:
        asked = ("default", pod.metadata.name, node)
        assert answered(why_not_there(there, *asked)) == answered(why_not_there(here, *asked))


def test_a_scheduler_elsewhere_that_stands_by_is_said_to() -> None:
    world = blocked()
    there, pod = seen_from_the_server(world), waiting_pod(world)
    standing_by = msgspec.structs.replace(there.told, leads=False, phase="Standby")
    with pytest.raises(Unavailable, match=r"in another process .* stands by \(Standby\)"):
        answered(why_not_there(replace(there, elsewhere=lambda: standing_by), "default", pod, "node-1"))


def test_each_condition_is_told_with_the_decision_that_wrote_it() -> None:
    world = blocked()
    told = {each["type"]: each for each in answered(debug(world.sources, WEB))["conditions"]}
    available = told["Available"]
    assert (available["status"], available["by"]) == ("False", "deployment")
    audit = [codec.decode(note.body) for _, _, note in world.api.journal.notes(AUDIT, 0, 10_000)]
    lines = [each for each in audit if each.get("decision") == available["decision"]]
    assert [(each["object"]["name"], each["object"]["subresource"]) for each in lines] == [("web", "status")]
