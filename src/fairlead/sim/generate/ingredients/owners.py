"""Owners and what they own, pods by themselves, reservations, and objects that no controller cares for."""

from __future__ import annotations

from fairlead.sim.generate.contract import Ingredient, Setting, Thing, thing_of
from fairlead.sim.generate.draw import Draw
from fairlead.sim.generate.ingredients.templates import manifest, template, workloads
from fairlead.sim.generate.people import APPLY, DELETE, EVICT, MARK, RECREATE, REPLACE, set_fields
from fairlead.sim.scenario import Json

_DATA = set_fields("change data", {"data": {"a": "c"}}, {"data": {"a": None}})


def _family(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    """A ConfigMap and what belongs to it."""
    owner = thing_of(
        manifest("v1", "ConfigMap", name, setting.namespace, data={"a": "b"}),
        DELETE,
        DELETE,
        RECREATE,
        _DATA,
        REPLACE,
    )
    child: Json = manifest("v1", "Secret", f"{name}-child", setting.namespace)
    return owner, thing_of(child, owner=owner)


def _pod(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    made = template(draw, setting, name, draw.one_of("runs for", ("", "3s")))
    body = manifest("v1", "Pod", name, setting.namespace, spec=made["spec"])
    body["metadata"]["annotations"] = made["metadata"].get("annotations", {})
    if not body["metadata"]["annotations"]:
        del body["metadata"]["annotations"]
    return (thing_of(body, DELETE, RECREATE, EVICT, MARK),)


def _reservation(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    owners = workloads(setting)
    if not owners:
        return ()
    owner = draw.one_of("owner", owners)
    named = {"apiVersion": owner.api_version, "kind": owner.manifest["kind"], "name": owner.name, "uid": ""}
    spec: Json = {
        "owner": named,
        "intent": "recover",
        "nodeSelector": {},
        "requests": {"cpu": "1"},
        "ttlSeconds": draw.one_of("ttl", (5, 3600)),
    }
    made = manifest("fairlead.dev/v1", "Reservation", name, setting.namespace, spec=spec)
    return (thing_of(made, owner=owner),)  # its name follows from its owner's uid, which nobody knows yet


def _odds(draw: Draw, setting: Setting, name: str) -> tuple[Thing, ...]:
    """Kinds that are stored and read by nobody here."""
    runtime = manifest("node.k8s.io/v1", "RuntimeClass", name, "", handler="runc")
    audit = manifest("fairlead.dev/v1", "AuditPolicy", "default", "", spec={"rules": [{"level": "Metadata"}]})
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    spec = {"scaleTargetRef": target, "maxReplicas": 3}
    scaler = manifest("autoscaling/v2", "HorizontalPodAutoscaler", name, setting.namespace, spec=spec)
    made = draw.one_of("which", (runtime, audit, scaler))
    if any(thing.resource == thing_of(made).resource for thing in setting.things):
        return ()
    return (thing_of(made, DELETE, APPLY),)


INGREDIENTS = (
    Ingredient("family", _family, weight=3),
    Ingredient("Pod", _pod, weight=2, contends=True),
    Ingredient("Reservation", _reservation, weight=3, contends=True, only_complete=True),
    Ingredient("odds", _odds, weight=1, only_complete=True),
)
