"""An object's address. Known to everything that names objects: store, queue, decisions, mirrors."""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """`resource` is the group-resource (`pods`, `deployments.apps`)."""

    resource: str
    namespace: str  # "" for cluster-scoped
    name: str
