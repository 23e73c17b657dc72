"""Tokens of service accounts: what they count for, and every way in which they stop to."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.access.account_tokens import ISSUER, AccountTokens
from fairlead.core.errors import Unauthorized
from tests.inprocess import InProcess
from tests.unit.api.access.accounts import (
    CORE,
    account,
    bound_to,
    create,
    packed,
    part,
    pod,
    token,
    tokens_of,
)

NOT_OURS = "not one of this plane"


@pytest.fixture
def plane() -> InProcess:
    made = InProcess()
    account(made)
    return made


def refused(plane: InProcess, text: str, words: str, at: float = 0.0, audiences: Any = (ISSUER,)) -> None:
    with pytest.raises(Unauthorized, match=words):
        tokens_of(plane).authenticate(text, at or plane.now, audiences)


def test_who_signs_in_is_the_account_with_its_groups_and_the_tokens_number(plane: InProcess) -> None:
    made = pod(plane)
    text = token(plane, boundObjectRef=bound_to("Pod", "web"))
    user = tokens_of(plane).authenticate(text, plane.now)
    assert user.name == "system:serviceaccount:default:robot"
    assert user.uid == plane.get(f"{CORE}/serviceaccounts/robot")[1]["metadata"]["uid"]
    assert user.groups == (
        "system:serviceaccounts",
        "system:serviceaccounts:default",
        "system:authenticated",
    )
    jti = part(text.split(".")[1])["jti"]
    assert dict(user.extra) == {
        "authentication.kubernetes.io/credential-id": (f"JTI={jti}",),
        "authentication.kubernetes.io/pod-name": ("web",),
        "authentication.kubernetes.io/pod-uid": (made["metadata"]["uid"],),
    }


def test_a_token_of_another_plane_is_refused(plane: InProcess) -> None:
    other = AccountTokens(plane.store, b"another secret")
    with pytest.raises(Unauthorized, match=NOT_OURS):
        other.authenticate(token(plane), plane.now)


def test_changed_claims_are_refused(plane: InProcess) -> None:
    header, claims, signature = token(plane).split(".")
    changed = part(claims) | {"exp": part(claims)["exp"] + 1}
    refused(plane, f"{header}.{packed(changed)}.{signature}", NOT_OURS)


@pytest.mark.parametrize("signature", ["", "bm9uZQ", "é", "\U0001f511"])
@pytest.mark.parametrize("algorithm", ["none", "HS256"])
def test_a_token_that_is_not_signed_is_refused(plane: InProcess, algorithm: str, signature: str) -> None:
    _, claims, _ = token(plane).split(".")
    refused(plane, f"{packed({'alg': algorithm, 'typ': 'JWT'})}.{claims}.{signature}", NOT_OURS)


@pytest.mark.parametrize("text", ["", ".", "..", "a.b", "a.b.c.d", "é.é.é", "x" * 9000 + ".y.z"])
def test_what_is_no_token_is_refused(plane: InProcess, text: str) -> None:
    refused(plane, text, NOT_OURS)


@pytest.mark.parametrize(
    "claims", [{}, [], "text", {"iss": ISSUER, "sub": "system:serviceaccount:default:robot"}]
)
def test_what_the_key_signed_but_nobody_understands_is_refused(plane: InProcess, claims: Any) -> None:
    issuing = tokens_of(plane)
    signed = f"{packed({'alg': 'HS256'})}.{packed(claims)}"
    with pytest.raises(Unauthorized, match=NOT_OURS):
        issuing.authenticate(f"{signed}.{_signature(issuing, signed)}", plane.now)


def test_a_subject_that_is_not_the_account_it_is_about_is_refused(plane: InProcess) -> None:
    issuing = tokens_of(plane)
    claims = part(token(plane).split(".")[1]) | {"sub": "system:serviceaccount:kube-system:robot"}
    signed = f"{packed({'alg': 'HS256', 'typ': 'JWT'})}.{packed(claims)}"
    refused(plane, f"{signed}.{_signature(issuing, signed)}", NOT_OURS)


def _signature(tokens: AccountTokens, signed: str) -> str:
    """As the plane itself would sign it."""
    import hashlib
    import hmac
    from base64 import urlsafe_b64encode

    return urlsafe_b64encode(hmac.digest(b"secret", signed.encode(), hashlib.sha256)).rstrip(b"=").decode()


def test_it_counts_from_its_first_second_to_its_last(plane: InProcess) -> None:
    text, issuing = token(plane, expirationSeconds=600), tokens_of(plane)
    assert issuing.authenticate(text, plane.now)
    assert issuing.authenticate(text, plane.now + 599)
    refused(plane, text, "has expired", plane.now + 600)
    refused(plane, text, "is not valid yet", plane.now - 1)


def test_a_token_for_others_is_none_for_the_api(plane: InProcess) -> None:
    text = token(plane, audiences=["vault", "ledger"])
    refused(plane, text, "is meant for vault, ledger")
    assert tokens_of(plane).authenticate(text, plane.now, ("ledger",))


def test_a_token_ends_with_its_account_also_if_another_takes_the_name(plane: InProcess) -> None:
    text, issuing = token(plane), tokens_of(plane)
    user = issuing.authenticate(text, plane.now)
    plane.delete(f"{CORE}/serviceaccounts/robot")
    refused(plane, text, 'serviceaccounts "robot", which does not exist any more')
    assert not issuing.knows(user, plane.now)
    account(plane)
    refused(plane, text, "does not exist any more")
    assert not issuing.knows(user, plane.now)
    assert issuing.authenticate(token(plane), plane.now)


@pytest.mark.parametrize(
    ("kind", "plural", "space", "fields"),
    [
        ("Secret", "secrets", "default", {}),
        ("Node", "nodes", "", {}),
        ("Pod", "pods", "default", {"spec": {"serviceAccountName": "robot", "containers": [{"name": "m", "image": "x"}]}}),
    ],
)  # fmt: skip
def test_a_token_ends_with_what_it_is_bound_to(
    plane: InProcess, kind: str, plural: str, space: str, fields: Any
) -> None:
    base = f"/api/v1/namespaces/{space}" if space else "/api/v1"
    create(plane, kind, plural, "it", space, **fields)
    text, issuing = token(plane, boundObjectRef=bound_to(kind, "it")), tokens_of(plane)
    user = issuing.authenticate(text, plane.now)
    assert issuing.knows(user, plane.now)
    status, _ = plane.delete(f"{base}/{plural}/it", {"gracePeriodSeconds": 0})
    assert status == 200
    refused(plane, text, f'{plural} "it", which does not exist any more')
    assert not issuing.knows(user, plane.now)
    create(plane, kind, plural, "it", space, **fields)
    refused(plane, text, "does not exist any more")


def test_whoever_signed_in_is_known_until_their_token_ends(plane: InProcess) -> None:
    issuing = tokens_of(plane)
    first = issuing.authenticate(token(plane, expirationSeconds=600), plane.now)
    second = issuing.authenticate(token(plane, expirationSeconds=6000), plane.now)
    assert first != second
    later = plane.now + 600
    assert (issuing.knows(first, later), issuing.knows(second, later)) == (False, True)


def test_whoever_is_asked_about_stays_known_when_many_sign_in(plane: InProcess) -> None:
    """A watch that is open is looked at every second: it must not end because others came."""
    issuing = AccountTokens(plane.store, b"secret", kept=3)
    watching = issuing.authenticate(token(plane), plane.now)
    for _ in range(5):
        issuing.authenticate(token(plane), plane.now)
        assert issuing.knows(watching, plane.now)


def test_a_sign_in_is_judged_anew_each_time_though_the_signature_is_remembered(plane: InProcess) -> None:
    issuing, text = tokens_of(plane), token(plane)
    assert issuing.authenticate(text, plane.now) == issuing.authenticate(text, plane.now)
    assert issuing.meant_for(text) == (ISSUER,)
    assert issuing.meant_for("a.b.c") == ()
    refused(plane, text, "has expired", plane.now + 3600)
