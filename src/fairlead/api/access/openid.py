"""Signing in with a token of an OpenID Connect issuer that the operator chose: whom it names, and until when.

One of the ways to sign in (`sign_in.py`). Reads the token and judges its claims; whether the signature is the issuer's
is asked of `verify`, because keys come from elsewhere (`runtime/credentials/openid_keys.py`) and take a library. As in
Kubernetes: the name is a claim (`sub`, with the issuer before it, unless another prefix is chosen), groups are another.
No issuer makes anybody a part of the plane: names and groups that begin with `system:` are not taken from it.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode
from collections.abc import Callable
from typing import Any

import msgspec

from fairlead.api.access.openid_settings import OpenIdSettings
from fairlead.api.access.users import AUTHENTICATED, CREDENTIAL_ID, User
from fairlead.core.bounded_dict import BoundedDict
from fairlead.core.errors import Unauthorized

ALGORITHMS = ("RS256", "ES256")
_RESERVED = "system:"
_TOKEN_MAX = 16_384  # characters
_KEPT = 4096
_GROUPS_MAX = 256
_SKEW_SECONDS = 10.0  # by which an issuer's clock may be ahead

# (algorithm, key id, what was signed, signature) -> whether it is the issuer's
Verify = Callable[[str, str, bytes, bytes], bool]


class _Accepted(msgspec.Struct, frozen=True):
    user: User
    begins: float
    ends: float


class OpenIdTokens:
    """Those of one issuer."""

    __slots__ = ("_accepted", "_users", "_verify", "settings")

    def __init__(self, settings: OpenIdSettings, verify: Verify) -> None:
        self.settings = settings
        self._verify = verify
        self._accepted: BoundedDict[str, _Accepted] = BoundedDict(_KEPT)
        self._users: BoundedDict[User, _Accepted] = BoundedDict(_KEPT)

    def authenticate(self, token: str, at: float) -> User:
        """Who signs in with it; Unauthorized, with the reason, if nobody does."""
        found = self._accepted.get(token)
        if found is None:
            claims = self._verified(token)
            found = _Accepted(self._user(claims), _instant(claims, "nbf", 0.0), _instant(claims, "exp", 0.0))
        if not found.begins - _SKEW_SECONDS <= at < found.ends:
            raise _refusal("has expired" if at >= found.ends else "is not valid yet")
        self._accepted.keep(token, found)
        self._users.keep(found.user, found)
        return found.user

    def knows(self, user: User, at: float) -> bool:
        found = self._users.get(user)
        return found is not None and at < found.ends

    def _verified(self, token: str) -> dict[str, Any]:
        if len(token) > _TOKEN_MAX:
            raise _refusal(f"is longer than {_TOKEN_MAX} characters")
        signed, _, signature = token.rpartition(".")
        head, claims = (parse_part(part) for part in signed.split("."))
        algorithm, key = str(head.get("alg", "")), str(head.get("kid", ""))
        if algorithm not in ALGORITHMS:
            raise _refusal(
                f"is signed with {algorithm or 'nothing'}; {' and '.join(ALGORITHMS)} are understood"
            )
        if not self._verify(algorithm, key, signed.encode(), _unpacked(signature)):
            raise _refusal("is not signed with a key of its issuer that is known here")
        return claims

    def _user(self, claims: dict[str, Any]) -> User:
        settings = self.settings
        audiences = claims.get("aud")
        if settings.client_id not in (audiences if isinstance(audiences, list) else [audiences]):
            raise _refusal(f"is not meant for client {settings.client_id}")
        for claim, value in settings.required:
            if claims.get(claim) != value:
                raise _refusal(f"does not have the claim {claim}={value}")
        plain = claims.get(settings.username_claim)
        if not isinstance(plain, str) or not plain:
            raise _refusal(f"has no claim {settings.username_claim}, which names the user")
        if settings.username_claim == "email" and claims.get("email_verified", True) is not True:
            raise _refusal("has an email that its issuer did not verify")
        name = settings.name_prefix + plain
        if name.startswith(_RESERVED):
            raise _refusal(f"names a part of the plane ({_RESERVED}...)")
        given = claims.get(settings.groups_claim) if settings.groups_claim else None
        texts = [given] if isinstance(given, str) else given if isinstance(given, list) else []
        groups = [settings.groups_prefix + each for each in texts[:_GROUPS_MAX] if isinstance(each, str)]
        kept = tuple(dict.fromkeys(each for each in groups if not each.startswith(_RESERVED)))
        identifier = str(claims.get("jti", ""))
        extra = ((CREDENTIAL_ID, (f"JTI={identifier}",)),) if identifier else ()
        return User(name, "", (*kept, AUTHENTICATED), extra)


def parse_part(part: str) -> dict[str, Any]:
    """A part of a token that is JSON."""
    try:
        found = msgspec.json.decode(_unpacked(part))
    except msgspec.MsgspecError as error:
        raise _refusal("cannot be read") from error
    if not isinstance(found, dict):
        raise _refusal("cannot be read")
    return found


def issuer_of(token: str) -> str:
    """Who a token says has issued it; nothing of it is believed yet. "" if it does not say."""
    parts = token.split(".")
    try:
        return str(parse_part(parts[1]).get("iss", "")) if len(parts) == 3 else ""
    except Unauthorized:
        return ""


def _instant(claims: dict[str, Any], claim: str, default: float) -> float:
    value = claims.get(claim, default)
    return float(value) if isinstance(value, int | float) else default


def _unpacked(text: str) -> bytes:
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError) as error:
        raise _refusal("cannot be read") from error


def _refusal(why: str) -> Unauthorized:
    return Unauthorized(f"the token of the identity provider {why}: sign in there again")
