"""Tokens of service accounts: what they say, who signs in with one, and until when it counts.

`api/subresources/token.py` issues them, `sign_in.py` asks here about every bearer token of this form, TokenReview too.
A token is a JSON Web Token signed with a key that only the servers of this plane have (HS256): nobody else needs to
verify one, and it costs microseconds where a public key costs a hundred. Nothing is kept of a token; it counts while

- it is signed with the key, its time has come and has not passed, and it is meant for whoever asks (`aud`);
- its ServiceAccount exists, by uid, and so does the Pod, Secret or Node that it is bound to.

So deleting a ServiceAccount or a pod ends its tokens with the commit. Pure: the time comes with the question.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode

import msgspec

from fairlead.api.access.users import (
    AUTHENTICATED,
    CREDENTIAL_ID,
    User,
    service_account,
    service_account_groups,
    service_account_name,
)
from fairlead.core.bounded_dict import BoundedDict
from fairlead.core.errors import Unauthorized
from fairlead.model.key import Key
from fairlead.store.contract import Reader

ISSUER = "https://kubernetes.default.svc.cluster.local"
_POD_NAME, _POD_UID = "authentication.kubernetes.io/pod-name", "authentication.kubernetes.io/pod-uid"
_NODE_NAME, _NODE_UID = "authentication.kubernetes.io/node-name", "authentication.kubernetes.io/node-uid"

_KEY_NAME = b"the name of this key"
_KEPT = 4096  # tokens
_TOKEN_MAX = 8192  # characters
_NEXT_STEP = "ask for a new one with `kubectl create token`, or read the token file again"


class BoundObject(msgspec.Struct, frozen=True):
    name: str
    uid: str


class TokenSubject(msgspec.Struct, frozen=True, omit_defaults=True):
    """What of this plane the token stands and falls with."""

    namespace: str
    serviceaccount: BoundObject
    pod: BoundObject | None = None
    secret: BoundObject | None = None
    node: BoundObject | None = None


class Claims(msgspec.Struct, frozen=True):
    iss: str
    sub: str
    aud: tuple[str, ...]
    exp: int
    iat: int
    nbf: int
    jti: str
    about: TokenSubject = msgspec.field(name="kubernetes.io")


_decode = msgspec.json.Decoder(Claims).decode


class _Accepted(msgspec.Struct, frozen=True):
    claims: Claims
    user: User


class AccountTokens:
    """Those of one plane. `key` is the secret they are signed with; of `kept` tokens is remembered that it signed them,
    and who signed in with them: of those that were used, or asked about, last."""

    __slots__ = ("_accepted", "_header", "_key", "_read", "_users")

    def __init__(self, read: Reader, key: bytes, kept: int = _KEPT) -> None:
        self._read = read
        self._key = key
        # Nodes tell by its name that the key is another, and what they were given ended with the one before.
        name = hmac.digest(key, _KEY_NAME, hashlib.sha256).hex()[:16]
        self._header = _packed(msgspec.json.encode({"alg": "HS256", "typ": "JWT", "kid": name}))
        self._accepted: BoundedDict[str, _Accepted] = BoundedDict(kept)
        self._users: BoundedDict[User, Claims] = BoundedDict(kept)

    def issue(self, claims: Claims) -> str:
        signed = f"{self._header}.{_packed(msgspec.json.encode(claims))}"
        return f"{signed}.{_packed(self._signature(signed))}"

    def authenticate(self, token: str, at: float, audiences: tuple[str, ...] = (ISSUER,)) -> User:
        """Who signs in with it; Unauthorized, with the reason, if nobody does."""
        accepted = self._accepted.pop(token, None)
        if accepted is None:
            claims = self._verified(token)
            accepted = _Accepted(claims, _user(claims))
        trouble = self._trouble(accepted.claims, at, audiences)
        if trouble:
            raise Unauthorized(f"the service account's token {trouble}: {_NEXT_STEP}")
        self._accepted.keep(token, accepted)
        self._users.pop(accepted.user, None)
        self._users.keep(accepted.user, accepted.claims)
        return accepted.user

    def knows(self, user: User, at: float) -> bool:
        """Whether what this user signed in with still counts."""
        claims = self._users.pop(user, None)
        if claims is None or self._trouble(claims, at, claims.aud):
            return False
        self._users.keep(user, claims)  # what is open must not end because many others sign in
        return True

    def meant_for(self, token: str) -> tuple[str, ...]:
        """Whom an accepted token is meant for."""
        accepted = self._accepted.get(token)
        return accepted.claims.aud if accepted is not None else ()

    def _verified(self, token: str) -> Claims:
        signed, _, signature = token.rpartition(".")
        good = len(token) <= _TOKEN_MAX and token.isascii()
        good = good and hmac.compare_digest(_packed(self._signature(signed)), signature)
        try:
            if good:
                return _decode(_unpacked(signed.partition(".")[2]))
        except (msgspec.MsgspecError, binascii.Error):
            pass  # signed by us, so by an older server: what it says is not understood
        raise Unauthorized(f"the bearer token is not one of this plane: {_NEXT_STEP}")

    def _signature(self, signed: str) -> bytes:
        return hmac.digest(self._key, signed.encode(), hashlib.sha256)

    def _trouble(self, claims: Claims, at: float, audiences: tuple[str, ...]) -> str:
        """Why it does not count now; "" if it does."""
        about = claims.about
        if at >= claims.exp:
            return "has expired"
        if at < claims.nbf:
            return "is not valid yet"
        if not set(audiences) & set(claims.aud):
            return f"is meant for {', '.join(claims.aud)}"
        bound = (
            ("serviceaccounts", about.namespace, about.serviceaccount),
            ("pods", about.namespace, about.pod),
            ("secrets", about.namespace, about.secret),
            ("nodes", "", None if about.pod is not None else about.node),
        )
        for resource, namespace, reference in bound:
            if reference is None:
                continue
            entry = self._read.get(Key(resource, namespace, reference.name))
            if entry is None or entry.uid != reference.uid:
                return f'belongs to {resource} "{reference.name}", which does not exist any more'
        return ""


def _user(claims: Claims) -> User:
    about = claims.about
    namespace, name = service_account(claims.sub)
    if (namespace, name) != (about.namespace, about.serviceaccount.name):
        raise Unauthorized("the bearer token is not one of this plane")
    extra = [(CREDENTIAL_ID, (f"JTI={claims.jti}",))]
    for bound, keys in ((about.node, (_NODE_NAME, _NODE_UID)), (about.pod, (_POD_NAME, _POD_UID))):
        if bound is not None:
            extra += [(keys[0], (bound.name,)), (keys[1], (bound.uid,))]
    groups = (*service_account_groups(namespace), AUTHENTICATED)
    return User(service_account_name(namespace, name), about.serviceaccount.uid, groups, tuple(extra))


def _packed(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _unpacked(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
