"""`roles`: ClusterRoles that gather others, while those come, change their rules or labels, and go.

2 s     viewer gathers what is labelled for it; admin gathers viewer, and what is labelled for itself
3 s     pods and nodes, each labelled for one of them; spare, labelled for nobody
8 s     nodes gets another rule; somebody writes a rule into viewer by hand
14 s    spare is labelled for viewer; pods is labelled for it no more
20 s    nodes is deleted; late is made, labelled for viewer
26 s    viewer selects by an expression; nodes is made again
40 s    the last fault
"""

from __future__ import annotations

from fairlead.sim.faults import Faults
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, delete, patch

FAULTS = Faults(
    request_lost=0.03,
    request_late=0.1,
    reply_lost=0.08,
    crash_at_write=0.05,
    list_lost=0.05,
    watch_lag=0.3,
    watch_broken=0.05,
    incident=0.1,
)
_AT = ("rbac.authorization.k8s.io/v1", "clusterroles")
_FOR = "example.com/for"


def scenario() -> Scenario:
    return Scenario(
        name="roles",
        steps=_steps(),
        hollow_prefix="node-",
        planes=2,
        faults_until_seconds=40.0,
        seconds_min=60.0,
        seconds_max=600.0,
        quiet_seconds=50.0,
    )


def _steps() -> tuple[ScenarioStep, ...]:
    expression = {"matchExpressions": [{"key": _FOR, "operator": "In", "values": ["viewer", "admin"]}]}
    return (
        create(2.0, *_AT, _gathering("viewer", "viewer", "admin"), ""),
        create(2.0, *_AT, _gathering("admin", "admin"), ""),
        create(3.0, *_AT, _role("pods", "viewer"), ""),
        create(3.0, *_AT, _role("nodes", "admin"), ""),
        create(3.0, *_AT, _role("spare"), ""),
        _change(8.0, "nodes", {"rules": [_rule("nodes"), _rule("nodes/status")]}),
        _change(8.0, "viewer", {"rules": [_rule("*")]}),
        _change(14.0, "spare", {"metadata": {"labels": {_FOR: "viewer"}}}),
        _change(14.0, "pods", {"metadata": {"labels": {_FOR: None}}}),
        delete(20.0, *_AT, "nodes", ""),
        create(20.0, *_AT, _role("late", "viewer"), ""),
        _change(26.0, "viewer", {"aggregationRule": {"clusterRoleSelectors": [expression]}}),
        create(26.0, *_AT, _role("nodes", "admin"), ""),
    )


def _change(at: float, name: str, fields: Json) -> ScenarioStep:
    return patch(at, *_AT, name, fields, "")


def _rule(resource: str) -> Json:
    return {"apiGroups": [""], "resources": [resource], "verbs": ["get"]}


def _role(name: str, for_whom: str = "") -> Json:
    labels = {_FOR: for_whom} if for_whom else {}
    return {"kind": "ClusterRole", "metadata": {"name": name, "labels": labels}, "rules": [_rule(name)]}


def _gathering(name: str, gathers: str, for_whom: str = "") -> Json:
    selectors = [{"matchLabels": {_FOR: gathers}}]
    return {**_role(name, for_whom), "rules": [], "aggregationRule": {"clusterRoleSelectors": selectors}}
