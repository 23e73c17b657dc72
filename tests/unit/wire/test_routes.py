"""Addresses: which request a method and a path stand for."""

from __future__ import annotations

import pytest

from fairlead.core.errors import BadRequest, MethodNotAllowed
from fairlead.wire.routes import resource_request, split_target

# method, target -> verb group/version resource namespace name subresource
TABLE = [
    ("GET", "/api/v1/pods", "list /v1 pods - - -"),
    ("GET", "/api/v1/pods?watch=true", "watch /v1 pods - - -"),
    ("GET", "/api/v1/namespaces/a/pods?watch=1", "watch /v1 pods a - -"),
    ("GET", "/api/v1/namespaces/a/pods?watch=0", "list /v1 pods a - -"),
    ("GET", "/api/v1/namespaces/a/pods/p", "get /v1 pods a p -"),
    ("HEAD", "/api/v1/namespaces/a/pods/p", "get /v1 pods a p -"),
    ("POST", "/api/v1/namespaces/a/pods", "create /v1 pods a - -"),
    ("PUT", "/api/v1/namespaces/a/pods/p/status", "update /v1 pods a p status"),
    ("PATCH", "/apis/apps/v1/namespaces/a/deployments/d/scale", "patch apps/v1 deployments a d scale"),
    ("POST", "/api/v1/namespaces/a/pods/p/binding", "create /v1 pods a p binding"),
    ("DELETE", "/api/v1/namespaces/a/pods/p", "delete /v1 pods a p -"),
    ("DELETE", "/api/v1/namespaces/a/pods", "deletecollection /v1 pods a - -"),
    ("GET", "/api/v1/namespaces", "list /v1 namespaces - - -"),
    ("GET", "/api/v1/namespaces/", "list /v1 namespaces - - -"),
    ("GET", "/api/v1/namespaces/a", "get /v1 namespaces - a -"),
    ("PUT", "/api/v1/namespaces/a/finalize", "update /v1 namespaces - a finalize"),
    ("GET", "/api/v1/namespaces/a/status", "get /v1 namespaces - a status"),
    ("GET", "/api/v1/nodes/n", "get /v1 nodes - n -"),
    ("GET", "/apis/scheduling.k8s.io/v1/priorityclasses/x", "get scheduling.k8s.io/v1 priorityclasses - x -"),
    ("GET", "/api/v1/nodes/a%2Fb", "get /v1 nodes - a/b -"),
]


@pytest.mark.parametrize(("method", "target", "expected"), TABLE)
def test_a_resource_address_names_verb_and_object(method: str, target: str, expected: str) -> None:
    path, query = split_target(target.encode())
    request = resource_request(method.encode(), path, query, b"", "", "")
    assert request is not None
    words = [request.plural, request.namespace, request.name, request.subresource]
    found = [request.verb, f"{request.group}/{request.version}", *(word or "-" for word in words)]
    assert " ".join(found) == expected


@pytest.mark.parametrize(
    "target", ["/", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/version", "/api/v1/a/b/c/d"]
)
def test_other_paths_are_no_resources(target: str) -> None:
    path, query = split_target(target.encode())
    assert resource_request(b"GET", path, query, b"", "", "") is None


def test_a_query_keeps_empty_values_and_decodes_the_rest() -> None:
    _, query = split_target(b"/api/v1/pods?labelSelector=a%3Db%2Cc&continue=&fieldSelector=x+y")
    assert query == {"labelSelector": "a=b,c", "continue": "", "fieldSelector": "x y"}


@pytest.mark.parametrize("target", ["/api/v1/pods/ä", "", "*"])
def test_an_address_that_is_none_is_refused(target: str) -> None:
    with pytest.raises(BadRequest, match="the request address is not valid"):
        split_target(target.encode())


def test_a_method_that_means_nothing_here_is_refused() -> None:
    with pytest.raises(MethodNotAllowed, match="OPTIONS"):
        resource_request(b"OPTIONS", "/api/v1/pods", {}, b"", "", "")
