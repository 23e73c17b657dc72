"""Policies that change: asked after defaults, before all else that admission does. Called by `api/writing.py`.

What a policy sets is owned, in metadata.managedFields, by a manager that is named after it, and the audit line names
it. A policy that was asked before another one changed the object is asked once more if it says so
(`reinvocationPolicy`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlead.api import body
from fairlead.api.admission.policies.evaluating import Evaluation, RequestView, in_version, refusal
from fairlead.api.admission.policies.exempt import is_exempt
from fairlead.api.admission.policies.in_force import BoundPolicy
from fairlead.api.apply.managing import encoded_entries, stored_entries
from fairlead.api.apply.ownable import keep_ownable_changes
from fairlead.api.attempt import Attempt
from fairlead.api.desk import Desk
from fairlead.api.subresource_kinds import KINDS, SCALE, set_replicas
from fairlead.core import codec
from fairlead.core.errors import ApiError
from fairlead.core.times import timestamp
from fairlead.model.apply.elements import UndecodableError
from fairlead.model.apply.managers import UPDATE, Who, record_update
from fairlead.model.apply.merging import check_configuration, merge
from fairlead.model.apply.rules import MergeRule
from fairlead.model.apply.trees import compare
from fairlead.model.cel.errors import EvaluationError
from fairlead.model.cel.values import MadeObject, is_list
from fairlead.model.kind import Json, Kind
from fairlead.model.kinds.admission.expressions import Mutation
from fairlead.model.patch.jsonpatch import json_patch

MANAGER_PREFIX = "admission-policy:"
_MANAGER_LENGTH_MAX = 128
_KEPT = ("name", "namespace", "generateName", "uid", "creationTimestamp", "generation", "deletionTimestamp",
         "deletionGracePeriodSeconds", "selfLink", "resourceVersion")  # fmt: skip


def manager_name(policy: str) -> str:
    """Under which what a policy sets is found in managedFields."""
    return f"{MANAGER_PREFIX}{policy}"[:_MANAGER_LENGTH_MAX]


def mutate(desk: Desk, attempt: Attempt) -> None:
    """Changes `attempt.new` in place, and who owns what of it."""
    policies = desk.policies
    if not policies.mutating or not policies.concern(attempt.kind, attempt.address) or is_exempt(attempt):
        return
    if attempt.verb == "delete":
        return
    changed_at = [_ask(desk, attempt, bound) for bound in desk.policies.mutating]
    for place, bound in enumerate(desk.policies.mutating):
        if bound.policy.again and any(changed_at[place + 1 :]):
            _ask(desk, attempt, bound)


def _ask(desk: Desk, attempt: Attempt, bound: BoundPolicy) -> bool:
    """Whether the policy has changed the object, through any of its bindings."""
    policy, changed = bound.policy, False
    for binding in bound.bindings:
        view = RequestView(desk, attempt)  # each sees what those before it have made
        try:
            for evaluation in view.evaluations(policy, binding):
                changed |= _change(desk, attempt, evaluation)
        except EvaluationError as error:
            if policy.fails:
                raise refusal(attempt, policy, binding, str(error)) from None
    return changed


def _change(desk: Desk, attempt: Attempt, evaluation: Evaluation) -> bool:
    if not evaluation.is_meant():
        return False
    names, version = evaluation.names, evaluation.version
    kind = KINDS.get(attempt.address, attempt.kind)
    shown: Json = names["object"]
    tree: Json = codec.clone(shown)
    for mutation in evaluation.policy.compiled.mutations:
        names["object"] = tree
        tree = _mutated(desk, kind, evaluation, mutation)
    after = _back(kind, tree, version)
    before = shown if kind is not attempt.kind else attempt.new
    assert before is not None
    _check_identity(before, after)
    _fit(desk, kind, after)
    if attempt.subresource == "status":
        after = _within_status(kind, before, after)
    if after == before:
        return False
    if attempt.sent is not None:
        _replace(attempt.sent, after)
    elif kind is SCALE:
        _scale(desk, attempt, after, evaluation.policy.name)
    else:
        _own(desk, attempt, before, after, evaluation.policy.name)
        _replace(before, after)
        kind.defaults(before)
    told = f"{evaluation.policy.name}: changed"
    if told not in attempt.policies:
        attempt.policies.append(told)
    return True


def _mutated(desk: Desk, kind: Kind, evaluation: Evaluation, mutation: Mutation) -> Json:
    value = evaluation.run(mutation.program)
    tree: Json = evaluation.names["object"]
    try:
        if mutation.is_patch:
            if not is_list(value):
                raise EvaluationError("must be a list of JSONPatch{...}")
            return json_patch(tree, [_operation(each) for each in value])
        if not isinstance(value, MadeObject) or value.name != "Object":
            raise EvaluationError("must be an Object{...}")
        rule = desk.managing.rule(desk.tables, _kind_in(desk, kind, evaluation.version))
        config = _plain(value, "Object")
        check_configuration(rule, config)
        _check_not_atomic(rule, config, "")
        return merge(rule, tree, config)  # type: ignore[no-any-return]
    except (ApiError, UndecodableError, EvaluationError) as error:
        raise EvaluationError(f"expression '{mutation.program.text}' resulted in error: {error}") from None


def _replace(tree: Json, after: Json) -> None:
    tree.clear()
    tree.update(after)


def _scale(desk: Desk, attempt: Attempt, scale: Json, policy: str) -> None:
    """Of a Scale no more than the number can be changed, which is the parent's."""
    parent = attempt.new
    assert parent is not None
    before = codec.clone(parent)
    set_replicas(attempt.kind, parent, (scale.get("spec") or {}).get("replicas") or 0)
    _own(desk, attempt, before, parent, policy)


def _kind_in(desk: Desk, kind: Kind, version: str) -> Kind:
    return desk.catalog.find(kind.group, version, kind.plural) or kind


def _operation(value: Any) -> Json:
    if not isinstance(value, MadeObject) or value.name != "JSONPatch":
        raise EvaluationError("every item must be a JSONPatch{...}")
    return {name: _plain(each, "") for name, each in value.fields.items()}


def _plain(value: Any, path: str) -> Any:
    """As JSON. `Object.spec{...}` must stand where the object has `spec`."""
    if isinstance(value, MadeObject):
        if path and value.name != path:
            raise EvaluationError(f"{value.name} stands where {path} is expected")
        return {name: _plain(each, f"{path}.{name}" if path else "") for name, each in value.fields.items()}
    if isinstance(value, Mapping):
        return {str(name): _plain(each, path) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each, path) for each in value]
    if value is None or isinstance(value, bool | str | float):
        return value
    if isinstance(value, int):
        return int(value)
    return str(value)


def _check_not_atomic(rule: MergeRule, config: Any, path: str) -> None:
    """As Kubernetes has it: what is replaced as a whole would lose what the policy does not know of."""
    if isinstance(config, dict | list) and rule.is_leaf:
        raise EvaluationError(
            f"{path[1:]}: may not be set by ApplyConfiguration, it is replaced as a whole; use JSONPatch"
        )
    if rule.is_list and isinstance(config, list):
        for each in config:
            _check_not_atomic(rule.item, each, path)
    elif not rule.is_leaf and isinstance(config, dict):
        for name, each in config.items():
            if isinstance(each, dict | list):
                _check_not_atomic(rule.members[name].rule, each, f"{path}.{name}")


def _back(kind: Kind, tree: Json, version: str) -> Json:
    if version == kind.version:
        return tree
    api_version = f"{kind.group}/{version}" if kind.group else version
    for each in kind.conversions:
        if each.api_version == api_version:
            return each.back(tree)
    return in_version(kind, tree, kind.version)


def _check_identity(before: Json, after: Json) -> None:
    for name in ("apiVersion", "kind"):
        if after.get(name) != before.get(name):
            raise EvaluationError(f"{name} may not be changed")
    metadata = after.get("metadata")
    if not isinstance(metadata, dict) and "metadata" in before:
        raise EvaluationError("metadata may not be removed")
    kept = before.get("metadata") or {}
    for name in _KEPT:
        if (metadata or {}).get(name) != kept.get(name):
            raise EvaluationError(f"metadata.{name} may not be changed")


def _fit(desk: Desk, kind: Kind, after: Json) -> None:
    try:
        body.check_structure(desk, kind.schema, after, "Strict", kind=kind)
    except ApiError as error:
        raise EvaluationError(f"the outcome does not fit the kind: {error}") from None


def _within_status(kind: Kind, before: Json, after: Json) -> Json:
    """Through its own address no more than the status changes, and what goes with it."""
    metadata = dict(before["metadata"])
    for name in kind.status_metadata:
        if name in after["metadata"]:
            metadata[name] = after["metadata"][name]
        else:
            metadata.pop(name, None)
    kept = {name: value for name, value in before.items() if name not in ("metadata", "status")}
    status = {"status": after["status"]} if "status" in after else {}
    return {**kept, "metadata": metadata, **status}


def _own(desk: Desk, attempt: Attempt, before: Json, after: Json, policy: str) -> None:
    """An object of which nobody has kept book so far stays so."""
    if not attempt.managed:
        return
    kind = attempt.kind
    found = compare(desk.managing.rule(desk.tables, kind), before, after)
    found = keep_ownable_changes(kind, attempt.subresource, found)
    if found:
        who = Who(manager_name(policy), UPDATE, kind.api_version, attempt.subresource)
        now = timestamp(attempt.context.now)
        attempt.managed = encoded_entries(record_update(stored_entries(attempt.managed), found, who, now))
