"""What requests are judged by, in mid-run: who may write, what a policy makes of pods, who may approve a certificate.

Drawn apart from other ingredients, for some of the seeds, so that the others stay what they are. People who are no
administrators write as often as they are let: at the very moment in which their right is given or taken away as well.
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.api.access.users import AUTHENTICATED, User
from fairlead.model.kinds.certificatesigningrequest import CLIENT
from fairlead.sim.checkers.policies import SETS
from fairlead.sim.generate.contract import Action, Ingredient, Setting, Taken, Thing, thing_of
from fairlead.sim.generate.draw import Draw
from fairlead.sim.generate.ingredients.templates import manifest
from fairlead.sim.generate.people import RECREATE, lane_of, make
from fairlead.sim.scenario import Json, ScenarioStep, create, delete, patch

_RBAC = "rbac.authorization.k8s.io/v1"
_ADMISSION = "admissionregistration.k8s.io/v1"
_CERTIFICATES = "certificates.k8s.io/v1"
APPROVAL = {"type": "Approved", "status": "True", "reason": "People", "message": "as asked"}
# CN=ada, O=devs
REQUEST = (
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlHY01GQUNBUUF3SFRFTk1Bc0dBMVVFQ2d3RVpHVjJjekVN"
    "TUFvR0ExVUVBd3dEWVdSaE1Db3dCUVlESzJWdwpBeUVBT1A4ek1PcERVYUh6b3RTUHl1VHVLaWJ6VS9KOENYU3NuM2RjUHAr"
    "cy8ybWdBREFGQmdNclpYQURRUUJECkQ2bG9LVnNhZG1PR2E3bzJRa1Q1cFU3VHNUVVlBL25KcUVNTTRZeVlRc0RTSkpJMUNj"
    "RTRoWmx0RGVyQlVaa0YKVk51YXl2Mnl2MkFUeUJwcWtUUUEKLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg=="
)


def _write(draw: Draw, thing: Thing, at: float) -> Taken:
    """Whoever the binding names writes, whether it is there or not."""
    return Taken(thing, (_written(draw, thing, at, "write as somebody"),))


def _written(draw: Draw, thing: Thing, at: float, action: str) -> ScenarioStep:
    user = User(thing.manifest["subjects"][0]["name"], groups=(AUTHENTICATED,))
    name = f"{thing.name}-{draw.below('number', 1000)}"
    space = thing.namespace or "default"
    made = create(at, "v1", "secrets", {"kind": "Secret", "metadata": {"name": name}}, space)
    return replace(made, user=user, tries=1, action=action)


def _take_away(draw: Draw, thing: Thing, at: float) -> Taken:
    gone = delete(at, thing.api_version, thing.plural, thing.name, thing.namespace)
    gone = replace(gone, lane=lane_of(thing), action="take a right away", tries=20)
    back = replace(make(at + draw.one_of("gap", (0.5, 3.0)), thing), action="give it back", anew=True)
    tried = [_written(draw, thing, when, "write meanwhile") for when in (at, at + 0.3, back.at_seconds)]
    return Taken(thing, (gone, *tried, back))


WRITE, TAKE_AWAY = Action("write as somebody", _write), Action("take a right away", _take_away)


def _right(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    everywhere = draw.happens("everywhere", 0.3)
    space = "" if everywhere else setting.namespace
    role_kind = "Role" if space and draw.happens("role", 0.4) else "ClusterRole"
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]}]
    role = manifest(_RBAC, role_kind, f"{name}-writer", space if role_kind == "Role" else "", rules=rules)
    kind = "ClusterRoleBinding" if everywhere else "RoleBinding"
    group = "rbac.authorization.k8s.io"
    bound = manifest(
        _RBAC,
        kind,
        name,
        space,
        subjects=[{"kind": "User", "name": f"{name}-dev", "apiGroup": group}],
        roleRef={"kind": role_kind, "name": f"{name}-writer", "apiGroup": group},
    )
    return (thing_of(role, RECREATE), thing_of(bound, WRITE, TAKE_AWAY, TAKE_AWAY, RECREATE))


def _policy(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    """Pods get a label of this policy's own, by which they can be told from others."""
    label = f"example.com/{name}"
    text = f"Object{{metadata: Object.metadata{{labels: {{'{label}': 'set'}}}}}}"
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    spec: Json = {
        "matchConstraints": {"resourceRules": [rule]},
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}}],
        "reinvocationPolicy": "Never",
    }
    policy = manifest(_ADMISSION, "MutatingAdmissionPolicy", name, "", spec=spec)
    policy["metadata"]["annotations"] = {SETS: f"{label}=set"}
    bound = manifest(_ADMISSION, "MutatingAdmissionPolicyBinding", name, "", spec={"policyName": name})
    return (thing_of(policy, RECREATE), thing_of(bound, RECREATE, RECREATE))


def _approve(draw: Draw, thing: Thing, at: float) -> Taken:
    """By an administrator, or by somebody who may not; what comes of it in the end is the same."""
    change = {"status": {"conditions": [APPROVAL]}}
    made = patch(at, thing.api_version, thing.plural, thing.name, change, "", subresource="approval")
    if draw.happens("anybody", 0.6):
        anybody = User("anybody", groups=(AUTHENTICATED,))
        return Taken(thing, (replace(made, user=anybody, tries=1, action="approve without a right"),))
    return Taken(thing, (replace(made, lane=lane_of(thing), tries=4, action="approve"),))


APPROVE = Action("approve", _approve)


def _certificate(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    spec = {"request": REQUEST, "signerName": CLIENT, "usages": ["client auth"]}
    made = manifest(_CERTIFICATES, "CertificateSigningRequest", name, "", spec=spec)
    return (thing_of(made, APPROVE, APPROVE, RECREATE),)


# How much people may write, and what a role that comes back may have missed, is chance's.
RULES = (
    Ingredient("Right", _right, contends=True),
    Ingredient("AdmissionPolicy", _policy, contends=True),
    Ingredient("CertificateSigningRequest", _certificate, contends=True),
)
