"""Runs on the real API: each step once, in order, recorded with what it made; undone when they are aborted."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.control.requests import request_of
from fairlead.decision.effects import Create, Delete
from fairlead.model.key import Key
from fairlead.model.kinds.runbook import FINALIZER
from fairlead.model.views import BUDGETS, DEPLOYMENTS, NODES, PODS, REPLICASETS
from fairlead.model.views.runbooks import RUNBOOK_RUNS
from fairlead.reconcile.runbooks.decider import RUNS_KEPT_MAX
from fairlead.reconcile.runbooks.reporting import LOOK_SECONDS
from tests.unit.reconcile.runbooks.book_world import BOOK, CONFIG_MAPS, BookWorld
from tests.unit.reconcile.world import template

_WAIT = {"name": "waits", "wait": {"until": "app.status.readyReplicas == 3"}}
_MARK = BOOK["steps"][0]


def _verb(verb: str, name: str = "web", **more: Any) -> dict[str, Any]:
    return {"name": "act", "verb": {"verb": verb, "name": name, **more}}


def _scale(replicas: Any) -> dict[str, Any]:
    return _verb("scale", apiVersion="apps/v1", kind="Deployment", replicas=replicas)


def test_a_run_goes_through_its_steps_and_keeps_what_each_made() -> None:
    world = BookWorld()
    world.book()
    world.start()
    run = world.go_on()
    assert world.states() == [("hold", "Done"), ("recover", "Running")]
    (name,) = world.made()
    made = run.status.steps[0].made
    assert made is not None
    assert (made.kind, made.name, run.status.steps[0].by) == ("ConfigMap", name, "admin")
    assert world.objects[Key("configmaps", "default", name)]["data"] == {
        "target": "deployment/web",
        "expiresAfter": "30m",
    }
    assert made.uid == world.objects[Key("configmaps", "default", name)]["metadata"]["uid"]
    assert FINALIZER in run.metadata.finalizers
    assert world.step().again_at == world.now + LOOK_SECONDS
    world.tick(30)
    world.set_ready(3)
    run = world.go_on()
    assert world.states() == [("hold", "Done"), ("recover", "Done"), ("letGo", "Done")]
    assert (run.status.phase, run.status.finished_at > run.status.started_at) == ("Succeeded", True)
    assert (world.made(), run.metadata.finalizers) == ([], ())


def test_nothing_is_done_unless_every_precondition_holds() -> None:
    world = BookWorld(ready=3)
    world.book()
    world.start()
    run = world.go_on()
    assert (run.status.phase, run.status.reason, world.states(), world.made()) == (
        "Failed", "PreconditionFailed", [], [],
    )  # fmt: skip
    assert run.status.message == "nothing was done: short: nothing is missing"


def test_a_condition_without_a_value_does_not_hold_and_says_why() -> None:
    world = BookWorld()
    world.book(preconditions=[{"name": "labelled", "expression": "app.metadata.labels.tier == 'gold'"}])
    world.start()
    assert "no such key: tier" in world.go_on().status.message


@pytest.mark.parametrize("crashes_after", range(1, 12))
def test_whoever_takes_over_at_any_write_does_no_step_twice(crashes_after: int) -> None:
    """The effect that the one before had sent arrives once more, late: it comes to nothing."""
    world = BookWorld()
    world.book()
    world.start()
    for _ in range(crashes_after):
        world.step()
    key = Key(RUNBOOK_RUNS.name, "default", "run-1")
    late = world.decide(world.decider, key).effects
    world.step()
    world.set_ready(3)
    before = len(world.made())
    for effect in late:
        reply = world.plane.send(request_of(effect), world.runner)
        assert reply.status in (200, 404, 409)  # type: ignore[union-attr]
    assert len(world.made()) == before
    world.tick(LOOK_SECONDS)
    assert world.go_on().status.phase == "Succeeded"
    creates = [each for each in world.writes if isinstance(each, Create)]
    deletes = [each for each in world.writes if isinstance(each, Delete)]
    assert (len(creates), len(deletes), world.made()) == (1, 1, [])


def test_what_somebody_deleted_is_not_made_again() -> None:
    world = BookWorld()
    world.book()
    world.start()
    world.go_on()
    world.delete(CONFIG_MAPS, world.made()[0])
    world.set_ready(3)
    run = world.go_on()
    assert (run.status.phase, world.made()) == ("Succeeded", [])
    assert run.status.steps[-1].message == "what hold made was gone already"


def test_an_abort_rule_undoes_what_was_made() -> None:
    world = BookWorld()
    world.book(steps=[_MARK, _scale(5), _WAIT])
    world.start()
    world.go_on()
    assert (
        len(world.made()),
        world.objects[Key(DEPLOYMENTS.name, "default", "web")]["spec"]["replicas"],
    ) == (1, 5)
    world.edit(DEPLOYMENTS, "web", {"spec": {"replicas": 0}})
    run = world.go_on()
    assert (run.status.phase, run.status.reason) == ("Aborted", "AbortRule")
    # Somebody else has scaled it since: that is not taken back.
    assert world.states() == [("hold", "Undone"), ("act", "Undone"), ("waits", "Failed")]
    assert (world.made(), world.objects[Key(DEPLOYMENTS.name, "default", "web")]["spec"]["replicas"]) == (
        [],
        0,
    )


def test_a_person_aborts_and_a_verb_is_put_back() -> None:
    world = BookWorld()
    world.book(
        steps=[_scale("${count}"), _WAIT], params=[*BOOK["params"], {"name": "count", "type": "integer"}]
    )
    world.start(count="5")
    run = world.go_on()
    assert (run.status.steps[0].before, run.status.steps[0].state) == ("3", "Done")
    world.edit(RUNBOOK_RUNS, "run-1", {"spec": {"abort": {"reason": "wrong one"}}})
    run = world.go_on()
    assert (run.status.phase, run.status.message) == ("Aborted", "wrong one (admin)")
    assert world.objects[Key(DEPLOYMENTS.name, "default", "web")]["spec"]["replicas"] == 3


def test_whoever_deletes_a_run_aborts_it_and_then_it_is_gone() -> None:
    world = BookWorld()
    world.book()
    world.start()
    world.go_on()
    world.delete(RUNBOOK_RUNS, "run-1")
    for _ in range(20):
        if world.get(RUNBOOK_RUNS, "default", "run-1") is not None:
            world.step()
    assert (world.get(RUNBOOK_RUNS, "default", "run-1"), world.made()) == (None, [])


@pytest.mark.parametrize(
    ("changes", "seconds", "reason"),
    [({}, 601, "StepTimedOut"), ({"timeoutSeconds": 100}, 101, "RunTimedOut")],
)
def test_a_run_has_an_end(changes: dict[str, Any], seconds: float, reason: str) -> None:
    world = BookWorld()
    world.book(**changes)
    world.start()
    world.go_on()
    world.tick(seconds)
    run = world.go_on()
    assert (run.status.phase, run.status.reason, world.made()) == ("Aborted", reason, [])


def test_a_step_that_asks_waits_for_its_answer_and_later_steps_see_it() -> None:
    world = BookWorld()
    ask = {"question": "how many for ${workload}?", "fields": [{"name": "count", "type": "integer"}]}
    step = {**_scale("${confirm.count}"), "when": "answers.confirm.count > 3"}
    world.book(steps=[{"name": "confirm", "ask": ask}, step, _WAIT])
    world.start()
    run = world.go_on()
    assert (run.status.phase, run.status.message) == ("Asking", "how many for web?")
    answer = {"step": "confirm", "values": {"count": "4"}}
    world.edit(RUNBOOK_RUNS, "run-1", {"spec": {"answers": [answer]}})
    run = world.go_on()
    assert (run.status.steps[0].by, run.status.steps[0].message) == ("admin", "count=4")
    assert world.objects[Key(DEPLOYMENTS.name, "default", "web")]["spec"]["replicas"] == 4


@pytest.mark.parametrize(
    "later",
    [
        _scale("${confirm.count}"),
        {"name": "act", "ask": {"question": "${confirm.count}?", "fields": [{"name": "x"}]}},
    ],
)
def test_an_answer_that_was_never_asked_for_aborts_the_run(later: dict[str, Any]) -> None:
    world = BookWorld()
    ask = {"question": "how many?", "fields": [{"name": "count", "type": "integer"}]}
    world.book(steps=[_MARK, {"name": "confirm", "when": "false", "ask": ask}, later])
    world.start()
    run = world.go_on()
    assert (run.status.phase, run.status.reason, world.made()) == ("Aborted", "StepImpossible", [])
    assert "there is no value for ${confirm.count}" in run.status.message


def test_nobody_answers() -> None:
    world = BookWorld()
    ask = {"question": "go?", "fields": [{"name": "go", "type": "boolean"}]}
    world.book(steps=[_MARK, {"name": "confirm", "ask": ask, "timeoutSeconds": 60}])
    world.start()
    world.go_on()
    world.tick(60)
    run = world.go_on()
    assert (run.status.reason, world.made()) == ("StepTimedOut", [])


def test_a_step_is_left_out_unless_its_condition_holds() -> None:
    world = BookWorld()
    world.book(steps=[{**_MARK, "when": "app.spec.replicas > 100"}, _WAIT])
    world.start()
    world.go_on()
    assert (world.states(), world.made()) == ([("hold", "Skipped"), ("waits", "Running")], [])


def test_a_postcondition_gets_its_time_and_then_the_run_has_failed() -> None:
    world = BookWorld()
    world.book(steps=[_MARK], settleSeconds=30)
    world.start()
    status = world.go_on().status
    assert status.phase == "Settling"
    (met,) = [each for each in status.conditions if each.type == "PostconditionsMet"]
    assert status.message == f"waits until {met.message}"  # the condition and the status tell the same
    world.tick(30)
    run = world.go_on()
    assert (run.status.phase, run.status.reason, len(world.made())) == ("Failed", "PostconditionFailed", 1)


def test_an_object_is_made_in_the_version_of_its_template() -> None:
    world = BookWorld()
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "${workload}"}
    scaler = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler"}
    scaler["spec"] = {"maxReplicas": 3, "scaleTargetRef": target}  # type: ignore[assignment]
    world.book(steps=[{"name": "scaler", "create": {"object": scaler}}, _WAIT])
    world.start()
    run = world.go_on()
    assert (world.states()[0], run.status.steps[0].made.api_version) == (("scaler", "Done"), "autoscaling/v2")  # type: ignore[union-attr]
    world.edit(RUNBOOK_RUNS, "run-1", {"spec": {"abort": {"reason": "stop"}}})
    world.go_on()
    assert world.states()[0] == ("scaler", "Undone")


def test_a_name_that_is_taken_is_not_taken_for_ours() -> None:
    world = BookWorld()
    world.book()
    world.start()
    name = world.go_on().status.steps[0].made.name  # type: ignore[union-attr]
    other = BookWorld()
    other.book()
    other.start()
    assert other.run().metadata.uid == world.run().metadata.uid, "both worlds draw the same"
    other.add(CONFIG_MAPS, name)
    run = other.go_on()
    assert (run.status.phase, run.status.reason, other.made()) == ("Aborted", "NameTaken", [name])


def test_the_words_of_a_refusal_end_the_run() -> None:
    world = BookWorld()
    world.book()
    world.start()
    while not any(each.state == "Running" for each in world.run().status.steps):
        world.step()
    world.refuse("Create: Forbidden: alice may not")
    run = world.go_on()
    assert (run.status.phase, run.status.reason) == ("Aborted", "StepRefused")
    assert run.status.message == "hold: Create: Forbidden: alice may not"


def test_what_cannot_be_undone_is_named_in_the_end() -> None:
    world = BookWorld()
    world.book()
    world.start()
    world.go_on()
    world.edit(RUNBOOK_RUNS, "run-1", {"spec": {"abort": {"reason": "stop"}}})
    while ("hold", "Undoing") not in world.states():
        world.step()
    world.refuse("Delete: Forbidden: alice may not any more")
    assert ("hold", "Undoing") in world.states(), "it is tried again for a while"
    world.tick(601)
    world.refuse("Delete: Forbidden: alice may not any more")
    run = world.go_on()
    assert (run.status.phase, run.status.message) == ("Aborted", "stop (admin); not undone: hold")


@pytest.mark.parametrize(("verb", "before", "after"), [("cordon", False, True), ("uncordon", True, False)])
def test_nodes_are_cordoned_and_put_back(verb: str, before: bool, after: bool) -> None:
    world = BookWorld()
    world.add(NODES, "node-1", "", spec={"unschedulable": before})
    world.book(steps=[_verb(verb, "node-1"), _WAIT])
    world.start()
    world.go_on()
    node = Key("nodes", "", "node-1")
    assert world.objects[node]["spec"].get("unschedulable", False) is after
    world.edit(RUNBOOK_RUNS, "run-1", {"spec": {"abort": {"reason": "stop"}}})
    world.go_on()
    assert world.objects[node]["spec"].get("unschedulable", False) is before


def test_an_eviction_keeps_to_the_budgets() -> None:
    world = BookWorld()
    world.add(PODS, "web-1", metadata={"labels": {"app": "web"}}, spec=template()["spec"])
    world.set_pod("web-1", "Running", ready=True)
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    world.add(BUDGETS, "web", spec=budget)
    world.book(steps=[_verb("evict", "web-1"), _WAIT])
    world.start()
    with pytest.raises(AssertionError, match="disruption budget"):
        world.go_on()
    assert world.states() == [("act", "Running")]
    world.delete(BUDGETS, "web")
    world.go_on()
    assert world.states() == [("act", "Done"), ("waits", "Running")]
    assert "deletionTimestamp" in world.objects[Key("pods", "default", "web-1")]["metadata"]


def test_a_rollout_is_paused_and_rolled_back() -> None:
    world = BookWorld()
    uid = world.objects[Key(DEPLOYMENTS.name, "default", "web")]["metadata"]["uid"]
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": uid, "controller": True}
    for number in (1, 2):
        made = template({"app": "web", "pod-template-hash": str(number)}, image=f"nginx:{number}")
        world.add(
            REPLICASETS,
            f"web-{number}",
            metadata={
                "ownerReferences": [owner],
                "annotations": {"deployment.kubernetes.io/revision": str(number)},
            },
            spec={"replicas": 1, "selector": {"matchLabels": made["metadata"]["labels"]}, "template": made},
        )
    world.edit(
        DEPLOYMENTS,
        "web",
        {
            "metadata": {"annotations": {"deployment.kubernetes.io/revision": "2"}},
            "spec": {"template": template({"app": "web", "extra": "x"}, image="nginx:2")},
        },
    )
    pause = {**_verb("pauseRollout"), "name": "pause"}
    world.book(steps=[pause, _verb("rollBack"), _WAIT])
    world.start()
    world.go_on()
    spec = world.objects[Key(DEPLOYMENTS.name, "default", "web")]["spec"]
    assert (spec["paused"], spec["template"]["spec"]["containers"][0]["image"]) == (True, "nginx:1")
    assert spec["template"]["metadata"]["labels"] == {"app": "web"}
    world.edit(RUNBOOK_RUNS, "run-1", {"spec": {"abort": {"reason": "stop"}}})
    run = world.go_on()
    assert world.states() == [("pause", "Undone"), ("act", "Left"), ("waits", "Failed")]
    assert run.status.message == "stop (admin); not undone: act"


def test_a_verb_on_nothing_aborts_the_run() -> None:
    world = BookWorld()
    world.book(steps=[_MARK, _verb("cordon", "node-9")])
    world.start()
    run = world.go_on()
    assert (run.status.message, world.made()) == ("act: there is no node node-9", [])


def test_old_runs_are_let_go() -> None:
    world = BookWorld(ready=3)
    world.book()
    for number in range(RUNS_KEPT_MAX + 1):
        world.tick(1)
        world.start(f"run-{number}")
        world.go_on(f"run-{number}")
    names = [each.metadata.name for each in world.list(RUNBOOK_RUNS)]
    assert (len(names), "run-0" in names) == (RUNS_KEPT_MAX, False)
