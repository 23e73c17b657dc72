"""Discovery on the wire: what a client may accept, and that documents follow the kinds that are served."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fairlead.api.access.contract import Authorizer
from fairlead.api.access.users import ANONYMOUS
from fairlead.api.discovery import Discovery
from fairlead.api.plan import Context
from fairlead.core.errors import ApiError, NotAcceptable
from fairlead.model.files import load_tables
from fairlead.model.kind import Kind
from fairlead.model.served import Served
from fairlead.wire.documents import Documents
from fairlead.wire.exchange import Exchange
from fairlead.wire.openapi import OpenApi

V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
V2BETA1 = V2.replace("v=v2", "v=v2beta1")
TIDE = Kind(
    group="sea.example.com",
    version="v1",
    kind="Tide",
    plural="tides",
    namespaced=True,
    schema="x",
    short_names=("td",),
    openapi={"type": "object"},
)


class Server:
    def __init__(self) -> None:
        self.served = Served()
        allowing = SimpleNamespace(authorize=lambda _: SimpleNamespace(allowed=True))
        openapi = OpenApi(self.served, load_tables(), "v1")
        authorizer = cast(Authorizer, allowing)
        self.documents = Documents(Discovery(self.served), authorizer, "here:1", {}, openapi, {})

    def get(self, path: str, accept: str = "", known: bytes = b"") -> tuple[int, str, Any, bytes]:
        found: list[tuple[int, bytes, bytes, bytes]] = []
        exchange = SimpleNamespace(
            method=b"GET",
            target=path.encode(),
            body=b"",
            headers={b"accept": accept.encode(), b"if-none-match": known},
            respond=lambda *answer: found.append(answer),
        )
        self.documents.answer(cast(Exchange, exchange), path, {}, Context(ANONYMOUS, 0.0, b""))
        ((status, media, body, headers),) = found
        etag = headers.partition(b"etag: ")[2].partition(b"\r\n")[0]
        return status, media.decode(), json.loads(body) if body else None, etag


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        (f"{V2},{V2BETA1},application/json", V2),
        (f"{V2BETA1},application/json", V2BETA1),
        (f"{V2.replace('v=v2', 'v=v3')},{V2BETA1},application/json", V2BETA1),
        (f"application/json;q=0.5,{V2};q=0.9", V2),
        (f"application/vnd.kubernetes.protobuf,{V2}", V2),
        ("application/vnd.kubernetes.protobuf, */*", "application/json"),
    ],
)
@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_the_best_form_that_is_accepted_is_given(path: str, accept: str, media: str) -> None:
    status, given, body, _ = Server().get(path, accept)
    assert (status, given) == (200, media)
    assert (body["kind"] == "APIGroupDiscoveryList") is (media != "application/json")


@pytest.mark.parametrize(
    "accept", ["application/vnd.kubernetes.protobuf", "text/html", V2.replace("v=v2", "v=v9")]
)
@pytest.mark.parametrize("path", ["/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1"])
def test_what_is_in_no_form_that_is_accepted_is_refused(path: str, accept: str) -> None:
    with pytest.raises(NotAcceptable, match="only the following media types are accepted"):
        Server().get(path, accept)


def test_documents_follow_the_kinds_that_are_served() -> None:
    server = Server()
    before = {path: server.get(path, accept) for path in ("/apis", "/api") for accept in (V2,)}
    server.served.serve("tides.sea.example.com", [TIDE])
    _, _, groups, etag = server.get("/apis", V2)
    assert etag != before["/apis"][3]
    assert server.get("/api", V2)[3] == before["/api"][3]
    (mine,) = (each for each in groups["items"] if each["metadata"]["name"] == "sea.example.com")
    assert mine["versions"][0]["resources"][0]["shortNames"] == ["td"]
    assert server.get("/apis/sea.example.com/v1")[2]["resources"][0]["name"] == "tides"
    assert "/apis/sea.example.com/v1" in server.get("/")[2]["paths"]
    assert server.get("/openapi/v3/apis/sea.example.com/v1")[0] == 200
    assert server.get("/apis", V2, known=etag)[:3] == (304, V2, None)
    server.served.withdraw("tides.sea.example.com")
    assert server.get("/apis", V2) == before["/apis"]
    for path in ("/apis/sea.example.com", "/apis/sea.example.com/v1", "/openapi/v3/apis/sea.example.com/v1"):
        with pytest.raises(ApiError, match="could not find the requested resource"):
            server.get(path)
