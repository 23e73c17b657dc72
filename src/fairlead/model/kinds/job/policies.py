"""When a Job gives up and when it is content early: podFailurePolicy and successPolicy.

Called by `validation.py`. Also reads the notation of index sets (`0,2-4`), which a Job's status uses too.
"""

from __future__ import annotations

from itertools import pairwise

from fairlead.core.problems import Problems, show
from fairlead.model.kind import Json
from fairlead.model.kinds.workload import NOT_NEGATIVE, part
from fairlead.model.names import label_key_problems

_RULES_MAX = 20
_PATTERNS_MAX = 20
_EXIT_CODES_MAX = 255
_INDEXES_BYTES_MAX = 64 * 1024
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_STATUSES = ("False", "True", "Unknown")
_DIGITS_MAX = 10


def check_failure_policy(spec: Json, path: str, problems: Problems) -> None:
    rules = spec["podFailurePolicy"].get("rules") or ()
    if len(rules) > _RULES_MAX:
        problems.too_many(f"{path}.rules", len(rules), _RULES_MAX)
    pod = part(part(spec, "template"), "spec")
    names = {
        container.get("name")
        for field in ("containers", "initContainers")
        for container in pod.get(field) or ()
    }
    for index, rule in enumerate(rules):
        rule_path = f"{path}.rules[{index}]"
        _check_action(rule.get("action"), spec, f"{rule_path}.action", problems)
        codes, patterns = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
        if codes is not None:
            _check_exit_codes(codes, names, f"{rule_path}.onExitCodes", problems)
        if patterns:
            _check_patterns(patterns, f"{rule_path}.onPodConditions", problems)
        if codes is not None and patterns:
            detail = "specifying both OnExitCodes and OnPodConditions is not supported"
            problems.invalid(rule_path, rule, detail)
        if codes is None and not patterns:
            detail = "specifying one of OnExitCodes and OnPodConditions is required"
            problems.invalid(rule_path, rule, detail)


def _valid_values(values: tuple[str, ...]) -> str:
    return "valid values: [" + " ".join(show(value) for value in values) + "]"


def _check_action(action: str | None, spec: Json, path: str, problems: Problems) -> None:
    if not action:
        problems.required(path, _valid_values(_ACTIONS))
    elif action not in _ACTIONS:
        problems.unsupported(path, action, _ACTIONS)
    elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        problems.invalid(path, action, "requires the backoffLimitPerIndex to be set")


def _check_patterns(patterns: list[Json], path: str, problems: Problems) -> None:
    if len(patterns) > _PATTERNS_MAX:
        problems.too_many(path, len(patterns), _PATTERNS_MAX)
    for index, pattern in enumerate(patterns):
        kind, status = pattern.get("type") or "", pattern.get("status")
        for text in label_key_problems(kind):
            problems.invalid(f"{path}[{index}].type", kind, text)
        if not status:
            problems.required(f"{path}[{index}].status", _valid_values(_STATUSES))
        elif status not in _STATUSES:
            problems.unsupported(f"{path}[{index}].status", status, _STATUSES)


def _check_exit_codes(codes: Json, names: set[str | None], path: str, problems: Problems) -> None:
    operator, container = codes.get("operator"), codes.get("containerName")
    if not operator:
        problems.required(f"{path}.operator", _valid_values(_OPERATORS))
    elif operator not in _OPERATORS:
        problems.unsupported(f"{path}.operator", operator, _OPERATORS)
    if container is not None and container not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        problems.invalid(f"{path}.containerName", container, detail)
    values = codes.get("values") or []
    if not values:
        problems.invalid(f"{path}.values", values, "at least one value is required")
    elif len(values) > _EXIT_CODES_MAX:
        problems.too_many(f"{path}.values", len(values), _EXIT_CODES_MAX)
    seen: set[int] = set()
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            problems.invalid(f"{path}.values[{index}]", value, "must not be 0 for the In operator")
        if value in seen:
            problems.duplicate(f"{path}.values[{index}]", value)
        seen.add(value)
    if any(earlier > later for earlier, later in pairwise(values)):
        problems.invalid(f"{path}.values", values, "must be ordered")


def check_success_policy(spec: Json, path: str, problems: Problems) -> None:
    """For indexed jobs only; without completions there is nothing to compare with."""
    rules = spec["successPolicy"].get("rules") or ()
    if not rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        problems.required(f"{path}.rules", detail)
    if len(rules) > _RULES_MAX:
        problems.too_many(f"{path}.rules", len(rules), _RULES_MAX)
    completions = spec.get("completions")
    if completions is None:
        return
    for index, rule in enumerate(rules):
        _check_success_rule(rule, completions, f"{path}.rules[{index}]", problems)


def _check_success_rule(rule: Json, completions: int, path: str, problems: Problems) -> None:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and indexes is None:
        problems.required(path, "at least one of succeededCount or succeededIndexes must be specified")
    total = 0
    if indexes is not None:
        if len(indexes) > _INDEXES_BYTES_MAX:
            problems.too_long(f"{path}.succeededIndexes", _INDEXES_BYTES_MAX)
        try:
            total = sum(last - first + 1 for first, last in index_intervals(indexes, completions))
        except ValueError as wrong:
            detail = f"error parsing succeededIndexes: {wrong}"
            problems.invalid(f"{path}.succeededIndexes", indexes, detail)
    if count is None:
        return
    path = f"{path}.succeededCount"
    if count < 0:
        problems.invalid(path, count, NOT_NEGATIVE)
    limit = "must be less than or equal to"
    if count > completions:
        problems.invalid(path, count, f"{limit} {completions} (the number of specified completions)")
    if indexes is not None and count > total:
        what = "the number of indexes in the specified succeededIndexes field"
        problems.invalid(path, count, f"{limit} {total} ({what})")


def index_intervals(text: str, completions: int) -> list[tuple[int, int]]:
    """`0,2-4` as [(0, 0), (2, 4)]: ascending, below `completions`. ValueError says what is wrong."""
    intervals: list[tuple[int, int]] = []
    for piece in text.split(",") if text else ():
        limits = piece.split("-")
        if len(limits) > 2:
            rule = "an index interval can have at most two parts separated by '-'"
            raise ValueError(f"the fragment {show(piece)} violates the requirement that {rule}")
        first = _index(limits[0], completions)
        last = _index(limits[1], completions) if len(limits) == 2 else first
        if len(limits) == 2 and first >= last:
            raise ValueError(f"non-increasing order, previous: {first}, current: {last}")
        if intervals and intervals[-1][1] >= first:
            raise ValueError(f"non-increasing order, previous: {intervals[-1][1]}, current: {first}")
        intervals.append((first, last))
    return intervals


def _index(text: str, completions: int) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"cannot convert string to integer for index: {show(text)}")
    if len(text) > _DIGITS_MAX or int(text) >= completions:
        raise ValueError(f"too large index: {show(text)}")
    return int(text)
