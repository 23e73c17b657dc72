"""Nobody grants what they do not have: whoever writes a role or binds one must hold everything that it allows.

Asked by `api/writing.py` of every write that passed admission; judged as Kubernetes judges it. The ways around are
rights like others: `escalate` on the role that is written, `bind` on the role that is bound, and membership in
system:masters. A ClusterRole that gathers the rules of others is written only by those who may everything, because
nobody knows what it will hold. A label is a right as well: it is by labels that roles are gathered. Only who owns an
object, and what keeps it from being deleted, may be changed by those who do not hold what it grants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import NamedTuple

from fairlead.api.access.contract import Attributes, Authorizer
from fairlead.api.access.rbac.grants import Grants
from fairlead.api.access.rbac.rules import ALL, PolicyRule, missing, rules_of
from fairlead.api.access.rbac.subjects import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
    role_of,
)
from fairlead.api.access.users import MASTERS
from fairlead.api.attempt import Attempt
from fairlead.core.errors import NotFound
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.kinds.role import CLUSTER_ROLE, ROLE

#: bound: objects | single rights that a role may grant when somebody writes or binds it who is no admin | 403
ATOMS_MAX = 50_000
_SHOWN = 20  # rights that are missing, in a message
_HOUSEKEEPING = frozenset({"ownerReferences", "finalizers", "resourceVersion", "managedFields"})
_EVERYTHING = (PolicyRule((ALL,), (ALL,), (ALL,)), PolicyRule((ALL,), non_resource_urls=(ALL,)))


class _Check(NamedTuple):
    """One write on its way, and those who know what its writer may."""

    attempt: Attempt
    authorizer: Authorizer
    grants: Grants


def check_escalation(attempt: Attempt, authorizer: Authorizer, grants: Grants) -> None:
    """Forbidden if the write grants more than its writer has."""
    judge = _JUDGES.get(attempt.kind.resource)
    if judge is not None and MASTERS not in attempt.context.user.groups:
        judge(_Check(attempt, authorizer, grants))


def _check_role(check: _Check) -> None:
    attempt = check.attempt
    new, old = attempt.new, attempt.old
    assert new is not None
    if old is not None and _is_housekeeping(new, old):
        return
    # As for Kubernetes a create carries no name, so that `escalate` with resourceNames is about roles that exist.
    if _may(check, "escalate", attempt.key if old is not None else attempt.key._replace(name="")):
        return
    _check_held(check, rules_of(new))
    gathers = any(each is not None and each.get("aggregationRule") is not None for each in (new, old))
    if gathers and _lacks(check, _EVERYTHING):
        raise attempt.forbidden("must have cluster-admin privileges to use an aggregationRule")


def _check_binding(check: _Check) -> None:
    attempt = check.attempt
    new, old = attempt.new, attempt.old
    assert new is not None
    if old is not None and _is_housekeeping(new, old):
        return
    reference = new.get("roleRef") or {}
    kind, name = str(reference.get("kind") or ""), str(reference.get("name") or "")
    possible = (ROLE.kind, CLUSTER_ROLE.kind) if attempt.key.namespace else (CLUSTER_ROLE.kind,)
    if kind not in possible or not name:
        return  # validation names what is wrong
    role = role_of(attempt.key.namespace, kind, name)
    if _may(check, "bind", role):
        return
    rules = check.grants.rules_of(role)
    if rules is None:
        raise NotFound(
            f'{role.resource} "{name}" not found: what it will grant is not known, so binding it needs the verb bind',
            group=CLUSTER_ROLE.group,
            kind=role.resource.partition(".")[0],
            name=name,
        )
    _check_held(check, rules)


def _may(check: _Check, verb: str, role: Key) -> bool:
    asked = Attributes(
        user=check.attempt.context.user,
        verb=verb,
        group=ROLE.group,
        version=ROLE.version,
        plural=role.resource.partition(".")[0],
        namespace=check.attempt.key.namespace,
        name=role.name,
    )
    return check.authorizer.authorize(asked).allowed


def _check_held(check: _Check, rules: tuple[PolicyRule, ...]) -> None:
    attempt = check.attempt
    if sum(rule.atoms for rule in rules) > ATOMS_MAX:
        raise attempt.forbidden(
            f"it grants more than {ATOMS_MAX} single rights (verbs times groups times resources times names), "
            "which takes too long to compare with yours: write * or several roles"
        )
    lacking = _lacks(check, rules)
    if lacking:
        user = attempt.context.user
        raise attempt.forbidden(
            f'user "{user.name}" (groups={_listed(user.groups)}) is attempting to grant RBAC permissions '
            f"not currently held:\n{lacking_text(lacking, _SHOWN)}"
        )


def _lacks(check: _Check, rules: tuple[PolicyRule, ...]) -> list[PolicyRule]:
    attempt = check.attempt
    held = check.grants.rules_held(attempt.context.user, attempt.key.namespace)
    return list(islice(missing(held, rules), _SHOWN + 1))


def _is_housekeeping(new: Json, old: Json) -> bool:
    """Whether nothing was changed, or only what the collector needs to change in order to remove it."""
    return _without_housekeeping(new) == _without_housekeeping(old)


def _without_housekeeping(obj: Json) -> Json:
    metadata = {field: value for field, value in obj["metadata"].items() if field not in _HOUSEKEEPING}
    return {**obj, "metadata": metadata}


def lacking_text(lacking: list[PolicyRule], most: int) -> str:
    """Rights that somebody lacks, one to a line."""
    return "\n".join([_text(rule) for rule in lacking[:most]]) + ("\n..." if len(lacking) > most else "")


def _text(rule: PolicyRule) -> str:
    parts = [
        f"{name}:{_listed(values)}"
        for name, values in (
            ("APIGroups", rule.api_groups),
            ("Resources", rule.resources),
            ("ResourceNames", rule.resource_names),
            ("NonResourceURLs", rule.non_resource_urls),
            ("Verbs", rule.verbs),
        )
        if values
    ]
    return "{" + ", ".join(parts) + "}"


def _listed(values: tuple[str, ...]) -> str:
    return "[" + " ".join(f'"{value}"' for value in values) + "]"


_JUDGES: Mapping[str, Callable[[_Check], None]] = {
    ROLES: _check_role,
    CLUSTER_ROLES: _check_role,
    ROLE_BINDINGS: _check_binding,
    CLUSTER_ROLE_BINDINGS: _check_binding,
}
