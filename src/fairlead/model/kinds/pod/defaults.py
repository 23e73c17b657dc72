"""Defaults of pods and pod templates, as kube-apiserver fills them in; called by the descriptors of both.

Everything is set in place and only where absent (an empty choice counts as absent: clients in Go send it),
so that applying the defaults twice changes nothing. Default tolerations, the service account and
priorities are admission's work and not done here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.model.kind import Json
from fairlead.model.kinds.amounts import format_amount, spell_amounts
from fairlead.model.kinds.pod.resources import container_amounts

_DEFAULT_MODE = 0o644
_TOKEN_SECONDS = 3600
_SPEC_TEXTS = (
    ("restartPolicy", "Always"),
    ("dnsPolicy", "ClusterFirst"),
    ("schedulerName", "default-scheduler"),
)


def default_pod_spec(spec: Json, *, template: bool) -> None:
    """Fill in a PodSpec. Templates leave requests, service links and host ports to the pod made from them."""
    for field, text in _SPEC_TEXTS:
        if not spec.get(field):
            spec[field] = text
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("securityContext", {})
    _default_account(spec)
    for container in spec.get("containers") or ():
        _default_container(container)
    if "initContainers" in spec:
        for container in spec["initContainers"] or ():
            _default_container(container)
    if "ephemeralContainers" in spec:
        for container in spec["ephemeralContainers"] or ():
            _default_container(container)
    if "volumes" in spec:
        for volume in spec["volumes"] or ():
            _default_volume(volume)
    if spec.get("resources"):
        _spell(spec["resources"])
    if not template:
        _default_pod_only(spec)


def _default_pod_only(spec: Json) -> None:
    spec.setdefault("enableServiceLinks", True)
    host_network = spec.get("hostNetwork")
    for field in ("containers", "initContainers"):
        for container in spec.get(field) or ():
            if container["resources"]:
                default_requests(container["resources"])
            if host_network:
                for port in container.get("ports") or ():
                    if not port.get("hostPort") and "containerPort" in port:
                        port["hostPort"] = port["containerPort"]
    if spec.get("resources"):
        _default_pod_requests(spec)


def _default_pod_requests(spec: Json) -> None:
    """A limit of the pod without a request: what its containers request together, or the limit if they say nothing."""
    resources: Json = spec["resources"]
    limits: Json = resources.get("limits") or {}
    if not limits:
        return
    asked = container_amounts(spec, "requests")
    requests = resources.setdefault("requests", {})
    for name, limit in limits.items():
        if name not in requests:
            requests[name] = format_amount(asked[name]) if name in asked else limit


def default_requests(resources: Json) -> None:
    """A limit without a request is also the request."""
    limits = resources.get("limits")
    if limits:
        requests = resources.get("requests")
        if requests is None:
            resources["requests"] = dict(limits)
            return
        for name, limit in limits.items():
            requests.setdefault(name, limit)


def _spell(resources: Json) -> None:
    spell_amounts(resources.get("limits"))
    spell_amounts(resources.get("requests"))


def _default_account(spec: Json) -> None:
    # The deprecated name of the field is kept equal to the current one, in whichever of the two it came.
    name = spec.get("serviceAccountName")
    if name:
        spec["serviceAccount"] = name
    elif spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"]


def _default_container(container: Json) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image") or "")
    if not container.get("terminationMessagePath"):
        container["terminationMessagePath"] = "/dev/termination-log"
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "File"
    resources = container.setdefault("resources", {})
    if resources:
        _spell(resources)
    for port in container.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
    for variable in container.get("env") or ():
        source = variable.get("valueFrom")
        if source:
            _default_references(source)
    for field in ("livenessProbe", "readinessProbe", "startupProbe"):
        if field in container:
            _default_probe(container[field])
    lifecycle = container.get("lifecycle")
    if lifecycle:
        for field in ("postStart", "preStop"):
            _default_handler(lifecycle.get(field))


def pull_policy(image: str) -> str:
    """`Always` for the moving tag `latest`, named or implied; a digest or another tag stays put."""
    if "@" in image:
        image, _, _ = image.partition("@")
        tag = image.rpartition("/")[2].partition(":")[2]
        return "Always" if tag == "latest" else "IfNotPresent"
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"


def _default_probe(probe: Json | None) -> None:
    if probe is None:
        return
    for field, number in (
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ):
        if not probe.get(field):
            probe[field] = number
    _default_handler(probe)


def _default_handler(handler: Json | None) -> None:
    if not handler:
        return
    http = handler.get("httpGet")
    if http is not None:
        if not http.get("path"):
            http["path"] = "/"
        if not http.get("scheme"):
            http["scheme"] = "HTTP"
    grpc = handler.get("grpc")
    if grpc is not None:
        grpc.setdefault("service", "")


def _default_references(item: Json) -> None:
    """`fieldRef` and `resourceFieldRef`, in variables and in files of the downward API."""
    reference = item.get("fieldRef")
    if reference is not None and not reference.get("apiVersion"):
        reference["apiVersion"] = "v1"
    reference = item.get("resourceFieldRef")
    if reference is not None:
        reference.setdefault("divisor", "0")


def _default_files(source: Json) -> None:
    source.setdefault("defaultMode", _DEFAULT_MODE)


def _default_downward(source: Json) -> None:
    source.setdefault("defaultMode", _DEFAULT_MODE)
    for item in source.get("items") or ():
        _default_references(item)


def _default_projected(source: Json) -> None:
    source.setdefault("defaultMode", _DEFAULT_MODE)
    for part in source.get("sources") or ():
        token = part.get("serviceAccountToken")
        if token is not None:
            token.setdefault("expirationSeconds", _TOKEN_SECONDS)
        for item in (part.get("downwardAPI") or {}).get("items") or ():
            _default_references(item)


def _default_host_path(source: Json) -> None:
    source.setdefault("type", "")


def _default_iscsi(source: Json) -> None:
    source.setdefault("iscsiInterface", "default")


def _default_ephemeral(source: Json) -> None:
    claim = source.get("volumeClaimTemplate")
    if claim:
        claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


_VOLUME_DEFAULTS: dict[str, Callable[[Any], None]] = {
    "secret": _default_files,
    "configMap": _default_files,
    "downwardAPI": _default_downward,
    "projected": _default_projected,
    "hostPath": _default_host_path,
    "iscsi": _default_iscsi,
    "ephemeral": _default_ephemeral,
}


def _default_volume(volume: Json) -> None:
    sources = 0
    for field, source in volume.items():
        if field != "name" and source is not None:
            sources += 1
            fill = _VOLUME_DEFAULTS.get(field)
            if fill is not None:
                fill(source)
    if not sources:
        volume["emptyDir"] = {}
