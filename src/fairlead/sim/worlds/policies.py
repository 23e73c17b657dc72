"""`policies`: one Deployment that rolls out while the policy that labels its pods changes, goes and comes back.

before   node-0; policy `team`, which sets the label team=one on pods, and its binding; Deployment web with 3 pods
5 s      web:2; 1 s later the policy sets team=two
12 s     web:3; 1 s later the policy is deleted
20 s     web:4; 1 s later there is a policy again, which sets team=three
35 s     web:5: in the end all pods are team=three
60 s     the last fault
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.sim.checkers.policies import SETS
from fairlead.sim.endstate import HISTORY
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, delete, patch
from fairlead.sim.worlds import small

# Nothing arrives after its sender gave up: a set that is scaled late, after its Deployment has another template, may
# exceed the surge, which has nothing to do with policies.
FAULTS = replace(small.FAULTS, request_late=0.0, incidents=(*small.FAULTS.incidents, ("server_crash", 2)))
_DEPLOYMENTS = ("apps/v1", "deployments")
POLICIES = ("admissionregistration.k8s.io/v1", "mutatingadmissionpolicies")
BINDINGS = ("admissionregistration.k8s.io/v1", "mutatingadmissionpolicybindings")
_PODS: Json = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}


def scenario() -> Scenario:
    return replace(
        small.FRAME,
        name="policies",
        standing=(
            small.node(),
            create(0.2, *POLICIES, policy("one"), ""),
            create(0.2, *BINDINGS, binding(), ""),
            create(1.0, *_DEPLOYMENTS, small.workload("Deployment", "web", 3)),
        ),
        steps=(
            _image(5.0, "web:2"),
            patch(6.0, *POLICIES, "team", policy("two"), ""),
            _image(12.0, "web:3"),
            delete(13.0, *POLICIES, "team", namespace=""),
            _image(20.0, "web:4"),
            create(21.0, *POLICIES, policy("three"), ""),
            _image(35.0, "web:5"),
        ),
        deciders=small.controllers("deployment", "replicaset", "garbage-collector", "progress"),
        allowed=(HISTORY,),
    )


def policy(team: str) -> Json:
    expression = f"Object{{metadata: Object.metadata{{labels: {{'team': '{team}'}}}}}}"
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
    return {
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": "team", "annotations": {SETS: f"team={team}"}},
        "spec": {
            "matchConstraints": {"resourceRules": [_PODS]},
            "mutations": [mutation],
            "reinvocationPolicy": "Never",
        },
    }


def binding() -> Json:
    return {
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": "team"},
        "spec": {"policyName": "team"},
    }


def _image(at: float, image: str) -> ScenarioStep:
    return patch(at, *_DEPLOYMENTS, "web", {"spec": {"template": small.template("web", image)}})
