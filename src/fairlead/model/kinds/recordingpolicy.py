"""RecordingPolicy (fairlead.dev/v1): how much is recorded of which decision. One object for the whole plane: `default`.

Read by `model/catalog.py`. Planes follow it as their mirrors show it (`control/recording.py`), a server its budget of
bytes. Without the object everything is recorded in full.
"""

from __future__ import annotations

from collections.abc import Callable

from fairlead.core.problems import Problems
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.kinds.auditpolicy import check_texts, rules_columns
from fairlead.model.kinds.workload import part

NAME = "default"  # the only RecordingPolicy there is
RECORDS = "records"  # in its status: counts, which the server writes
#: bound: objects | rules of a RecordingPolicy | 422
RULES_MAX = 64
#: bound: objects | texts in each list of a rule of a RecordingPolicy | 422
VALUES_MAX = 256
#: bound: objects | least bytes of recorded decisions that a RecordingPolicy may ask for | 422
BYTES_MIN = 1024 * 1024
#: bound: objects | minutes for which what begins to fail may be recorded in full | 422
RAISE_MINUTES_MAX = 1440

NONE, OUTCOME, FULL = "None", "Outcome", "Full"
LEVELS = (NONE, OUTCOME, FULL)
POLICY_CHANGE, ROLLOUT, INCIDENT = "PolicyChange", "Rollout", "Incident"
WINDOWS = (POLICY_CHANGE, ROLLOUT, INCIDENT)
_LISTS = ("controllers", "names", "resources")


def _validate(policy: Json, problems: Problems) -> None:
    name, spec = part(policy, "metadata").get("name"), part(policy, "spec")
    if name != NAME:
        problems.invalid("metadata.name", name, f"the plane has one RecordingPolicy, named {NAME!r}")
    budget = spec.get("bytesMax")
    if budget is not None and budget < BYTES_MIN:
        problems.invalid("spec.bytesMax", budget, f"at least {BYTES_MIN} (1 MiB): fewer would keep nothing")
    _check_range(spec, "raiseMinutes", RAISE_MINUTES_MAX, problems)
    _check_range(spec, "settledPercent", 100, problems)
    rules = spec.get("rules") or []
    if len(rules) > RULES_MAX:
        problems.too_many("spec.rules", len(rules), RULES_MAX)
    for index, rule in enumerate(rules[:RULES_MAX]):
        _check(rule, f"spec.rules[{index}]", problems)


def _check_range(spec: Json, field: str, most: int, problems: Problems) -> None:
    value = spec.get(field)
    if value is not None and not 0 <= value <= most:
        problems.invalid(f"spec.{field}", value, f"a number from 0 to {most}")


def _check(rule: Json, at: str, problems: Problems) -> None:
    level = rule.get("level") or ""
    if level not in LEVELS:
        problems.unsupported(f"{at}.level", level, LEVELS)
    for field in _LISTS:
        check_texts(rule.get(field) or [], f"{at}.{field}", problems)
    check_texts(rule.get("namespaces") or [], f"{at}.namespaces", problems, empty=True)
    for index, resource in enumerate((rule.get("resources") or [])[:VALUES_MAX]):
        if "/" in resource or resource != resource.lower():
            text = "a plural with its group, as in pods or deployments.apps"
            problems.invalid(f"{at}.resources[{index}]", resource, text)
    for index, window in enumerate(rule.get("when") or []):
        if window not in WINDOWS:
            problems.unsupported(f"{at}.when[{index}]", window, WINDOWS)


def _count(field: str) -> Callable[[Json, float], Cell]:
    return lambda policy, now: int(part(part(policy, "status"), RECORDS).get(field) or 0)


*_FOLLOWED, _AGE = rules_columns(
    "Whether planes follow it.", "Rules, the first of which that matches decides."
)
KIND = Kind(
    group="fairlead.dev",
    version="v1",
    kind="RecordingPolicy",
    plural="recordingpolicies",
    namespaced=False,
    schema="RecordingPolicy",
    subresources=("status",),
    columns=(
        *_FOLLOWED,
        Column("Kept", _count("kept"), "integer", description="Lines of decisions that are kept."),
        Column("Bytes", _count("bytes"), "integer", description="Bytes of these."),
        Column(
            "Dropped", _count("dropped"), "integer", description="Lines that the budget or their age let go."
        ),
        Column(
            "Merged",
            _count("merged"),
            "integer",
            description="Blocked decisions merged with others.",
            priority=1,
        ),
        _AGE,
    ),
    validate=_validate,
)
