"""What a strict client finds on the wire: media types, packing, ids, health and discovery, bytes and headers alike."""

from __future__ import annotations

import gzip
import json
from contextlib import closing
from typing import Any, NamedTuple

import pytest
import yaml

from tests.running import Running

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
NAMESPACE = "/api/v1/namespaces/default"
PROTOBUF = "application/vnd.kubernetes.protobuf"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"


class Got(NamedTuple):
    status: int
    headers: Any
    body: bytes

    @property
    def media(self) -> str:
        return str(self.headers["content-type"])


def ask(server: Running, method: str, target: str, body: bytes | None = None, **headers: str) -> Got:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    with closing(server.connect()) as connection:
        connection.request(method, target, body, {"Authorization": f"Bearer {server.token}", **sent})
        answer = connection.getresponse()
        return Got(answer.status, answer.headers, answer.read())


def status_of(got: Got) -> Any:
    body = json.loads(got.body)
    assert (body["kind"], body["apiVersion"], body["status"], body["code"]) == (
        "Status",
        "v1",
        "Failure",
        got.status,
    )
    return body


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("application/json", "application/json"),
        ("*/*", "application/json"),
        (f"{PROTOBUF}, */*", "application/json"),
        (f"{PROTOBUF},application/json", "application/json"),
        ("application/cbor, application/json;q=0.9", "application/json"),
        ("application/yaml", "application/yaml"),
        ("application/json;q=0.5, application/yaml;q=0.9", "application/yaml"),
        ("application/yaml;q=0.5, application/json", "application/json"),
    ],
)
def test_the_answer_is_in_the_best_media_type_there_is(running: Running, accept: str, media: str) -> None:
    got = ask(running, "GET", NAMESPACE, Accept=accept)
    assert (got.status, got.media) == (200, media)
    assert yaml.safe_load(got.body)["metadata"]["name"] == "default"


@pytest.mark.parametrize("accept", [PROTOBUF, "application/cbor", "text/html"])
@pytest.mark.parametrize("target", [NAMESPACE, CONFIGMAPS, "/apis", "/api/v1"])
def test_a_client_that_takes_nothing_else_is_told_what_there_is(
    running: Running, accept: str, target: str
) -> None:
    got = ask(running, "GET", target, Accept=accept)
    assert got.status == 406
    assert status_of(got)["reason"] == "NotAcceptable"
    assert "only the following media types are accepted: application/json, " in status_of(got)["message"]


def test_yaml_goes_in_and_comes_out(running: Running) -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: from-yaml\ndata:\n  answer: maybe\n"
    headers = {"Content_Type": "application/yaml", "Accept": "application/yaml"}
    got = ask(running, "POST", CONFIGMAPS, text, **headers)
    assert (got.status, got.media) == (201, "application/yaml")
    assert yaml.safe_load(got.body)["data"] == {"answer": "maybe"}
    again = ask(running, "PUT", f"{CONFIGMAPS}/from-yaml", got.body, **headers)
    assert again.status == 200
    refused = ask(running, "POST", CONFIGMAPS, text, **headers)
    assert (refused.status, refused.media) == (409, "application/yaml")
    assert yaml.safe_load(refused.body)["reason"] == "AlreadyExists"


@pytest.mark.parametrize("media", ["application/cbor", "text/plain", "application/x-www-form-urlencoded"])
def test_a_body_of_another_type_is_refused_so_that_clients_fall_back(running: Running, media: str) -> None:
    got = ask(running, "POST", CONFIGMAPS, b"abc", Content_Type=media)
    assert got.status == 415
    assert "accepted media types include: application/json" in status_of(got)["message"]


def test_an_answer_is_indented_for_those_who_ask(running: Running) -> None:
    assert b'\n  "kind": "Namespace"' in ask(running, "GET", f"{NAMESPACE}?pretty=true").body
    assert b"\n" not in ask(running, "GET", f"{NAMESPACE}?pretty=false").body


def test_long_answers_are_packed_for_those_who_unpack_them(running: Running) -> None:
    big = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "big"}, "data": {"a": "x" * 200_000}}
    assert running.request("POST", CONFIGMAPS, big)[0] == 201
    plain = ask(running, "GET", f"{CONFIGMAPS}/big")
    packed = ask(running, "GET", f"{CONFIGMAPS}/big", Accept_Encoding="gzip")
    assert packed.headers["content-encoding"] == "gzip"
    assert len(packed.body) < len(plain.body) / 10
    assert gzip.decompress(packed.body) == plain.body
    assert plain.headers["content-encoding"] is None
    for declined in ("gzip;q=0", "br"):
        assert ask(running, "GET", f"{CONFIGMAPS}/big", Accept_Encoding=declined).body == plain.body
    small = ask(running, "GET", NAMESPACE, Accept_Encoding="gzip")
    assert small.headers["content-encoding"] is None


def test_packed_and_plain_answers_of_one_connection_come_in_order(running: Running) -> None:
    names = [f"long-{number}" for number in range(3)]
    for name in names:
        obj = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name},
            "data": {"a": "x" * 150_000},
        }
        assert running.request("POST", CONFIGMAPS, obj)[0] == 201
    with closing(running.connect()) as connection:
        for name in [*names, "default", *names]:
            target = NAMESPACE if name == "default" else f"{CONFIGMAPS}/{name}"
            headers = {"Authorization": f"Bearer {running.token}", "Accept-Encoding": "gzip"}
            connection.request("GET", target, headers=headers)
            answer = connection.getresponse()
            body = answer.read()
            text = gzip.decompress(body) if answer.headers["content-encoding"] else body
            assert json.loads(text)["metadata"]["name"] == name


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("GET", "/nowhere", 404),
        ("GET", "/api/v1/nothings", 404),
        ("GET", "/apis/example.com/v1/nothings", 404),
        ("GET", f"{CONFIGMAPS}/absent", 404),
        ("GET", f"{NAMESPACE}/pods/a/b/c", 404),
        ("GET", "/openapi/v3/apis/nothing/v1", 404),
        ("GET", "/readyz/nothing", 404),
        ("POST", f"{CONFIGMAPS}/absent", 405),
        ("PUT", CONFIGMAPS, 405),
        ("DELETE", "/version", 405),
        ("POST", "/apis", 405),
        ("OPTIONS", CONFIGMAPS, 405),
        ("GET", f"{CONFIGMAPS}?limit=x", 400),
    ],
)
def test_every_refusal_is_a_status(running: Running, method: str, target: str, status: int) -> None:
    got = ask(running, method, target)
    assert (got.status, got.media) == (status, "application/json")
    assert status_of(got)["reason"]


def test_every_answer_has_an_id_and_that_of_a_change_is_in_the_audit_log(running: Running) -> None:
    ids = [
        ask(running, "GET", target).headers["audit-id"]
        for target in (NAMESPACE, "/nowhere", "/apis", "/readyz")
    ]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    body = b'{"metadata":{"name":"audited"}}'
    made = ask(running, "POST", CONFIGMAPS, body, Content_Type="application/json").headers["audit-id"]
    lines = running.request("GET", "/fairlead/v1/audit")[1]["items"]
    assert made in json.dumps(lines)


def test_a_head_has_the_headers_of_a_get_and_no_body(running: Running) -> None:
    head, whole = (ask(running, method, NAMESPACE) for method in ("HEAD", "GET"))
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == whole.headers["content-length"] == str(len(whole.body))


PLANE_IS_WELL = "[+]room ok\n[+]leader ok\n[+]mirrors ok\n[+]controllers ok\n[+]breaker ok\n"


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("/livez", "ok"),
        ("/readyz", "ok"),
        ("/healthz", "ok"),
        ("/readyz/ping", "ok"),
        ("/healthz/store", "ok"),
        ("/livez?verbose", "[+]ping ok\nlivez check passed\n"),
        ("/readyz/controllers", "ok"),
        ("/readyz?verbose", f"[+]ping ok\n[+]store ok\n{PLANE_IS_WELL}readyz check passed\n"),
        (
            "/readyz?verbose&exclude=store",
            f"[+]ping ok\n[+]store excluded: ok\n{PLANE_IS_WELL}readyz check passed\n",
        ),
        (
            "/readyz?verbose&exclude=ping&exclude=etcd&exclude=store",
            f"[+]ping excluded: ok\n[+]store excluded: ok\n{PLANE_IS_WELL}"
            'warn: some health checks cannot be excluded: no matches for "etcd"\nreadyz check passed\n',
        ),
    ],
)
def test_health_is_told_line_by_line_and_needs_no_token(running: Running, target: str, text: str) -> None:
    assert running.request("GET", target, token=None) == (200, text)


def test_the_root_lists_what_there_is(running: Running) -> None:
    paths = running.request("GET", "/")[1]["paths"]
    assert {"/api/v1", "/apis/apps/v1", "/healthz/ping", "/openapi/v3", "/version", "/metrics"} <= set(paths)
    for path in paths:
        assert ask(running, "GET", path).status == 200, path


@pytest.mark.parametrize("version", ["v2", "v2beta1"])
@pytest.mark.parametrize("target", ["/api", "/apis"])
def test_discovery_comes_in_one_document_that_can_be_kept(
    running: Running, version: str, target: str
) -> None:
    accept = f"{AGGREGATED.format(version)},application/json"
    got = ask(running, "GET", target, Accept=accept)
    assert got.media == AGGREGATED.format(version)
    body = json.loads(got.body)
    assert (body["kind"], body["apiVersion"]) == ("APIGroupDiscoveryList", f"apidiscovery.k8s.io/{version}")
    kept = ask(running, "GET", target, Accept=accept, If_None_Match=got.headers["etag"])
    assert (kept.status, kept.body) == (304, b"")
    plain = ask(running, "GET", target, Accept="application/json")
    assert plain.headers["etag"] != got.headers["etag"]
    assert json.loads(plain.body)["kind"] in ("APIVersions", "APIGroupList")


@pytest.mark.parametrize(
    "form", ["", ";as=Table;v=v1;g=meta.k8s.io", ";as=PartialObjectMetadata;v=v1;g=meta.k8s.io"]
)
def test_a_watch_list_tells_where_what_was_there_ends(running: Running, form: str) -> None:
    for name, app in (("wl-a", "web"), ("wl-b", "db")):
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"app": app}}}
        running.request("POST", CONFIGMAPS, obj)
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1"
    got = ask(
        running, "GET", f"{CONFIGMAPS}?{query}&labelSelector=app%3Dweb", Accept=f"application/json{form}"
    )
    assert (got.status, got.media, got.headers["transfer-encoding"]) == (200, "application/json", "chunked")
    events = [json.loads(line) for line in got.body.splitlines()]
    assert [event["type"] for event in events] == ["ADDED", "BOOKMARK"]
    added, mark = (
        event["object"]["rows"][0]["object"] if "Table" in form else event["object"] for event in events
    )
    assert added["metadata"]["name"] == "wl-a"
    assert mark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(mark["metadata"]["resourceVersion"]) >= int(added["metadata"]["resourceVersion"])
