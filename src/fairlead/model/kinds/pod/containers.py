"""Validation of containers: names, images, ports, variables, mounts, security. Called by `validation.py`.

The three lists of a pod (containers, initContainers, ephemeralContainers) share one set of names; what
each list forbids is said in `validate_containers` and `_validate_init`. Enums are the field tables'
business.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fairlead.core.problems import Problems
from fairlead.model.kind import Json
from fairlead.model.kinds.pod.probes import PORT_RANGE, validate_probes
from fairlead.model.kinds.pod.references import validate_field_ref, validate_key_ref, validate_resource_ref
from fairlead.model.kinds.pod.resources import validate_resources
from fairlead.model.kinds.pod.security import validate_container_security
from fairlead.model.kinds.pod.volumes import validate_relative_path
from fairlead.model.metadata import validate_listed_name
from fairlead.model.verdicts import env_name_problems, name_problems, port_name_problems

_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_INIT_FORBIDDEN = ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")


@dataclass(slots=True)
class PodScope:
    """What containers of one pod are checked against; `names` and `host_ports` grow as they are read."""

    volumes: set[str]
    claims: set[str]
    host_network: bool
    grace_seconds: int
    names: set[str] = field(default_factory=set)
    host_ports: set[str] = field(default_factory=set)


def validate_containers(spec: Json, path: str, scope: PodScope, problems: Problems) -> None:
    """All containers of a PodSpec."""
    containers = spec.get("containers")
    if not containers:
        problems.required(f"{path}.containers")
    for index, container in enumerate(containers or ()):
        at = f"{path}.containers[{index}]"
        _validate_container(container, at, scope, problems)
        if container.get("restartPolicy") is not None:
            problems.forbidden(f"{at}.restartPolicy", "may not be set for non-init containers")
    if "initContainers" in spec:
        for index, container in enumerate(spec["initContainers"] or ()):
            at = f"{path}.initContainers[{index}]"
            _validate_container(container, at, scope, problems)
            _validate_init(container, at, problems)


def _validate_init(container: Json, path: str, problems: Problems) -> None:
    policy = container.get("restartPolicy")
    if policy == "Always":
        return
    if policy is not None:
        problems.unsupported(f"{path}.restartPolicy", policy, ("Always",))
    for name in _INIT_FORBIDDEN:
        if container.get(name) is not None:
            text = "may not be set for init containers without restartPolicy=Always"
            problems.forbidden(f"{path}.{name}", text)


def _validate_container(container: Json, path: str, scope: PodScope, problems: Problems) -> None:
    validate_listed_name(container.get("name"), f"{path}.name", scope.names, problems)
    image = container.get("image")
    if not image:
        problems.required(f"{path}.image")
    elif image != image.strip():
        problems.invalid(f"{path}.image", image, "must not have leading or trailing whitespace")
    if "ports" in container:
        _validate_ports(container["ports"] or [], f"{path}.ports", scope, problems)
    if "env" in container:
        for index, variable in enumerate(container["env"] or ()):
            _validate_variable(variable, f"{path}.env[{index}]", problems)
    if "envFrom" in container:
        for index, source in enumerate(container["envFrom"] or ()):
            _validate_env_from(source, f"{path}.envFrom[{index}]", problems)
    if "volumeMounts" in container:
        _validate_mounts(container, f"{path}.volumeMounts", scope.volumes, problems)
    if "volumeDevices" in container:
        _validate_devices(container, f"{path}.volumeDevices", scope.volumes, problems)
    resources = container.get("resources")
    if resources:
        validate_resources(resources, f"{path}.resources", problems)
        for index, claim in enumerate(resources.get("claims") or ()):
            if claim.get("name") not in scope.claims:
                problems.not_found(f"{path}.resources.claims[{index}]", claim.get("name"))
    validate_probes(container, path, scope.grace_seconds, problems)
    if "securityContext" in container:
        validate_container_security(container["securityContext"] or {}, f"{path}.securityContext", problems)


def _validate_ports(ports: list[Json], path: str, scope: PodScope, problems: Problems) -> None:
    names: set[str] = set()
    for index, port in enumerate(ports):
        at = f"{path}[{index}]"
        name = port.get("name")
        if name:
            for text in port_name_problems(name):
                problems.invalid(f"{at}.name", name, text)
            if name in names:
                problems.duplicate(f"{at}.name", name)
            names.add(name)
        number = port.get("containerPort") or 0
        if not number:
            problems.required(f"{at}.containerPort")
        elif not 0 < number < 65536:
            problems.invalid(f"{at}.containerPort", number, PORT_RANGE)
        if port.get("hostPort"):
            _validate_host_port(port, at, scope, problems)


def _validate_host_port(port: Json, path: str, scope: PodScope, problems: Problems) -> None:
    number = port["hostPort"]
    if not 0 < number < 65536:
        problems.invalid(f"{path}.hostPort", number, PORT_RANGE)
    elif scope.host_network and number != port.get("containerPort"):
        text = "must match `containerPort` when `hostNetwork` is true"
        problems.invalid(f"{path}.hostPort", number, text)
    key = f"{port.get('protocol')}/{port.get('hostIP') or ''}/{number}"
    if key in scope.host_ports:
        problems.duplicate(f"{path}.hostPort", key)
    scope.host_ports.add(key)


def _validate_variable(variable: Json, path: str, problems: Problems) -> None:
    name = variable.get("name")
    if not name:
        problems.required(f"{path}.name")
    else:
        for text in env_name_problems(name):
            problems.invalid(f"{path}.name", name, text)
    source = variable.get("valueFrom")
    if source is None:
        return
    at = f"{path}.valueFrom"
    given = [kind for kind in _SOURCES if source.get(kind) is not None]
    if not given:
        text = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        problems.invalid(at, "", text)
    elif variable.get("value"):
        problems.invalid(at, "", "may not be specified when `value` is not empty")
    elif len(given) > 1:
        problems.invalid(at, "", "may not have more than one field specified at a time")
    for kind in given:
        if kind == "fieldRef":
            validate_field_ref(source[kind], f"{at}.{kind}", problems)
        elif kind == "resourceFieldRef":
            validate_resource_ref(source[kind], f"{at}.{kind}", problems)
        elif kind != "fileKeyRef":
            validate_key_ref(source[kind], f"{at}.{kind}", problems)


def _validate_env_from(source: Json, path: str, problems: Problems) -> None:
    prefix = source.get("prefix")
    if prefix:
        for text in env_name_problems(prefix):
            problems.invalid(f"{path}.prefix", prefix, text)
    given = [kind for kind in ("configMapRef", "secretRef") if source.get(kind) is not None]
    if not given:
        problems.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
    elif len(given) > 1:
        problems.invalid(path, "", "may not have more than one field specified at a time")
    for kind in given:
        name = source[kind].get("name")
        if not name:
            problems.required(f"{path}.{kind}.name")
        else:
            for text in name_problems("subdomain", name):
                problems.invalid(f"{path}.{kind}.name", name, text)


def _validate_mounts(container: Json, path: str, volumes: set[str], problems: Problems) -> None:
    paths: set[str] = set()
    privileged = (container.get("securityContext") or {}).get("privileged")
    for index, mount in enumerate(container["volumeMounts"] or ()):
        at = f"{path}[{index}]"
        name = mount.get("name")
        if not name:
            problems.required(f"{at}.name")
        elif name not in volumes:
            problems.not_found(f"{at}.name", name)
        target = mount.get("mountPath")
        if not target:
            problems.required(f"{at}.mountPath")
        elif target in paths:
            problems.invalid(f"{at}.mountPath", target, "must be unique")
        paths.add(target)
        if mount.get("subPath"):
            validate_relative_path(mount["subPath"], f"{at}.subPath", problems)
        if mount.get("subPathExpr"):
            if mount.get("subPath"):
                text = "subPathExpr and subPath are mutually exclusive"
                problems.invalid(f"{at}.subPathExpr", mount["subPathExpr"], text)
            validate_relative_path(mount["subPathExpr"], f"{at}.subPathExpr", problems)
        if mount.get("mountPropagation") == "Bidirectional" and not privileged:
            text = "Bidirectional mount propagation is available only to privileged containers"
            problems.forbidden(f"{at}.mountPropagation", text)


def _validate_devices(container: Json, path: str, volumes: set[str], problems: Problems) -> None:
    mounts = container.get("volumeMounts") or ()
    mounted_names = {mount.get("name") for mount in mounts}
    taken = {mount.get("mountPath") for mount in mounts}
    for index, device in enumerate(container["volumeDevices"] or ()):
        at = f"{path}[{index}]"
        name, target = device.get("name"), device.get("devicePath")
        if not name:
            problems.required(f"{at}.name")
        elif name not in volumes:
            problems.not_found(f"{at}.name", name)
        elif name in mounted_names:
            problems.invalid(f"{at}.name", name, "must not already exist in volumeMounts")
        if not target:
            problems.required(f"{at}.devicePath")
        elif target in taken:
            problems.invalid(f"{at}.devicePath", target, "must be unique")
        taken.add(target)
