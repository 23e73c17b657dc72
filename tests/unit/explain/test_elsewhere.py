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
from fairlead.explain.explaining import explain
from fairlead.explain.plane_told import PlaneTold, told_elsewhere
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
    with pytest.raises(Unavailable, match="is in another process"):
        seen_from_the_server(world).placer()


def test_each_condition_is_told_with_the_decision_that_wrote_it() -> None:
    world = blocked()
    told = {each["type"]: each for each in answered(debug(world.sources, WEB))["conditions"]}
    available = told["Available"]
    assert (available["status"], available["by"]) == ("False", "deployment")
    audit = [codec.decode(note.body) for _, _, note in world.api.journal.notes(AUDIT, 0, 10_000)]
    lines = [each for each in audit if each.get("decision") == available["decision"]]
    assert [(each["object"]["name"], each["object"]["subresource"]) for each in lines] == [("web", "status")]
