"""What people do with things, as data: an `Action` each. Ingredients say which apply to theirs.

People ask through the same API as everybody and wait for the answer before they do the next thing with the same
object (`ScenarioStep.lane`). What they cannot have they give up after a few tries (`tries`).
"""

from __future__ import annotations

from dataclasses import replace

from fairlead.api.access.users import MASTERS, User
from fairlead.core import codec
from fairlead.port.request import APPLY_PATCH, STRATEGIC_PATCH, Request
from fairlead.sim.generate.contract import Action, Taken, Thing
from fairlead.sim.generate.draw import Draw
from fairlead.sim.scenario import (
    Json,
    Pick,
    ScenarioStep,
    create,
    create_owned,
    delete,
    evict,
    patch,
)

TRIES = 4
_SECOND = User("second", groups=(MASTERS,))
MARKED = "mark for disruption"
_POLICIES = ("Background", "Foreground", "Orphan")
_SOON, _FAR = (0.0, 0.02, 0.3, 1.0), (4.0, 9.0)


def make(at: float, thing: Thing, tries: int = 20) -> ScenarioStep:
    """The step that creates it."""
    body = {key: value for key, value in thing.manifest.items() if key != "apiVersion"}
    if thing.owner is not None and "spec" in body and "owner" in body["spec"]:
        step = create(at, thing.api_version, thing.plural, body, thing.namespace)
        step = replace(step, owner=thing.owner.key)
    elif thing.owner is not None:
        owner = thing.owner
        kind = str(owner.manifest["kind"])
        step = create_owned(at, thing.api_version, thing.plural, body, owner.api_version, kind, owner.key)
    else:
        step = create(at, thing.api_version, thing.plural, body, thing.namespace)
    return replace(step, lane=lane_of(thing), action="create", tries=tries)


def lane_of(thing: Thing) -> str:
    return "/".join(filter(None, thing.key))


def _step(step: ScenarioStep, thing: Thing, action: str, tries: int = TRIES) -> ScenarioStep:
    return replace(step, lane=lane_of(thing), action=action, tries=tries)


def _patched(at: float, thing: Thing, change: Json, action: str, subresource: str = "") -> ScenarioStep:
    made = patch(at, thing.api_version, thing.plural, thing.name, change, thing.namespace, subresource)
    return _step(made, thing, action)


def _edit(draw: Draw, thing: Thing, at: float) -> Taken:
    revision = thing.revisions + 1
    template = with_image(thing.manifest["spec"]["template"], f"{thing.name}:{revision + 1}")
    wanted = replace(thing.changed(template=template), revisions=revision)
    return Taken(wanted, (_patched(at, thing, {"spec": {"template": template}}, "edit template"),))


def _roll_back(draw: Draw, thing: Thing, at: float) -> Taken:
    """To the first template, perhaps while the one after it is still rolled out."""
    edited = _edit(draw, thing, at)
    template = with_image(thing.manifest["spec"]["template"], f"{thing.name}:1")
    back = at + draw.one_of("distance", (*_SOON, *_FAR))
    step = _patched(back, thing, {"spec": {"template": template}}, "roll back")
    return Taken(thing.changed(template=template), (*edited.steps, step))


def _scale(draw: Draw, thing: Thing, at: float) -> Taken:
    replicas = draw.below("replicas", 4)
    change = {"spec": {"replicas": replicas}}
    return Taken(thing.changed(replicas=replicas), (_patched(at, thing, change, "scale"),))


def _scale_subresource(draw: Draw, thing: Thing, at: float) -> Taken:
    replicas = draw.below("replicas", 4)
    change = {"spec": {"replicas": replicas}}
    step = _patched(at, thing, change, "scale by subresource", "scale")
    return Taken(thing.changed(replicas=replicas), (step,))


def _apply(draw: Draw, thing: Thing, at: float) -> Taken:
    """All of it, declared anew, with one thing changed."""
    wanted = thing
    if "replicas" in thing.manifest.get("spec", {}):
        wanted = thing.changed(replicas=draw.below("replicas", 4))
    query = {"fieldManager": "people", "force": "true"}
    request = _whole("patch", wanted, query=query, content_type=APPLY_PATCH)
    return Taken(wanted, (_step(ScenarioStep(at, request), thing, "apply"),))


def _replace(draw: Draw, thing: Thing, at: float) -> Taken:
    """Written as a whole, whatever became of it meanwhile."""
    request = _whole("update", thing)
    return Taken(thing, (_step(ScenarioStep(at, request), thing, "replace"),))


def _whole(verb: str, thing: Thing, **more: object) -> Request:
    group, _, version = thing.api_version.rpartition("/")
    body = codec.encode(thing.manifest)
    where = (group, version, thing.plural, thing.namespace, thing.name)
    return Request(verb, *where, body=body, **more)  # type: ignore[arg-type]


def _delete(draw: Draw, thing: Thing, at: float) -> Taken:
    policy = draw.one_of("policy", _POLICIES)
    return Taken(None, (_deleted(at, thing, policy),))


def _deleted(at: float, thing: Thing, policy: str) -> ScenarioStep:
    made = delete(at, thing.api_version, thing.plural, thing.name, thing.namespace, policy)
    return _step(made, thing, f"delete {policy}")


def _recreate(draw: Draw, thing: Thing, at: float) -> Taken:
    """Deleted and made again under the same name: at once, or when all of it is long gone."""
    policy = draw.one_of("policy", _POLICIES)
    soon = draw.happens("soon", 0.7)
    later = at + (draw.one_of("gap", _SOON) if soon else draw.one_of("gap", _FAR))
    name = "recreate at once" if soon else "recreate far apart"
    made = replace(make(later, thing, tries=20 if thing.plural == "beacons" else 60), action=name, anew=True)
    return Taken(thing, (_deleted(at, thing, policy), made))


def _evict(draw: Draw, thing: Thing, at: float) -> Taken:
    step = evict(at, "", thing.namespace)
    step = replace(step, pick=pods_of(thing, 1), tries=TRIES, action="evict", lane=f"evictor of {thing.name}")
    return Taken(thing, (step,))


def _delete_pods(draw: Draw, thing: Thing, at: float) -> Taken:
    """All its pods at once, by force or not."""
    grace: Json = {"gracePeriodSeconds": 0} if draw.happens("force", 0.4) else {}
    body = codec.encode({"kind": "DeleteOptions", "apiVersion": "v1", **grace})
    query = {"labelSelector": f"app={thing.name}"}
    request = Request("deletecollection", "", "v1", "pods", thing.namespace, query=query, body=body)
    return Taken(thing, (_step(ScenarioStep(at, request), thing, "delete pods"),))


def _mark(draw: Draw, thing: Thing, at: float) -> Taken:
    """As who is about to evict it would, and then does not."""
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    change = {"status": {"conditions": [condition]}}
    group, _, version = thing.api_version.rpartition("/")
    where = (group, version, thing.plural, thing.namespace, thing.name, "status")
    request = Request("patch", *where, body=codec.encode(change), content_type=STRATEGIC_PATCH)
    return Taken(thing, (_step(ScenarioStep(at, request), thing, MARKED),))


def _approve_override(draw: Draw, thing: Thing, at: float) -> Taken:
    """By a second person; refused where nobody has to."""
    approved = {"type": "Approved", "status": "True", "reason": "Approved", "message": "approved"}
    made = _patched(at, thing, {"status": {"conditions": [approved]}}, "approve an override", "approval")
    return Taken(thing, (replace(made, user=_SECOND),))


def pods_of(thing: Thing, most: int) -> Pick:
    return Pick("pods", thing.namespace, (("app", thing.name),), most=most)


def set_fields(name: str, *changes: Json) -> Action:
    """One of these merge patches."""

    def take(draw: Draw, thing: Thing, at: float) -> Taken:
        change = draw.one_of("change", changes)
        wanted = replace(thing, manifest=_merged(thing.manifest, change))
        return Taken(wanted, (_patched(at, thing, change, name),))

    return Action(name, take)


def _merged(manifest: Json, change: Json) -> Json:
    merged = dict(manifest)
    for key, value in change.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(merged.get(key) or {}, value) if isinstance(value, dict) else value
    return merged


def with_image(template: Json, image: str) -> Json:
    containers = [{**each, "image": image} for each in template["spec"]["containers"]]
    return {**template, "spec": {**template["spec"], "containers": containers}}


EDIT, ROLL_BACK = Action("edit template", _edit), Action("roll back", _roll_back)
SCALE, SCALE_SUBRESOURCE = Action("scale", _scale), Action("scale by subresource", _scale_subresource)
APPLY, REPLACE = Action("apply", _apply), Action("replace", _replace)
DELETE, RECREATE = Action("delete", _delete), Action("recreate", _recreate)
EVICT, DELETE_PODS = Action("evict", _evict), Action("delete pods", _delete_pods)
MARK = Action("mark for disruption", _mark)
APPROVE_OVERRIDE = Action("approve an override", _approve_override)
PLAIN = (APPLY, REPLACE, DELETE, RECREATE)
