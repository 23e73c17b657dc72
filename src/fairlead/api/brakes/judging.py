"""Whether a brake refuses a write: new work, or another pod template, by somebody who is bound by it.

Asked by `api/writing.py` of every write that passed admission, if there is a brake at all. Not bound are the plane,
whose controllers go on repairing what exists, nodes, and whoever makes a pod or workload for a controller that exists:
what runs is neither ended nor kept from being mended. Whoever has the verb `bypass` on the freeze, or on PlaneSettings
`default`, passes, is told so, and leaves a mark in the audit log.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.api.access.contract import Attributes, Authorizer
from fairlead.api.admission.plane_conditions import is_plane
from fairlead.api.attempt import Attempt
from fairlead.api.brakes.in_force import BrakeInForce, Brakes
from fairlead.api.plan import Context
from fairlead.model.catalog import CATALOG
from fairlead.model.key import Key
from fairlead.model.kind import Json, Kind
from fairlead.model.kinds.workload import part

MARK = "fairlead.dev/bypassed"  # the annotation of the audit line
# Where each kind of work keeps the template of its pods; a bare pod is its own.
TEMPLATES = {
    "deployments.apps": "template",
    "statefulsets.apps": "template",
    "daemonsets.apps": "template",
    "replicasets.apps": "template",
    "jobs.batch": "template",
    "cronjobs.batch": "jobTemplate",
}
WORK = frozenset({*TEMPLATES, "pods"})
# Which controllers make it, of those that come with the API; what is none of these has none.
_MAKERS = {
    "pods": frozenset(TEMPLATES) - {"cronjobs.batch"},
    "replicasets.apps": frozenset({"deployments.apps"}),
    "jobs.batch": frozenset({"cronjobs.batch"}),
}


def concerns_creates(brakes: Brakes, kind: Kind, namespace: str, context: Context) -> bool:
    """Whether such a create is judged now, so that one like it before says nothing."""
    if kind.resource not in WORK or is_plane(context.user):
        return False
    return next(brakes.on_creates(namespace, context.now), None) is not None


def check_brakes(attempt: Attempt, brakes: Brakes, authorizer: Authorizer) -> None:
    """Forbidden if one of them refuses it, with its words and its end."""
    kind, new, old, user = attempt.kind.resource, attempt.new, attempt.old, attempt.context.user
    if kind not in WORK or attempt.subresource or new is None or attempt.verb == "delete":
        return
    if is_plane(user) or user.node_name:
        return
    namespace, now = attempt.key.namespace, attempt.context.now
    if old is None:
        if not _is_made_for_a_controller(attempt, new):
            _pass(attempt, brakes.on_creates(namespace, now), authorizer)
        return
    field = TEMPLATES.get(kind)
    if field is not None and part(new, "spec").get(field) != part(old, "spec").get(field):
        _pass(attempt, brakes.on_rollouts(namespace, now), authorizer)


def _pass(attempt: Attempt, brakes: Iterable[BrakeInForce], authorizer: Authorizer) -> None:
    user = attempt.context.user
    for brake in brakes:
        if user.name in brake.users or any(group in brake.groups for group in user.groups):
            continue
        asked = Attributes(
            user=user, verb="bypass", group=brake.group, version="v1", plural=brake.resource, name=brake.name
        )
        if not authorizer.authorize(asked).allowed:
            raise attempt.forbidden(
                f"{brake.told}; who has the verb bypass on {brake.resource}.{brake.group} "
                f'"{brake.name}" may all the same'
            )
        attempt.warnings.append(f"{brake.told}; you may pass it, and that is in the audit log")
        attempt.annotations[MARK] = ",".join(
            filter(None, (attempt.annotations.get(MARK), f"{brake.resource}/{brake.name}"))
        )


def _is_made_for_a_controller(attempt: Attempt, new: Json) -> bool:
    """Whether its controller is an object that exists and makes such: then it is no new work, but the mending of what
    there is."""
    makers = _MAKERS.get(attempt.kind.resource, frozenset())
    for owner in part(new, "metadata").get("ownerReferences") or ():
        if not owner.get("controller"):
            continue
        group, slash, version = str(owner.get("apiVersion") or "").rpartition("/")
        kind = CATALOG.find_kind(group if slash else "", version, str(owner.get("kind") or ""))
        if kind is None or kind.resource not in makers:
            return False
        key = Key(
            kind.resource, attempt.key.namespace if kind.namespaced else "", str(owner.get("name") or "")
        )
        entry = attempt.read.get(key)
        return entry is not None and entry.uid == owner.get("uid")
    return False
