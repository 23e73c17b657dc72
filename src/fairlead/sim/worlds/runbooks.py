"""`runbooks`: five runs of one runbook, which end in five ways, while planes and the server crash at any write.

The runbook makes two ConfigMaps, waits for a third, asks a person, cordons a node and deletes the first.

before   node-0; the runbook
2 s      runs plain, aborted, stopped, deleted and unanswered
14 s     somebody deletes what plain has made first, if it is there
20 s     go, for which all of them wait; plain is answered as soon as it asks
22 s     somebody aborts aborted; somebody deletes deleted
24 s     stop, at which stopped aborts itself
60 s     the last fault; unanswered is asked for 40 s
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.port.request import Request
from fairlead.sim.scenario import Expected, Json, Pick, Scenario, ScenarioStep, create, delete, patch
from fairlead.sim.worlds import small

FAULTS = replace(
    small.FAULTS,
    crash_at_write=0.04,
    crash_after_write=0.04,
    incidents=(*small.FAULTS.incidents, ("server_crash", 2)),
)
_BOOKS, _RUNS = ("fairlead.dev/v1", "runbooks"), ("fairlead.dev/v1", "runbookruns")
_MAPS = ("v1", "configmaps")
_NAMES = ("plain", "aborted", "stopped", "deleted", "unanswered")
_ENDS = (("plain", "Succeeded"), ("aborted", "Aborted"), ("stopped", "Aborted"), ("unanswered", "Aborted"))
_TRIES = 400  # a step is answered once it asks
RUN_LABEL = "fairlead.dev/runbook-run"


def scenario() -> Scenario:
    return replace(
        small.FRAME,
        name="runbooks",
        standing=(
            small.node(),
            create(1.0, *_BOOKS, _book(), ""),
        ),
        steps=_steps(),
        seconds_min=120.0,
        seconds_max=900.0,
        quiet_seconds=120.0,
        deciders=small.controllers(
            "runbook", kinds=("configmaps", "runbooks.fairlead.dev", "runbookruns.fairlead.dev")
        ),
        expected=tuple(
            Expected("runbookruns.fairlead.dev", (("status.phase", phase),), "default", name)
            for name, phase in _ENDS
        ),
        contends=True,  # how far a run has come when it is aborted is chance's
    )


def _steps() -> tuple[ScenarioStep, ...]:
    answer = {"step": "confirm", "values": {"node": "node-0"}}
    meddling = ScenarioStep(
        14.0,
        Request("delete", "", "v1", "configmaps", "default", body=b"{}"),
        pick=Pick("configmaps", "default", ((RUN_LABEL, "plain"),)),
        tries=1,
    )
    return (
        *(create(2.0, *_RUNS, _run(name)) for name in _NAMES),
        meddling,
        create(20.0, *_MAPS, {"kind": "ConfigMap", "metadata": {"name": "go"}}),
        replace(patch(20.0, *_RUNS, "plain", {"spec": {"answers": [answer]}}), tries=_TRIES),
        replace(patch(22.0, *_RUNS, "aborted", {"spec": {"abort": {"reason": "enough"}}}), tries=3),
        delete(22.0, *_RUNS, "deleted"),
        create(24.0, *_MAPS, {"kind": "ConfigMap", "metadata": {"name": "stop"}}),
    )


def _run(name: str) -> Json:
    spec = {"runbook": "chain", "params": {"stops": "true" if name == "stopped" else "false"}}
    return {"kind": "RunbookRun", "metadata": {"name": name}, "spec": spec}


def _book() -> Json:
    def made(name: str) -> Json:
        return {
            "name": name,
            "create": {"object": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"by": name}}},
        }

    def one(name: str) -> Json:
        return {"name": name, "apiVersion": "v1", "kind": "ConfigMap", "objectName": name}

    cordon = {"verb": "cordon", "name": "${confirm.node}"}
    ask = {"question": "which node?", "fields": [{"name": "node"}]}
    return {
        "kind": "Runbook",
        "metadata": {"name": "chain"},
        "spec": {
            "summary": "one of each",
            "params": [{"name": "stops", "type": "boolean"}],
            "read": [one("go"), one("stop")],
            "preconditions": [{"name": "always", "expression": "run.name != ''"}],
            "abortWhen": [{"name": "stopped", "expression": "params.stops && stop != null"}],
            "steps": [
                made("first"),
                made("second"),
                {"name": "went", "wait": {"until": "go != null"}, "timeoutSeconds": 200},
                {"name": "confirm", "ask": ask, "timeoutSeconds": 40},
                {"name": "cordon", "verb": cordon},
                {"name": "unmake", "delete": {"step": "first"}},
            ],
            "postconditions": [{"name": "went", "expression": "go != null"}],
        },
    }
