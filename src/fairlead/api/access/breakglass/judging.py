"""Who may ask for a grant, decide about it and review it; who did, and when, is stamped here, whatever was sent.

Asked by `api/writing.py` of every write that passed admission. Rights are about what is written: on the resource
`grantedroles` (no object has it, as Kubernetes' `signers`), by the name of the role that is granted:

    create accessgrants           ask, for oneself or somebody else
    approve grantedroles/ROLE     approve, deny, revoke and close the review: not of what one asked for or gets
    break-glass grantedroles/ROLE approve what one asks for oneself, at once and with an alarm

Nobody approves what they do not have: who approves must hold what the role allows in every place of the grant, or have
the verb `bind` on it, as for a binding (`rbac/escalation.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from fairlead.api.access.contract import Attributes, Authorizer
from fairlead.api.access.rbac.escalation import ATOMS_MAX, lacking_text
from fairlead.api.access.rbac.grants import Grants
from fairlead.api.access.rbac.rules import PolicyRule, missing
from fairlead.api.access.rbac.subjects import CLUSTER_ROLES, role_of
from fairlead.api.access.second_person import may_act_as
from fairlead.api.access.users import MASTERS
from fairlead.api.admission.plane_conditions import is_plane
from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.core.times import timestamp
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.kinds.accessgrant import (
    APPROVED,
    CLOSED,
    DENIED,
    GROUP,
    KIND,
    OPEN,
    REVOKED,
    USER,
    VERSION,
    has_ended,
    lasts_seconds,
)
from fairlead.model.kinds.workload import part

#: bound: grants | AccessGrants that are kept | 403: those that were reviewed can be deleted
GRANTS_MAX = 1_000
ROLES_RESOURCE = "grantedroles"
MARK = "fairlead.dev/break-glass"  # the annotation of the audit line of a grant that is approved by who asks
_NOT_ALONE = ("kube-system", "kube-node-lease")  # where the plane keeps its own
_SHOWN = 20


def check_grant(attempt: Attempt, authorizer: Authorizer, grants: Grants) -> None:
    """Forbidden if the writer may not; the status is what the server says of it."""
    if attempt.kind.resource != KIND.resource or attempt.new is None:
        return
    _check_ties(attempt, attempt.new)
    if attempt.old is None:
        _Judge(attempt, authorizer, grants).asked()
    elif attempt.subresource == "status":
        _Judge(attempt, authorizer, grants).decided(attempt.old)


def _check_ties(attempt: Attempt, new: Json) -> None:
    """An owner that goes takes along what it owns, and asks for no review."""
    known = part(attempt.old or {}, "metadata").get("ownerReferences") or ()
    if any(each not in known for each in new["metadata"].get("ownerReferences") or ()):
        raise attempt.forbidden("metadata.ownerReferences: a grant goes with no other object: leave them out")


class _Judge:
    """One write on its way, and those who know what its writer may."""

    __slots__ = ("_attempt", "_authorizer", "_grants", "_new", "_now", "_spec", "_user")

    def __init__(self, attempt: Attempt, authorizer: Authorizer, grants: Grants) -> None:
        assert attempt.new is not None
        self._attempt, self._authorizer, self._grants = attempt, authorizer, grants
        self._new, self._now, self._user = attempt.new, attempt.context.now, attempt.context.user
        self._spec = part(attempt.new, "spec")

    def asked(self) -> None:
        """A new one."""
        attempt, spec = self._attempt, self._spec
        self._as_oneself()
        if len(attempt.read.list(KIND.resource)) >= GRANTS_MAX:
            raise attempt.forbidden(
                f"there are {GRANTS_MAX} grants, which is the most: delete some whose review is closed"
            )
        self._new["spec"] = spec = self._spec = {**spec, "requestedBy": self._user.name}
        self._new.pop("status", None)
        if not spec.get("selfApproved"):
            return
        subject = part(spec, "subject")
        if subject.get("kind") != USER or subject.get("name") != self._user.name:
            raise attempt.forbidden(
                "spec.selfApproved: who approves alone does so for themselves: "
                f'spec.subject must be User "{self._user.name}"'
            )
        alone = [space for space, _ in self._places() if space in _NOT_ALONE]
        if alone:
            raise attempt.forbidden(
                f"spec.selfApproved: the plane keeps its own in {alone[0]}; a second person must approve this"
            )
        self._require("break-glass", "to approve alone")
        attempt.annotations[MARK] = "self-approved"
        attempt.warnings.append(
            "this grant is approved by who asks for it: an alarm was raised, a review will follow"
        )
        self._new["status"] = self._approved()

    def decided(self, old: Json) -> None:
        """The status of one that exists: a decision, or a review. Nothing else of it is taken over."""
        sent, before = part(self._new, "status"), dict(part(old, "status"))
        decision, known = sent.get("decision") or "", before.get("decision") or ""
        note = str(part(sent, "review").get("note") or "").strip()
        after = dict(before)
        if is_plane(self._user):
            after |= {field: sent[field] for field in ("writes", "review") if field in sent}
        elif decision and decision != known:
            self._as_oneself()
            after |= self._decision(decision, known)
        elif note and note != part(before, "review").get("note"):
            self._as_oneself()
            after["review"] = self._review(old, note)
        self._new["status"] = after
        if not after:
            del self._new["status"]

    def _decision(self, decision: str, known: str) -> Json:
        attempt = self._attempt
        if (known, decision) not in {("", APPROVED), ("", DENIED), (APPROVED, REVOKED), ("", REVOKED)}:
            raise attempt.forbidden(
                f"status.decision: it is {known or 'not decided'} and cannot become {decision}; ask anew"
            )
        if decision == REVOKED and (self._is_own() or self._holds("approve")):
            return {"decision": REVOKED, "decidedBy": self._user.name, "decidedAt": timestamp(self._now)}
        self._require("approve", f"to have it {decision.lower()}")
        if decision != APPROVED:
            return {"decision": decision, "decidedBy": self._user.name, "decidedAt": timestamp(self._now)}
        if self._is_own():
            raise attempt.forbidden(
                "status.decision: who asks for a grant, or gets it, does not approve it: ask somebody else"
            )
        self._check_held()
        return self._approved()

    def _approved(self) -> Json:
        until = self._now + self._lasts()
        at = timestamp(self._now)
        return {
            "decision": APPROVED,
            "decidedBy": self._user.name,
            "decidedAt": at,
            "expiresAt": timestamp(until),
        }

    def _lasts(self) -> float:
        try:
            return lasts_seconds(self._spec)
        except ValueError:
            return 0.0  # validation, which follows, says what is wrong with it

    def _review(self, old: Json, note: str) -> Json:
        if not has_ended(old, self._now):
            raise self._attempt.forbidden("status.review: it is reviewed when it has ended")
        if part(part(old, "status"), "review").get("state") == CLOSED:
            raise self._attempt.forbidden("status.review: it is closed already")
        if self._is_own():
            raise self._attempt.forbidden(
                "status.review: who asked for a grant, or had it, does not review it: ask somebody else"
            )
        self._require("approve", "to review it")
        return {"state": CLOSED, "by": self._user.name, "at": timestamp(self._now), "note": note}

    def _is_own(self) -> bool:
        """Whether the writer asked for it, or gets it."""
        subject = part(self._spec, "subject")
        name, user = subject.get("name"), self._user
        gets = user.name == name if subject.get("kind") == USER else name in user.groups
        asked_by = str(self._spec.get("requestedBy") or "")
        now = self._attempt.context.now
        return gets or asked_by == user.name or may_act_as(self._authorizer, user, asked_by, now)

    def _as_oneself(self) -> None:
        if self._attempt.context.impersonator is not None:
            raise self._attempt.forbidden(
                "a grant is asked for, decided and reviewed under one's own name, not as somebody else"
            )

    def _places(self) -> Iterator[tuple[str, Key]]:
        role, about = part(self._spec, "role"), self._spec.get("object")
        spaces = self._spec.get("namespaces") or () if about is None else (about.get("namespace") or "",)
        for space in spaces:
            yield space, role_of(space, str(role.get("kind") or ""), str(role.get("name") or ""))

    def _holds(self, verb: str) -> bool:
        return self._may(
            verb, GROUP, VERSION, ROLES_RESOURCE, "", str(part(self._spec, "role").get("name") or "")
        )

    def _require(self, verb: str, wanted: str) -> None:
        if not self._holds(verb):
            role = part(self._spec, "role").get("name")
            raise self._attempt.forbidden(
                f'user "{self._user.name}" needs the verb {verb} on {ROLES_RESOURCE}.{GROUP} "{role}" {wanted}'
            )

    def _may(self, verb: str, group: str, version: str, plural: str, namespace: str, name: str) -> bool:
        asked = Attributes(
            user=self._user,
            verb=verb,
            group=group,
            version=version,
            plural=plural,
            namespace=namespace,
            name=name,
        )
        return self._authorizer.authorize(asked).allowed

    def _check_held(self) -> None:
        """As for a binding: who approves has it, or may bind it."""
        user = self._user
        if MASTERS in user.groups:
            return
        for space, role in self._places():
            plural = role.resource.partition(".")[0]
            if self._may("bind", CLUSTER_ROLES.partition(".")[2], "v1", plural, space, role.name):
                continue
            rules = self._grants.rules_of(role)
            if rules is None:
                raise self._attempt.forbidden(
                    f'{role.resource} "{role.name}" does not exist: what it will grant is not known'
                )
            lacking = list(islice(self._lacking(space, rules), _SHOWN + 1))
            if lacking:
                raise self._attempt.forbidden(
                    f'user "{user.name}" does not hold what the role allows, and may not bind it:\n'
                    f"{lacking_text(lacking, _SHOWN)}"
                )

    def _lacking(self, space: str, rules: tuple[PolicyRule, ...]) -> Iterator[PolicyRule]:
        if sum(rule.atoms for rule in rules) > ATOMS_MAX:
            yield from rules
        else:
            yield from missing(self._grants.rules_held(self._user, space), rules)


def _keep_until_reviewed(attempt: Attempt) -> None:
    """What was used is not made to have never been: its review comes first."""
    grant = attempt.old or {}
    status: Json = grant.get("status") or {}
    unreviewed = bool(status.get("expiresAt")) and (status.get("review") or {}).get("state") != CLOSED
    if unreviewed and not is_plane(attempt.context.user):
        raise attempt.forbidden(
            "it was approved, and its review is not closed: `fairlead grant revoke` ends it, "
            "`fairlead grant review` closes its review"
        )


def opened_review(writes: int) -> Json:
    """What the plane writes when a grant has ended."""
    return {"status": {"writes": writes, "review": {"state": OPEN}}}


STEP = AdmissionStep(
    "AccessGrantReview",
    _keep_until_reviewed,
    frozenset({"delete"}),
    frozenset({KIND.resource}),
    does="a grant that was approved is deleted only when its review is closed",
)
