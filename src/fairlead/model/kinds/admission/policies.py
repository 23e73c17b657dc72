"""ValidatingAdmissionPolicy and MutatingAdmissionPolicy (admissionregistration.k8s.io/v1).

Read by `model/catalog.py`. Expressions are compiled here, so that one that cannot be used is refused with its field and
its place; what they decide is in `api/admission/policies/`.
"""

from __future__ import annotations

from fairlead.core.problems import Problems
from fairlead.model.cells import AGE
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.admission.expressions import compile_policy
from fairlead.model.kinds.admission.matching import (
    fill_in,
    validate_changes,
    validate_match,
    validate_param_kind,
)
from fairlead.model.kinds.workload import part

GROUP, VERSION = "admissionregistration.k8s.io", "v1"


def _defaults(policy: Json) -> None:
    spec = policy.get("spec")
    if not isinstance(spec, dict):
        return
    spec["failurePolicy"] = spec.get("failurePolicy") or "Fail"
    if isinstance(spec.get("matchConstraints"), dict):
        spec["matchConstraints"] = fill_in(spec["matchConstraints"])


def _validate(policy: Json, problems: Problems) -> None:
    spec = part(policy, "spec")
    match = spec.get("matchConstraints")
    if match is None:
        problems.required("spec.matchConstraints")
    else:
        if not match.get("resourceRules"):
            problems.required("spec.matchConstraints.resourceRules")
        validate_match(match, "spec.matchConstraints", problems)
    if spec.get("paramKind") is not None:
        validate_param_kind(spec["paramKind"], "spec.paramKind", problems)
    compile_policy(spec, problems)


def _validate_validating(policy: Json, problems: Problems) -> None:
    spec = part(policy, "spec")
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        problems.required("spec.validations", "validations or auditAnnotations must be specified")
    _validate(policy, problems)


def _validate_mutating(policy: Json, problems: Problems) -> None:
    spec = part(policy, "spec")
    if not spec.get("mutations"):
        problems.required("spec.mutations", "mutations must be specified")
    if not spec.get("reinvocationPolicy"):
        problems.required("spec.reinvocationPolicy", "Never or IfNeeded")
    validate_changes(part(spec, "matchConstraints"), "spec.matchConstraints", problems)
    _validate(policy, problems)


def _count(name: str, heading: str) -> Column:
    def cell(policy: Json, now: float) -> Cell:
        return len(part(policy, "spec").get(name) or ())

    return Column(heading, cell, type="integer")


def _param_kind(policy: Json, now: float) -> Cell:
    kind = part(part(policy, "spec"), "paramKind")
    return f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else "<unset>"


_PARAM_KIND = Column("ParamKind", _param_kind)

VALIDATING = Kind(
    group=GROUP,
    version=VERSION,
    kind="ValidatingAdmissionPolicy",
    plural="validatingadmissionpolicies",
    namespaced=False,
    schema="ValidatingAdmissionPolicy",
    subresources=("status",),
    categories=("api-extensions",),
    columns=(_count("validations", "Validations"), _PARAM_KIND, AGE),
    defaults=_defaults,
    validate=_validate_validating,
)
MUTATING = Kind(
    group=GROUP,
    version=VERSION,
    kind="MutatingAdmissionPolicy",
    plural="mutatingadmissionpolicies",
    namespaced=False,
    schema="MutatingAdmissionPolicy",
    categories=("api-extensions",),
    columns=(_count("mutations", "Mutations"), _PARAM_KIND, AGE),
    defaults=_defaults,
    validate=_validate_mutating,
)
