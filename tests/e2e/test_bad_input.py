"""Bad input to a real server: each gets the right status and a message that names what is wrong and what is right.

After every test the objects that were there before are still there, byte for byte, and the log has no traceback.
HTTP itself is in `test_bad_http.py`.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import nursery
from tests.e2e.raw import assert_no_traceback
from tests.running import Running

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
KEPT = f"{CONFIGMAPS}/kept"
DEEP = 100_000
SUBDOMAIN = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'"


def configmap(name: Any = "x", /, *, metadata: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **(metadata or {})}, **fields}


def text(inside: str) -> bytes:
    return ('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},' + inside + "}").encode()


def deployment(replicas: str) -> bytes:
    pod = '{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}'
    spec = f'{{"replicas":{replicas},"selector":{{"matchLabels":{{"a":"b"}}}},"template":{pod}}}'
    return f'{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"d"}},"spec":{spec}}}'.encode()


@pytest.fixture(scope="module")
def kept(running: Running) -> Any:
    status, created = running.request("POST", CONFIGMAPS, configmap("kept", data={"a": "b"}))
    assert status == 201
    status, created = running.request("PUT", KEPT, {**created, "data": {"a": "c"}})
    assert status == 200
    return created


@pytest.fixture(autouse=True)
def nothing_is_lost(running: Running, kept: Any) -> Iterator[None]:
    yield
    assert running.request("GET", KEPT) == (200, kept)
    assert_no_traceback(running)


def refused(answer: tuple[int, Any], status: int, *says: str) -> None:
    code, body = answer
    assert (code, body["kind"], body["status"], body["code"]) == (status, "Status", "Failure", status), body
    for part in says:
        assert part in body["message"]
    assert "Traceback" not in body["message"]
    assert ".py" not in body["message"]


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b'{"apiVersion": nope}', 400, "not valid JSON: invalid character at byte"),
        (b'{"apiVersion":\n "v1",,}', 400, "(line 2, column 7)"),
        (b'{"apiVersion": "v1"', 400, "it ends in the middle, after byte 19"),
        (b"", 400, "no body"),
        (b"   ", 400, "the body is empty"),
        (b"[]", 400, "must be a JSON object, got []"),
        (b"null", 400, "must be a JSON object, got null"),
        (b'"text"', 400, 'must be a JSON object, got "text"'),
        (b"{}", 422, "metadata.name: Required value: name or generateName is required"),
        (b"[" * DEEP, 400, "nested too deeply: at most 100 levels"),
        (text('"data":' + '{"a":' * DEEP + "1" + "}" * DEEP), 400, "nested too deeply"),
        (
            text('"metadata":{"annotations":' + '{"a":' * DEEP + "1" + "}" * DEEP + "}"),
            400,
            "nested too deeply",
        ),
        (
            text('"metadata":{"managedFields":[{"fieldsV1":' + '{"a":' * DEEP + "1" + "}" * DEEP + "}]}"),
            400,
            "nested",
        ),
        (text('"data":{"a":"?"}').replace(b"?", b"\xff\xfe"), 400, "invalid UTF-8 at byte"),
        (text('"data":{"a":"\x00"}'), 400, "invalid character at byte"),
        (text('"data":{"a":"\\ud800"}'), 400, "not valid JSON"),
        (text('"data":{"a":"\\udc00\\ud800"}'), 400, "not valid JSON"),
        (deployment("1e400"), 400, "number out of range"),
        (deployment("9" * 5000), 400, "out of range"),
        (deployment("NaN"), 400, "invalid character"),
        (deployment("-Infinity"), 400, "invalid character"),
    ],
)
def test_a_body_that_is_no_json_object_is_400_and_says_where(
    running: Running, body: bytes, status: int, says: str
) -> None:
    target = DEPLOYMENTS if b"Deployment" in body else CONFIGMAPS
    refused(running.request("POST", target, body), status, says)


@pytest.mark.parametrize(
    ("replicas", "status", "says"),
    [
        ("-1", 422, "spec.replicas: Invalid value: -1: must be greater than or equal to 0"),
        ("99999999999", 400, "spec.replicas: Invalid value: 99999999999: must be an integer between"),
        ("9" * 400, 400, "spec.replicas"),
        ("1.5", 400, "spec.replicas: Invalid value: 1.5: must be an integer"),
        ('"5"', 400, 'spec.replicas: Invalid value: "5": must be an integer'),
        ("true", 400, "spec.replicas: Invalid value: true: must be an integer"),
        ("[]", 400, "spec.replicas: Invalid value: []: must be an integer"),
    ],
)
def test_a_number_out_of_range_or_of_another_type_is_named(
    running: Running, replicas: str, status: int, says: str
) -> None:
    refused(running.request("POST", DEPLOYMENTS, deployment(replicas)), status, says)


@pytest.mark.parametrize(
    ("method", "target", "media", "body", "status", "says"),
    [
        (
            "POST",
            CONFIGMAPS,
            "application/cbor",
            b"a: b",
            415,
            "accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
        ),
        ("POST", CONFIGMAPS, "application/x-www-form-urlencoded", b"a=b", 415, "x-www-form-urlencoded"),
        ("POST", CONFIGMAPS, "text/plain", b"{}", 415, "text/plain"),
        ("POST", CONFIGMAPS, "application/cbor", b"\xa0", 415, "application/cbor"),
        ("POST", CONFIGMAPS, "application/vnd.kubernetes.protobuf", b"{}", 400, "not valid protobuf"),
        (
            "POST",
            CONFIGMAPS,
            "application/vnd.kubernetes.protobuf",
            b"k8s\0\xff\xff\xff\xff",
            400,
            "not valid protobuf",
        ),
        ("PATCH", KEPT, "application/json", b"{}", 415, "application/merge-patch+json"),
        ("PATCH", KEPT, "application/merge-patch+json", b"[]", 400, "must be a JSON object"),
        ("PATCH", KEPT, "application/merge-patch+json", b'{"data":', 400, "ends in the middle"),
        (
            "PATCH",
            KEPT,
            "application/merge-patch+json",
            b'{"data":{"a":1}}',
            400,
            "data[a]: Invalid value: 1",
        ),
        ("PATCH", KEPT, "application/json-patch+json", b"{}", 400, "a list of operations"),
        (
            "PATCH",
            KEPT,
            "application/json-patch+json",
            b'[{"op":"no"}]',
            400,
            'op "no" is not supported: use one of',
        ),
        (
            "PATCH",
            KEPT,
            "application/json-patch+json",
            b'[{"op":"test","path":"/data/a","value":"z"}]',
            422,
            "/data/a",
        ),
        (
            "PATCH",
            KEPT,
            "application/strategic-merge-patch+json",
            b'{"$patch":"no"}',
            400,
            'unknown $patch "no"',
        ),
        ("PATCH", f"{CONFIGMAPS}/none", "application/merge-patch+json", b"{}", 404, '"none" not found'),
    ],
)
def test_a_body_in_the_wrong_form_is_refused_with_the_right_ones(
    running: Running, method: str, target: str, media: str, body: bytes, status: int, says: str
) -> None:
    refused(running.request(method, target, body, headers={"Content-Type": media}), status, says)


@pytest.mark.parametrize(
    ("method", "target", "body", "status", "says"),
    [
        ("GET", "/api/v1/namespaces/default/widgets", None, 404, "could not find the requested resource"),
        ("GET", "/apis/example.org/v1/widgets", None, 404, "could not find the requested resource"),
        ("GET", "/api/v9/pods", None, 404, "could not find the requested resource"),
        ("GET", "/apis/apps/v9/deployments", None, 404, "deployments.apps are served in version v1, not v9"),
        ("POST", "/api/v1/namespaces/default/serviceaccounts/x/token", {"spec": {}}, 404, '"x" not found'),
        ("GET", "/api/v1/namespaces/default/pods/x/portforward", None, 404, "the pod's own address"),
        ("GET", f"{KEPT}/status", None, 404, 'have no subresource "status"'),
        ("GET", "/nowhere", None, 404, "could not find the requested resource"),
        (
            "POST",
            CONFIGMAPS,
            {**configmap(), "kind": "Secret"},
            400,
            'kind in the data ("Secret") does not match',
        ),
        ("POST", CONFIGMAPS, {**configmap(), "kind": "Widget"}, 400, "ConfigMap"),
        ("POST", CONFIGMAPS, {**configmap(), "apiVersion": "v9"}, 400, "expected apiVersion (v1)"),
        (
            "POST",
            CONFIGMAPS,
            configmap(metadata={"namespace": "kube-system"}),
            400,
            "does not match the namespace",
        ),
        ("POST", CONFIGMAPS, configmap(metadata={"resourceVersion": "5"}), 400, "metadata.resourceVersion"),
        ("POST", "/api/v1/namespaces/none/configmaps", configmap(), 404, "kubectl create namespace none"),
        ("PUT", KEPT, configmap("other"), 400, 'name of the object ("other") does not match'),
        ("PUT", CONFIGMAPS, configmap(), 405, "does not allow update on configmaps"),
        ("POST", KEPT, configmap(), 405, "does not allow create on configmaps"),
        ("OPTIONS", KEPT, None, 405, "OPTIONS"),
        ("DELETE", "/version", None, 405, "only GET"),
        ("DELETE", f"{CONFIGMAPS}/none", None, 404, 'configmaps "none" not found'),
        ("DELETE", KEPT, {"propagationPolicy": "No"}, 422, "propagationPolicy: Unsupported value"),
        ("DELETE", KEPT, {"gracePeriodSeconds": "x"}, 400, "gracePeriodSeconds"),
        ("DELETE", KEPT, {"gracePeriodSeconds": -5}, 400, "gracePeriodSeconds: Invalid value: -5"),
        ("DELETE", KEPT, {"preconditions": {"uid": "no"}}, 409, "UID in precondition: no"),
        (
            "DELETE",
            KEPT,
            {"preconditions": {"resourceVersion": "1"}},
            409,
            "ResourceVersion in precondition: 1",
        ),
    ],
)
def test_what_does_not_exist_or_does_not_fit_its_address_is_refused(
    running: Running, method: str, target: str, body: Any, status: int, says: str
) -> None:
    refused(running.request(method, target, body), status, says)


@pytest.mark.parametrize(
    "name", ["UPPER", "a_b", "-a", "a-", ".a", "a.", "a..b", "a/b", "a b", "a\r\nX: 1", "ä", "..", "a\0b"]
)
def test_a_name_that_breaks_a_rule_is_422_with_the_rule(running: Running, name: str) -> None:
    status, body = running.request("POST", CONFIGMAPS, configmap(name))
    refused((status, body), 422, "metadata.name: Invalid value: ", SUBDOMAIN)
    assert body["details"]["causes"][0]["field"] == "metadata.name"


@pytest.mark.parametrize(
    ("metadata", "status", "says"),
    [
        ({"name": ""}, 422, "metadata.name: Required value: name or generateName is required"),
        ({"name": 5}, 400, "metadata.name: Invalid value: 5: must be a string"),
        ({"name": "x" * 254}, 422, "must be no more than 253 bytes"),
        ({"name": "x", "labels": []}, 400, "metadata.labels: Invalid value: []: must be an object"),
        ({"name": "x", "labels": {"a": 1}}, 400, "metadata.labels[a]: Invalid value: 1: must be a string"),
        ({"name": "x", "labels": {"-a": ""}}, 422, 'metadata.labels: Invalid value: "-a"'),
        ({"name": "x", "labels": {"a": "x" * 64}}, 422, "must be no more than 63 bytes"),
        ({"name": "x", "labels": {"a": "x" * 300_000}}, 422, "must be no more than 63 bytes"),
        ({"name": "x", "annotations": {"a": "x" * 300_000}}, 422, "metadata.annotations: Too long"),
        ({"name": "x", "finalizers": ["no slash"]}, 422, "metadata.finalizers"),
        ({"name": "x", "ownerReferences": [{}]}, 422, "metadata.ownerReferences[0].uid: Required value"),
    ],
)
def test_metadata_that_breaks_a_rule_is_named(
    running: Running, metadata: dict[str, Any], status: int, says: str
) -> None:
    refused(running.request("POST", CONFIGMAPS, configmap(metadata=metadata)), status, says)


def test_every_problem_is_told_at_once(running: Running) -> None:
    labels = {"-a": "!"}
    status, body = running.request(
        "POST", CONFIGMAPS, configmap("UPPER", metadata={"labels": labels}, data={"/": ""})
    )
    refused((status, body), 422)
    assert {cause["field"].partition("[")[0] for cause in body["details"]["causes"]} == {
        "metadata.name",
        "metadata.labels",
        "data",
    }


def test_a_million_labels_are_too_large_and_as_many_as_fit_are_judged(running: Running) -> None:
    labels = b",".join([b'"l%d":""' % n for n in range(1_000_000)])
    million = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{%b}}}' % labels
    refused(running.request("POST", CONFIGMAPS, million), 413, "larger than the limit of 3145728 bytes")
    wrong = configmap(metadata={"labels": {f"-{n}": "" for n in range(200_000)}})
    status, body = running.request("POST", CONFIGMAPS, wrong)
    refused((status, body), 422, 'metadata.labels: Invalid value: "-0"')
    assert len(body["details"]["causes"]) <= 100


@pytest.mark.parametrize("fields", [{"data": {"a": "x" * 1_100_000}}, {"data": {"a" * 2_000_000: "x"}}])
def test_values_too_large_to_keep_are_422_and_the_answer_is_small(
    running: Running, fields: dict[str, Any]
) -> None:
    status, body = running.request("POST", CONFIGMAPS, configmap(**fields))
    refused((status, body), 422)
    assert len(json.dumps(body)) < 20_000


@pytest.mark.parametrize(
    ("level", "status", "warned"),
    [
        ("Ignore", 201, False),
        ("Warn", 201, True),
        ("", 201, True),
        ("Strict", 400, False),
        ("Loud", 400, False),
    ],
)
def test_unknown_and_doubled_fields_are_ignored_warned_of_or_refused_as_asked(
    running: Running, level: str, status: int, warned: bool
) -> None:
    body = (
        b'{"apiVersion":"v1","kind":"ConfigMap","bogus":1,"metadata":{"name":"a","name":"fields","labls":{}}}'
    )
    connection = running.connect()
    headers = {"Authorization": f"Bearer {running.token}", "Content-Type": "application/json"}
    connection.request("POST", f"{CONFIGMAPS}?fieldValidation={level}&dryRun=All", body, headers)
    answer = connection.getresponse()
    told = json.loads(answer.read())
    connection.close()
    assert answer.status == status, told
    findings = ['unknown field "bogus"', 'unknown field "metadata.labls"', 'duplicate field "metadata.name"']
    warnings = [f'299 - "{finding}"'.replace('d "', r"d \"").replace('""', r'\""') for finding in findings]
    assert (answer.headers.get_all("warning") or []) == (warnings if warned else [])
    if level == "Strict":
        refused((answer.status, told), 400, "strict decoding error: ", *findings)
    elif level == "Loud":
        refused(
            (answer.status, told),
            400,
            'fieldValidation: "Loud" is not supported; use "Ignore", "Warn" or "Strict"',
        )


@pytest.mark.parametrize("level", ["Ignore", "Warn", "Strict"])
def test_wrong_types_are_refused_at_every_level(running: Running, level: str) -> None:
    body = configmap(data=[], immutable="yes")
    answer = running.request("POST", f"{CONFIGMAPS}?fieldValidation={level}", body)
    refused(
        answer,
        400,
        "data: Invalid value: []: must be an object",
        'immutable: Invalid value: "yes": must be true or',
    )


@pytest.mark.parametrize("revision", ["1", "99999999", "abc", "-1", "9" * 30])
def test_a_resource_version_that_is_not_the_present_one_is_a_conflict(
    running: Running, revision: str
) -> None:
    body = configmap("kept", metadata={"resourceVersion": revision})
    status, answer = running.request("PUT", KEPT, body)
    refused(
        (status, answer), 409, "the object has been modified; please apply your changes to the latest version"
    )
    assert answer["reason"] == "Conflict"


@pytest.mark.parametrize(
    ("query", "status", "says"),
    [
        (
            "continue=garbage",
            400,
            "continue key is not valid: it is not one that this server gave out; start the list again",
        ),
        ("continue=%00%ff", 400, "continue key is not valid: "),
        ("continue=WzEsMiwzXQ==", 400, "continue key is not valid: "),
        ("continue=Wzk5OTk5OTk5LCIiLCIiXQ==", 504, "Too large resource version: 99999999"),
        ("limit=-1", 400, 'query parameter limit: "-1" is not a whole number of zero or more'),
        ("limit=x", 400, "query parameter limit"),
        ("limit=99999999999999999999", 400, "query parameter limit"),
        ("labelSelector=a%3D%3D%3Db", 400, "found '=' at character 4"),
        ("labelSelector=a+in+(", 400, "expected: a label value"),
        ("labelSelector=%00", 400, "unable to parse requirement"),
        ("labelSelector=%ff", 400, "unable to parse requirement"),
        ("fieldSelector=a", 400, "write field=value or field!=value"),
        ("fieldSelector=data.a%3Db", 400, "ConfigMap can be selected by metadata.name, metadata.namespace"),
        ("resourceVersion=99999999", 504, "Too large resource version: 99999999"),
        (
            "resourceVersion=abc",
            400,
            'resourceVersion: "abc" is not a resourceVersion that this server gave out',
        ),
        ("resourceVersion=-1", 400, "query parameter resourceVersion"),
        (
            "resourceVersionMatch=Exact",
            422,
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (
            "resourceVersionMatch=Maybe&resourceVersion=1",
            422,
            'Unsupported value: "Maybe": supported values: "Exact", "NotOlderThan", ""',
        ),
        ("watch=1&resourceVersion=99999999", 504, "Too large resource version: 99999999"),
        ("watch=1&resourceVersion=abc", 400, "query parameter resourceVersion"),
        ("watch=1&timeoutSeconds=-1", 400, "query parameter timeoutSeconds"),
        ("watch=1&labelSelector=!!", 400, "unable to parse requirement"),
        ("watch=1&allowWatchBookmarks=maybe", 400, "allowWatchBookmarks"),
        ("watch=1&sendInitialEvents=true", 422, "sendInitialEvents requires setting resourceVersionMatch"),
    ],
)
def test_a_query_option_that_makes_no_sense_is_named_with_what_would(
    running: Running, query: str, status: int, says: str
) -> None:
    refused(running.request("GET", f"{CONFIGMAPS}?{query}"), status, says)


@pytest.mark.parametrize(
    ("query", "status"),
    [("dryRun=Yes", 400), ("fieldManager=" + "x" * 129, 422), ("fieldManager=%0a", 422)],
)
def test_a_write_option_that_makes_no_sense_is_refused_and_nothing_is_written(
    running: Running, query: str, status: int
) -> None:
    refused(
        running.request("POST", f"{CONFIGMAPS}?{query}", configmap("optional")),
        status,
        query.partition("=")[0],
    )
    assert running.request("GET", f"{CONFIGMAPS}/optional")[0] == 404


@pytest.mark.parametrize(
    ("authorization", "says"),
    [
        (None, "no bearer token was sent"),
        ("Bearer wrong", "the bearer token is unknown or was revoked"),
        ("Bearer \xe4", "the bearer token is unknown or was revoked"),
        ("Basic YTpi", 'must read "Bearer TOKEN"'),
        ("Bearer", 'must read "Bearer TOKEN"'),
        ("", 'must read "Bearer TOKEN"'),
    ],
)
def test_without_a_right_token_it_is_401_and_says_where_to_get_one(
    running: Running, authorization: str | None, says: str
) -> None:
    for target in (CONFIGMAPS, "/api", "/nowhere", "/metrics"):
        headers = {} if authorization is None else {"Authorization": authorization}
        answer = running.request("GET", target, token=None, headers=headers)
        refused(answer, 401, says, "`fairlead token create`")


def test_names_that_clients_make_up_do_not_reach_the_metrics(running: Running) -> None:
    status, _ = running.request("GET", "/apis/g/v1/madeup%22%7D%200%0Aup")
    assert status == 404
    status, text = running.request("GET", "/metrics")
    assert status == 200
    assert "madeup" not in str(text)
    assert 'resource="unknown"' in str(text)


def token(running: Running, *words: str) -> str:
    command: list[str | Path] = [nursery.command(), "token", *words, "--data-dir", running.directory]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[0]


def until(running: Running, made: str, status: int) -> Any:
    """The server follows the token table within a second."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        found, body = running.request("GET", CONFIGMAPS, token=made)
        if found == status:
            return body
        time.sleep(0.05)
    raise AssertionError(f"the token never led to {status}")


def test_a_viewer_reads_but_may_not_write_and_a_revoked_token_is_out(running: Running, kept: Any) -> None:
    made = token(running, "create", "--role", "viewer", "--name", "reader")
    assert kept in until(running, made, 200)["items"]
    refused(
        running.request("POST", CONFIGMAPS, configmap(), token=made),
        403,
        'User "reader"',
        "create",
        "configmaps",
    )
    refused(running.request("DELETE", KEPT, token=made), 403, "delete")
    refused(running.request("GET", "/api/v1/secrets", token=made), 403, "secrets")
    token(running, "revoke", "reader")
    refused((401, until(running, made, 401)), 401, "unknown or was revoked")


def test_a_torn_token_table_locks_nobody_out_and_is_read_again_when_it_is_whole(running: Running) -> None:
    table = running.directory / "identity" / "tokens.json"
    whole = table.read_bytes()
    table.write_bytes(whole[: len(whole) // 2])
    time.sleep(1.5)
    assert running.request("GET", KEPT)[0] == 200
    table.write_bytes(whole)
    made = token(running, "create", "--role", "viewer", "--name", "later")
    until(running, made, 200)
