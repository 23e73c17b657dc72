"""Policies that judge: asked last, of what would be stored. Called by `api/writing.py` and `api/verbs/delete.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fairlead.api.admission.policies.evaluating import Evaluation, RequestView
from fairlead.api.admission.policies.exempt import is_exempt
from fairlead.api.admission.policies.in_force import Binding, Policy
from fairlead.api.attempt import Attempt
from fairlead.api.desk import Desk
from fairlead.core.errors import ApiError, Cause, Forbidden, Invalid, TooLarge, Unauthorized
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


class Failure(NamedTuple):
    """One thing that a policy has against a request."""

    policy: Policy
    binding: Binding
    message: str
    reason: str = "Invalid"

    @property
    def named(self) -> str:
        return f"ValidatingAdmissionPolicy '{self.policy.name}' with binding '{self.binding.name}'"


def validate(desk: Desk, attempt: Attempt) -> None:
    """Raises what the first policy that denies it says; warnings and what audit is told go to the attempt."""
    if not desk.policies.validating or not desk.policies.concern(attempt.kind) or is_exempt(attempt):
        return
    view = RequestView(desk, attempt)
    denied: Failure | None = None
    for failure in _failures(desk, view):
        actions = failure.binding.actions
        if "Deny" in actions:
            denied = denied or failure
        if "Warn" in actions:
            attempt.warnings.append(f"Validation failed for {failure.named}: {failure.message}")
        if "Audit" in actions or "Warn" in actions:
            attempt.policies.append(f"{failure.policy.name}: would have refused ({failure.binding.name})")
    if denied is not None:
        raise _refusal(attempt, denied)


def _failures(desk: Desk, view: RequestView) -> Iterator[Failure]:
    for policy, bindings in desk.policies.validating:
        for binding in bindings:
            version = view.about(policy, binding)
            if not version:
                continue
            view.rests_on(policy.at)
            view.rests_on(binding.at)
            try:
                for parameter in view.parameters(policy, binding):
                    yield from _asked(
                        policy, binding, Evaluation(policy, view.names(version), parameter), view
                    )
            except EvaluationError as error:
                if policy.fails:
                    yield Failure(policy, binding, f"failed to configure binding: {error}")


def _asked(policy: Policy, binding: Binding, evaluation: Evaluation, view: RequestView) -> Iterator[Failure]:
    try:
        if not evaluation.is_meant():
            return
    except EvaluationError as error:
        if policy.fails:
            yield Failure(policy, binding, str(error))
        return
    for validation in policy.compiled.validations:
        try:
            holds = evaluation.run(validation.program)
        except EvaluationError as error:
            if policy.fails:
                yield Failure(policy, binding, str(error), validation.reason)
            continue
        if holds is not True:
            yield Failure(policy, binding, _message(evaluation, validation), validation.reason)
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


def _annotate(policy: Policy, evaluation: Evaluation, attempt: Attempt) -> None:
    for key, program in policy.compiled.annotations:
        try:
            value = evaluation.run(program)
        except EvaluationError:
            continue
        if isinstance(value, str) and value.strip():
            shown = _WITHHELD if attempt.kind.sensitive else value.strip()[:_ANNOTATION_BYTES_MAX]
            attempt.annotations[f"{policy.name}/{key}"] = shown


def _refusal(attempt: Attempt, failure: Failure) -> ApiError:
    kind, name = attempt.kind, attempt.key.name
    message = f"{failure.named} denied request: {failure.message}"
    error = _ERRORS[failure.reason](
        f'{kind.resource} "{name}" is forbidden: {message}',
        causes=(Cause("", message),),
        group=kind.group,
        kind=kind.plural,
        name=name,
    )
    error.policies = (f"{failure.policy.name}: refused ({failure.binding.name})", *attempt.policies)
    return error
