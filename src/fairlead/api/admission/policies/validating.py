"""Policies that judge: asked last, of what would be stored. Called by `api/writing.py` and `api/verbs/delete.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fairlead.api.admission.policies.evaluating import Evaluation, RequestView, refusal, told_of
from fairlead.api.admission.policies.exempt import is_exempt
from fairlead.api.admission.policies.in_force import AdmissionPolicy, PolicyBinding
from fairlead.api.attempt import Attempt
from fairlead.api.desk import Desk
from fairlead.core.errors import ApiError, Forbidden, Invalid, TooLarge, Unauthorized
from fairlead.model.cel.errors import EvaluationError
from fairlead.model.kinds.admission.expressions import Validation

_ERRORS: dict[str, type[ApiError]] = {
    "Invalid": Invalid,
    "Forbidden": Forbidden,
    "Unauthorized": Unauthorized,
    "RequestEntityTooLarge": TooLarge,
}
_ANNOTATION_BYTES_MAX = 1024
_WITHHELD = "withheld: the kind has sensitive fields"


class PolicyFailure(NamedTuple):
    """One thing that a policy has against a request."""

    policy: AdmissionPolicy
    binding: PolicyBinding
    message: str
    reason: str = "Invalid"


def validate(desk: Desk, attempt: Attempt) -> None:
    """Raises what the first policy that denies it says; warnings and what audit is told go to the attempt."""
    policies = desk.policies
    if not policies.validating or not policies.concern(attempt.kind, attempt.address) or is_exempt(attempt):
        return
    view = RequestView(desk, attempt)
    denied: PolicyFailure | None = None
    for failure in _failures(desk, view):
        actions = failure.binding.actions
        if "Deny" in actions:
            denied = denied or failure
        if "Warn" in actions:
            attempt.warnings.append(
                f"Validation failed for {told_of(failure.policy, failure.binding)}: {failure.message}"
            )
        if "Audit" in actions or "Warn" in actions:
            attempt.policies.append(f"{failure.policy.name}: would have refused ({failure.binding.name})")
    if denied is not None:
        raise refusal(attempt, denied.policy, denied.binding, denied.message, _ERRORS[denied.reason])


def _failures(desk: Desk, view: RequestView) -> Iterator[PolicyFailure]:
    for policy, bindings in desk.policies.validating:
        for binding in bindings:
            try:
                for evaluation in view.evaluations(policy, binding):
                    yield from _found_by(evaluation, binding, view)
            except EvaluationError as error:
                if policy.fails:
                    yield PolicyFailure(policy, binding, f"failed to configure binding: {error}")


def _found_by(evaluation: Evaluation, binding: PolicyBinding, view: RequestView) -> Iterator[PolicyFailure]:
    policy = evaluation.policy
    try:
        if not evaluation.is_meant():
            return
    except EvaluationError as error:
        if policy.fails:
            yield PolicyFailure(policy, binding, str(error))
        return
    for validation in policy.compiled.validations:
        try:
            holds = evaluation.run(validation.program)
        except EvaluationError as error:
            if policy.fails:
                yield PolicyFailure(policy, binding, str(error), validation.reason)
            continue
        if holds is not True:
            yield PolicyFailure(policy, binding, _message(evaluation, validation), validation.reason)
    _annotate(policy, evaluation, view.attempt)


def _message(evaluation: Evaluation, validation: Validation) -> str:
    if validation.message_program is not None:
        try:
            told = evaluation.run(validation.message_program)
        except EvaluationError:
            told = ""
        if isinstance(told, str) and told.strip() and "\n" not in told:
            return told.strip()
    return validation.message or f"failed expression: {validation.program.text.strip()}"


def _annotate(policy: AdmissionPolicy, evaluation: Evaluation, attempt: Attempt) -> None:
    for key, program in policy.compiled.annotations:
        try:
            value = evaluation.run(program)
        except EvaluationError:
            continue
        if isinstance(value, str) and value.strip():
            shown = _WITHHELD if attempt.kind.sensitive else value.strip()[:_ANNOTATION_BYTES_MAX]
            attempt.annotations[f"{policy.name}/{key}"] = shown
