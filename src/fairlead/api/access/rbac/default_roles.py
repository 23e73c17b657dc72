"""The roles and bindings that every plane has: Kubernetes' own that clients and charts take for granted, and ours.

Made, and completed where rules or subjects are missing, when a server starts (`runtime/server/bootstrap.py`), as
Kubernetes does it; whoever wants to change one for good gives it the annotation AUTOUPDATE with "false". Pure: the
rules follow from the kinds that there are.

    cluster-admin       everything; bound to system:masters, who need no binding
    admin, edit, view   what people bind in namespaces: each gathers the roles that carry its label
    system:*            discovery and questions about oneself, health, nodes' and brokers' rights
    fairlead:viewer     reads everything but Secrets, custom kinds included (`reconcile/viewer_role.py`); what
                        `fairlead token create --role viewer` gives
    fairlead:operator   acts in an incident through objects that end: drains nodes, evicts, overrides, runs of
                        runbooks, asks for grants
    fairlead:approver   decides about grants that others ask for, of view, edit and admin, and closes their reviews
    fairlead:break-glass  approves its own grants of view, edit and admin: at once, and with an alarm
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.api.access.rbac.rules import missing, rules_of
from fairlead.api.access.reviews import AUTHENTICATION, AUTHORIZATION, REVIEWS
from fairlead.api.access.users import AUTHENTICATED, MASTERS, UNAUTHENTICATED, VIEWERS
from fairlead.api.empty_kinds import EMPTY
from fairlead.api.metrics import METRICS
from fairlead.model.aggregation import gather_rules
from fairlead.model.kind import Json, Kind
from fairlead.model.kinds.role import CLUSTER_ROLE, GROUP, TO_VIEWER, VIEWER
from fairlead.model.kinds.rolebinding import CLUSTER_ROLE_BINDING, USER_GROUP

AUTOUPDATE = "rbac.authorization.kubernetes.io/autoupdate"
BOOTSTRAPPING = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"

READ = ("get", "list", "watch")
WRITE = ("create", "delete", "deletecollection", "patch", "update")
_ROLES = ("roles", "rolebindings")
# Kinds of a namespace that those who work in it read and do not write: what bounds them, and what others keep for them.
_READ_ONLY = frozenset(
    {
        "controllerrevisions",
        "endpointslices",
        "leases",
        "limitranges",
        "placementquotas",
        "replicationcontrollers",
        "reservations",
        "resourcequotas",
    }
)
_GATHERING = ("view", "edit", "admin", VIEWER)  # each after those that it gathers
_READ_SUBRESOURCES = ("status", "scale", "log")
_SECRETS = "secrets"
FAIRLEAD = "fairlead.dev"
_DISCOVERY = ("/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", "/version", "/version/")
_HEALTH = ("/healthz", "/livez", "/readyz", "/version", "/version/")


def default_roles(kinds: Iterable[Kind]) -> list[Json]:
    """Every ClusterRole, in the order in which they are made."""
    known = [*kinds, *EMPTY]
    spaced = [kind for kind in known if kind.namespaced and kind.plural not in _ROLES]
    plain = [kind for kind in spaced if kind.plural != _SECRETS]
    written = [kind for kind in spaced if kind.plural not in _READ_ONLY and kind.plural != "events"]
    everything: list[Json] = [_rule(("*",), ("*",), ("*",)), _paths(("*",), ("*",))]
    questions = [each.plural for each in REVIEWS if each.about_oneself and each.group == AUTHORIZATION]
    view = [
        *_rules(READ, plain, _READ_SUBRESOURCES),
        _rule(READ, ("",), ("namespaces",)),
        _measured(("pods",)),
    ]
    edit = [
        *_rules(WRITE, written, ("scale",)),
        _rule(READ, ("",), (_SECRETS,)),
        _rule(("create",), ("",), ("pods/eviction", "serviceaccounts/token")),
        _rule(("impersonate",), ("",), ("serviceaccounts",)),
    ]
    admin = [
        _rule((*READ, *WRITE), (GROUP,), _ROLES),
        _rule(("create",), (AUTHORIZATION,), ("localsubjectaccessreviews",)),
    ]
    readable = [kind for kind in known if kind.plural != _SECRETS]
    roles = [
        _role("cluster-admin", everything),
        _gathering("admin", (_AGGREGATE + "admin",)),
        _gathering("edit", (_AGGREGATE + "edit",), {_AGGREGATE + "admin": "true"}),
        _gathering("view", (_AGGREGATE + "view",), {_AGGREGATE + "edit": "true"}),
        _role("system:aggregate-to-admin", admin, {_AGGREGATE + "admin": "true"}),
        _role("system:aggregate-to-edit", edit, {_AGGREGATE + "edit": "true"}),
        _role("system:aggregate-to-view", view, {_AGGREGATE + "view": "true"}),
        _role("system:discovery", [_paths(("get",), (*_DISCOVERY, *_HEALTH[:3]))]),
        _role("system:public-info-viewer", [_paths(("get",), _HEALTH)]),
        _role(
            "system:basic-user",
            [
                _rule(("create",), (AUTHORIZATION,), questions),
                _rule(("create",), (AUTHENTICATION,), ("selfsubjectreviews",)),
            ],
        ),
        _role("system:monitoring", [_paths(("get",), ("/metrics", "/healthz/*", "/livez/*", "/readyz/*"))]),
        _role(
            "system:auth-delegator",
            [
                _rule(("create",), (AUTHENTICATION,), ("tokenreviews",)),
                _rule(("create",), (AUTHORIZATION,), ("subjectaccessreviews",)),
            ],
        ),
        _gathering(VIEWER, (TO_VIEWER,)),
        _role(
            f"{VIEWER}:kinds",
            [
                *_rules(READ, readable, _READ_SUBRESOURCES),
                _measured(("nodes", "pods")),
                _paths(("get",), ("*",)),
            ],
            {TO_VIEWER: "true"},
        ),
    ]
    roles += _of_incidents(readable)
    for name in _GATHERING:
        role = next(each for each in roles if each["metadata"]["name"] == name)
        role["rules"] = gather_rules(role, roles)
    return roles


def _of_incidents(readable: list[Kind]) -> list[Json]:
    """Roles that people have in an incident; nobody has them by default."""
    decide = _rule(("get", "patch", "update"), (FAIRLEAD,), ("accessgrants/status",))
    # Who asks may write the status as well: what they decide there is judged, and they may give up what is theirs.
    ask = [_rule(("create", *READ), (FAIRLEAD,), ("accessgrants",)), decide]
    granted = ("admin", "edit", "view")
    return [
        _role(
            "fairlead:operator",
            [
                *_rules(READ, readable, _READ_SUBRESOURCES),
                _rule(("patch", "update"), ("",), ("nodes",)),
                _rule(("create",), ("",), ("pods/eviction",)),
                # A run does nothing that who created it may not do.
                _rule(WRITE, (FAIRLEAD,), ("runbookruns", "scheduleroverrides")),
                *ask,
                _paths(("get",), ("*",)),
            ],
        ),
        _role(
            "fairlead:approver",
            [
                _rule(READ, (FAIRLEAD,), ("accessgrants", "scheduleroverrides")),
                _rule(("get", "patch", "update"), (FAIRLEAD,), ("scheduleroverrides/approval",)),
                decide,
                _named(("approve",), FAIRLEAD, "grantedroles", granted),
                _named(("bind",), GROUP, "clusterroles", granted),
            ],
        ),
        _role("fairlead:break-glass", [*ask, _named(("break-glass",), FAIRLEAD, "grantedroles", granted)]),
    ]


def default_bindings() -> list[Json]:
    """Every ClusterRoleBinding."""
    return [
        _binding("cluster-admin", "cluster-admin", MASTERS),
        _binding("system:discovery", "system:discovery", AUTHENTICATED),
        _binding("system:basic-user", "system:basic-user", AUTHENTICATED),
        _binding("system:public-info-viewer", "system:public-info-viewer", AUTHENTICATED, UNAUTHENTICATED),
        _binding(VIEWER, VIEWER, VIEWERS),
    ]


def completed(found: Json, wanted: Json) -> Json:
    """The merge patch that gives a role or binding which exists what it lacks of the default one; {} if that is
    nothing, or if it says that it is not to be touched."""
    if ((found.get("metadata") or {}).get("annotations") or {}).get(AUTOUPDATE) == "false":
        return {}
    patch: Json = {}
    have = rules_of(found)
    gathers = "aggregationRule" in wanted  # then its rules are kept by `reconcile/role_aggregation.py`
    lacking = [
        given
        for given, rule in zip(wanted.get("rules") or (), rules_of(wanted), strict=True)
        if not gathers and any(missing(have, (rule,)))
    ]
    if lacking:
        patch["rules"] = [*(found.get("rules") or ()), *lacking]
    subjects = [each for each in wanted.get("subjects") or () if each not in (found.get("subjects") or ())]
    if subjects:
        patch["subjects"] = [*(found.get("subjects") or ()), *subjects]
    labels = (found.get("metadata") or {}).get("labels") or {}
    lost = {key: value for key, value in wanted["metadata"]["labels"].items() if key not in labels}
    if lost:
        patch["metadata"] = {"labels": lost}
    return patch


def _rules(verbs: Iterable[str], kinds: Iterable[Kind], subresources: tuple[str, ...]) -> list[Json]:
    """One rule for each group, with the kinds of it and their subresources of these."""
    by_group: dict[str, dict[str, None]] = {}
    for kind in kinds:
        named = by_group.setdefault(kind.group, {})
        named[kind.plural] = None
        named.update({f"{kind.plural}/{each}": None for each in subresources if each in kind.subresources})
    return [_rule(verbs, (group,), sorted(named)) for group, named in sorted(by_group.items())]


def _measured(plurals: tuple[str, ...]) -> Json:
    return _rule(("get", "list"), (METRICS[0].group,), plurals)


def _rule(verbs: Iterable[str], groups: Iterable[str], resources: Iterable[str]) -> Json:
    return {"apiGroups": list(groups), "resources": list(resources), "verbs": list(verbs)}


def _named(verbs: Iterable[str], group: str, resource: str, names: Iterable[str]) -> Json:
    return {**_rule(verbs, (group,), (resource,)), "resourceNames": list(names)}


def _paths(verbs: Iterable[str], urls: Iterable[str]) -> Json:
    return {"nonResourceURLs": list(urls), "verbs": list(verbs)}


def _role(name: str, rules: list[Json], labels: Mapping[str, str] | None = None) -> Json:
    return {**_object(CLUSTER_ROLE, name, labels), "rules": rules}


def _gathering(name: str, keys: tuple[str, ...], labels: Mapping[str, str] | None = None) -> Json:
    """A role that has the rules of those which carry one of these labels."""
    selectors = [{"matchLabels": {key: "true"}} for key in keys]
    return {**_object(CLUSTER_ROLE, name, labels), "aggregationRule": {"clusterRoleSelectors": selectors}}


def _binding(name: str, role: str, *groups: str) -> Json:
    subjects = [{"apiGroup": GROUP, "kind": USER_GROUP, "name": group} for group in groups]
    reference = {"apiGroup": GROUP, "kind": CLUSTER_ROLE.kind, "name": role}
    return {**_object(CLUSTER_ROLE_BINDING, name, None), "roleRef": reference, "subjects": subjects}


def _object(kind: Kind, name: str, labels: Mapping[str, str] | None) -> Json:
    metadata: Json = {
        "name": name,
        "labels": {**BOOTSTRAPPING, **(labels or {})},
        "annotations": {AUTOUPDATE: "true"},
    }
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
