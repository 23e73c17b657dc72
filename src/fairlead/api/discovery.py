"""What this server serves, in the documents clients ask for first: /api, /apis and the list per version.

Both shapes that exist: one document per group and version, and the aggregated one that newer clients prefer.
Built from the catalog as it is; `wire/` serves the bytes, and builds them again when kinds have come or gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fairlead.api.subresource_kinds import KINDS
from fairlead.api.subresources import VERBS
from fairlead.model.catalog import Catalog
from fairlead.model.kind import Json, Kind

_OTHERS = (
    "/healthz", "/healthz/ping", "/healthz/store", "/livez", "/livez/ping", "/metrics", "/openapi/v2", "/openapi/v3",
    "/readyz", "/readyz/breaker", "/readyz/controllers", "/readyz/leader", "/readyz/mirrors", "/readyz/ping",
    "/readyz/room", "/readyz/store", "/version",
)  # fmt: skip
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
AGGREGATED_VERSIONS = ("v2", "v2beta1")


class Virtual(NamedTuple):
    """A resource that is answered and not stored, such as the access reviews."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]


class Discovery:
    """The documents of one catalog."""

    def __init__(self, catalog: Catalog, virtual: Sequence[Virtual] = ()) -> None:
        self._catalog = catalog
        self._virtual = virtual

    @property
    def changes(self) -> int:
        """Grows whenever the documents are others than before."""
        return self._catalog.changes

    @property
    def versions(self) -> tuple[tuple[str, str], ...]:
        """(group, version), the preferred version of a group first."""
        served = list(self._catalog.versions) + [(v.group, v.version) for v in self._virtual]
        return tuple(dict.fromkeys(served))

    def paths(self) -> Json:
        """Every address below which there is something, as `/` answers."""
        found = {"/api", "/apis"}
        for group, version in self.versions:
            root = f"/apis/{group}" if group else "/api"
            found |= {root, f"{root}/{version}"}
        return {"paths": sorted(found | set(_OTHERS))}

    def core_versions(self, address: str) -> Json:
        return {
            "kind": "APIVersions",
            "versions": [version for group, version in self.versions if not group],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
        }

    def groups(self) -> Json:
        names = dict.fromkeys(group for group, _ in self.versions if group)
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [self._group(name) for name in names]}

    def group(self, name: str) -> Json | None:
        if not name or name not in {group for group, _ in self.versions}:
            return None
        return {"kind": "APIGroup", "apiVersion": "v1", **self._group(name)}

    def _group(self, name: str) -> Json:
        versions = [
            {"groupVersion": f"{name}/{version}", "version": version}
            for group, version in self.versions
            if group == name
        ]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def resources(self, group: str, version: str) -> Json | None:
        if (group, version) not in self.versions:
            return None
        found: list[Json] = []
        for kind in self._kinds(group, version):
            found.append(_resource(kind))
            found.extend(_subresource(kind, name) for name in kind.subresources)
        for virtual in self._virtual:
            if (virtual.group, virtual.version) == (group, version):
                found.append(_virtual(virtual))
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": f"{group}/{version}" if group else version,
            "resources": found,
        }

    def aggregated(self, core: bool, version: str = "v2") -> Json:
        """apidiscovery.k8s.io: everything below /api or below /apis in one document."""
        names = dict.fromkeys(group for group, _ in self.versions if bool(group) is not core)
        return {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": f"apidiscovery.k8s.io/{version}",
            "metadata": {},
            "items": [self._aggregated_group(name) for name in names],
        }

    def _aggregated_group(self, name: str) -> Json:
        versions = []
        for group, version in self.versions:
            if group != name:
                continue
            resources = [_aggregated_resource(kind) for kind in self._kinds(group, version)]
            resources += [
                _aggregated_virtual(v) for v in self._virtual if (v.group, v.version) == (group, version)
            ]
            versions.append({"version": version, "resources": resources, "freshness": "Current"})
        return {"metadata": {"name": name, "creationTimestamp": None}, "versions": versions}

    def _kinds(self, group: str, version: str) -> Iterable[Kind]:
        return (kind for kind in self._catalog if (kind.group, kind.version) == (group, version))


def _verbs(kind: Kind) -> list[str]:
    return [verb for verb in _VERBS if verb != "deletecollection" or kind.deletecollection]


def _resource(kind: Kind) -> Json:
    entry: Json = {
        "name": kind.plural,
        "singularName": kind.singular_name,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": _verbs(kind),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    return entry


def _subresource(kind: Kind, name: str) -> Json:
    entry: Json = {"name": f"{kind.plural}/{name}", "singularName": "", "namespaced": kind.namespaced}
    exchanged = KINDS.get(name, kind)
    if name in KINDS:
        entry["group"], entry["version"] = exchanged.group, exchanged.version
    entry["kind"] = exchanged.kind
    entry["verbs"] = sorted(VERBS[name])
    return entry


def _virtual(virtual: Virtual) -> Json:
    return {
        "name": virtual.plural,
        "singularName": virtual.kind.lower(),
        "namespaced": virtual.namespaced,
        "kind": virtual.kind,
        "verbs": list(virtual.verbs),
    }


def _aggregated_resource(kind: Kind) -> Json:
    entry: Json = {
        "resource": kind.plural,
        "responseKind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular_name,
        "verbs": _verbs(kind),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    if kind.subresources:
        entry["subresources"] = [_aggregated_subresource(kind, name) for name in kind.subresources]
    return entry


def _aggregated_subresource(kind: Kind, name: str) -> Json:
    exchanged = KINDS.get(name, kind)
    return {
        "subresource": name,
        "responseKind": {
            "group": exchanged.group,
            "version": exchanged.version,
            "kind": exchanged.kind,
        },
        "verbs": sorted(VERBS[name]),
    }


def _aggregated_virtual(virtual: Virtual) -> Json:
    return {
        "resource": virtual.plural,
        "responseKind": {"group": virtual.group, "version": virtual.version, "kind": virtual.kind},
        "scope": "Namespaced" if virtual.namespaced else "Cluster",
        "singularResource": virtual.kind.lower(),
        "verbs": list(virtual.verbs),
    }
