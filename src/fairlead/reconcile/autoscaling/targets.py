"""What an autoscaler scales, and objects whose metrics it follows: found by kind and name, whatever the kind.

Deployments, ReplicaSets and StatefulSets are read in the views that their own controllers have. Objects of custom kinds
are read as they are stored; where their numbers are, the definition says, as it tells the scale subresource. Used by
`decider.py` and `measuring.py`; pure. `UnknownTarget` says in Kubernetes' words what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from fairlead.core import codec
from fairlead.core.errors import BadRequest
from fairlead.decision.contract import Reading
from fairlead.decision.effects import ChangeScale, identity, plural_of, premise_of
from fairlead.model.catalog import Catalog
from fairlead.model.custom.jsonpath import simple_path
from fairlead.model.kind import Json, Kind
from fairlead.model.kinds.configmap import KIND as CONFIG_MAP
from fairlead.model.kinds.customresourcedefinition import KIND as DEFINITION
from fairlead.model.kinds.workload import part
from fairlead.model.selectors import LabelMatcher, from_object, parse_labels
from fairlead.model.views import (
    AUTOSCALERS,
    DAEMONSETS,
    DEPLOYMENTS,
    REPLICASETS,
    STATEFULSETS,
    Autoscaler,
    Condition,
    DaemonSet,
    Deployment,
    Meta,
    ReplicaSet,
    Resource,
    StatefulSet,
    Stored,
    TargetReference,
    View,
)

DEFINITIONS: Resource[Stored] = Resource(DEFINITION.resource, DEFINITION.api_version, DEFINITION.kind, Stored)
CONFIG_MAPS: Resource[Stored] = Resource(CONFIG_MAP.resource, CONFIG_MAP.api_version, CONFIG_MAP.kind, Stored)
_KNOWN: tuple[Resource[View], ...] = (DEPLOYMENTS, REPLICASETS, STATEFULSETS, DAEMONSETS)
# What may be scaled or followed, as far as there are such kinds.
READABLE: tuple[Resource[View], ...] = (*_KNOWN, DEFINITIONS, CONFIG_MAPS)


class UnknownTarget(Exception):
    """The text says why it cannot be scaled, or read."""


class ScaleTarget(NamedTuple):
    """`selector` is None where the scale names none, `text` as the scale subresource spells it."""

    resource: Resource[Any]
    metadata: Meta
    replicas: int
    status_replicas: int
    selector: LabelMatcher | None
    text: str
    conditions: tuple[Condition, ...]

    @property
    def name(self) -> str:
        return f"{self.resource.kind.lower()}/{self.metadata.name}"


def custom_resources(catalog: Catalog) -> tuple[Resource[Stored], ...]:
    """Of kinds that definitions brought: any of them may have a scale, or a status to follow."""
    found: dict[str, Resource[Stored]] = {}
    for kind in catalog:
        if kind.definition and kind.namespaced:
            found.setdefault(kind.resource, Resource(kind.resource, kind.api_version, kind.kind, Stored))
    return tuple(found.values())


def find_object(
    view: Reading, catalog: Catalog, reference: TargetReference, namespace: str
) -> tuple[Resource[Any], View]:
    """The object of this kind and name, in the view that the mirrors have of it."""
    resource = _resource(catalog, reference)
    if resource is None:
        where = f' in version "{reference.api_version}"' if reference.api_version else ""
        raise UnknownTarget(f'no matches for kind "{reference.kind}"{where}')
    found = view.get(resource, namespace, reference.name)
    if found is None:
        raise UnknownTarget(f'{resource.name} "{reference.name}" not found')
    return resource, found


def find_target(view: Reading, catalog: Catalog, reference: TargetReference, namespace: str) -> ScaleTarget:
    resource, found = find_object(view, catalog, reference, namespace)
    if isinstance(found, Deployment | ReplicaSet | StatefulSet):
        selector = from_object(found.spec.selector)
        return ScaleTarget(
            resource, found.metadata, found.spec.replicas, found.status.replicas, selector, str(selector),
            found.status.conditions,
        )  # fmt: skip
    if isinstance(found, Stored):
        return _custom(view, resource, found)
    raise UnknownTarget(f'{resource.name} "{reference.name}" has no scale')


def status_of(found: View) -> Json:
    """What the object says of itself, under the names of the wire."""
    if isinstance(found, Stored):
        return part(codec.decode(found.data), "status")
    if isinstance(found, Deployment | ReplicaSet | StatefulSet | DaemonSet):
        told: Json = msgspec.to_builtins(found.status)
        return told
    return {}


def _resource(catalog: Catalog, reference: TargetReference) -> Resource[Any] | None:
    group = reference.api_version.rpartition("/")[0]
    for each in _KNOWN:
        if each.kind == reference.kind and group == each.api_version.rpartition("/")[0]:
            return each if catalog.of_resource(each.name) is not None else None
    for kind in catalog:
        if _is_meant(kind, reference, group):
            return next(each for each in custom_resources(catalog) if each.name == kind.resource)
    return None


def _is_meant(kind: Kind, reference: TargetReference, group: str) -> bool:
    return bool(kind.definition) and kind.namespaced and (kind.kind, kind.group) == (reference.kind, group)


def _custom(view: Reading, resource: Resource[Any], found: Stored) -> ScaleTarget:
    obj: Json = codec.decode(found.data)
    version = str(obj.get("apiVersion") or "").rpartition("/")[2]
    paths = _scale_paths(view, resource.name, version)
    if not paths:
        raise UnknownTarget(f'{resource.name} "{found.key.name}" has no scale')
    text = _at(obj, paths.get("labelSelectorPath") or "")
    try:
        selector = parse_labels(text) if isinstance(text, str) and text else None
    except BadRequest:
        selector = None
    return ScaleTarget(
        resource,
        found.metadata,
        _whole(_at(obj, paths["specReplicasPath"])),
        _whole(_at(obj, paths["statusReplicasPath"])),
        selector,
        text if isinstance(text, str) else "",
        _conditions(part(obj, "status")),
    )


def _scale_paths(view: Reading, name: str, version: str) -> Mapping[str, str]:
    definition = view.get(DEFINITIONS, "", name)
    spec = part(codec.decode(definition.data), "spec") if definition is not None else {}
    versions = [each for each in spec.get("versions") or () if each.get("name") == version]
    paths: Mapping[str, str] = part(part(versions[0], "subresources"), "scale") if versions else {}
    return paths


def _conditions(status: Json) -> tuple[Condition, ...]:
    """A custom kind may call anything so."""
    try:
        return tuple(msgspec.convert(status.get("conditions") or (), list[Condition]))
    except msgspec.ValidationError:
        return ()


def _at(obj: Json, path: str) -> Any:
    value: Any = obj
    for name in simple_path(path) if path else ():
        value = value.get(name) if isinstance(value, dict) else None
    return value if path else None


def _whole(value: Any) -> int:
    return value if type(value) is int else 0


def scale_to(replicas: int, target: ScaleTarget, controller: str, found: Autoscaler) -> ChangeScale:
    meta, resource = target.metadata, target.resource
    # Which version of the target is scaled is the occasion: after any change of it the question is a new one.
    label = identity(controller, found.metadata.uid, "scale", f"{meta.uid}@{meta.resource_version}")
    return ChangeScale(
        identity=label, resource=resource.name, api_version=resource.api_version, plural=plural_of(resource),
        namespace=meta.namespace, name=meta.name, uid=meta.uid, revision=meta.revision,
        patch={"spec": {"replicas": replicas}}, premises=(premise_of(AUTOSCALERS, found.metadata),),
    )  # fmt: skip
