"""Stored objects for tests of mirrors: wire JSON under a key, at a revision."""

from __future__ import annotations

from typing import Any

import msgspec

from fairlead.cache.mirror import Mirror
from fairlead.model.key import Key
from fairlead.model.views import PODS, Resource, View
from fairlead.store.contract import Entry

Json = dict[str, Any]


def entry(
    name: str,
    revision: int,
    *,
    resource: Resource[Any] = PODS,
    namespace: str = "default",
    uid: str = "",
    labels: dict[str, str] | None = None,
    owners: tuple[Json, ...] = (),
    spec: Json | None = None,
) -> Entry:
    uid = uid or f"uid-{name}"
    metadata: Json = {
        "name": name,
        "namespace": namespace,
        "uid": uid,
        "resourceVersion": str(revision),
        "labels": labels or {},
        "ownerReferences": owners,
    }
    body = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": metadata,
        "spec": spec or {},
        "status": {"someFieldNobodyDecidesOn": [1, 2]},
    }
    return Entry(Key(resource.name, namespace, name), uid, revision, msgspec.json.encode(body))


def unreadable(name: str, revision: int, **rest: Any) -> Entry:
    """A pod whose nodeName is a number."""
    return entry(name, revision, spec={"nodeName": 7}, **rest)


def owner(kind: str, name: str, *, api_version: str = "apps/v1", controller: bool = True) -> Json:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": f"uid-{name}",
        "controller": controller,
    }


def name_of(view: View | None) -> str:
    return "" if view is None else view.metadata.name  # type: ignore[attr-defined]


def names(views: Any) -> list[str]:
    return [name_of(view) for view in views]


def shown(mirror: Mirror[Any]) -> dict[str, int]:
    """What readers see: name -> revision."""
    return {view.metadata.name: view.metadata.revision for view in mirror.index.all()}
