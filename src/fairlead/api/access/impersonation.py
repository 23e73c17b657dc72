"""Acting as somebody else: the `Impersonate-*` headers, whom they mean, and who may.

Called by the handler after sign-in, for every request that carries such a header: none is ever passed over. The
impersonated user has the groups that the headers name and those that everyone of that name has, and nothing of the
rights of who impersonates.

    Impersonate-User         required, once
    Impersonate-Group        any number
    Impersonate-Uid          at most once
    Impersonate-Extra-KEY    any number; KEY is percent-encoded where it holds what no header's name may

Whether one may is asked of the same chain as everything else (`contract.py`), as Kubernetes asks it: the verb
`impersonate` on users, groups, serviceaccounts, and on uids and userextras of authentication.k8s.io.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from fairlead.api.access.contract import Attributes, Authorizer, require
from fairlead.api.access.users import (
    ANONYMOUS,
    AUTHENTICATED,
    UNAUTHENTICATED,
    User,
    service_account,
    service_account_groups,
)
from fairlead.core.errors import BadRequest

PREFIX = b"impersonate-"
# Each is one question to the authorizer, and a part of an audit line.
#: bound: requests | `Impersonate-*` headers of one request | 400
HEADERS_MAX = 128

_EXTRA = "impersonate-extra-"
_AUTHENTICATION = "authentication.k8s.io"


def parse_impersonation(headers: Sequence[tuple[bytes, bytes]]) -> User:
    """Whom these headers mean: lower-case names, each beginning with PREFIX. BadRequest if they mean nobody."""
    if len(headers) > HEADERS_MAX:
        raise BadRequest(f"a request may carry {HEADERS_MAX} Impersonate headers at most, not {len(headers)}")
    names: list[str] = []
    uids: list[str] = []
    groups: dict[str, None] = {}
    extra: dict[str, list[str]] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1"), _text(raw_name, raw_value)
        if name == "impersonate-user":
            names.append(value)
        elif name == "impersonate-group":
            groups[value] = None
        elif name == "impersonate-uid":
            uids.append(value)
        elif name.startswith(_EXTRA) and len(name) > len(_EXTRA):
            extra.setdefault(unquote(name[len(_EXTRA) :]), []).append(value)
        else:
            raise BadRequest(
                f"the header {name!r} is not known: there are Impersonate-User, -Group, -Uid and -Extra-KEY"
            )
    if not names:
        raise BadRequest(
            f"{_said(groups, uids, extra)} without Impersonate-User: say as whom the request is to be taken"
        )
    if len(names) > 1 or len(uids) > 1:
        raise BadRequest("Impersonate-User and Impersonate-Uid may be sent once")
    user = names[0]
    if not groups:
        groups.update(dict.fromkeys(_groups_of_service_account(user)))
    groups[_everyones_group(user)] = None
    kept = tuple((key, tuple(values)) for key, values in sorted(extra.items()))
    return User(user, uids[0] if uids else "", tuple(groups), kept)


def authorize(authorizer: Authorizer, signed_in: User, wanted: User) -> None:
    """Forbidden unless who signed in may take this name and everything that was asked for with it."""
    for asked in _questions(signed_in, wanted):
        require(authorizer, asked)


def _questions(signed_in: User, wanted: User) -> Iterator[Attributes]:
    namespace, account = service_account(wanted.name)
    if account:
        yield _question(signed_in, "serviceaccounts", account, namespace=namespace)
    else:
        yield _question(signed_in, "users", wanted.name)
    everyones = {_everyones_group(wanted.name), *_groups_of_service_account(wanted.name)}
    for group in wanted.groups:
        if group not in everyones:
            yield _question(signed_in, "groups", group)
    if wanted.uid:
        yield _question(signed_in, "uids", wanted.uid, group=_AUTHENTICATION)
    for key, values in wanted.extra:
        for value in values:
            yield _question(signed_in, "userextras", value, group=_AUTHENTICATION, subresource=key)


def _question(
    signed_in: User, resource: str, name: str, *, namespace: str = "", group: str = "", subresource: str = ""
) -> Attributes:
    return Attributes(
        user=signed_in,
        verb="impersonate",
        group=group,
        version="v1",
        plural=resource,
        subresource=subresource,
        namespace=namespace,
        name=name,
    )


def _everyones_group(user: str) -> str:
    return AUTHENTICATED if user != ANONYMOUS.name else UNAUTHENTICATED


def _groups_of_service_account(user: str) -> tuple[str, ...]:
    namespace, _ = service_account(user)
    return service_account_groups(namespace) if namespace else ()


def _text(name: bytes, value: bytes) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError as error:
        raise BadRequest(f"the value of the header {name.decode('latin-1')!r} is not UTF-8") from error
    if not text and not name.startswith(_EXTRA.encode()):
        raise BadRequest(f"the header {name.decode('latin-1')!r} is empty: name somebody, or leave it out")
    return text


def _said(groups: object, uids: object, extra: object) -> str:
    given = (("Impersonate-Group", groups), ("Impersonate-Uid", uids), ("Impersonate-Extra-KEY", extra))
    return ", ".join(name for name, values in given if values)
