"""`grants`: somebody without a role writes as often as they are let, while grants come, are revoked, end and go.

0.2 s    ClusterRole writer, which may create ConfigMaps
1 s      it is asked for jane, for one and for two minutes; from then on she tries to create a ConfigMap every 2 s
4 s      the first grant is approved; it ends about a minute later
70 s     the second is approved, and revoked at 85 s
95 s     a third is asked for, and approved at 99 s; that it be deleted without a review is refused
120 s    a fourth is asked for and denied
172 s    the last fault; then what jane created is deleted

The server dies, and its clock is another each time.
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.api.access.users import AUTHENTICATED, MASTERS, User
from fairlead.sim.endstate import MADE
from fairlead.sim.faults import Faults
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, delete, patch

FAULTS = Faults(
    server_clock_skew=0.7,
    sync_slow=0.2,
    sync_failed=0.02,
    incident=0.5,
    incidents=(("server_crash", 4), ("server_clock_set", 3)),
)
_GRANTS = ("fairlead.dev/v1", "accessgrants")
_SPACE = "default"
USER = "jane"
_JANE = User(USER, groups=(AUTHENTICATED,))
_ANN = User("ann", groups=(MASTERS, AUTHENTICATED))
_TRIED = range(2, 170, 2)  # seconds


def scenario() -> Scenario:
    return Scenario(
        name="grants",
        standing=(create(0.2, "rbac.authorization.k8s.io/v1", "clusterroles", _role(), ""),),
        steps=(
            _asked(1.0, "first", "1m"),
            _asked(1.0, "second", "2m"),
            *[_tried(at) for at in _TRIED],
            _decided(4.0, "first", "Approved"),
            _decided(70.0, "second", "Approved"),
            _decided(85.0, "second", "Revoked"),
            _asked(95.0, "third", "1m"),
            _decided(99.0, "third", "Approved"),
            replace(delete(105.0, *_GRANTS, "third", namespace=""), lane="third", tries=1),
            _asked(120.0, "fourth", "8h"),
            _decided(121.0, "fourth", "Denied"),
            *[delete(180.0, "v1", "configmaps", _name(at), namespace=_SPACE) for at in _TRIED],
        ),
        hollow_prefix="node-",
        planes=1,
        faults_until_seconds=172.0,
        seconds_min=190.0,
        seconds_max=600.0,
        quiet_seconds=50.0,
        allowed=(MADE,),
    )


def _role() -> Json:
    rules = [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]},
    ]
    return {"kind": "ClusterRole", "metadata": {"name": "writer"}, "rules": rules}


def _asked(at: float, name: str, lasts: str) -> ScenarioStep:
    """By an administrator, for jane: who asks does not approve, so that another name approves."""
    spec = {
        "subject": {"kind": "User", "name": USER},
        "role": {"kind": "ClusterRole", "name": "writer"},
        "namespaces": [_SPACE],
        "reason": "the world's",
        "expiresAfter": lasts,
    }
    body = {"kind": "AccessGrant", "metadata": {"name": name}, "spec": spec}
    return replace(create(at, *_GRANTS, body, ""), lane=name)


def _decided(at: float, name: str, decision: str) -> ScenarioStep:
    made = patch(at, *_GRANTS, name, {"status": {"decision": decision}}, "", subresource="status")
    return replace(made, lane=name, user=_ANN)


def _tried(at: float) -> ScenarioStep:
    body = {"kind": "ConfigMap", "metadata": {"name": _name(at)}}
    return replace(create(float(at), "v1", "configmaps", body, _SPACE), user=_JANE, tries=1)


def _name(at: float) -> str:
    return f"at-{at}"
