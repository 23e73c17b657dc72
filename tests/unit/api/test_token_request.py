"""TokenRequest: what is asked for, what is given, to whom, and what is kept of it (nothing but a line)."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.access.account_tokens import ISSUER
from fairlead.api.subresources.token import AUDIENCES_MAX
from tests.inprocess import InProcess
from tests.unit.api.access.accounts import (
    CORE,
    account,
    bound_to,
    create,
    node_user,
    part,
    pod,
    request,
    token,
    tokens_of,
)


@pytest.fixture
def plane() -> InProcess:
    made = InProcess()
    account(made)
    return made


def test_nothing_asked_for_is_an_hour_for_the_api(plane: InProcess) -> None:
    status, answer = request(plane)
    assert status == 201
    assert (answer["kind"], answer["apiVersion"]) == ("TokenRequest", "authentication.k8s.io/v1")
    assert (answer["metadata"]["name"], answer["metadata"]["namespace"]) == ("robot", "default")
    assert answer["spec"] == {"audiences": [ISSUER], "expirationSeconds": 3600}
    assert answer["status"]["expirationTimestamp"] == "2027-01-15T09:00:00Z"
    claims = part(answer["status"]["token"].split(".")[1])
    uid = plane.get(f"{CORE}/serviceaccounts/robot")[1]["metadata"]["uid"]
    assert claims == {
        "iss": ISSUER,
        "sub": "system:serviceaccount:default:robot",
        "aud": [ISSUER],
        "exp": plane.now + 3600,
        "iat": plane.now,
        "nbf": plane.now,
        "jti": claims["jti"],
        "kubernetes.io": {"namespace": "default", "serviceaccount": {"name": "robot", "uid": uid}},
    }


def test_no_two_tokens_are_the_same(plane: InProcess) -> None:
    assert token(plane) != token(plane)


@pytest.mark.parametrize("body", [{"spec": {}}, {"spec": {"boundObjectRef": None, "audiences": None}}])
def test_a_spec_may_say_nothing(plane: InProcess, body: Any) -> None:
    status, answer = plane.post(f"{CORE}/serviceaccounts/robot/token", body)
    assert (status, answer["spec"]["expirationSeconds"]) == (201, 3600)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"expirationSeconds": 599}, "spec.expirationSeconds: Invalid value: 599: may not specify a duration less"),
        ({"expirationSeconds": 0}, "spec.expirationSeconds: Invalid value: 0: may not specify a duration less"),
        ({"expirationSeconds": (1 << 32) + 1}, "may not specify a duration larger than 2^32 seconds"),
        ({"audiences": [str(n) for n in range(AUDIENCES_MAX + 1)]}, "spec.audiences: Too many: 33"),
        ({"boundObjectRef": {"kind": "ConfigMap", "name": "x"}}, 'spec.boundObjectRef.kind: Unsupported value: "ConfigMap"'),
        ({"boundObjectRef": {"kind": "Pod"}}, "spec.boundObjectRef.name: Required value"),
        ({"boundObjectRef": {"name": "web"}}, "spec.boundObjectRef.kind: Unsupported value"),
    ],
)  # fmt: skip
def test_what_may_not_be_asked_for_is_named(plane: InProcess, spec: Any, words: str) -> None:
    status, answer = request(plane, **spec)
    assert status == 422
    assert words in answer["message"]


@pytest.mark.parametrize("seconds", [600, 1 << 32])
def test_the_bounds_themselves_are_allowed(plane: InProcess, seconds: int) -> None:
    claims = part(token(plane, expirationSeconds=seconds).split(".")[1])
    assert claims["exp"] - claims["iat"] == seconds


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"kind": "Pod"}, "kind is 'Pod', but this path takes 'TokenRequest'"),
        ({"apiVersion": "v1"}, "apiVersion is 'v1', but this path takes 'authentication.k8s.io/v1'"),
        ({"spec": {"expirationSeconds": "long"}}, "expirationSeconds"),
        ({"spec": {"audiences": "vault"}}, "audiences"),
    ],
)
def test_a_body_of_another_shape_is_refused(plane: InProcess, body: Any, words: str) -> None:
    status, answer = plane.post(f"{CORE}/serviceaccounts/robot/token", body)
    assert status == 400
    assert words in answer["message"]


def test_an_account_that_is_not_there_has_no_token(plane: InProcess) -> None:
    status, answer = request(plane, "nobody")
    assert (status, answer["message"]) == (404, 'serviceaccounts "nobody" not found')


def test_a_token_names_the_pod_and_its_node(plane: InProcess) -> None:
    node = create(plane, "Node", "nodes", "n1", "")
    made = pod(plane, nodeName="n1")
    reference = bound_to("Pod", "web", made["metadata"]["uid"])
    status, answer = request(plane, boundObjectRef=reference)
    assert (status, answer["spec"]["boundObjectRef"]) == (201, reference)
    about = part(answer["status"]["token"].split(".")[1])["kubernetes.io"]
    assert about["pod"] == {"name": "web", "uid": made["metadata"]["uid"]}
    assert about["node"] == {"name": "n1", "uid": node["metadata"]["uid"]}
    # The node is told of, but it is the pod that the token stands and falls with.
    plane.delete("/api/v1/nodes/n1")
    user = tokens_of(plane).authenticate(answer["status"]["token"], plane.now)
    assert dict(user.extra)["authentication.kubernetes.io/node-name"] == ("n1",)


@pytest.mark.parametrize("kind", ["Pod", "Secret", "Node"])
def test_what_is_not_there_cannot_be_bound_to(plane: InProcess, kind: str) -> None:
    status, answer = request(plane, boundObjectRef=bound_to(kind, "gone"))
    assert (status, answer["message"]) == (404, f'{kind.lower()}s "gone" not found')


def test_a_pod_that_was_replaced_is_a_conflict(plane: InProcess) -> None:
    pod(plane)
    status, answer = request(plane, boundObjectRef=bound_to("Pod", "web", "another"))
    assert status == 409
    assert "(another) does not match the UID in record" in answer["message"]


def test_a_pod_that_runs_as_another_account_is_refused(plane: InProcess) -> None:
    account(plane, "other")
    pod(plane, runs_as="other")
    status, answer = request(plane, boundObjectRef=bound_to("Pod", "web"))
    assert status == 400
    assert 'cannot bind token for serviceaccount "robot"' in answer["message"]


def _lines(plane: InProcess) -> list[bytes]:
    return [note.body for _, _, note in plane.journal.notes("audit", 0, 10_000)]


def test_audit_knows_who_asked_and_not_what_they_got(plane: InProcess) -> None:
    before, revision = len(_lines(plane)), plane.store.revision
    text = token(plane)
    (line,) = _lines(plane)[before:]
    assert b'"serviceaccounts"' in line
    assert b'"subresource":"token"' in line
    assert b'"user":"admin"' in line
    assert not any(each.encode() in line for each in text.split("."))
    assert [entry.key for entry in plane.store.list("serviceaccounts") if entry.revision > revision] == []


def test_a_dry_run_leaves_no_line(plane: InProcess) -> None:
    before = len(_lines(plane))
    status, answer = request(plane, query="?dryRun=All")
    assert (status, len(_lines(plane)), bool(answer["status"]["token"])) == (201, before, True)


def test_a_node_asks_for_its_own_pods_only(plane: InProcess) -> None:
    create(plane, "Node", "nodes", "n1", "")
    create(plane, "Node", "nodes", "n2", "")
    pod(plane, "here", nodeName="n1")
    pod(plane, "there", nodeName="n2")
    account(plane, "unused")
    mine = node_user("n1")
    assert request(plane, user=mine, boundObjectRef=bound_to("Pod", "here"))[0] == 201
    refused: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("robot", {"boundObjectRef": bound_to("Pod", "there")}, "bound to one of its pods"),
        ("robot", {}, "bound to one of its pods (spec.boundObjectRef)"),
        ("robot", {"boundObjectRef": bound_to("Node", "n1")}, "bound to one of its pods"),
        ("robot", {"boundObjectRef": bound_to("Secret", "s")}, "bound to one of its pods"),
        ("unused", {"boundObjectRef": bound_to("Pod", "here")}, "that a pod bound to it runs as"),
    )
    for name, spec, words in refused:
        status, answer = request(plane, name, user=mine, **spec)
        assert (status, words in answer["message"]) == (403, True), answer


def test_a_node_can_do_nothing_else_with_accounts(plane: InProcess) -> None:
    create(plane, "Node", "nodes", "n1", "")
    pod(plane, nodeName="n1")
    status, answer = plane.get(f"{CORE}/serviceaccounts/robot", user=node_user("n1"))
    assert status == 403
    assert "asks for tokens of service accounts, nothing else" in answer["message"]


def _review(plane: InProcess, text: str, **spec: Any) -> Any:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": text, **spec}}
    status, answer = plane.post("/apis/authentication.k8s.io/v1/tokenreviews", body)
    assert status == 201, answer
    return answer["status"]


def test_a_review_says_whose_token_it_is_and_for_whom(plane: InProcess) -> None:
    text = token(plane, audiences=["vault", "ledger"])
    told = _review(plane, text, audiences=["ledger", "mail"])
    assert (told["authenticated"], told["audiences"]) == (True, ["ledger"])
    assert told["user"]["username"] == "system:serviceaccount:default:robot"
    refused = _review(plane, text)
    assert (refused["authenticated"], refused["user"]) == (False, {})
    assert "is meant for vault, ledger" in refused["error"]
    assert "is meant for vault, ledger" in _review(plane, text, audiences=["mail"])["error"]


def test_a_review_of_a_token_whose_pod_is_gone_says_so(plane: InProcess) -> None:
    pod(plane)
    text = token(plane, boundObjectRef=bound_to("Pod", "web"))
    assert _review(plane, text)["audiences"] == [ISSUER]
    plane.delete(f"{CORE}/pods/web", {"gracePeriodSeconds": 0})
    assert 'pods "web", which does not exist any more' in _review(plane, text)["error"]
