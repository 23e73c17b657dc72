"""Warnings about pods and templates: accepted, but likely not what was meant. Shown as Warning headers.

`kind.py` calls it for pods; owners of templates may, with the path of theirs. Runs on every create, so the
usual pod passes with a few look-ups.
"""

from __future__ import annotations

from fairlead.core.problems import show
from fairlead.model.kind import Json
from fairlead.model.kinds.amounts import nanos

_NANO = 10**9
_OLD_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
}
_OLD_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
    "security.alpha.kubernetes.io/unsafe-sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
}
_OLD_VOLUMES = {
    "gitRepo": "deprecated in v1.11",
    "glusterfs": "deprecated in v1.25, this feature will be completely removed in v1.26",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
}


def pod_warnings(metadata: Json, spec: Json, path: str) -> list[str]:
    """Warnings for a PodSpec at `path` and the metadata beside it."""
    found = annotation_warnings(metadata, path.removesuffix("spec") + "metadata.annotations")
    _warn_placement(spec, path, found)
    for index, volume in enumerate(spec.get("volumes") or ()):
        found += [
            f"{path}.volumes[{index}].{field}: {_OLD_VOLUMES[field]}"
            for field in volume
            if field in _OLD_VOLUMES
        ]
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if not secret.get("name"):
            found.append(f'{path}.imagePullSecrets[{index}].name: invalid empty name ""')
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or ()):
            _warn_container(container, f"{path}.{field}[{index}]", found)
    return found


def annotation_warnings(metadata: Json, path: str) -> list[str]:
    annotations: Json = metadata.get("annotations") or {}
    if not annotations:
        return []
    return [f"{path}[{key}]: {text}" for key, text in _OLD_ANNOTATIONS.items() if key in annotations]


def _warn_placement(spec: Json, path: str, found: list[str]) -> None:
    for key in spec.get("nodeSelector") or ():
        if key in _OLD_LABELS:
            found.append(f"{path}.nodeSelector[{key}]: {_OLD_LABELS[key]}")
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        at = f"{path}.topologySpreadConstraints[{index}]"
        key = constraint.get("topologyKey")
        if key in _OLD_LABELS:
            found.append(f"{at}.topologyKey: {key} is {_OLD_LABELS[key]}")
        if constraint.get("labelSelector") is None:
            found.append(f"{at}: a null labelSelector results in matching no pod")


def _warn_container(container: Json, path: str, found: list[str]) -> None:
    env = container.get("env")
    if env and len(env) > 1:
        _warn_variables(env, path, found)
    ports = container.get("ports")
    if ports and len(ports) > 1:
        _warn_ports(ports, path, found)
    resources = container.get("resources")
    if resources:
        for field in ("limits", "requests"):
            for name, quantity in (resources.get(field) or {}).items():
                if name in ("memory", "ephemeral-storage") and nanos(quantity) % _NANO:
                    text = f"fractional byte value {show(quantity)} is invalid, must be an integer"
                    found.append(f"{path}.resources.{field}[{name}]: {text}")


def _warn_variables(env: list[Json], path: str, found: list[str]) -> None:
    seen: set[str] = set()
    for index, variable in enumerate(env):
        name = variable.get("name") or ""
        if name in seen:
            text = f"hides previous definition of {show(name)}, which may be dropped when using apply"
            found.append(f"{path}.env[{index}]: {text}")
        seen.add(name)


def _warn_ports(ports: list[Json], path: str, found: list[str]) -> None:
    seen: dict[tuple[object, ...], int] = {}
    for index, port in enumerate(ports):
        key = (port.get("containerPort"), port.get("protocol"), port.get("hostPort"), port.get("hostIP"))
        if key in seen:
            text = f"duplicate port definition with {path}.ports[{seen[key]}]"
            found.append(f"{path}.ports[{index}]: {text}")
        else:
            seen[key] = index
