"""The OpenAPI documents that clients ask for: `/openapi/v3` with one document per group and version, and v2.

Built from the kinds and the field tables; `wire/openapi.py` keeps the bytes. kubectl reads version 3 for apply, diff,
explain and server-side field validation. Older clients, and kubectl for objects of kind List, read version 2, which
they accept only as protobuf (`api/openapi/proto.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.api.access.reviews import REVIEWS
from fairlead.api.openapi.paths import paths, review_paths
from fairlead.api.openapi.schemas import V2, V3, gvk, schemas
from fairlead.model.fields import FieldTables
from fairlead.model.kind import Json, Kind

TITLE = "Fairlead"


def groups(kinds: Iterable[Kind]) -> dict[str, tuple[Kind, ...]]:
    """The groups and versions as the index names them (`api/v1`, `apis/apps/v1`, ...), with their kinds.

    Those of the reviews have none: they are asked, answered and never stored.
    """
    found: dict[str, tuple[Kind, ...]] = {_path(each.group, each.version): () for each in REVIEWS}
    for kind in kinds:
        path = _path(kind.group, kind.version)
        found[path] = (*found.get(path, ()), kind)
    return dict(sorted(found.items()))


def v3_document(path: str, kinds: Iterable[Kind], tables: FieldTables, server_version: str) -> Json:
    """The document of one group and version, e.g. `apis/apps/v1`, whose kinds these are."""
    mine = tuple(kinds)
    asked = [review for review in REVIEWS if _path(review.group, review.version) == path]
    reviews = {review.kind: [gvk(review.group, review.version, review.kind)] for review in asked}
    return {
        "openapi": "3.0.0",
        "info": {"title": TITLE, "version": server_version},
        "paths": paths(tables, V3, mine) | review_paths(tables, V3, asked),
        "components": {"schemas": schemas(tables, V3, mine, _others(mine) | reviews)},
    }


def v2_document(kinds: Iterable[Kind], tables: FieldTables, server_version: str) -> Json:
    """One document for everything."""
    mine = tuple(kinds)
    reviews = {review.kind: [gvk(review.group, review.version, review.kind)] for review in REVIEWS}
    return {
        "swagger": "2.0",
        "info": {"title": TITLE, "version": server_version},
        "paths": paths(tables, V2, mine) | review_paths(tables, V2, REVIEWS),
        "definitions": schemas(tables, V2, mine, _others(mine) | reviews),
    }


def v3_index(digests: Mapping[str, str]) -> Json:
    """Where each document is. The digest in the address lets clients keep a document until it changes."""
    return {
        "paths": {
            path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest}"}
            for path, digest in sorted(digests.items())
        }
    }


def _path(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _others(kinds: Iterable[Kind]) -> Json:
    """Types that travel but are not stored, with their group-version-kinds."""
    subresources = {sub for kind in kinds for sub in kind.subresources}
    groups = sorted({(kind.group, kind.version) for kind in kinds} | {("", "v1")})
    found: Json = {
        "Status": [gvk("", "v1", "Status")],
        "DeleteOptions": [gvk(group, version, "DeleteOptions") for group, version in groups],
    }
    if "scale" in subresources:
        found["Scale"] = [gvk("autoscaling", "v1", "Scale")]
    if "binding" in subresources:
        found["Binding"] = [gvk("", "v1", "Binding")]
    if "eviction" in subresources:
        found["Eviction"] = [gvk("policy", "v1", "Eviction")]
    return found
