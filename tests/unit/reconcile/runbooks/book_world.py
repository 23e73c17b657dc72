"""A world in which runs act: effects of the controller are carried out under its own name, as a plane does."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from fairlead.api.access.users import MASTERS, User
from fairlead.api.runbooks.acting import RUNNER
from fairlead.decision.contract import Decision, Refusal
from fairlead.decision.effects import Effect
from fairlead.model.key import Key
from fairlead.model.views import DEPLOYMENTS, Resource, Stored
from fairlead.model.views.runbooks import RUNBOOK_RUNS, RunbookRun
from fairlead.port.outcome import Outcome, outcome_of
from fairlead.port.request import Reply, Request
from fairlead.reconcile.runbooks.decider import runbook_decider
from tests.unit.reconcile.world import World, template

Json = dict[str, Any]

RUNBOOKS = Resource("runbooks.fairlead.dev", "fairlead.dev/v1", "Runbook", Stored)
CONFIG_MAPS = Resource("configmaps", "v1", "ConfigMap", Stored)
_RUNNER = User(RUNNER, groups=(MASTERS,))
TURNS_MAX = 100

BOOK: Json = {
    "summary": "hold the autoscaler, wait for the replicas, let go",
    "page": "# Hold\n\nRead this.",
    "params": [
        {"name": "workload", "description": "the Deployment"},
        {"name": "hold", "type": "duration", "default": "30m"},
    ],
    "read": [{"name": "app", "apiVersion": "apps/v1", "kind": "Deployment", "objectName": "${workload}"}],
    "preconditions": [
        {"name": "exists", "expression": "app != null", "message": "there is no such Deployment"},
        {
            "name": "short",
            "expression": "app.status.readyReplicas < app.spec.replicas",
            "message": "nothing is missing",
        },
    ],
    "abortWhen": [{"name": "emptied", "expression": "app == null || app.spec.replicas == 0"}],
    "steps": [
        {
            "name": "hold",
            "create": {
                "object": {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "data": {"target": "deployment/${workload}", "expiresAfter": "${hold}"},
                }
            },
        },
        {
            "name": "recover",
            "wait": {"until": "app.status.readyReplicas >= app.spec.replicas"},
            "timeoutSeconds": 600,
        },
        {"name": "letGo", "delete": {"step": "hold"}},
    ],
    "postconditions": [{"name": "whole", "expression": "app.status.readyReplicas == app.spec.replicas"}],
}


class BookWorld(World):
    """With a Deployment web, of which `ready` replicas of three are."""

    def __init__(self, ready: int = 1) -> None:
        super().__init__()
        self._acts = False
        self.decider = runbook_decider()
        spec = {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": template({"app": "web"}),
        }
        self.add(DEPLOYMENTS, "web", spec=spec)
        self.set_ready(ready)

    runner = _RUNNER

    def apply(self, effects: Iterable[Effect]) -> int:
        self._acts = True
        try:
            return super().apply(effects)
        finally:
            self._acts = False

    def _send(self, request: Request, user: User) -> Outcome:
        if not self._acts:
            return super()._send(request, user)
        reply = self.plane.send(request, _RUNNER)  # what it is warned of, others read
        assert isinstance(reply, Reply)
        return outcome_of(reply)

    def set_ready(self, ready: int) -> None:
        status = {"replicas": 3, "readyReplicas": ready, "availableReplicas": ready}
        self.edit_status(DEPLOYMENTS, "web", status)

    def book(self, name: str = "hold", **changes: Any) -> None:
        self.add(RUNBOOKS, name, "", spec={**copy.deepcopy(BOOK), **changes})

    def start(self, name: str = "run-1", book: str = "hold", **params: str) -> None:
        self.add(RUNBOOK_RUNS, name, spec={"runbook": book, "params": {"workload": "web", **params}})

    def run(self, name: str = "run-1") -> RunbookRun:
        found = self.get(RUNBOOK_RUNS, "default", name)
        assert found is not None
        return found

    def step(self, name: str = "run-1") -> Decision:
        return self.turn(self.decider, name)

    def go_on(self, name: str = "run-1") -> RunbookRun:
        """Turns until nothing changes at this instant."""
        for _ in range(TURNS_MAX):
            before = self.revision
            self.step(name)
            if self.revision == before:
                return self.run(name)
        raise AssertionError("the run does not come to rest")

    def refuse(self, message: str, name: str = "run-1") -> None:
        """What the loop does when the API refuses an effect."""
        key = Key(RUNBOOK_RUNS.name, "default", name)
        decision = self.decide(self.decider, key)
        view = self.mirrors.view(*self.decider.reads)
        assert self.decider.refused is not None
        self.apply(self.decider.refused(view, key, Refusal(decision.effects[0], message), self.now).effects)

    def states(self, name: str = "run-1") -> list[tuple[str, str]]:
        return [(each.name, each.state) for each in self.run(name).status.steps]

    def made(self) -> list[str]:
        return [each.metadata.name for each in self.list(CONFIG_MAPS, "default")]
