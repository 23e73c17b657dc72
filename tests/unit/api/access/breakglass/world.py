"""A whole API with the default roles, and people who have them: what tests of grants begin with."""

from __future__ import annotations

from typing import Any

from fairlead.api.access.rbac.default_roles import default_bindings, default_roles
from fairlead.api.access.users import AUTHENTICATED, MASTERS, User
from fairlead.model.catalog import CATALOG
from fairlead.model.kind import Json
from tests.inprocess import InProcess

GRANTS = "/apis/fairlead.dev/v1/accessgrants"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
PLANE = User("system:fairlead", groups=(MASTERS,))


def person(name: str, *groups: str) -> User:
    return User(name, groups=(*groups, AUTHENTICATED))


JANE = person("jane", "on-call")  # asks
JOE = person("joe", "on-call")  # has the same roles as jane, and approves nothing
ANN = person("ann")  # approves
BEN = person("ben")  # approves as well
EVE = person("eve")  # breaks glass
NOBODY = person("nobody")
BOUND = {
    "jane": ("fairlead:operator",),
    "joe": ("fairlead:operator",),
    "ann": ("fairlead:approver", "fairlead:operator"),
    "ben": ("fairlead:approver",),
    "eve": ("fairlead:break-glass",),
}


def bound(name: str, role: str) -> Json:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": f"{name}-{role.replace(':', '-')}"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}],
    }


def grant(name: str = "night", **spec: Any) -> Json:
    """Of edit in shop, for jane, for half an hour."""
    whole: Json = {
        "subject": {"kind": "User", "name": "jane"},
        "role": {"kind": "ClusterRole", "name": "edit"},
        "namespaces": ["shop"],
        "reason": "checkout is down",
        "expiresAfter": "30m",
        **spec,
    }
    given = {field: value for field, value in whole.items() if value is not None}
    return {"apiVersion": "fairlead.dev/v1", "kind": "AccessGrant", "metadata": {"name": name}, "spec": given}


class World(InProcess):
    def __init__(self) -> None:
        super().__init__()
        for name in ("shop", "bank"):
            made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            assert self.post("/api/v1/namespaces", made)[0] == 201
        bindings = [
            *default_bindings(),
            *(bound(name, role) for name, roles in BOUND.items() for role in roles),
        ]
        for obj in (*default_roles(CATALOG), *bindings):
            assert self.post(f"{RBAC}/{obj['kind'].lower()}s", obj)[0] == 201

    def ask(self, user: User = JANE, **spec: Any) -> tuple[int, Any]:
        name = spec.pop("name", "night")
        return self.post(GRANTS, grant(name, **spec), user=user)

    def decide(self, decision: str, user: User = ANN, name: str = "night") -> tuple[int, Any]:
        return self.patch(f"{GRANTS}/{name}/status", {"status": {"decision": decision}}, user=user)

    def review(self, note: str = "fine", user: User = ANN, name: str = "night") -> tuple[int, Any]:
        return self.patch(f"{GRANTS}/{name}/status", {"status": {"review": {"note": note}}}, user=user)

    def write(self, user: User = JANE, namespace: str = "shop", name: str = "menu") -> int:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        return self.post(f"/api/v1/namespaces/{namespace}/configmaps", body, user=user)[0]

    def approved(self, **spec: Any) -> None:
        assert self.ask(**spec)[0] == 201
        status, body = self.decide("Approved", name=spec.get("name", "night"))
        assert status == 200, body

    def stored(self, name: str = "night") -> Json:
        status, body = self.get(f"{GRANTS}/{name}")
        assert status == 200
        return dict(body)
