"""The FlowSchemas and priority levels that every plane has: Kubernetes' own, with the users that there are here.

Made when a server starts, and put right where somebody changed one that says it is to be kept as it is
(`runtime/server/bootstrap.py`); whoever wants to change one for good gives it the annotation AUTOUPDATE with "false".

    level            who
    exempt           admins; health, of anybody
    node-high        nodes: their leases, and what they say of themselves
    system           nodes: everything else
    leader-election  leases of planes and controllers
    intervention     people: overrides, grants and runs of runbooks, also while everything else waits
    workload-high    controllers beside the server, and accounts of kube-system
    workload-low     other service accounts
    global-default   people, and everybody else who is known
    catch-all        what no other schema matches

The plane in the server's own process and its controllers come through no connection, and need no turn.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.api.access.users import AUTHENTICATED, NODES, SERVICE_ACCOUNTS, UNAUTHENTICATED
from fairlead.model.kind import Json
from fairlead.model.kinds import flowschema, prioritylevelconfiguration
from fairlead.model.kinds.flowschema import (
    ALL,
    BY_NAMESPACE,
    BY_USER,
    SERVICE_ACCOUNT,
    USER,
    USER_GROUP,
    of_groups,
)
from fairlead.model.kinds.prioritylevelconfiguration import (
    CATCH_ALL_LEVEL,
    EXEMPT_LEVEL,
    LIMITED,
    QUEUE,
)

AUTOUPDATE = "apf.kubernetes.io/autoupdate-spec"
_KUBE_SYSTEM, _NODE_LEASES, _COORDINATION = "kube-system", "kube-node-lease", "coordination.k8s.io"
# What the controllers of a plane beside the server are called, and Kubernetes' own.
_MANAGERS = ("system:kube-controller-manager", "system:fairlead")
_SCHEDULER = "system:kube-scheduler"
_EVERYBODY = (UNAUTHENTICATED, AUTHENTICATED)
_INTERVENTIONS = (
    "scheduleroverrides",
    "scheduleroverrides/approval",
    "accessgrants",
    "accessgrants/status",
    "runbookruns",
)
_RENEW = ("get", "create", "update", "patch")


def default_levels() -> list[Json]:
    """Every PriorityLevelConfiguration."""
    specs = {
        EXEMPT_LEVEL: prioritylevelconfiguration.EXEMPT_SPEC,
        CATCH_ALL_LEVEL: prioritylevelconfiguration.CATCH_ALL_SPEC,
        "system": _level(30, 33, 64, 6),
        "node-high": _level(40, 25, 64, 6),
        "leader-election": _level(10, 0, 16, 4),
        "intervention": _level(10, 0, 16, 4),
        "workload-high": _level(40, 50, 128, 6),
        "workload-low": _level(100, 90, 128, 6),
        "global-default": _level(20, 50, 128, 6),
    }
    return [_object(prioritylevelconfiguration.KIND.kind, name, spec) for name, spec in specs.items()]


def default_schemas() -> list[Json]:
    """Every FlowSchema."""
    managers = [_user(name) for name in _MANAGERS]
    in_kube_system = [_service_account(_KUBE_SYSTEM)]
    leases = _resources(_RENEW, (_COORDINATION,), ("leases",), (_KUBE_SYSTEM,))
    probes = {"nonResourceURLs": ["/healthz", "/readyz", "/livez"], "verbs": ["get"]}
    specs = {
        "exempt": flowschema.EXEMPT_SPEC,
        "probes": _schema(EXEMPT_LEVEL, 2, [{"subjects": _groups(_EVERYBODY), "nonResourceRules": [probes]}]),
        "system-leader-election": _schema(
            "leader-election",
            100,
            [{"subjects": [*managers, _user(_SCHEDULER), *in_kube_system], "resourceRules": [leases]}],
            BY_USER,
        ),
        "workload-leader-election": _schema(
            "leader-election",
            200,
            [
                {
                    "subjects": _groups((SERVICE_ACCOUNTS,)),
                    "resourceRules": [_resources(_RENEW, (_COORDINATION,), ("leases",), (ALL,))],
                }
            ],
            BY_USER,
        ),
        "intervention": _schema(
            "intervention",
            300,
            [
                {
                    "subjects": _groups((AUTHENTICATED,)),
                    "resourceRules": [
                        _resources((ALL,), ("fairlead.dev",), _INTERVENTIONS, (ALL,), cluster=True)
                    ],
                }
            ],
            BY_USER,
        ),
        "system-node-high": _schema(
            "node-high",
            400,
            [
                {
                    "subjects": _groups((NODES,)),
                    "resourceRules": [
                        _resources((ALL,), ("",), ("nodes", "nodes/status"), (), cluster=True),
                        _resources((ALL,), (_COORDINATION,), ("leases",), (_NODE_LEASES,)),
                    ],
                }
            ],
            BY_USER,
        ),
        "system-nodes": of_groups("system", 500, (NODES,), BY_USER),
        "kube-controller-manager": _everything("workload-high", 800, managers, BY_NAMESPACE),
        "kube-scheduler": _everything("workload-high", 800, [_user(_SCHEDULER)], BY_NAMESPACE),
        "kube-system-service-accounts": _everything("workload-high", 900, in_kube_system, BY_NAMESPACE),
        "service-accounts": of_groups("workload-low", 9000, (SERVICE_ACCOUNTS,), BY_USER),
        "global-default": of_groups("global-default", 9900, _EVERYBODY, BY_USER),
        "catch-all": flowschema.CATCH_ALL_SPEC,
    }
    return [_object(flowschema.KIND.kind, name, spec) for name, spec in specs.items()]


def put_right(found: Json, wanted: Json) -> Json:
    """The merge patch that gives an object which exists the spec of the default one; {} if it has it, or if it says
    that it is not to be touched."""
    if ((found.get("metadata") or {}).get("annotations") or {}).get(AUTOUPDATE) != "true":
        return {}
    spec, before = wanted["spec"], found.get("spec") or {}
    if spec == before:
        return {}
    return {"spec": {**dict.fromkeys(before), **spec}}


def _level(shares: int, lendable: int, queues: int, hand: int) -> Json:
    queuing = {"queues": queues, "handSize": hand, "queueLengthLimit": 50}
    limited: Json = {
        "nominalConcurrencyShares": shares,
        "lendablePercent": lendable,
        "limitResponse": {"type": QUEUE, "queuing": queuing},
    }
    return {"type": LIMITED, "limited": limited}


def _schema(level: str, precedence: int, rules: list[Json], method: str = "") -> Json:
    spec: Json = {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": precedence,
        "rules": rules,
    }
    if method:
        spec["distinguisherMethod"] = {"type": method}
    return spec


def _everything(level: str, precedence: int, subjects: list[Json], method: str) -> Json:
    spec = of_groups(level, precedence, (), method)
    spec["rules"][0]["subjects"] = subjects
    return spec


def _groups(names: Iterable[str]) -> list[Json]:
    return [{"kind": USER_GROUP, "group": {"name": name}} for name in names]


def _user(name: str) -> Json:
    return {"kind": USER, "user": {"name": name}}


def _service_account(namespace: str) -> Json:
    return {"kind": SERVICE_ACCOUNT, "serviceAccount": {"name": ALL, "namespace": namespace}}


def _resources(
    verbs: Iterable[str],
    groups: Iterable[str],
    resources: Iterable[str],
    namespaces: Iterable[str],
    *,
    cluster: bool = False,
) -> Json:
    rule: Json = {"verbs": list(verbs), "apiGroups": list(groups), "resources": list(resources)}
    if cluster:
        rule["clusterScope"] = True
    if namespaces:
        rule["namespaces"] = list(namespaces)
    return rule


def _object(kind: str, name: str, spec: Json) -> Json:
    api_version = flowschema.KIND.api_version
    metadata = {"name": name, "annotations": {AUTOUPDATE: "true"}}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}
