"""ValidatingAdmissionPolicyBinding and MutatingAdmissionPolicyBinding (admissionregistration.k8s.io/v1).

Read by `model/catalog.py`. A policy without a binding is in force nowhere.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.admission.matching import (
    fill_in,
    validate_changes,
    validate_match,
    validate_params,
    validate_policy_name,
)
from fairlead.model.kinds.admission.policies import GROUP, VERSION
from fairlead.model.kinds.workload import part


def _defaults(binding: Json) -> None:
    spec = binding.get("spec")
    if isinstance(spec, dict) and isinstance(spec.get("matchResources"), dict):
        spec["matchResources"] = fill_in(spec["matchResources"])


def _validate(binding: Json, problems: Problems) -> None:
    spec = part(binding, "spec")
    validate_policy_name(spec.get("policyName") or "", problems)
    if spec.get("matchResources") is not None:
        validate_match(spec["matchResources"], "spec.matchResources", problems)
    if spec.get("paramRef") is not None:
        validate_params(spec["paramRef"], "spec.paramRef", problems)


def _validate_validating(binding: Json, problems: Problems) -> None:
    _validate(binding, problems)
    actions = part(binding, "spec").get("validationActions") or []
    if not actions:
        problems.required("spec.validationActions", "Deny, Warn or Audit")
    for index, each in enumerate(actions):
        if each in actions[:index]:
            problems.duplicate(f"spec.validationActions[{index}]", each)
    if "Deny" in actions and "Warn" in actions:
        text = "must not contain both Deny and Warn (repeating the same validation failure information)"
        problems.invalid("spec.validationActions", actions, text)


def _validate_mutating(binding: Json, problems: Problems) -> None:
    _validate(binding, problems)
    matched = part(part(binding, "spec"), "matchResources")
    validate_changes(matched, "spec.matchResources", problems)


def _policy(binding: Json, now: float) -> Cell:
    return str(part(binding, "spec").get("policyName") or "")


def _param_ref(binding: Json, now: float) -> Cell:
    reference = part(part(binding, "spec"), "paramRef")
    if not reference:
        return "<unset>"
    name = reference.get("name") or "*"
    return f"{reference['namespace']}/{name}" if reference.get("namespace") else str(name)


_COLUMNS = (Column("PolicyName", _policy), Column("ParamRef", _param_ref), AGE)

VALIDATING = Kind(
    group=GROUP,
    version=VERSION,
    kind="ValidatingAdmissionPolicyBinding",
    plural="validatingadmissionpolicybindings",
    namespaced=False,
    schema="ValidatingAdmissionPolicyBinding",
    categories=("api-extensions",),
    columns=_COLUMNS,
    defaults=_defaults,
    validate=_validate_validating,
)
MUTATING = Kind(
    group=GROUP,
    version=VERSION,
    kind="MutatingAdmissionPolicyBinding",
    plural="mutatingadmissionpolicybindings",
    namespaced=False,
    schema="MutatingAdmissionPolicyBinding",
    categories=("api-extensions",),
    columns=_COLUMNS,
    defaults=_defaults,
    validate=_validate_mutating,
)
