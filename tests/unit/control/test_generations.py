"""Which statuses are of an older generation than their spec, by controller, and for how long."""

from __future__ import annotations

from fairlead.control.generations import REPORTERS, GenerationTally
from fairlead.control.roster import default_deciders
from fairlead.model.key import Key
from fairlead.model.views import DEPLOYMENTS, Deployment, DeploymentStatus, Meta

WEB = Key(DEPLOYMENTS.name, "default", "web")


def web(generation: int, observed: int, deleting: str = "") -> Deployment:
    meta = Meta("web", "u1", "default", "1", generation=generation, deletion_timestamp=deleting)
    return Deployment(meta, status=DeploymentStatus(observed_generation=observed))


def gaps(tally: GenerationTally, now: float) -> tuple[int, float]:
    (found,) = [each for each in tally.behind(now) if each.controller == "deployment"]
    return found.objects, found.seconds


def test_a_status_of_an_older_generation_is_a_gap_from_when_it_was_seen() -> None:
    tally = GenerationTally()
    tally.observe(DEPLOYMENTS.name, WEB, web(1, 1), 0.0)
    assert gaps(tally, 50.0) == (0, 0.0)
    tally.observe(DEPLOYMENTS.name, WEB, web(2, 1), 10.0)
    tally.observe(DEPLOYMENTS.name, WEB, web(2, 1), 20.0)
    assert gaps(tally, 50.0) == (1, 40.0)
    tally.observe(DEPLOYMENTS.name, WEB, web(2, 2), 51.0)
    assert gaps(tally, 60.0) == (0, 0.0)


def test_another_change_of_the_spec_counts_anew() -> None:
    tally = GenerationTally()
    tally.observe(DEPLOYMENTS.name, WEB, web(2, 1), 10.0)
    tally.observe(DEPLOYMENTS.name, WEB, web(3, 1), 30.0)
    assert gaps(tally, 50.0) == (1, 20.0)


def test_what_is_gone_or_going_is_no_gap() -> None:
    tally = GenerationTally()
    tally.observe(DEPLOYMENTS.name, WEB, web(2, 1), 10.0)
    tally.observe(DEPLOYMENTS.name, WEB, web(2, 1, "2026-01-01T00:00:00Z"), 20.0)
    assert gaps(tally, 50.0) == (0, 0.0)
    tally.observe(DEPLOYMENTS.name, WEB, web(2, 1), 10.0)
    tally.observe(DEPLOYMENTS.name, WEB, None, 20.0)
    assert gaps(tally, 50.0) == (0, 0.0)


def test_who_reports_on_a_resource_is_a_controller_that_reads_it_first() -> None:
    deciders = {each.name: each for each in default_deciders()}
    for resource, name in REPORTERS.items():
        assert resource in {each.name for each in deciders[name].reads}, name
