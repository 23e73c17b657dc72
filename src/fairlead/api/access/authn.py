"""The token table: from an Authorization header to a User, or Unauthorized with a sentence that says what to do.

One of the ways to sign in (`sign_in.py`). `Tokens` holds digests of tokens, never tokens: whoever reads the table
cannot sign in with it. A changed token file gives a new `Tokens`.
May not read files: `runtime/credentials/identity.py` does, and hands the table over.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

from fairlead.api.access.users import AUTHENTICATED, CREDENTIAL_ID, User
from fairlead.core.errors import Unauthorized

PUBLIC_PATHS = frozenset({"/readyz", "/livez", "/healthz", "/version"})

_CREDENTIAL_DIGITS = 32  # of a digest; enough to tell tokens apart
_CACHE_MAX = 1024
_NEXT_STEP = "use the kubeconfig in the data directory, or create a token with `fairlead token create`"


def token_digest(token: str) -> str:
    """What is kept of a token: 256 random bits need no salt and no slow hash."""
    return sha256(token.encode()).hexdigest()


class Tokens:
    """Bearer tokens by digest.

    Lookup is by digest, so timing could only tell about digests, which tell nothing of tokens.
    Accepted headers are remembered (bounded), refused ones never: nobody can push them out by guessing.
    """

    __slots__ = ("_accepted", "_known", "_users")

    def __init__(self, users: Mapping[str, User]) -> None:
        """`users`: lower-case hex SHA-256 of the token -> who it stands for."""
        self._users = {digest: _authenticated(user, digest) for digest, user in users.items()}
        self._known = frozenset(self._users.values())
        self._accepted: dict[str, User] = {}

    def __len__(self) -> int:
        return len(self._users)

    def remembered(self, authorization: str | None) -> User | None:
        """Who signed in with this header before."""
        return self._accepted.get(authorization) if authorization is not None else None

    def authenticate(self, authorization: str | None) -> User:
        user = self.remembered(authorization)
        return user if user is not None else self._look_up(authorization)

    def knows(self, user: User) -> bool:
        """Whether the token still stands for this user with which they signed in. Another of the same name does not
        count: what was opened with a token ends with it."""
        return user in self._known

    def user_of(self, token: str) -> User | None:
        """Whom a bare token stands for, or None (TokenReview asks this)."""
        return self._users.get(token_digest(token))

    def _look_up(self, authorization: str | None) -> User:
        user = self.user_of(bearer_token(authorization))
        if user is None or authorization is None:
            raise Unauthorized(f"the bearer token is unknown or was revoked: {_NEXT_STEP}")
        if len(self._accepted) >= _CACHE_MAX:
            self._accepted.clear()
        self._accepted[authorization] = user
        return user


def bearer_token(authorization: str | None) -> str:
    """The token of a header. Unauthorized if there is none."""
    if authorization is None:
        raise Unauthorized(f"no bearer token was sent: {_NEXT_STEP}")
    scheme, _, token = authorization.partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token or " " in token:
        raise Unauthorized(f'the Authorization header must read "Bearer TOKEN": {_NEXT_STEP}')
    return token


def is_public(path: str) -> bool:
    """True for what anyone may read: health checks, with their parts, and the version."""
    return path in PUBLIC_PATHS or path.startswith(("/readyz/", "/livez/", "/healthz/"))


def _authenticated(user: User, digest: str) -> User:
    """With the group of everyone signed in, and which token it was, told as Kubernetes tells it of its own tokens."""
    groups = user.groups if AUTHENTICATED in user.groups else (*user.groups, AUTHENTICATED)
    credential = (CREDENTIAL_ID, (f"SHA256={digest[:_CREDENTIAL_DIGITS]}",))
    return User(user.name, user.uid, groups, (*user.extra, credential))
