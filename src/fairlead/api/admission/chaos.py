"""ChaosExperiments as they come in: refused on a plane that does not allow them, and stamped with their end.

Allowed where `spec.chaos.allowed` of the PlaneSettings says so, one at a time. Nobody but the server writes the status.
"""

from __future__ import annotations

from fairlead.api.admission.plane_conditions import is_plane
from fairlead.api.admission.step import AdmissionStep
from fairlead.api.attempt import Attempt
from fairlead.api.objects import tree
from fairlead.core.problems import Problems
from fairlead.core.times import timestamp
from fairlead.model.key import Key
from fairlead.model.kinds import planesettings
from fairlead.model.kinds.chaosexperiment import KIND, ends_at
from fairlead.model.policy.plane_knobs import NAME
from fairlead.store.damage import is_stand_in

_SETTINGS = Key(planesettings.KIND.resource, "", NAME)
_HOW_TO_ALLOW = (
    f"this plane allows no ChaosExperiments: on one of your own, set spec.chaos.allowed: true in the PlaneSettings"
    f' `{NAME}`: kubectl patch planesettings {NAME} --type merge -p \'{{"spec":{{"chaos":{{"allowed":true}}}}}}\''
)
_WHAT_TO_CREATE = (
    "this plane allows no ChaosExperiments, and has no PlaneSettings yet: on one of your own, create them:"
    f' echo \'{{"apiVersion":"fairlead.dev/v1","kind":"PlaneSettings","metadata":{{"name":"{NAME}"}},'
    '"spec":{"chaos":{"allowed":true}}}\' | kubectl create -f -'
)


def _admit(attempt: Attempt) -> None:
    new, old = attempt.new, attempt.old
    assert new is not None
    if attempt.verb != "create":
        if not (attempt.subresource and is_plane(attempt.context.user)):
            new["status"] = (old or {}).get("status") or {}
        return
    problems = Problems()
    KIND.validate(new, problems)
    if problems:
        return  # it will be refused with all of them
    entry = attempt.read.get(_SETTINGS)
    spec = {} if entry is None or is_stand_in(entry.data) else tree(entry).get("spec") or {}
    if not (spec.get("chaos") or {}).get("allowed"):
        raise attempt.forbidden(_HOW_TO_ALLOW if entry is not None else _WHAT_TO_CREATE)
    now = attempt.context.now
    for known in attempt.read.list(KIND.resource):
        if not is_stand_in(known.data) and now < ends_at(tree(known)):
            raise attempt.forbidden(
                f"the ChaosExperiment {known.key.name} runs, and one may at a time: wait for its end, or delete it"
            )
    new["status"] = {"endsAt": timestamp(now + new["spec"]["seconds"])}


STEP = AdmissionStep(
    "ChaosExperiments",
    _admit,
    frozenset({"create", "update", "patch"}),
    frozenset({KIND.resource}),
    subresources=True,
    does="refused unless the PlaneSettings allow experiments; stamped with their end",
)
