"""Whom the Impersonate headers mean, and who may send them."""

from __future__ import annotations

import pytest

from fairlead.api.access.authz import builtin_chain
from fairlead.api.access.contract import AccessRules, AccessVerdict, Attributes, AuthorizerChain
from fairlead.api.access.impersonation import HEADERS_MAX, authorize, parse_impersonation
from fairlead.api.access.users import ANONYMOUS, AUTHENTICATED, MASTERS, NODES, UNAUTHENTICATED, VIEWERS, User
from fairlead.core.errors import BadRequest, Forbidden
from fairlead.store.machine import Store
from fairlead.store.memory import MemoryJournal
from tests.unit.api.access.granting import default_grants

ADMIN = User("admin", groups=(MASTERS, AUTHENTICATED))
AS_EVE = (b"impersonate-user", b"eve")


def chain() -> AuthorizerChain:
    journal = MemoryJournal()
    return builtin_chain(Store(journal.recover(), journal), default_grants())


def test_a_plain_user_is_signed_in_and_nothing_more() -> None:
    assert parse_impersonation([AS_EVE]) == User("eve", groups=(AUTHENTICATED,))


def test_groups_uid_and_extra_are_taken_over() -> None:
    found = parse_impersonation(
        [
            AS_EVE,
            (b"impersonate-group", b"b"),
            (b"impersonate-group", b"a"),
            (b"impersonate-group", b"b"),
            (b"impersonate-uid", b"7"),
            (b"impersonate-extra-scopes", b"x"),
            (b"impersonate-extra-acme.com%2fproject", b"one"),
            (b"impersonate-extra-scopes", b"y"),
            (b"impersonate-extra-acme.com%2Fproject", "zwölf".encode()),
        ]
    )
    assert found == User(
        "eve",
        "7",
        ("b", "a", AUTHENTICATED),
        (("acme.com/project", ("one", "zwölf")), ("scopes", ("x", "y"))),
    )


def test_a_service_account_has_its_groups_unless_others_are_named() -> None:
    account = (b"impersonate-user", b"system:serviceaccount:shop:builder")
    groups = ("system:serviceaccounts", "system:serviceaccounts:shop", AUTHENTICATED)
    assert parse_impersonation([account]).groups == groups
    assert parse_impersonation([account, (b"impersonate-group", b"g")]).groups == ("g", AUTHENTICATED)
    for no_account in (
        b"system:serviceaccount:shop",
        b"system:serviceaccount:shop:a:b",
        b"system:serviceaccount::a",
    ):
        assert parse_impersonation([(b"impersonate-user", no_account)]).groups == (AUTHENTICATED,)


def test_nobody_is_nobody() -> None:
    assert parse_impersonation([(b"impersonate-user", b"system:anonymous")]) == ANONYMOUS
    assert ANONYMOUS.groups == (UNAUTHENTICATED,)


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ([(b"impersonate-group", b"g")], "Impersonate-Group without Impersonate-User"),
        ([(b"impersonate-uid", b"1")], "Impersonate-Uid without Impersonate-User"),
        ([(b"impersonate-extra-a", b"1")], "Impersonate-Extra-KEY without Impersonate-User"),
        ([(b"impersonate-user", b"")], "'impersonate-user' is empty"),
        ([AS_EVE, (b"impersonate-user", b"adam")], "may be sent once"),
        ([AS_EVE, (b"impersonate-uid", b"1"), (b"impersonate-uid", b"2")], "may be sent once"),
        ([AS_EVE, (b"impersonate-role", b"admin")], "'impersonate-role' is not known"),
        ([AS_EVE, (b"impersonate-extra-", b"a")], "'impersonate-extra-' is not known"),
        ([(b"impersonate-user", b"\xff")], "is not UTF-8"),
        ([AS_EVE] + [(b"impersonate-group", b"%d" % n) for n in range(HEADERS_MAX)], "at most"),
    ],
)
def test_what_means_nobody_is_refused(headers: list[tuple[bytes, bytes]], told: str) -> None:
    with pytest.raises(BadRequest, match=told):
        parse_impersonation(headers)


@pytest.mark.parametrize(
    "someone",
    [
        User("eve", groups=(VIEWERS, AUTHENTICATED)),
        User("system:node:n1", groups=(NODES, AUTHENTICATED)),
        User("system:serviceaccount:a:b", groups=("system:serviceaccounts", AUTHENTICATED)),
        ANONYMOUS,
    ],
)
@pytest.mark.parametrize("wanted", ["eve", "system:anonymous", "system:node:n1", "system:serviceaccount:a:b"])
def test_only_an_admin_may_not_even_as_oneself(someone: User, wanted: str) -> None:
    asked = parse_impersonation([(b"impersonate-user", wanted.encode())])
    authorize(chain(), ADMIN, asked)
    with pytest.raises(Forbidden, match=f'User "{someone.name}" cannot impersonate resource'):
        authorize(chain(), someone, asked)


class _Book:
    """An authorizer that allows what it is told to, and keeps what it was asked."""

    def __init__(self, *refused: str) -> None:
        self.refused = refused
        self.asked: list[tuple[str, str, str, str, str]] = []

    def authorize(self, asked: Attributes) -> AccessVerdict:
        self.asked.append((asked.group, asked.plural, asked.subresource, asked.namespace, asked.name))
        assert asked.verb == "impersonate"
        return AccessVerdict("denied" if asked.plural in self.refused else "allowed")

    def rules_for(self, user: User, namespace: str) -> AccessRules:
        raise NotImplementedError


def test_each_thing_asked_for_is_a_question_of_its_own() -> None:
    wanted = parse_impersonation(
        [
            (b"impersonate-user", b"system:serviceaccount:shop:builder"),
            (b"impersonate-group", b"system:masters"),
            (b"impersonate-uid", b"7"),
            (b"impersonate-extra-scopes", b"x"),
        ]
    )
    book = _Book()
    authorize(book, ADMIN, wanted)
    assert book.asked == [
        ("", "serviceaccounts", "", "shop", "builder"),
        ("", "groups", "", "", "system:masters"),
        ("authentication.k8s.io", "uids", "", "", "7"),
        ("authentication.k8s.io", "userextras", "scopes", "", "x"),
    ]
    for resource in ("serviceaccounts", "groups", "uids", "userextras"):
        with pytest.raises(Forbidden):
            authorize(_Book(resource), ADMIN, wanted)
