"""Who is nobody else than a service account that asked: who may sign in as it, and so could have asked with its token.

Asked where a second person has to agree: by `breakglass/judging.py` and `api/brakes/releasing.py`. A request with a
token does not say who had the token made, as one that takes a name does; so it is judged by who may. Whoever may
everything can make credentials of any name, and is not asked.
"""

from __future__ import annotations

from fairlead.api.access.contract import Attributes, Authorizer
from fairlead.api.access.users import MASTERS, User, service_account

# Verb, plural, subresource; whether it is about the account itself, or about what runs as any of its namespace.
_WAYS = (
    ("create", "serviceaccounts", "token", True),
    ("impersonate", "serviceaccounts", "", True),
    ("create", "pods", "", False),
)


def may_act_as(authorizer: Authorizer, user: User, name: str, now: float) -> bool:
    """Whether this user can have what signs in as the service account of this name; no, if it names none."""
    namespace, account = service_account(name)
    if not account or MASTERS in user.groups:
        return False
    return any(
        authorizer.authorize(
            Attributes(
                user=user,
                verb=verb,
                version="v1",
                plural=plural,
                subresource=subresource,
                namespace=namespace,
                name=account if is_named else "",
                now=now,
            )
        ).allowed
        for verb, plural, subresource, is_named in _WAYS
    )
