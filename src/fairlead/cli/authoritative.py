"""`fairlead overrides --object`: for each field of an object, whose word counts now. Pure but for what it reads.

An override that holds a field comes first, until it ends; then the controller whose field it is, which would write it
back (the table behind the warnings, `ledger/authority.py`); then whoever wrote it last (metadata.managedFields).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from fairlead.cli.client import ApiClient
from fairlead.cli.objects import NamedObject, not_found, resolve_object
from fairlead.cli.override.deeds import changes_of
from fairlead.core.errors import ApiError, NotFound
from fairlead.ledger.authority import AuthorityTable, ScalingBounds, autoscaler_of, touches
from fairlead.ledger.held_fields import HeldField, HeldSubject, held_fields
from fairlead.model.views import NODES, PODS, Meta, SchedulerOverride

Json = dict[str, Any]
DEPTH = 2  # of the paths that are told: spec.replicas, spec.template, metadata.labels
ITSELF = "(itself)"  # that the object is there
_AUTOSCALERS = "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers"


class OverriddenField(NamedTuple):
    """A field, and the override that holds it."""

    row: HeldField
    override: Json


class Authority(NamedTuple):
    field: str
    authority: str  # whose word counts: override/..., controller ..., or a manager
    managers: tuple[str, ...]  # who wrote it, the last one first
    held: tuple[OverriddenField, ...]
    reverts: tuple[str, ...]  # controllers that would write it back, and how

    def as_json(self) -> Json:
        return {
            "field": self.field,
            "authority": self.authority,
            "managers": list(self.managers),
            "overrides": [
                {
                    "override": mark_of(each.override),
                    "change": each.row.change,
                    "means": each.row.means,
                    "until": each.override["spec"]["expiresAt"],
                    "by": each.override["spec"].get("requestedBy"),
                }
                for each in self.held
            ],
            "reverts": list(self.reverts),
        }


class AskedFields(NamedTuple):
    path: str  # as records name the object: RESOURCE/NAMESPACE/NAME
    fields: list[Authority]


def ask(
    client: ApiClient, typed: str, namespace: str | None, overrides: Callable[[str], list[Json]]
) -> AskedFields:
    """`overrides`: those that may bear on an object of this namespace."""
    from fairlead.control.authority import authority_table

    named = resolve_object(client, typed, namespace)
    try:
        found = client.get(named.path)
    except NotFound:
        raise not_found(client, [named]) from None
    resource = resource_of(named)
    held = holding(overrides(named.namespace), _subject(client, resource, found), time.time())
    told = authorities(resource, found, held, authority_table(), _autoscaler(client, named, found))
    path = "/".join(each for each in (resource, named.namespace, named.name) if each)
    return AskedFields(path, told)


def resource_of(named: NamedObject) -> str:
    group = named.resource.group
    return f"{named.resource.plural}.{group}" if group else named.resource.plural


def mark_of(override: Json) -> str:
    return f"{override['metadata']['namespace']}/{override['metadata']['name']}"


def holding(overrides: Iterable[Json], subject: HeldSubject, now: float) -> list[OverriddenField]:
    return [
        OverriddenField(row, each)
        for each in overrides
        for row in held_fields(msgspec.convert(each, SchedulerOverride), changes_of(each), subject, now)
    ]


def authorities(
    resource: str,
    found: Json,
    held: Sequence[OverriddenField],
    table: AuthorityTable,
    autoscaler: ScalingBounds | None = None,
) -> list[Authority]:
    """By the path of the field; the object itself first."""
    managers = _managers(found)
    own = [row.field for row in table.rows if row.resource == resource and row.field and not row.reads]
    paths = sorted({*managers, *own, *(each.row.field for each in held if each.row.field)})
    told = []
    itself = tuple(each for each in held if not each.row.field)
    remade = tuple(f"{each.controller}: {each.does}" for each in table.of_deletion(resource, found))
    if itself or remade:
        told.append(_authority(ITSELF, (), itself, remade))
    for path in paths:
        met = table.of_change(resource, found, found, [path], autoscaler)
        reverts = tuple(f"{each.controller}: {each.does}" for each in met if not each.reads)
        holds = tuple(each for each in held if each.row.field and touches(path, each.row.field))
        if path in managers or holds or reverts:
            told.append(_authority(path, managers.get(path, ()), holds, reverts))
    return told


def _authority(
    field: str, managers: tuple[str, ...], held: tuple[OverriddenField, ...], reverts: tuple[str, ...]
) -> Authority:
    if held:
        names = sorted({mark_of(each.override) for each in held})
        authority = f"override {', '.join(names)}"
    elif reverts:
        authority = f"controller {reverts[0].partition(':')[0]}"
    else:
        authority = managers[0] if managers else "nobody"
    return Authority(field, authority, managers, held, reverts)


def _managers(found: Json) -> dict[str, tuple[str, ...]]:
    """Who wrote what, by paths of two steps, the last one first."""
    entries = sorted(
        found["metadata"].get("managedFields") or (), key=lambda each: each.get("time") or "", reverse=True
    )
    told: dict[str, list[str]] = {}
    for entry in entries:
        for path in _paths(entry.get("fieldsV1") or {}):
            names = told.setdefault(path, [])
            if entry.get("manager") not in names:
                names.append(str(entry.get("manager")))
    return {path: tuple(names) for path, names in told.items()}


def _paths(fields: Json, above: str = "", depth: int = 1) -> Iterable[str]:
    for step, below in fields.items():
        if not step.startswith("f:"):
            continue
        path = f"{above}.{step[2:]}" if above else step[2:]
        if depth >= DEPTH or path == "status" or not any(each.startswith("f:") for each in below):
            yield path
        else:
            yield from _paths(below, path, depth + 1)


def _subject(client: ApiClient, resource: str, found: Json) -> HeldSubject:
    meta = msgspec.convert(found["metadata"], Meta)
    if resource == NODES.name:
        return HeldSubject(resource, meta, meta.name, meta.labels)
    spec = found.get("spec") or {}
    if resource != PODS.name or not spec.get("nodeName"):
        return HeldSubject(resource, meta, priority=spec.get("priority") or 0 if resource == PODS.name else 0)
    node = spec["nodeName"]
    labels: dict[str, str] = {}
    with suppress(ApiError):  # who may not read nodes learns what follows from the pod alone
        labels = client.get(f"/api/v1/nodes/{node}")["metadata"].get("labels") or {}
    return HeldSubject(resource, meta, node, labels, spec.get("priority") or 0)


def _autoscaler(client: ApiClient, named: NamedObject, found: Json) -> ScalingBounds | None:
    if not named.namespace:
        return None
    try:
        page = client.get(_AUTOSCALERS.format(named.namespace))
    except ApiError:
        return None
    return autoscaler_of(str(found.get("kind", "")), named.name, page.get("items") or ())
