"""`certificates`: requests for certificates, which an administrator approves and others try to.

1 s      three requests; jane may write to the approval of them all, and has no right to a signer
3 s      jane tries to approve each, and again every 6 s; her binding goes at 15 s and comes back at 21 s
9 s      the first is approved, the second denied by an administrator
27 s     the third is approved
40 s     the last fault
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.api.access.users import AUTHENTICATED, User
from fairlead.model.kinds.certificatesigningrequest import CLIENT
from fairlead.sim.faults import Faults
from fairlead.sim.generate.ingredients.rules import APPROVAL, REQUEST
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, delete, patch
from fairlead.sim.worlds import small

FAULTS = Faults(
    person_unheard=0.1, sync_slow=0.2, sync_failed=0.02, incident=0.3, incidents=(("server_crash", 3),)
)
_AT = ("certificates.k8s.io/v1", "certificatesigningrequests")
_RBAC = "rbac.authorization.k8s.io/v1"
_NAMES = ("first", "second", "third")
_JANE = User("jane", groups=(AUTHENTICATED,))
_DENIAL = {**APPROVAL, "type": "Denied"}


def scenario() -> Scenario:
    return Scenario(
        name="certificates",
        standing=(
            create(0.2, _RBAC, "clusterroles", _role(), ""),
            create(0.3, _RBAC, "clusterrolebindings", _binding(), ""),
        ),
        steps=(
            *[replace(create(1.0, *_AT, _request(name), ""), lane=name) for name in _NAMES],
            *[
                replace(_decide(float(at), name, APPROVAL), user=_JANE, tries=1)
                for at in range(3, 40, 6)
                for name in _NAMES
            ],
            replace(_decide(9.0, "first", APPROVAL), lane="first"),
            replace(_decide(9.0, "second", _DENIAL), lane="second"),
            replace(delete(15.0, _RBAC, "clusterrolebindings", "jane", ""), lane="jane"),
            replace(create(21.0, _RBAC, "clusterrolebindings", _binding(), ""), lane="jane"),
            replace(_decide(27.0, "third", APPROVAL), lane="third"),
        ),
        hollow_prefix="node-",
        planes=1,
        faults_until_seconds=40.0,
        seconds_min=50.0,
        seconds_max=400.0,
        quiet_seconds=50.0,
        deciders=small.controllers("garbage-collector"),
    )


def _request(name: str) -> Json:
    spec = {"request": REQUEST, "signerName": CLIENT, "usages": ["client auth"]}
    return {"kind": "CertificateSigningRequest", "metadata": {"name": name}, "spec": spec}


def _decide(at: float, name: str, condition: Json) -> ScenarioStep:
    return patch(at, *_AT, name, {"status": {"conditions": [condition]}}, "", subresource="approval")


def _role() -> Json:
    rule = {"apiGroups": ["certificates.k8s.io"], "resources": [f"{_AT[1]}/approval"], "verbs": ["patch"]}
    return {"kind": "ClusterRole", "metadata": {"name": "clerk"}, "rules": [rule]}


def _binding() -> Json:
    group = "rbac.authorization.k8s.io"
    return {
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "jane"},
        "subjects": [{"kind": "User", "name": "jane", "apiGroup": group}],
        "roleRef": {"kind": "ClusterRole", "name": "clerk", "apiGroup": group},
    }
