"""Bearer tokens: who gets in, and what the others are told."""

from __future__ import annotations

import pytest

from fairlead.api.access.account_tokens import AccountTokens
from fairlead.api.access.authn import Tokens, token_digest
from fairlead.api.access.sign_in import SignIn
from fairlead.api.access.users import ANONYMOUS, User
from fairlead.core.errors import Unauthorized
from tests.unit.api.access.granting import Objects

ALICE = User("alice", groups=("system:masters",))


def sign_in() -> SignIn:
    return SignIn(tokens(), AccountTokens(Objects(), b"key"))


def tokens() -> Tokens:
    return Tokens({token_digest("secret-token"): ALICE})


@pytest.mark.parametrize("header", ["Bearer secret-token", "bearer secret-token", "Bearer  secret-token "])
def test_a_known_token_gives_its_user_with_the_group_of_everyone_signed_in(header: str) -> None:
    table = tokens()
    for _ in range(2):  # the second time from memory
        user = table.authenticate(header)
        assert user.name == "alice"
        assert user.groups == ("system:masters", "system:authenticated")


@pytest.mark.parametrize(
    ("header", "told"),
    [
        (None, "no bearer token was sent"),
        ("", 'must read "Bearer TOKEN"'),
        ("secret-token", 'must read "Bearer TOKEN"'),
        ("Basic YWRtaW46YWRtaW4=", 'must read "Bearer TOKEN"'),
        ("Bearer ", 'must read "Bearer TOKEN"'),
        ("Bearer two words", 'must read "Bearer TOKEN"'),
        ("Bearer guessed", "unknown or was revoked"),
        (f"Bearer {token_digest('secret-token')}", "unknown or was revoked"),
    ],
)
def test_everyone_else_is_refused_and_told_what_to_do(header: str | None, told: str) -> None:
    with pytest.raises(Unauthorized, match=told) as refused:
        tokens().authenticate(header)
    assert "fairlead token create" in str(refused.value)
    assert "guessed" not in str(refused.value)


def test_the_table_holds_no_token() -> None:
    table = tokens()
    assert "secret-token" not in repr(table._users)


def test_another_token_of_the_same_name_is_not_the_one_that_signed_in() -> None:
    old, new = tokens(), Tokens({token_digest("another-token"): ALICE})
    user = old.authenticate("Bearer secret-token")
    assert old.knows(user)
    assert not new.knows(user)
    assert new.knows(new.authenticate("Bearer another-token"))
    assert token_digest("secret-token") not in str(user.extra)


def test_what_is_remembered_is_bounded_and_refusals_are_never_remembered() -> None:
    table = tokens()
    for number in range(3000):
        table.authenticate("Bearer " + " " * number + "secret-token")
        with pytest.raises(Unauthorized):
            table.authenticate(f"Bearer guess-{number}")
    assert 0 < len(table._accepted) <= 1024
    assert not any("guess" in header for header in table._accepted)


@pytest.mark.parametrize("path", ["/readyz", "/livez", "/healthz", "/version", "/readyz/store"])
def test_public_paths_need_no_token(path: str) -> None:
    assert sign_in().authenticate(None, path, 0.0) == ANONYMOUS


@pytest.mark.parametrize("path", ["/", "/api", "/readyzz", "/versions", "/api/v1/pods"])
def test_all_other_paths_do(path: str) -> None:
    with pytest.raises(Unauthorized):
        sign_in().authenticate(None, path, 0.0)


def test_a_wrong_token_is_refused_even_where_none_is_needed() -> None:
    with pytest.raises(Unauthorized):
        sign_in().authenticate("Bearer guessed", "/readyz", 0.0)


@pytest.mark.parametrize(
    ("user", "node", "role"),
    [
        (User("system:node:n1", groups=("system:nodes",)), "n1", "node"),
        (User("system:node:n1"), "", "other"),
        (User("n1", groups=("system:nodes",)), "", "node"),
        (User("v", groups=("fairlead:viewers",)), "", "viewer"),
        (ALICE, "", "admin"),
        (ANONYMOUS, "", "anonymous"),
    ],
)
def test_a_node_is_one_by_group_and_by_name(user: User, node: str, role: str) -> None:
    assert (user.node_name, user.role) == (node, role)
