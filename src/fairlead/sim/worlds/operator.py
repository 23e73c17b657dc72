"""`operator`: a controller of somebody's own, as most that break are: it keeps an application as a ConfigMap says.

For each ConfigMap with an image it makes another one with a certificate, and a Deployment of the image, and notes which
image is the running one. `Operator` is the whole controller. It dies often, at and after every write.

    0 s     node-0
    2 s     application shop, of shop:1
    14 s    shop:2; 26 s: shop:3
    34 s    application cart, of cart:1; 42 s: cart:2
    60 s    the last fault
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from msgspec import field

from fairlead.decision.contract import NOTHING, SETTLED, Decision, Reading, Waiting
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.effects import Effect, premise_of
from fairlead.decision.ensure import ensure_child, ensure_fields
from fairlead.decision.wakes import by_controller
from fairlead.model.key import Key
from fairlead.model.views import DEPLOYMENTS, Deployment, Meta, Resource, View
from fairlead.sim.endstate import HISTORY
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, patch
from fairlead.sim.worlds import small

NAME = "operator"
RUNNING = "operator.fairlead.dev/running"
FAULTS = replace(small.FAULTS, crash_at_write=0.06, crash_after_write=0.08, crash_mid_step=0.004)


class App(View, frozen=True):
    metadata: Meta
    data: Mapping[str, str] = field(default_factory=dict)


APPS = Resource("configmaps", "v1", "ConfigMap", App)


class Operator:
    def decider(self) -> Decider:
        return Decider(
            name=NAME,
            reads=(APPS, DEPLOYMENTS),
            wakes=(
                Wake(APPS, _of_app),
                Wake(APPS, by_controller(APPS)),
                Wake(DEPLOYMENTS, by_controller(APPS)),
            ),
            decide=self.decide,
        )

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        app = view.get(APPS, key.namespace, key.name)
        if app is None or app.metadata.deletion_timestamp or "image" not in app.data:
            return NOTHING
        certificate = view.get(APPS, key.namespace, f"{key.name}-tls")
        deployment = view.get(DEPLOYMENTS, key.namespace, key.name)
        effects = self.steps(app, certificate, deployment)
        return Decision(Waiting("Changing") if effects else SETTLED, effects)

    def steps(self, app: App, certificate: App | None, deployment: Deployment | None) -> tuple[Effect, ...]:
        """What is due now. The note comes last: it says what is so."""
        missing = _made(self.certificate(app, certificate), self.deployment(app, deployment))
        if missing or deployment is None:
            return missing
        return _made(self.update(app, deployment)) or _made(self.note(app))

    def certificate(self, app: App, found: App | None) -> Effect | None:
        body = {
            "metadata": {"name": f"{app.metadata.name}-tls", **_owned(app)},
            "data": {"tls.crt": "of our own"},
        }
        return ensure_child(NAME, app.metadata, APPS, found, body, "tls", (premise_of(APPS, app.metadata),))

    def deployment(self, app: App, found: Deployment | None) -> Effect | None:
        made = small.workload("Deployment", app.metadata.name, 2, app.data["image"])
        made["metadata"].update(_owned(app))
        premises = (premise_of(APPS, app.metadata),)
        return ensure_child(NAME, app.metadata, DEPLOYMENTS, found, made, "deployment", premises)

    def update(self, app: App, found: Deployment) -> Effect | None:
        """All that its pods are made of is the image."""
        wanted = {"spec": {"template": small.template(app.metadata.name, app.data["image"])}}
        current = {"spec": {"template": found.spec.template}}
        is_so = found.spec.template["spec"]["containers"][0]["image"] == app.data["image"]
        return (
            None
            if is_so
            else ensure_fields(NAME, app.metadata, DEPLOYMENTS, found, app.data["image"], current, wanted)
        )

    def note(self, app: App) -> Effect | None:
        noted = {"metadata": {"annotations": {RUNNING: app.metadata.annotations.get(RUNNING)}}}
        wanted = {"metadata": {"annotations": {RUNNING: app.data["image"]}}}
        return ensure_fields(NAME, app.metadata, APPS, app, "running", noted, wanted)


def operator_decider() -> Decider:
    return Operator().decider()


def _made(*effects: Effect | None) -> tuple[Effect, ...]:
    return tuple(each for each in effects if each is not None)


def _of_app(event: WatchEvent[App]) -> Iterable[Key]:
    return (event.key,) if "image" in event.newest.data else ()


def _owned(app: App) -> Json:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": app.metadata.name, "uid": app.metadata.uid}
    return {"ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}]}


def scenario() -> Scenario:
    return replace(
        small.FRAME,
        name="operator",
        standing=(small.node(),),
        steps=(
            _app(2.0, "shop", 1),
            _image(14.0, "shop", 2),
            _image(26.0, "shop", 3),
            _app(34.0, "cart", 1),
            _image(42.0, "cart", 2),
        ),
        deciders=small.controllers("deployment", "replicaset", "garbage-collector", "progress"),
        controllers=(operator_decider,),
        allowed=(HISTORY,),
    )


def _app(at: float, name: str, version: int) -> ScenarioStep:
    body = {"kind": "ConfigMap", "metadata": {"name": name}, "data": {"image": f"{name}:{version}"}}
    return create(at, "v1", "configmaps", body)


def _image(at: float, name: str, version: int) -> ScenarioStep:
    return patch(at, "v1", "configmaps", name, {"data": {"image": f"{name}:{version}"}})
