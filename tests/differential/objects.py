"""Small objects that the tables are written with. Partial ones are what an applier has an opinion about."""

from __future__ import annotations

from typing import Any

from tests.unit.api.things import CONFIGMAPS, DEPLOYMENTS

Json = dict[str, Any]

CM = f"{CONFIGMAPS}/settings"
WEB = f"{DEPLOYMENTS}/web"
SCALE = f"{WEB}/scale"
STATUS = f"{WEB}/status"
SERVICE = "/api/v1/namespaces/default/services/web"

POD = ".spec.template.spec"  # where a deployment's pods are described, as an owned field
IN_POD = "spec.template.spec"  # and as a path


def cm(data: Json | None = None, labels: Json | None = None, **metadata: Any) -> Json:
    """A ConfigMap called settings."""
    meta: Json = {"name": "settings", **metadata}
    if labels is not None:
        meta["labels"] = labels
    made: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
    return made if data is None else {**made, "data": data}


def deployment(pod: Json | None = None, **spec: Any) -> Json:
    """A whole Deployment called web with a container web; `pod` changes its pods."""
    inside = {"containers": [{"name": "web", "image": "web:1"}], **(pod or {})}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": inside}
    whole = {"selector": {"matchLabels": {"app": "web"}}, "template": template, **spec}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": whole}


def part(pod: Json | None = None, **spec: Any) -> Json:
    """A part of that Deployment."""
    if pod is not None:
        spec["template"] = {"spec": pod}
    made: Json = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    return {**made, "spec": spec} if spec else made


def of_web(**fields: Any) -> Json:
    """A part of the container web."""
    return part({"containers": [{"name": "web", **fields}]})


def status(**fields: Any) -> Json:
    """A part of the status of that Deployment."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "status": fields,
    }


def scale(replicas: int) -> Json:
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": replicas},
    }


def service(*ports: Json, **spec: Any) -> Json:
    made: Json = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {**spec}}
    if ports:
        made["spec"]["ports"] = list(ports)
    return made


def budget(**spec: Any) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": spec,
    }


def owner(uid: str, name: str = "boss") -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}


def web(path: str) -> str:
    """An owned field of the container web."""
    return f'{POD}.containers[name="web"]{path}'


# What somebody owns who applies the whole Deployment.
WHOLE = f".spec.selector .spec.template.metadata.labels.app {web('')} {web('.name')} {web('.image')}"
# What somebody owns of the container web who says its name.
NAMED = f"{web('')} {web('.name')}"


def item(path: str, *fields: str) -> str:
    """An item of a list, with its fields: all that an applier owns who gives it."""
    return " ".join([path, *(f"{path}.{each}" for each in fields)])


def in_web(path: str, *fields: str) -> str:
    """The same inside the container web."""
    return f"{NAMED} {item(web(path), *fields)}"


def env(*names: str) -> list[Json]:
    return [{"name": name, "value": "1"} for name in names]
