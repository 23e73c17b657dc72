"""`custom-kubernetes`: custom kinds come and go on an API that can do no more than Kubernetes and collects nothing.

Lists are often lost, so that kinds are known for a while before anybody knows what there is of them; one kind nobody
may list for a while.

    1 s     definitions of beacons and lamps; a namespace
    2 s     Beacons; a Lamp and a ConfigMap of each, one of which keeps its owner waiting until 100 s; a ConfigMap
            that owns a Lamp; Beacons in the namespace
    10 s    the definition of buoys, a Buoy that belongs to a Beacon, a ConfigMap that belongs to the Buoy; before
            60 s no plane may list buoys
    24 s    the Beacons are deleted: in the background, in the foreground, without their dependents; the ConfigMap too
    30 s    the namespace is deleted
    36 s    the Beacon of the Buoy is deleted without it
    44 s    the definition of lamps goes, with a Lamp that owns a ConfigMap
    80 s    the last fault
    150 s   lamps are defined again; a Lamp and what it owns; it goes 20 s later
"""

from __future__ import annotations

from fairlead.control.roster import collecting_deciders
from fairlead.decision.decider import Decider
from fairlead.model.catalog import CATALOG
from fairlead.model.custom.definition import DEFINITIONS
from fairlead.model.key import Key
from fairlead.model.served import Served
from fairlead.port.capabilities import KUBERNETES
from fairlead.reconcile.custom_definition import definition_decider
from fairlead.sim.faults import Faults
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, create_owned, delete, patch
from fairlead.sim.worlds import sched_kubernetes

GROUP, VERSION = "example.com", "example.com/v1"
HELD = "example.com/not-yet"
_KINDS = ("namespaces", "configmaps", DEFINITIONS)
_CRDS = ("apiextensions.k8s.io/v1", "customresourcedefinitions")
_SCHEMA = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
FAULTS = Faults(
    request_lost=0.03,
    request_late=0.12,
    reply_lost=0.05,
    crash_at_write=0.03,
    list_lost=0.4,
    watch_lag=0.2,
    watch_broken=0.02,
    incident=0.1,
)


def deciders() -> tuple[Decider, ...]:
    """Kubernetes' API server empties and finalizes definitions itself, and waits for nobody's garbage collection."""
    kinds = Served(kind for kind in CATALOG if kind.resource in _KINDS)
    return (*collecting_deciders(kinds), definition_decider(kinds, awaits_dependents=False))


def scenario() -> Scenario:
    return Scenario(
        name="custom-kubernetes",
        steps=_steps(),
        hollow_prefix="node-",
        planes=2,
        faults_until_seconds=80.0,
        seconds_min=240.0,
        seconds_max=900.0,
        quiet_seconds=80.0,
        capabilities=KUBERNETES,
        leadership=sched_kubernetes.scenario().leadership,
        deciders=deciders,
        unlisted=((f"buoys.{GROUP}", 60.0),),
    )


def _steps() -> tuple[ScenarioStep, ...]:
    space = {"kind": "Namespace", "metadata": {"name": "team"}}
    return (
        create(1.0, *_CRDS, _definition("beacons", "Beacon"), ""),
        create(1.0, *_CRDS, _definition("lamps", "Lamp"), ""),
        create(1.0, "v1", "namespaces", space, ""),
        *(
            create(2.0, VERSION, "beacons", _object("Beacon", name))
            for name in ("gone", "slow", "free", "left")
        ),
        create(2.0, "v1", "configmaps", _object("ConfigMap", "root")),
        *(create(2.0, VERSION, "beacons", _object("Beacon", f"b{n}"), "team") for n in range(3)),
        *(_lamp(3.0, f"lamp-of-{name}", "beacons", "Beacon", name) for name in ("gone", "slow", "free")),
        *(_configmap(3.0, f"of-{name}", "beacons", "Beacon", name) for name in ("gone", "free")),
        _configmap(3.0, "of-slow", "beacons", "Beacon", "slow", HELD),
        _lamp(3.0, "lamp-of-root", "", "ConfigMap", "root"),
        create(3.0, VERSION, "lamps", _object("Lamp", "last")),
        _configmap(4.0, "of-last", "lamps", "Lamp", "last"),
        create(10.0, *_CRDS, _definition("buoys", "Buoy"), ""),
        _owned(11.0, VERSION, "buoys", _object("Buoy", "afloat"), "beacons", "Beacon", "left"),
        _configmap(12.0, "of-afloat", "buoys", "Buoy", "afloat"),
        delete(24.0, VERSION, "beacons", "gone"),
        delete(24.0, VERSION, "beacons", "slow", policy="Foreground"),
        delete(24.0, VERSION, "beacons", "free", policy="Orphan"),
        delete(24.0, "v1", "configmaps", "root"),
        delete(30.0, "v1", "namespaces", "team", ""),
        delete(36.0, VERSION, "beacons", "left", policy="Orphan"),
        delete(44.0, *_CRDS, f"lamps.{GROUP}", ""),
        patch(100.0, "v1", "configmaps", "of-slow", {"metadata": {"finalizers": None}}),
        create(150.0, *_CRDS, _definition("lamps", "Lamp"), ""),
        create(151.0, VERSION, "lamps", _object("Lamp", "new")),
        _configmap(152.0, "of-new", "lamps", "Lamp", "new"),
        delete(170.0, VERSION, "lamps", "new"),
    )


def _definition(plural: str, kind: str) -> Json:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _SCHEMA}}
    spec = {"group": GROUP, "scope": "Namespaced", "names": {"plural": plural, "kind": kind}}
    return {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {**spec, "versions": [version]},
    }


def _object(kind: str, name: str, *finalizers: str) -> Json:
    return {"kind": kind, "metadata": {"name": name, "finalizers": list(finalizers)}}


def _lamp(at: float, name: str, plural: str, kind: str, owner: str) -> ScenarioStep:
    return _owned(at, VERSION, "lamps", _object("Lamp", name), plural, kind, owner)


def _configmap(at: float, name: str, plural: str, kind: str, owner: str, *finalizers: str) -> ScenarioStep:
    return _owned(at, "v1", "configmaps", _object("ConfigMap", name, *finalizers), plural, kind, owner)


def _owned(at: float, version: str, plural: str, body: Json, of: str, kind: str, owner: str) -> ScenarioStep:
    """`of`: the owners' plural, "" for a ConfigMap."""
    resource, api_version = (f"{of}.{GROUP}", VERSION) if of else ("configmaps", "v1")
    return create_owned(at, version, plural, body, api_version, kind, Key(resource, "default", owner))
