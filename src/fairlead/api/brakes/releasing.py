"""Whose hold an override is: who ends one before its time that is somebody else's. Asked by `api/verbs/delete.py`, and
by `api/writing.py` of who ties one to an object, with which it would go, and of who approves one.

Holds of several owners stack, and each releases only its own: the owner that it names (a user or a group), or who made
it. Whoever has the verb `bypass` on it may end it all the same, as administrators may, is told whose it was, and leaves
a mark in the audit log. What has ended holds nothing, and anybody may remove it who may delete at all.
"""

from __future__ import annotations

import msgspec

from fairlead.api.access.contract import Attributes, Authorizer, require
from fairlead.api.access.second_person import may_act_as
from fairlead.api.admission.plane_conditions import is_plane
from fairlead.api.attempt import Attempt
from fairlead.api.brakes.judging import MARK
from fairlead.ledger import override as ledger
from fairlead.model.kind import Json
from fairlead.model.kinds.scheduleroverride import APPROVED
from fairlead.model.views import NODES, OVERRIDES, SchedulerOverride


def check_ties(attempt: Attempt, authorizer: Authorizer) -> None:
    """An owner that goes, or never was, takes the override with it: whoever adds one ends it, now or later. So with a
    node, which people may change who may not delete it."""
    new, old, kind, user = attempt.new, attempt.old, attempt.kind, attempt.context.user
    if kind.resource not in (OVERRIDES.name, NODES.name) or new is None or old is None:
        return
    known = old["metadata"].get("ownerReferences") or ()
    if all(each in known for each in new["metadata"].get("ownerReferences") or ()):
        return
    if kind.resource == OVERRIDES.name:
        check_release(attempt, authorizer)
    elif not is_plane(user):
        require(
            authorizer,
            Attributes(
                user=user, verb="delete", group=kind.group, version=kind.version, plural=kind.plural,
                name=attempt.key.name, now=attempt.context.now,
            ),
        )  # fmt: skip


def check_second_person(attempt: Attempt, authorizer: Authorizer) -> None:
    """Forbidden if who approves could be who asked. What else an approval takes, admission has judged."""
    new, old, user = attempt.new, attempt.old, attempt.context.user
    if attempt.kind.resource != OVERRIDES.name or new is None or old is None or is_plane(user):
        return
    asked_by = str(old["spec"].get("requestedBy") or "")
    is_first = _is_approved(new) and not _is_approved(old)
    if is_first and may_act_as(authorizer, user, asked_by, attempt.context.now):
        raise attempt.forbidden(
            f'"{user.name}" may act as {asked_by}, which asked for it: somebody else has to approve it'
        )


def _is_approved(override: Json) -> bool:
    conditions = (override.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == APPROVED for each in conditions)


def check_release(attempt: Attempt, authorizer: Authorizer) -> None:
    """Forbidden, with whom to ask, if it is not theirs to end."""
    user, old = attempt.context.user, attempt.old
    if attempt.kind.resource != OVERRIDES.name or old is None or is_plane(user):
        return
    override = msgspec.convert(old, SchedulerOverride)
    spec = override.spec
    if user.name in (spec.owner, spec.requested_by) or spec.owner in user.groups:
        return
    if not ledger.is_active(override, attempt.context.now):
        return
    kind, key = attempt.kind, attempt.key
    told = f'it is held by "{spec.owner}" until {spec.expires_at} ({spec.reason})'
    asked = Attributes(
        user=user, verb="bypass", group=kind.group, version=kind.version, plural=kind.plural,
        namespace=key.namespace, name=key.name,
    )  # fmt: skip
    if not authorizer.authorize(asked).allowed:
        raise attempt.forbidden(
            f"{told}: ask them to end it; who has the verb bypass on scheduleroverrides.fairlead.dev may all the same"
        )
    attempt.warnings.append(f"{told}; you may end it, and that is in the audit log")
    attempt.annotations = {**attempt.annotations, MARK: f"scheduleroverrides/{key.name}"}
