"""Templates of pods and manifests, as ingredients share them. Every object of a workload is labelled `app=NAME`."""

from __future__ import annotations

from fairlead.sim.generate.contract import Setting, Thing
from fairlead.sim.generate.draw import Draw
from fairlead.sim.scenario import Json

CLASSES = ("urgent", "soon")  # names of PriorityClasses; whether there are such classes is another matter
_CPU = ("100m", "500m", "1")


def manifest(api_version: str, kind: str, name: str, namespace: str, **parts: object) -> Json:
    metadata: Json = {"name": name, "labels": {"app": name}}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **parts}


def template(draw: Draw, setting: Setting, name: str, runs_for: str = "") -> Json:
    """`runs_for`: it ends by itself after so long."""
    machine = setting.machines > 0
    container: Json = {
        "name": "main",
        "image": f"{name}:1",
        "resources": {"requests": {"cpu": draw.one_of("cpu", _CPU)}},
    }
    spec: Json = {"containers": [container]}
    metadata: Json = {"labels": {"app": name}}
    if machine:
        container["command"] = ["work", runs_for.rstrip("s")] if runs_for else ["serve"]
        spec["terminationGracePeriodSeconds"] = 5
        if runs_for:
            spec["restartPolicy"] = "OnFailure"  # what ends well and is started again never comes to rest
    elif runs_for:
        metadata["annotations"] = {"hollow.fairlead.dev/runs-for": runs_for}
    if any(thing.plural == "priorityclasses" for thing in setting.things) and draw.happens("class", 0.5):
        spec["priorityClassName"] = draw.one_of("which class", CLASSES)
    if setting.taints and draw.happens("tolerates", 0.5):
        spec["tolerations"] = [{"key": "example.com/kept", "operator": "Exists"}]
    if draw.happens("spread", 0.1):
        spread = {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "ScheduleAnyway",
        }
        spec["topologySpreadConstraints"] = [{**spread, "labelSelector": {"matchLabels": {"app": name}}}]
    return {"metadata": metadata, "spec": spec}


def workloads(setting: Setting) -> tuple[Thing, ...]:
    """Those drawn so far that have a template of pods."""
    return tuple(each for each in setting.things if "template" in each.manifest.get("spec", {}))
