"""All ways to sign in, asked in order. First step of every request; one per server, held by its Api.

    certificates           shown in the TLS handshake, signed by this plane's authority (`client_certificates.py`)
    the token table        tokens that `fairlead token create` made (`authn.py`); replaced as a whole when the file is
    service accounts       tokens with three parts, signed by this plane (`account_tokens.py`)
    an identity provider   tokens with three parts, of the issuer that the operator chose (`openid.py`)

Who shows a certificate signs in with it; else the first that knows a token answers for it, and what it says of a bad
one is what the caller is told.
"""

from __future__ import annotations

from fairlead.api.access.account_tokens import ISSUER, AccountTokens
from fairlead.api.access.authn import Tokens, bearer_token, is_public
from fairlead.api.access.client_certificates import ClientCertificate, user_of
from fairlead.api.access.openid import OpenIdTokens, issuer_of
from fairlead.api.access.users import ANONYMOUS, User
from fairlead.core.bounded_dict import BoundedDict
from fairlead.core.errors import Unauthorized

_SHOWN_KEPT = 4096  # certificates; who is forgotten and has a watch open must open it again


class SignIn:
    __slots__ = ("_shown", "accounts", "openid", "tokens")

    def __init__(self, tokens: Tokens, accounts: AccountTokens, openid: OpenIdTokens | None = None) -> None:
        self.tokens = tokens
        self.accounts = accounts
        self.openid = openid
        self._shown: BoundedDict[User, ClientCertificate] = BoundedDict(_SHOWN_KEPT)

    def authenticate(
        self, authorization: str | None, path: str, at: float, shown: ClientCertificate | None = None
    ) -> User:
        """The caller of one request: anonymous only on public paths and only without a token."""
        if shown is not None:
            user = user_of(shown, at)
            self._shown.keep(user, shown)
            return user
        if authorization is None and is_public(path):
            return ANONYMOUS
        known = self.tokens.remembered(authorization)
        if known is not None:
            return known
        token = bearer_token(authorization)
        if not _has_three_parts(token):
            return self.tokens.authenticate(authorization)
        if self._is_providers(token):
            assert self.openid is not None
            return self.openid.authenticate(token, at)
        return self.accounts.authenticate(token, at)

    def remembered(self, authorization: str | None, shown: ClientCertificate | None) -> User | None:
        """Who signed in in the same way before, where that holds at any time: only a token of the table does."""
        return self.tokens.remembered(authorization) if shown is None else None

    def review(self, token: str, at: float, audiences: tuple[str, ...]) -> tuple[User, tuple[str, ...]]:
        """Whom a bare token stands for, and for which of these audiences it is meant. Unauthorized if for nobody."""
        wanted = audiences or (ISSUER,)
        if self.openid is not None and _has_three_parts(token) and self._is_providers(token):
            user = self.openid.authenticate(token, at)
            if ISSUER not in wanted:
                raise Unauthorized(f"the token is meant for {ISSUER}")
            return user, (ISSUER,)
        if _has_three_parts(token):
            user = self.accounts.authenticate(token, at, wanted)
            meant = self.accounts.meant_for(token)
            return user, tuple(each for each in wanted if each in meant)
        found = self.tokens.user_of(token)
        if found is None:
            raise Unauthorized("the token is unknown or was revoked")
        if ISSUER not in wanted:
            raise Unauthorized(f"the token is meant for {ISSUER}")
        return found, (ISSUER,)

    def knows(self, user: User, at: float) -> bool:
        """Whether what this user signed in with still counts: what was opened with a token ends with it."""
        shown = self._shown.get(user)
        by_certificate = shown is not None and shown.begins <= at < shown.ends
        if by_certificate or self.tokens.knows(user) or self.accounts.knows(user, at):
            return True
        return self.openid is not None and self.openid.knows(user, at)

    def _is_providers(self, token: str) -> bool:
        return self.openid is not None and issuer_of(token) == self.openid.settings.issuer


def _has_three_parts(token: str) -> bool:
    return token.count(".") == 2
