"""Which ConfigMaps and Secrets a pod refers to, read from its wire bytes. Asked by `node_access.py`.

Decodes only the fields that can hold a reference; everything else in the pod is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec


class References(NamedTuple):
    configmaps: frozenset[str | None]
    secrets: frozenset[str | None]


class _Named(msgspec.Struct):
    name: str | None = None


class _VolumeSecret(msgspec.Struct, rename="camel"):
    secret_name: str | None = None


class _ProjectedSource(msgspec.Struct, rename="camel"):
    secret: _Named | None = None
    config_map: _Named | None = None


class _Projected(msgspec.Struct):
    sources: list[_ProjectedSource] | None = None


class _Csi(msgspec.Struct, rename="camel"):
    node_publish_secret_ref: _Named | None = None


class _Volume(msgspec.Struct, rename="camel"):
    secret: _VolumeSecret | None = None
    config_map: _Named | None = None
    projected: _Projected | None = None
    csi: _Csi | None = None


class _ValueFrom(msgspec.Struct, rename="camel"):
    secret_key_ref: _Named | None = None
    config_map_key_ref: _Named | None = None


class _Env(msgspec.Struct, rename="camel"):
    value_from: _ValueFrom | None = None


class _EnvFrom(msgspec.Struct, rename="camel"):
    secret_ref: _Named | None = None
    config_map_ref: _Named | None = None


class _Container(msgspec.Struct, rename="camel"):
    env: list[_Env] | None = None
    env_from: list[_EnvFrom] | None = None


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str | None = None
    volumes: list[_Volume] | None = None
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    ephemeral_containers: list[_Container] | None = None
    image_pull_secrets: list[_Named] | None = None


class _Pod(msgspec.Struct):
    spec: _Spec | None = None


class _Placement(msgspec.Struct, rename="camel"):
    node_name: str | None = None
    service_account_name: str | None = None


class _Placed(msgspec.Struct):
    spec: _Placement | None = None


_pod = msgspec.json.Decoder(_Pod)
_placed = msgspec.json.Decoder(_Placed)
_NOTHING = References(frozenset(), frozenset())


def bound_node(pod: bytes) -> str | None:
    """spec.nodeName of a pod."""
    spec = _placed.decode(pod).spec
    return spec.node_name if spec is not None else None


def runs_as(pod: bytes, node: str) -> str | None:
    """The service account of a pod, if it is bound to `node`."""
    spec = _placed.decode(pod).spec
    return spec.service_account_name if spec is not None and spec.node_name == node else None


def references(pod: bytes, node: str) -> References:
    """What the pod refers to, if it is bound to `node`; otherwise nothing."""
    try:
        spec = _pod.decode(pod).spec
    except msgspec.ValidationError:
        return _NOTHING  # a reference of a shape we do not know grants nothing
    if spec is None or spec.node_name != node:
        return _NOTHING
    configmaps: set[str | None] = set()
    secrets: set[str | None] = {reference.name for reference in spec.image_pull_secrets or ()}
    for volume in spec.volumes or ():
        _volume(volume, configmaps, secrets)
    for container in _containers(spec):
        _environment(container, configmaps, secrets)
    return References(frozenset(configmaps), frozenset(secrets))


def _containers(spec: _Spec) -> Iterator[_Container]:
    for group in (spec.init_containers, spec.containers, spec.ephemeral_containers):
        yield from group or ()


def _volume(volume: _Volume, configmaps: set[str | None], secrets: set[str | None]) -> None:
    if volume.secret is not None:
        secrets.add(volume.secret.secret_name)
    if volume.config_map is not None:
        configmaps.add(volume.config_map.name)
    if volume.csi is not None and volume.csi.node_publish_secret_ref is not None:
        secrets.add(volume.csi.node_publish_secret_ref.name)
    for source in (volume.projected.sources if volume.projected else None) or ():
        if source.secret is not None:
            secrets.add(source.secret.name)
        if source.config_map is not None:
            configmaps.add(source.config_map.name)


def _environment(container: _Container, configmaps: set[str | None], secrets: set[str | None]) -> None:
    for variable in container.env or ():
        if variable.value_from is not None:
            if variable.value_from.secret_key_ref is not None:
                secrets.add(variable.value_from.secret_key_ref.name)
            if variable.value_from.config_map_key_ref is not None:
                configmaps.add(variable.value_from.config_map_key_ref.name)
    for group in container.env_from or ():
        if group.secret_ref is not None:
            secrets.add(group.secret_ref.name)
        if group.config_map_ref is not None:
            configmaps.add(group.config_map_ref.name)
