"""The timeline of a workload: what mattered, in order, with who, from what to what, and the decision."""

from __future__ import annotations

import pytest

from fairlead.api.access.sight import Sight
from fairlead.cli.timeline import page_of
from fairlead.core.errors import NotFound
from fairlead.core.times import parse_time
from fairlead.explain.asking import answered
from fairlead.explain.timeline.family import family_of
from fairlead.explain.timeline.telling import TimelineQuestion, timeline, unread
from fairlead.model.key import Key
from tests.unit.explain.timeline.world import ZONES, World, lines, place


def blocked() -> World:
    """Of four replicas two are bound, the quota refuses the others, then it is raised."""
    world = World()
    world.limit_pods(2)
    world.run(2)
    world.deploy(2)
    world.run(20)
    world.scale(4)
    world.run(20)
    return world


def raised() -> World:
    world = blocked()
    code, _ = world.api.patch(f"{ZONES}/risk-zone-c", {"spec": {"hard": {"pods": "4"}}})
    assert code == 200
    world.run(20)
    return world


def test_the_lesson_s_timeline_is_read_from_top_to_bottom() -> None:
    told = raised().told("deployments.apps", "web")
    at = place(told, "test): replicas 2 -> 4")
    for part in (
        "deployment: replicas 2 -> 4",
        "replicaset: is created",
        "scheduler: enters the queue",
        "scheduler: attempt 1, woken by PodAdded",
        "scheduler: PlacementQuota refuses 2 of 2 nodes: quota/risk-zone-c: exceeded",
        "FailedScheduling",
        "test): hard.pods 2 -> 4",
        "scheduler: is in its view, which stands at",
        "scheduler: is bound to node-",
    ):
        at = place(told, part, at)
    assert told["why"]["sentence"] == "nothing here holds it up"


def test_every_line_of_a_controller_names_its_decision_and_people_have_none() -> None:
    for each in raised().told("deployments.apps", "web")["moments"]:
        if each["who"].endswith("(test)"):
            assert "decision" not in each
        elif each["kind"] not in ("queued",):
            assert each["decision"].count("-") == 1, each


def test_what_was_newest_is_that_of_the_input_itself_when_it_was_read() -> None:
    """Other kinds change all the time; only what came of its own before the decision makes an input stale."""
    world = raised()
    world.api.patch(f"{ZONES}/risk-zone-c", {"spec": {"hard": {"pods": "9"}}})  # long afterwards
    tried = [each for each in world.told("deployments.apps", "web")["moments"] if each["kind"] == "tried"]
    reads = [read for each in tried for read in each["reads"]]
    assert {read["resource"] for read in reads} >= {"nodes", "pods", "placementquotas.fairlead.dev"}
    assert all(read["behind"] == 0 and read["newest"] == read["used"] for read in reads)


def test_a_view_that_lags_is_told_with_both_revisions() -> None:
    """The scheduler is woken before it hears of the quota: it decides on what it had."""
    world = blocked()
    mirror = world.driver.plane.mirrors["placementquotas.fairlead.dev"]
    stands = mirror.revision
    follows = world.driver._follows.pop("placementquotas.fairlead.dev")
    world.api.patch(f"{ZONES}/risk-zone-c", {"spec": {"hard": {"pods": "4"}}})
    newest = world.api.store.revision
    world.run(5)
    world.api.patch("/api/v1/nodes/node-0", {"metadata": {"labels": {"disk": "ssd"}}})
    world.run(20)
    world.driver._follows["placementquotas.fairlead.dev"] = follows
    told = world.told("deployments.apps", "web")
    place(told, f"reads placementquotas@{stands}, whose newest was {newest}")


def test_what_is_said_again_is_told_once_and_counted() -> None:
    world = blocked()
    world.run(400)
    told = world.told("deployments.apps", "web")
    refused = [each for each in told["moments"] if "PlacementQuota refuses" in each["what"]]
    assert len(refused) == 1
    assert refused[0]["count"] >= 2
    assert refused[0]["last"] > refused[0]["time"]
    assert "came no further" in told["why"]["sentence"]
    assert "quota/risk-zone-c" in told["why"]["sentence"]


def test_since_and_at_bound_it_on_both_sides() -> None:
    world = raised()
    whole = world.told("deployments.apps", "web")["moments"]
    middle = whole[len(whole) // 2]["time"]
    at = parse_time(middle)
    later = world.told("deployments.apps", "web", since=at)["moments"]
    earlier = world.told("deployments.apps", "web", until=at)["moments"]
    assert later
    assert all(each.get("last", each["time"]) >= middle for each in later)
    assert earlier
    assert all(each["time"] <= middle for each in earlier)


def test_a_pod_that_is_gone_is_told_with_its_owners_and_without_its_siblings() -> None:
    world = World()
    world.deploy(3)
    world.run(20)
    before = set(world.pods())
    world.scale(2)
    world.run(60)
    (gone,) = before - set(world.pods())
    told = world.told("pods", gone)
    assert not told["exists"]
    assert told["owners"][1] == "deployments.apps/default/web"
    assert not [
        each for each in told["moments"] for about in each["about"] if about.split("/")[-1] in before - {gone}
    ]
    why = told["why"]
    assert why["sentence"].startswith("it is gone: at ")
    assert "by replicaset; that followed from replicaset/web-" in why["sentence"]
    assert "that followed from deployment/web" in why["sentence"]
    assert "replicas 3 -> 2, by " in why["sentence"]
    assert len(why["decisions"]) == 2
    assert [told["moments"][number]["what"] for number in why["evidence"]][-1] == "replicas 3 -> 2"


def test_causes_lead_back_to_the_person() -> None:
    told = raised().told("deployments.apps", "web")
    moments = told["moments"]
    bound = moments[place(told, "is bound to", place(told, "hard.pods 2 -> 4"))]
    chain = [bound]
    while "cause" in chain[-1] and len(chain) < 20:
        assert chain[-1]["cause"] < chain[-1]["number"]
        chain.append(moments[chain[-1]["cause"]])
    assert len(chain) > 1


def test_what_nobody_knows_is_not_found() -> None:
    with pytest.raises(NotFound, match="no log knows one"):
        World().told("pods", "nobody")


def test_a_tenant_is_told_of_what_they_may_get_and_the_rest_is_counted() -> None:
    class PodsOnly(Sight):
        @property
        def is_whole(self) -> bool:
            return False

        def sees(self, resource: str, namespace: str, name: str = "") -> bool:
            return resource in ("pods", "deployments.apps", "replicasets.apps")

    world = raised()
    asked = TimelineQuestion(Key("deployments.apps", "default", "web"))
    told = answered(timeline(world.sources, asked, PodsOnly()))
    assert told["hidden"] > 0
    assert not [
        each for each in told["moments"] for about in each["about"] if about.startswith("placementquotas")
    ]
    assert lines(told)


def test_the_page_holds_every_moment_and_nothing_from_elsewhere() -> None:
    told = raised().told("deployments.apps", "web")
    page = page_of(told)
    assert "PlacementQuota refuses" in page
    assert "http://www.w3.org/2000/svg" in page
    assert "src=" not in page
    assert page.count('"scheduler"') > 2


def test_older_lines_are_left_out_told_and_found_with_at(monkeypatch: pytest.MonkeyPatch) -> None:
    world = blocked()
    whole = world.told("deployments.apps", "web")
    assert not [each for each in whole["unread"] if "--at" in each]
    monkeypatch.setattr("fairlead.explain.timeline.lines.LINES_FOUND_MAX", 3)
    monkeypatch.setattr("fairlead.explain.timeline.lines._PAGE", 1)
    monkeypatch.setattr("fairlead.explain.timeline.lines._WRITTEN_SECONDS", 0.0)
    cut = world.told("deployments.apps", "web")
    first = next(each for each in whole["moments"] if "deployments.apps/default/web" in each["about"])
    assert len(cut["moments"]) < len(whole["moments"])
    [said] = [each for each in cut["unread"] if "--at" in each]
    assert "the logs have more about it" in said
    earlier = TimelineQuestion(Key("deployments.apps", "default", "web"), until=parse_time(first["time"]))
    found = answered(timeline(world.sources, earlier))
    assert first["what"] in [each["what"] for each in found["moments"]]
    assert first["what"] not in [each["what"] for each in cut["moments"]]


def test_going_back_with_at_leaves_no_line_out_between_two_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The logs end at different times: one has more lines than the other. What is written a moment later than it says
    counts for no answer that ends before it."""
    world = raised()
    web = Key("deployments.apps", "default", "web")
    wanted = answered(family_of(world.sources, web)).lines.keys()
    monkeypatch.setattr("fairlead.explain.timeline.lines.LINES_FOUND_MAX", 10)
    monkeypatch.setattr("fairlead.explain.timeline.lines._PAGE", 5)
    found, until, times = set[tuple[str, int]](), 0.0, list[float]()
    while until not in times:
        times.append(until)
        family = answered(family_of(world.sources, web, 0.0, until))
        found |= {place for place, line in family.lines.items() if not until or line.at <= until}
        said = [each for each in unread(world.sources, family, 0.0) if "--at" in each]
        if not said:
            break
        until = parse_time(said[0].partition("--at ")[2].split()[0])
    assert not said
    assert len(times) > 1
    assert wanted - found == set()
