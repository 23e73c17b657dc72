"""Effects as requests to the API. Called by `turn.py` when an effect is carried out, and by tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairlead.core import codec
from fairlead.decision.effects import Bind, Change, Create, Delete, Effect, Finalize
from fairlead.ledger.reservation import ANNOTATION
from fairlead.model.premise import Premises
from fairlead.model.views import CONTROLLER_REVISIONS
from fairlead.port.request import MERGE_PATCH, Binding, Request

Json = dict[str, Any]


def request_of(effect: Effect) -> Request:
    """What to send. Every write but a create is bound to the uid, and most to the revision, that was decided on;
    where it has premises, to those objects' revisions as well."""
    match effect:
        case Create():
            return _to(effect, "create", "", effect.body, premises=effect.premises)
        case Bind():
            return _to(effect, "create", effect.name, _binding(effect), "binding")
        case Delete(evicts=True):
            return _to(effect, "create", effect.name, _eviction(effect), "eviction", premises=effect.premises)
        case Delete():
            return _to(effect, "delete", effect.name, _deletion(effect), premises=effect.premises)
        case Finalize():
            whole = {"apiVersion": effect.api_version, "kind": "Namespace", **_patch(effect)}
            return _to(effect, "update", effect.name, whole, effect.subresource)
        case Change():
            return _to(
                effect,
                "patch",
                effect.name,
                _patch(effect),
                effect.subresource,
                MERGE_PATCH,
                effect.premises,
            )


def bindings_of(decided: Sequence[tuple[Effect | None, str]]) -> Request:
    """Several bindings without reservations as one request; each with the id of its decision."""
    binds = [(each, decision) for each, decision in decided if isinstance(each, Bind)]
    first, _ = binds[0]
    bindings = tuple(
        [Binding(each.namespace, each.name, each.uid, each.node, decision) for each, decision in binds]
    )
    group, _, version = first.api_version.rpartition("/")
    return Request("create", group, version, first.plural, subresource="binding", bindings=bindings)


def look_at(effect: Effect) -> Request:
    """A read of the object that an effect was about."""
    return _to(effect, "get", effect.name, None)


def _to(
    effect: Effect,
    verb: str,
    name: str,
    body: Json | None,
    subresource: str = "",
    content_type: str = "application/json",
    premises: Premises = (),
) -> Request:
    group, _, version = effect.api_version.rpartition("/")
    # Whoever takes over a history may compare it byte by byte (docs/adr/0020).
    write = codec.encode_as_go if effect.resource == CONTROLLER_REVISIONS.name else codec.encode
    raw = b"" if body is None else write(body)
    return Request(
        verb=verb,
        group=group,
        version=version,
        plural=effect.plural,
        namespace=effect.namespace,
        name=name,
        subresource=subresource,
        body=raw,
        content_type=content_type,
        premises=premises,
    )


def _binding(effect: Bind) -> Json:
    metadata: Json = {"name": effect.name, "uid": effect.uid}
    if effect.reservation:
        metadata["annotations"] = {ANNOTATION: effect.reservation}
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": metadata,
        "target": {"kind": "Node", "name": effect.node},
    }


def _deletion(effect: Delete) -> Json:
    options: Json = {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "preconditions": {"uid": effect.uid, "resourceVersion": str(effect.revision)},
    }
    if effect.policy:
        options["propagationPolicy"] = effect.policy
    if effect.grace_seconds is not None:
        options["gracePeriodSeconds"] = effect.grace_seconds
    return options


def _eviction(effect: Delete) -> Json:
    metadata = {"name": effect.name, "namespace": effect.namespace}
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": metadata,
        "deleteOptions": _deletion(effect),
    }


def _patch(effect: Change) -> Json:
    bound = {"uid": effect.uid, "resourceVersion": str(effect.revision), **effect.patch.get("metadata", {})}
    return {**effect.patch, "metadata": bound}
