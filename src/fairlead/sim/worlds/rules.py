"""`rules`: somebody creates pods at the very moments in which a policy about them, and his right to them, come and go.

before   policy `team`, which sets the label team=one on pods; ClusterRole writer, which may create pods
5 s      and every 4 s, ten times: dev is bound to writer and, at once, creates a pod; 1 s later the policy is bound and
         he creates another; 2 s later the policy is unbound and he creates a third; 3 s later he is unbound, and tries
45 s     the last fault; then the pods are deleted

What he asks for is planned while the rule before it is on its way to the disk.
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.api.access.users import AUTHENTICATED, User
from fairlead.sim.endstate import MADE
from fairlead.sim.faults import Faults
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, delete
from fairlead.sim.worlds import policies, small

FAULTS = Faults(sync_slow=0.3, sync_failed=0.02, incident=0.3, incidents=(("server_crash", 4),))
DEV = User("dev", groups=(AUTHENTICATED,))
_ROUNDS = range(5, 45, 4)  # seconds
_ROLES = "rbac.authorization.k8s.io/v1"


def scenario() -> Scenario:
    return Scenario(
        name="rules",
        standing=(
            create(0.2, *policies.POLICIES, policies.policy("one"), ""),
            create(0.2, _ROLES, "clusterroles", writer("pods"), ""),
        ),
        steps=(
            *[step for at in _ROUNDS for step in _round(float(at))],
            *[delete(50.0, "v1", "pods", _name(at + later)) for at in _ROUNDS for later in range(4)],
        ),
        hollow_prefix="node-",
        planes=1,
        faults_until_seconds=45.0,
        seconds_min=60.0,
        seconds_max=400.0,
        quiet_seconds=50.0,
        deciders=small.controllers("garbage-collector"),
        allowed=(MADE,),
    )


def _round(at: float) -> tuple[ScenarioStep, ...]:
    bound = replace(create(at, _ROLES, "rolebindings", role_binding(DEV.name)), lane="role")
    unbound = replace(delete(at + 3, _ROLES, "rolebindings", DEV.name), lane="role")
    told = replace(create(at + 1, *policies.BINDINGS, policies.binding(), ""), lane="policy")
    untold = replace(delete(at + 2, *policies.BINDINGS, "team", namespace=""), lane="policy")
    return bound, _tried(at), told, _tried(at + 1), untold, _tried(at + 2), unbound, _tried(at + 3)


def _tried(at: float) -> ScenarioStep:
    body = {"kind": "Pod", "metadata": {"name": _name(at)}, "spec": small.template("web", "web:1")["spec"]}
    return replace(create(at, "v1", "pods", body), user=DEV, tries=1)


def _name(at: float) -> str:
    return f"at-{int(at)}"


def writer(*resources: str) -> Json:
    rules = [{"apiGroups": [""], "resources": list(resources), "verbs": ["create", "patch", "delete"]}]
    return {"kind": "ClusterRole", "metadata": {"name": "writer"}, "rules": rules}


def role_binding(user: str) -> Json:
    return {
        "kind": "RoleBinding",
        "metadata": {"name": user},
        "subjects": [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}],
        "roleRef": {"kind": "ClusterRole", "name": "writer", "apiGroup": "rbac.authorization.k8s.io"},
    }
