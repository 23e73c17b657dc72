"""Kinds that nothing in a small world turns on: they are stored, and read by the server or a controller of their own.

Drawn apart from other ingredients, for some of the seeds, so that the others stay what they are. What each of them does
has worlds of its own (`worlds/objectives.py`, `runbooks.py`) or tests beside the API; here they come and go among
others.
"""

from __future__ import annotations

from fairlead.sim.generate.contract import Ingredient, Setting, Thing, thing_of
from fairlead.sim.generate.draw import Draw
from fairlead.sim.generate.ingredients.templates import manifest
from fairlead.sim.generate.people import APPLY, DELETE, RECREATE
from fairlead.sim.scenario import Json

_OURS, _FLOWS = "fairlead.dev/v1", "flowcontrol.apiserver.k8s.io/v1"
_ADMISSION = "admissionregistration.k8s.io/v1"


def _only(made: Json) -> tuple[Thing, ...]:
    return (thing_of(made, DELETE, APPLY, RECREATE),)


def _freeze(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    """Of a namespace that nobody works in, in years to come."""
    times = {"start": "2040-01-01T00:00:00Z", "end": "2040-01-02T00:00:00Z"}
    spec = {"reason": "we count stock", "forbids": ["Rollouts"], "namespaces": ["shop"], **times}
    return _only(manifest(_OURS, "ChangeFreeze", name, "", spec=spec))


def _experiment(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    """Only where settings allow it. Its faults are those of a server that carries experiments out, which the
    simulator's does not."""
    if any(thing.plural == "planesettings" for thing in setting.things):
        return ()
    allowed = manifest(_OURS, "PlaneSettings", "default", "", spec={"chaos": {"allowed": True}})
    faults = [{"name": "reply_lost", "percent": 30}]
    spec = {"controllers": ["replicaset"], "faults": faults, "seconds": 10, "reason": "is it made twice?"}
    return thing_of(allowed), *_only(manifest(_OURS, "ChaosExperiment", name, "", spec=spec))


def _flows(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    limited = {"nominalConcurrencyShares": 5, "limitResponse": {"type": "Reject"}}
    level: Json = {"type": "Limited", "limited": limited}
    robots = [{"kind": "User", "user": {"name": "robot"}}]
    asked = [{"verbs": ["list"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["*"]}]
    schema: Json = {
        "priorityLevelConfiguration": {"name": name},
        "matchingPrecedence": 700,
        "rules": [{"subjects": robots, "resourceRules": asked}],
    }
    return (
        *_only(manifest(_FLOWS, "PriorityLevelConfiguration", name, "", spec=level)),
        *_only(manifest(_FLOWS, "FlowSchema", name, "", spec=schema)),
    )


def _recording(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    spec = {"rules": [{"level": "Full", "when": ["Incident"]}]}
    return _only(manifest(_OURS, "RecordingPolicy", "default", "", spec=spec))


def _validation(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    """It looks at every pod, and has nothing against any."""
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    spec: Json = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "object.metadata.namespace != 'shop'"}],
    }
    bound: Json = {"policyName": name, "validationActions": ["Deny"]}
    return (
        *_only(manifest(_ADMISSION, "ValidatingAdmissionPolicy", name, "", spec=spec)),
        *_only(manifest(_ADMISSION, "ValidatingAdmissionPolicyBinding", name, "", spec=bound)),
    )


def _runbook(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    """Which nobody runs."""
    ask = {"question": "which node?", "fields": [{"name": "node"}]}
    always = [{"name": "always", "expression": "run.name != ''"}]
    steps = [{"name": "confirm", "ask": ask, "timeoutSeconds": 40}]
    spec = {"summary": "ask", "steps": steps, "preconditions": always, "postconditions": always}
    return _only(manifest(_OURS, "Runbook", name, "", spec=spec))


def _objective(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    """Of a Deployment that is not there."""
    target = {"kind": "Deployment", "name": "shop"}
    spec = {"target": target, "objective": 90.0, "windowSeconds": 600}
    return _only(manifest(_OURS, "ServiceLevelObjective", name, setting.namespace, spec=spec))


KEPT = (
    Ingredient("ChangeFreeze", _freeze),
    Ingredient("ChaosExperiment", _experiment),
    Ingredient("FlowSchema", _flows),
    Ingredient("RecordingPolicy", _recording),
    Ingredient("ValidatingAdmissionPolicy", _validation),
    Ingredient("Runbook", _runbook),
    Ingredient("ServiceLevelObjective", _objective),
)
