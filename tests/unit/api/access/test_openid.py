"""Tokens of an identity provider: whom they name, and which are not taken."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from fairlead.api.access.account_tokens import AccountTokens
from fairlead.api.access.authn import Tokens
from fairlead.api.access.openid import OpenIdTokens, issuer_of
from fairlead.api.access.openid_settings import OpenIdSettings
from fairlead.api.access.sign_in import SignIn
from fairlead.api.access.users import User
from fairlead.core.errors import Unauthorized
from tests.unit.api.access.granting import Objects

ISSUER = "https://people.example"
SETTINGS = OpenIdSettings(ISSUER, "fairlead", groups_claim="groups", groups_prefix="people:")
NOW = 1_000.0
CLAIMS = {"iss": ISSUER, "aud": "fairlead", "sub": "ada", "exp": 2_000, "groups": ["devs", "ops"]}
GOOD = b"good"


def packed(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def token(claims: dict[str, Any], signature: bytes = GOOD, **head: str) -> str:
    parts = [msgspec.json.encode(each) for each in ({"alg": "RS256", "kid": "k", **head}, claims)]
    return ".".join([*map(packed, parts), packed(signature)])


def tokens(settings: OpenIdSettings = SETTINGS) -> OpenIdTokens:
    return OpenIdTokens(settings, lambda algorithm, key, signed, signature: (key, signature) == ("k", GOOD))


def test_a_token_names_its_user_and_their_groups_with_their_prefixes() -> None:
    found = tokens().authenticate(token(CLAIMS), NOW)
    assert found == User(f"{ISSUER}#ada", groups=("people:devs", "people:ops", "system:authenticated"))


@pytest.mark.parametrize(
    ("changed", "claims", "name"),
    [
        ({"username_prefix": "-"}, {}, "ada"),
        ({"username_prefix": "p:"}, {}, "p:ada"),
        ({"username_claim": "email"}, {"email": "ada@example.com"}, "ada@example.com"),
        ({"username_claim": "email"}, {"email": "a@b", "email_verified": True}, "a@b"),
    ],
)
def test_what_names_the_user_can_be_chosen(changed: Any, claims: Any, name: str) -> None:
    settings = replace(SETTINGS, **changed)
    assert tokens(settings).authenticate(token({**CLAIMS, **claims}), NOW).name == name


@pytest.mark.parametrize(
    ("claims", "head", "signature", "why"),
    [
        ({"exp": 999}, {}, GOOD, "has expired"),
        ({"exp": "soon"}, {}, GOOD, "has expired"),
        ({"nbf": 1_100}, {}, GOOD, "is not valid yet"),
        ({"aud": "others"}, {}, GOOD, "not meant for client fairlead"),
        ({"aud": ["others"]}, {}, GOOD, "not meant for client fairlead"),
        ({"sub": ""}, {}, GOOD, "has no claim sub"),
        ({"sub": 7}, {}, GOOD, "has no claim sub"),
        ({}, {"alg": "none"}, b"", "is signed with none"),
        ({}, {"alg": "HS256"}, GOOD, "is signed with HS256"),
        ({}, {"kid": "other"}, GOOD, "not signed with a key of its issuer"),
        ({}, {}, b"bad", "not signed with a key of its issuer"),
    ],
)
def test_others_are_refused_and_told_why(claims: Any, head: Any, signature: bytes, why: str) -> None:
    with pytest.raises(Unauthorized, match=why):
        tokens().authenticate(token({**CLAIMS, **claims}, signature, **head), NOW)


def test_an_issuer_makes_nobody_a_part_of_the_plane() -> None:
    settings = replace(SETTINGS, username_prefix="-", groups_prefix="")
    with pytest.raises(Unauthorized, match="a part of the plane"):
        tokens(settings).authenticate(token({**CLAIMS, "sub": "system:node:n1"}), NOW)
    found = tokens(settings).authenticate(token({**CLAIMS, "groups": ["system:masters", "devs"]}), NOW)
    assert found.groups == ("devs", "system:authenticated")


def test_an_email_that_was_not_verified_and_a_claim_that_is_missing_are_refused() -> None:
    by_email = replace(SETTINGS, username_claim="email")
    with pytest.raises(Unauthorized, match="did not verify"):
        tokens(by_email).authenticate(token({**CLAIMS, "email": "a@b", "email_verified": False}), NOW)
    strict = replace(SETTINGS, required=(("team", "sea"),))
    with pytest.raises(Unauthorized, match="claim team=sea"):
        tokens(strict).authenticate(token(CLAIMS), NOW)
    assert tokens(strict).authenticate(token({**CLAIMS, "team": "sea"}), NOW)


def test_a_review_for_other_audiences_knows_nobody() -> None:
    way_in = SignIn(Tokens({}), AccountTokens(Objects(), b"key"), tokens())
    assert way_in.review(token(CLAIMS), NOW, ())[0].name == f"{ISSUER}#ada"
    with pytest.raises(Unauthorized, match="is meant for"):
        way_in.review(token(CLAIMS), NOW, ("vault",))


def test_one_that_was_taken_ends_with_its_time() -> None:
    known = tokens()
    user = known.authenticate(token(CLAIMS), NOW)
    assert known.knows(user, 1_999.0)
    assert not known.knows(user, 2_000.0)
    with pytest.raises(Unauthorized, match="has expired"):
        known.authenticate(token(CLAIMS), 2_000.0)


@pytest.mark.parametrize("text", ["a.b.c", "..", "%.%.%", f"{packed(b'[]')}.{packed(b'1')}.x"])
def test_what_is_no_token_has_no_issuer_and_lets_nobody_in(text: str) -> None:
    assert issuer_of(text) == ""
    with pytest.raises(Unauthorized, match="cannot be read"):
        tokens().authenticate(text, NOW)
