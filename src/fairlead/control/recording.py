"""How much is recorded of a decision: the RecordingPolicy `default`, as the plane's mirrors show it. Pure.

    level(subject, now) -> None, Outcome or Full

The first rule that matches decides, Full where none does and where there is no policy. What begins to fail is raised
to Full for a while, and falls back by itself. Whatever the rules say, what is blocked is kept: at None as Outcome.
Asked by `record.py` and `placing.py`; told of changes by `plane.py`; made by `health.py`.
"""

from __future__ import annotations

from typing import NamedTuple
from zlib import crc32

from fairlead.ledger.override import end_of, is_active
from fairlead.model.key import Key
from fairlead.model.kinds.recordingpolicy import FULL, INCIDENT, NAME, NONE, OUTCOME, POLICY_CHANGE, ROLLOUT
from fairlead.model.views import (
    DEPLOYMENTS,
    OVERRIDES,
    PLANE_SETTINGS,
    RECORDING_POLICIES,
    SCHEDULING_POLICIES,
    Deployment,
    RecordingPolicy,
    RecordingRule,
    SchedulerOverride,
    View,
)

#: bound: plane | workloads that are recorded in full because they fail | the one that was raised first falls back
RAISED_MAX = 1_024
#: bound: plane | a change of policy counts as one for | -
POLICY_WINDOW_SECONDS = 600.0
WATCHED = frozenset(
    each.name for each in (RECORDING_POLICIES, DEPLOYMENTS, OVERRIDES, PLANE_SETTINGS, SCHEDULING_POLICIES)
)
_POLICIES = (PLANE_SETTINGS.name, SCHEDULING_POLICIES.name)


class RecordSubject(NamedTuple):
    """What a rule may ask of a decision."""

    controller: str
    key: Key
    blocked: bool
    owner: str = ""  # the name of the object that controls it
    priority: int | None = None  # of a pod that is to be placed


class Recording:
    def __init__(self) -> None:
        self.policy: RecordingPolicy | None = None
        self._changed_at = 0.0
        self._incidents: dict[Key, SchedulerOverride] = {}
        self._rolling: dict[str, dict[str, None]] = {}  # names of Deployments, by namespace
        self._raised: dict[tuple[str, str], float] = {}  # namespace and name -> until
        # Plain counts, by level; `left_out` are decisions and turns of which no line is kept.
        self.lines: dict[str, int] = {}
        self.bytes: dict[str, int] = {}
        self.left_out = 0
        self.is_off = False  # nobody keeps what is written: a plane that looks ahead (`sim/preview/`)

    # What the plane tells it

    def observe(self, resource: str, before: View | None, after: View | None, now: float) -> None:
        found = after if after is not None else before
        if resource in _POLICIES:
            self._changed_at = now
        elif isinstance(found, RecordingPolicy):
            if found.metadata.name == NAME:
                self.policy = found if after is not None else None
                if self.policy is None or not self.policy.spec.raise_minutes:
                    self._raised.clear()
        elif isinstance(found, SchedulerOverride):
            key = Key(resource, found.metadata.namespace, found.metadata.name)
            self._incidents.pop(key, None)
            if after is not None and now < end_of(found):
                self._incidents[key] = found
        elif isinstance(found, Deployment):
            rolling = self._rolling.setdefault(found.metadata.namespace, {})
            rolling.pop(found.metadata.name, None)
            if after is not None and _is_rolling(found):
                rolling[found.metadata.name] = None

    def failing(self, subject: RecordSubject, now: float) -> None:
        """It is blocked, and was not before: what comes is worth knowing, of it and of what owns it."""
        if self.policy is None or not self.policy.spec.raise_minutes:
            return
        until = now + self.policy.spec.raise_minutes * 60.0
        for name in filter(None, (subject.key.name, subject.owner)):
            self._raised.pop((subject.key.namespace, name), None)
            self._raised[subject.key.namespace, name] = until
        while len(self._raised) > RAISED_MAX:
            del self._raised[next(iter(self._raised))]

    # What it is asked

    def level(self, subject: RecordSubject, now: float) -> str:
        if self.policy is None or self.is_raised(subject, now):
            return FULL
        rules = self.policy.spec.rules
        found = next((each.level for each in rules if self._matches(each, subject, now)), FULL)
        return OUTCOME if found == NONE and subject.blocked else found

    def is_raised(self, subject: RecordSubject, now: float) -> bool:
        if not self._raised:
            return False
        names = (subject.key.name, subject.owner)
        return any(now < self._raised.get((subject.key.namespace, name), 0.0) for name in names)

    def is_sampled(self, decision: str) -> bool:
        """Whether a turn that found nothing to do is one of those that are kept."""
        percent = 100 if self.policy is None else self.policy.spec.settled_percent
        return percent >= 100 or crc32(decision.encode()) % 100 < percent

    def count(self, level: str, size: int) -> None:
        self.lines[level] = self.lines.get(level, 0) + 1
        self.bytes[level] = self.bytes.get(level, 0) + size

    def _matches(self, rule: RecordingRule, subject: RecordSubject, now: float) -> bool:
        key = subject.key
        return (
            (not rule.controllers or subject.controller in rule.controllers)
            and (rule.failed is None or rule.failed == subject.blocked)
            and (not rule.namespaces or key.namespace in rule.namespaces)
            and (not rule.resources or key.resource in rule.resources)
            and (not rule.names or key.name in rule.names or subject.owner in rule.names)
            and (
                rule.min_priority is None
                or (subject.priority is not None and subject.priority >= rule.min_priority)
            )
            and (not rule.when or any(self._is_in(window, subject, now) for window in rule.when))
        )

    def _is_in(self, window: str, subject: RecordSubject, now: float) -> bool:
        if window == POLICY_CHANGE:
            return bool(self._changed_at) and now < self._changed_at + POLICY_WINDOW_SECONDS
        if window == INCIDENT:
            return any(is_active(each, now) for each in self._incidents.values())
        assert window == ROLLOUT
        name, rolling = subject.key.name, self._rolling.get(subject.key.namespace, {})
        return any(name == each or name.startswith(f"{each}-") for each in rolling)


def _is_rolling(deployment: Deployment) -> bool:
    meta, spec, status = deployment.metadata, deployment.spec, deployment.status
    return (
        status.observed_generation < meta.generation
        or status.updated_replicas < spec.replicas
        or status.replicas > status.updated_replicas
    )
