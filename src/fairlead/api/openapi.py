"""The OpenAPI documents that clients ask for: `/openapi/v3` with one document per group and version, and v2.

Built from the kinds and the field tables when first asked for; the caller keeps the bytes. kubectl reads
version 3 for apply, diff, explain and server-side field validation. Older clients, and kubectl for objects of
kind List, read version 2, which they accept only as protobuf (`api/openapi_proto.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b

import msgspec

from fairlead.api.openapi_paths import paths
from fairlead.api.openapi_schemas import V2, V3, gvk, schemas
from fairlead.model.fields import FieldTables
from fairlead.model.kind import Json, Kind

TITLE = "Fairlead"
# Asked, answered and never stored. Clients check them against version 2 before they send them.
_REVIEWS = {
    "authentication.k8s.io": ("SelfSubjectReview", "TokenReview"),
    "authorization.k8s.io": ("SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"),
}


def group_paths(kinds: Iterable[Kind]) -> tuple[str, ...]:
    """The groups and versions as the index names them: `api/v1`, `apis/apps/v1`, ..."""
    return tuple(sorted({_group_path(kind) for kind in kinds}))


def v3_document(kinds: Iterable[Kind], tables: FieldTables, group_path: str, server_version: str) -> Json:
    """The document of one group and version, e.g. `apis/apps/v1`."""
    mine = [kind for kind in kinds if _group_path(kind) == group_path]
    return {
        "openapi": "3.0.0",
        "info": {"title": TITLE, "version": server_version},
        "paths": paths(tables, V3, mine),
        "components": {"schemas": schemas(tables, V3, mine, _others(mine))},
    }


def v2_document(kinds: Iterable[Kind], tables: FieldTables, server_version: str) -> Json:
    """One document for everything."""
    mine = tuple(kinds)
    reviews = {name: [gvk(group, "v1", name)] for group, names in _REVIEWS.items() for name in names}
    return {
        "swagger": "2.0",
        "info": {"title": TITLE, "version": server_version},
        "paths": paths(tables, V2, mine),
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


def render(kinds: Iterable[Kind], tables: FieldTables, server_version: str) -> dict[str, bytes]:
    """Every JSON document by its address, e.g. `/openapi/v3/api/v1`."""
    mine = tuple(kinds)
    encode = msgspec.json.encode
    documents = {path: encode(v3_document(mine, tables, path, server_version)) for path in group_paths(mine)}
    digests = {path: blake2b(body, digest_size=16).hexdigest() for path, body in documents.items()}
    found = {f"/openapi/v3/{path}": body for path, body in documents.items()}
    found["/openapi/v3"] = encode(v3_index(digests))
    found["/openapi/v2"] = encode(v2_document(mine, tables, server_version))
    return found


def _group_path(kind: Kind) -> str:
    return f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"


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
