"""From what a person types (`po`, `deploy`, `deployments.apps`) to a resource, by the server's discovery."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote

from fairlead.core.errors import UsageError


class Getter(Protocol):
    def get(self, path: str) -> dict[str, Any]: ...


class ApiResource(NamedTuple):
    group: str
    version: str
    plural: str
    singular: str
    kind: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str, name: str = "") -> str:
        """The path of a collection, or of one object of it. namespace "" means all of them."""
        start = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        scope = f"/namespaces/{quote(namespace, safe='')}" if self.namespaced and namespace else ""
        return f"{start}{scope}/{self.plural}" + (f"/{quote(name, safe='')}" if name else "")

    def short(self, name: str) -> str:
        """`pod/web`, `deployment.apps/web`: what `-o name` prints."""
        return f"{self.singular}.{self.group}/{name}" if self.group else f"{self.singular}/{name}"


def resolve(client: Getter, typed: str) -> ApiResource:
    """The first resource that answers to the word: core first, then groups in the server's order."""
    word, _, group = typed.lower().partition(".")
    known: list[str] = []
    for resource, words in _known(client):
        in_group = not group or group in (resource.group, f"{resource.version}.{resource.group}")
        if word in words and in_group:
            return resource
        known += (resource.plural, resource.singular)
    raise UsageError(
        f'the server has no resource "{typed}"{did_you_mean(word, known)}: `kubectl api-resources`'
        " shows all, with their short names"
    )


def listed_resources(client: Getter) -> list[ApiResource]:
    """Everything that can be listed, each kind in the version that its group prefers."""
    return [resource for resource, _ in _known(client)]


def did_you_mean(typed: str, known: Iterable[str]) -> str:
    """` (did you mean "x"?)`, or nothing if nothing is like it."""
    import difflib  # only for those who mistyped

    words = list(known)
    longer = [word for word in words if len(typed) > 2 and word.startswith(typed)]
    found = difflib.get_close_matches(typed, words, n=1) or longer
    return f' (did you mean "{found[0]}"?)' if found else ""


def _known(client: Getter) -> Iterator[tuple[ApiResource, frozenset[str]]]:
    yield from _listed("", "v1", client.get("/api/v1"))
    for group in client.get("/apis").get("groups", ()):
        version = group.get("preferredVersion", {}).get("version", "")
        yield from _listed(group["name"], version, client.get(f"/apis/{group['name']}/{version}"))


def _listed(
    group: str, version: str, listing: dict[str, Any]
) -> Iterator[tuple[ApiResource, frozenset[str]]]:
    for entry in listing.get("resources", ()):
        plural = entry["name"]
        if "/" in plural or "list" not in entry.get("verbs", ()):
            continue
        kind = entry["kind"]
        singular = entry.get("singularName") or kind.lower()
        resource = ApiResource(
            group=group,
            version=version,
            plural=plural,
            singular=singular,
            kind=kind,
            namespaced=bool(entry.get("namespaced")),
        )
        yield resource, frozenset((plural, singular, kind.lower(), *entry.get("shortNames", ())))
