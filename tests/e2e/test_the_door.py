"""No verb goes around the door: every address that a running server answers refuses who has no role, and who is unknown.

The addresses come from the catalog, from discovery and from what is mounted beside it, so that a new kind, subresource or
document is asked without being added here. What is open is stated, and nothing else is.
"""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from fairlead.api import metrics
from fairlead.api.access.reviews import REVIEWS
from fairlead.api.empty_kinds import EMPTY
from fairlead.api.subresources import VERBS as SUBRESOURCE_VERBS
from fairlead.control.diagnosis import CHECKS
from fairlead.model.catalog import CATALOG
from fairlead.runtime.credentials import identity
from fairlead.runtime.server import explanations, extensions
from tests.conftest import SOAK
from tests.running import Running

CUSTOM = ("example.com", "v1", "widgets")
# Without a token. Everything else is 401.
PUBLIC = {
    *("/readyz", "/livez", "/healthz", "/version"),
    *("/readyz/ping", "/livez/ping", "/healthz/ping", "/readyz/store", "/healthz/store", "/readyz/room"),
    *(f"/readyz/{check}" for check in CHECKS),
}
# For everyone signed in, whatever their roles: what clients need before they can ask for anything.
FOR_EVERYONE_SIGNED_IN = ("/api", "/apis", "/openapi")
ABOUT_ONESELF = {each.plural for each in REVIEWS if each.about_oneself}

METHODS = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}
_SOME = 7  # every so many addresses are asked in further ways
_NAMED = ("get", "update", "patch", "delete")


class Route(NamedTuple):
    method: str
    target: str

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


def _resource_routes(
    group: str, version: str, plural: str, namespaced: bool, verbs: Mapping[str, tuple[str, ...]]
) -> Iterator[Route]:
    """`verbs` by subresource; those of the object itself by ""."""
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    inside = f"{root}/namespaces/default/{plural}" if namespaced else f"{root}/{plural}"
    for subresource, understood in verbs.items():
        for verb in understood:
            below = f"/x/{subresource}" if subresource else "/x" if verb in _NAMED else ""
            query = "?watch=true" if verb == "watch" else ""
            yield Route(METHODS[verb], f"{inside}{below}{query}")
            if namespaced and not subresource and verb in ("list", "watch"):
                yield Route("GET", f"{root}/{plural}{query}")
                yield Route("GET", f"{inside}?fieldSelector=metadata.name%3Dx{query.replace('?', '&')}")
    if "" in verbs:
        yield Route("HEAD", inside)


def _discovered(server: Running) -> Iterator[Route]:
    """Whatever discovery says that there is."""
    _, groups = server.request("GET", "/apis")
    versions = [("", "v1")] + [
        tuple(version["groupVersion"].split("/"))
        for group in groups["groups"]
        for version in group["versions"]
    ]
    for group, version in versions:
        _, found = server.request("GET", f"/apis/{group}/{version}" if group else f"/api/{version}")
        for each in found["resources"]:
            plural, _, subresource = each["name"].partition("/")
            yield from _resource_routes(
                group, version, plural, each["namespaced"], {subresource: tuple(each["verbs"])}
            )


def _from_the_catalog() -> Iterator[Route]:
    """Every kind with every verb that there is, understood or not; custom ones as well."""
    every = tuple(METHODS)
    known = [*CATALOG, *metrics.METRICS, *EMPTY]
    addresses = [(kind.group, kind.version, kind.plural, kind.namespaced) for kind in known]
    addresses += [(each.group, each.version, each.plural, each.namespaced) for each in REVIEWS]
    for group, version, plural, namespaced in (*addresses, (*CUSTOM, True), ("", "v1", "unheardof", True)):
        verbs = {"": every, **{name: tuple(found) for name, found in SUBRESOURCE_VERBS.items()}}
        verbs |= {
            "token": ("create",),
            "exec": ("get", "create"),
            "proxy": every[:1],
            "portforward": ("create",),
        }
        yield from _resource_routes(group, version, plural, namespaced, verbs)


def _documents(server: Running) -> Iterator[Route]:
    """Discovery's own list of paths, and everything that is mounted beside it."""
    _, told = server.request("GET", "/")
    paths = {"/", "/metrics", "/openapi/v2", "/openapi/v3", "/nowhere", "/fairlead", "/fairlead/v1", *PUBLIC}
    paths |= set(told["paths"])
    mounted = {path for module in (extensions, explanations) for path in _addresses(module)}
    assert len(mounted) >= 7, "the modules that mount documents were not found"
    for path in paths | mounted | {f"{each}/default/x" for each in mounted}:
        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"):
            yield Route(method, path)


def _addresses(module: ModuleType) -> Iterator[str]:
    for name, value in vars(module).items():
        if name.isupper() and isinstance(value, str) and value.startswith("/"):
            yield value


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running(tmp_path_factory.mktemp("door") / "data", arguments=("--without-controllers",))
    group, version, plural = CUSTOM
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    served = {
        "name": version, "served": True, "storage": True, "schema": schema,
        "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}},
    }  # fmt: skip
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": "Widget"},
            "versions": [served],
        },
    }
    status, answer = running.request(
        "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition
    )
    assert status == 201, answer
    yield running
    running.stop()


@pytest.fixture(scope="module")
def routes(server: Running) -> list[Route]:
    found = dict.fromkeys((*_discovered(server), *_from_the_catalog(), *_documents(server)))
    assert any("/widgets/x/scale" in route.target for route in found), "custom kinds are asked, too"
    assert len(found) > 1000
    return list(found)


def _stranger(server: Running) -> str:
    """A token of somebody who has no role."""
    return identity.of(server.directory).tokens.create("user", "stranger", 1_800_000_000.0)


class Asking:
    """One connection, opened again where the server closed it."""

    def __init__(self, server: Running, token: str | None, headers: dict[str, str] | None = None) -> None:
        self._server, self._token, self._headers = server, token, headers
        self._connection: http.client.HTTPSConnection | None = None

    def __call__(self, route: Route) -> int:
        """The status of the answer."""
        merge = "application/merge-patch+json" if route.method == "PATCH" else "application/json"
        sent = {"Accept": "application/json", "Content-Type": merge, **(self._headers or {})}
        if self._token is not None:
            sent["Authorization"] = f"Bearer {self._token}"
        for _ in range(2):
            self._connection = self._connection or self._server.connect()
            with suppress(http.client.HTTPException, OSError):
                body = None if route.method in ("GET", "HEAD") else b"{}"
                self._connection.request(route.method, route.target, body, sent)
                answer = self._connection.getresponse()
                answer.read()
                return answer.status
            self._connection.close()
            self._connection = None
        raise AssertionError(f"no answer to {route}")


def _is_for_everyone_signed_in(route: Route) -> bool:
    """Discovery, and questions about oneself."""
    if route.method == "POST" and route.path.rsplit("/", 1)[-1] in ABOUT_ONESELF:
        return "/namespaces/" not in route.path
    parts = route.path.strip("/").split("/")
    deep = {"api": 2, "apis": 3, "openapi": 9}.get(parts[0], 0)
    return route.method == "GET" and len(parts) <= deep


def _is_public(route: Route) -> bool:
    return route.method in ("GET", "HEAD") and route.path in PUBLIC


def test_nobody_without_a_role_gets_in(server: Running, routes: list[Route]) -> None:
    ask = Asking(server, _stranger(server))
    _wait_until_known(ask)
    around, kept_out = [], []
    for route in routes:
        status = ask(route)
        if _is_public(route) or _is_for_everyone_signed_in(route):
            if status in (401, 403):
                kept_out.append((status, *route))
        elif status != 403:
            around.append((status, *route))
    assert around == []
    assert kept_out == []


def _wait_until_known(ask: Asking) -> None:
    """A running server learns of a token within a second."""
    for _ in range(10_000):
        if ask(Route("GET", "/api")) == 200:
            return
    raise AssertionError("the token was not taken")


@pytest.mark.parametrize("token", [None, "fairlead_unknown"])
def test_nobody_unknown_gets_in(server: Running, routes: list[Route], token: str | None) -> None:
    ask = Asking(server, token)
    around = []
    for route in routes if SOAK else routes[:: 3 if token is None else _SOME]:
        status = ask(route)
        expected = {200} if token is None and _is_public(route) else {401}
        if token is None and route.path in PUBLIC and not _is_public(route):
            expected = {401, 403}  # who is nobody may read these, and nothing else
        if status not in expected:
            around.append((status, *route))
    assert around == []


def test_impersonating_a_stranger_leads_nowhere_either(server: Running, routes: list[Route]) -> None:
    """An admin who acts as somebody has that one's rights alone."""
    ask = Asking(server, server.token, {"Impersonate-User": "stranger-too"})
    around = [
        (status, *route)
        for route in routes[::_SOME]
        if not _is_public(route) and not _is_for_everyone_signed_in(route)
        for status in (ask(route),)
        if status != 403
    ]
    assert around == []


def test_an_admin_is_refused_by_none(server: Running, routes: list[Route]) -> None:
    """So that the refusals above are the door's, and not of addresses that answer nobody."""
    ask = Asking(server, server.token)
    reads = [
        route for route in routes if route.method in ("GET", "HEAD") and "watch=true" not in route.target
    ]
    refused = [route for route in reads if ask(route) in (401, 403)]
    assert refused == []


SOURCES = Path(identity.__file__).parents[2]


def test_whoever_acts_for_a_caller_calls_the_one_door() -> None:
    """`authorize` of the chain is asked in `require`, by reviews and expressions (which only answer), where rights are
    compared, where those who may not have all of an answer are given a part, where a further right lets somebody approve
    a grant, pass a brake or end another's hold, or makes them the first person and no second, and, for the audit line
    of what was answered, which grant it was."""
    asking = {
        str(file.relative_to(SOURCES))
        for file in SOURCES.rglob("*.py")
        if "authorizer.authorize(" in file.read_text() or "_authorizer.authorize(" in file.read_text()
    }
    assert asking == {
        "api/access/breakglass/judging.py",
        "api/access/contract.py",
        "api/brakes/judging.py",
        "api/brakes/releasing.py",
        "api/server.py",
        "api/access/rbac/escalation.py",
        "api/access/reviews.py",
        "api/access/second_person.py",
        "api/access/sight.py",
        "api/access/certificate_rights.py",
        "api/admission/policies/evaluating.py",
        "wire/documents.py",
    }
    requiring = {
        str(file.relative_to(SOURCES))
        for file in SOURCES.rglob("*.py")
        if re.search(r"from fairlead.api.access.contract import .*\brequire\b", file.read_text())
    }
    assert requiring == {
        "api/access/impersonation.py",
        "api/access/certificate_rights.py",
        "api/brakes/releasing.py",
        "api/runbooks/stamping.py",
        "api/server.py",
        "api/verbs/apply.py",
        "api/verbs/delete.py",
        "wire/documents.py",
    }
