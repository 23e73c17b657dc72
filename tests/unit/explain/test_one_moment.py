"""`fairlead progress` shows numbers and pods of one moment, and what is on hold, given up or failed is not done."""

from __future__ import annotations

from typing import Any

from fairlead.cli.progress import picture
from fairlead.cli.workloads import is_done, observe
from tests.unit.explain.asking import Asked, InProcessClient
from tests.unit.explain.stages import APPS, SPACE, WEB, change, deploy

STALE = {
    "desired": 6,
    **dict.fromkeys(("admitted", "queued", "scheduled", "bound", "starting", "ready"), 2),
    "pending": [{"stage": "desired", "count": 4, "reason": "NotCreated", "owner": "its controller"}],
    "limit": {"stage": "desired", "reason": "NotCreated", "owner": "its controller"},
}


def shown(asked: Asked) -> list[str]:
    return picture(WEB, observe(InProcessClient(asked), WEB), asked.driver.now)


def status(asked: Asked) -> dict[str, Any]:
    told: dict[str, Any] = asked.api.get(f"{APPS}/deployments/web")[1]["status"]
    return told


def test_what_the_plane_wrote_before_is_not_shown_above_the_pods_of_now() -> None:
    asked = Asked()
    deploy(asked, 6)
    change(asked, f"{APPS}/deployments/web/status", {"status": {"progress": {**STALE, "updated": None}}})
    assert status(asked)["progress"]["pending"]
    lines = shown(asked)
    assert not [line for line in lines if "NotCreated" in line]
    assert "  ready      6/6" in lines
    assert len([line for line in lines if line.startswith("web-") and " ready " in line]) == 6


def test_pods_of_others_with_the_same_labels_are_not_its_own() -> None:
    asked = Asked()
    deploy(asked)
    asked.create("web")  # its label is app=web, too
    asked.run(10)
    mine = observe(InProcessClient(asked), WEB)
    assert mine.told["admitted"] == 1
    assert [each.metadata.name for each in mine.pods] != ["web"]


def test_a_change_that_no_controller_has_seen_is_not_done() -> None:
    asked = Asked()
    deploy(asked)
    assert is_done(observe(InProcessClient(asked), WEB))
    template = {"metadata": {"annotations": {"version": "2"}}}
    change(asked, f"{APPS}/deployments/web", {"spec": {"template": template}})
    assert not is_done(observe(InProcessClient(asked), WEB))
    assert "its controller has not seen 1 changes yet" in shown(asked)[0]


def test_a_paused_rollout_is_on_hold() -> None:
    asked = Asked()
    deploy(asked)
    template = {"metadata": {"annotations": {"version": "2"}}}
    change(asked, f"{APPS}/deployments/web", {"spec": {"paused": True, "template": template}})
    asked.run(10)
    hold = status(asked)["progress"]["hold"]
    [told] = [each for each in status(asked)["conditions"] if each["type"] == "Progressing"]
    assert (hold["reason"], hold["owner"]) == (told["reason"], told["owner"]) == ("DeploymentPaused", "user")
    assert not is_done(observe(InProcessClient(asked), WEB))
    assert "on hold: DeploymentPaused; next step: user" in shown(asked)
    change(asked, f"{APPS}/deployments/web", {"spec": {"paused": None}})
    asked.run(30)
    assert "hold" not in status(asked)["progress"]
    assert is_done(observe(InProcessClient(asked), WEB))


def test_a_failed_pod_is_not_ready() -> None:
    asked = Asked()
    deploy(asked)
    [pod] = asked.driver.live_pods()
    failed = {"status": {"phase": "Failed", "reason": "Evicted"}}
    change(asked, f"{SPACE}/pods/{pod['metadata']['name']}/status", failed)
    told = observe(InProcessClient(asked), WEB).told
    assert (told["ready"], told["pending"][0]["count"]) == (0, 1)
