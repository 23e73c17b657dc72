"""What the plane works with: the PlaneSettings object as typed, frozen records; without one, what is built in.

`plane.py` reads the object through a mirror and makes these anew on each change; controllers, queues, the breaker and
the rest take theirs from here while they run. The numbers themselves, and their bounds, are in
`model/policy/plane_knobs.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, TypeVar

from fairlead.control.breaker import BreakerSettings
from fairlead.control.budget import BudgetSettings
from fairlead.control.events import RecorderSettings
from fairlead.control.write_loops import WriteLoopSettings
from fairlead.core.problems import Problems
from fairlead.decision.effects import RETRY
from fairlead.decision.retry import RetryPolicy
from fairlead.model.kind import Json
from fairlead.model.policy import plane_knobs
from fairlead.model.views import PlaneSettings
from fairlead.queue.settings import QueueSettings
from fairlead.schedule.waiting import WaitingSettings

_CAPITAL = re.compile("[A-Z]")

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """`turns_max`: how many keys are worked on at once. `turn_seconds`: how long effects of one decision are begun;
    shorter than a lease, so that no decision outlives the leadership it was made in."""

    turns_max: int = 16
    turn_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class LoopSettings:
    resync_seconds: float = 300.0
    resync_spread_seconds: float = 30.0
    look_again_seconds: float = 1.0
    ask_progress_seconds: float = 0.5
    raised_attempts_max: int = 8


@dataclass(frozen=True, slots=True)
class HealthSettings:
    """When a mirror lags and a controller is behind. Nothing is decided by these: they say when people are told."""

    mirror_behind_seconds: float = 10.0
    controller_behind_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class PlacingSettings:
    """`batch_max`: pods placed on one look at the world. `in_flight_max`: bindings under way."""

    batch_max: int = 64
    in_flight_max: int = 256


@dataclass(frozen=True, slots=True)
class MonitorSettings:
    """Of whoever watches what is committed, beside the plane (`runtime/server/monitoring.py`)."""

    commits_per_second_max: int = 200


@dataclass(frozen=True, slots=True)
class Settings:
    """`revision` is that of the object they come from, 0 if there is none: what records name."""

    revision: int = 0
    generation: int = 0
    loop: LoopSettings = field(default_factory=LoopSettings)
    breaker: BreakerSettings = field(default_factory=BreakerSettings)
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    writes: WriteLoopSettings = field(default_factory=WriteLoopSettings)
    retries: dict[type, RetryPolicy] = field(default_factory=lambda: RETRY)
    spec: Json = field(default_factory=dict)
    events: RecorderSettings = field(default_factory=RecorderSettings)
    placing: PlacingSettings = field(default_factory=PlacingSettings)
    waiting: WaitingSettings = field(default_factory=WaitingSettings)
    health: HealthSettings = field(default_factory=HealthSettings)
    monitors: MonitorSettings = field(default_factory=MonitorSettings)

    @property
    def stage_limits(self) -> dict[str, float]:
        """How long a pod may stay at each stage."""
        return {
            stage: plane_knobs.numbers(self.spec, "stages", stage)["limitSeconds"]
            for stage in plane_knobs.TIMED_STAGES
        }

    def queue(self, controller: str) -> QueueSettings:
        return _made(QueueSettings, self.spec, "queues", controller)

    def controller(self, controller: str) -> ControllerSettings:
        return _made(ControllerSettings, self.spec, "controllers", controller)

    def source(self, controller: str) -> str:
        """Where a controller's queue settings come from: its own entry, `default`, or "" for what is built in."""
        return plane_knobs.source(self.spec, "queues", controller)


BUILT_IN = Settings()


def settings_of(found: PlaneSettings | None) -> Settings | str:
    """The settings an object asks for; or why they cannot be used, which the API prevents for what it stores."""
    if found is None:
        return BUILT_IN
    spec = found.spec
    problems = Problems()
    plane_knobs.check(spec, problems)
    if problems:
        return problems.summary()
    retries = {
        effect: replace(policy, **_snaked(plane_knobs.numbers(spec, "retries", _camel(effect.__name__))))
        for effect, policy in RETRY.items()
    }
    return Settings(
        revision=found.metadata.revision,
        generation=found.metadata.generation,
        loop=_made(LoopSettings, spec, "loop"),
        breaker=_made(BreakerSettings, spec, "breaker"),
        budget=_made(BudgetSettings, spec, "retryBudget"),
        writes=_made(WriteLoopSettings, spec, "writeLoops"),
        retries=retries,
        spec=spec,
        events=_made(RecorderSettings, spec, "events"),
        placing=_part(PlacingSettings, spec, "scheduler"),
        waiting=_part(WaitingSettings, spec, "scheduler"),
        health=_made(HealthSettings, spec, "health"),
        monitors=_made(MonitorSettings, spec, "monitors"),
    )


def _made(record: Callable[..., S], spec: Json, section: str, name: str = "") -> S:
    if not spec:
        built_in: S = _built_in(record, section, name)
        return built_in
    return record(**_snaked(plane_knobs.numbers(spec, section, name)))


@cache
def _built_in(record: Callable[..., Any], section: str, name: str) -> Any:
    return record(**_snaked(plane_knobs.numbers({}, section, name)))


def _part(record: Callable[..., S], spec: Json, section: str) -> S:
    """One of several records that share a section."""
    own = {each.name for each in fields(record)}  # type: ignore[arg-type]
    found = _snaked(plane_knobs.numbers(spec, section))
    return record(**{name: value for name, value in found.items() if name in own})


def _snaked(numbers: plane_knobs.Numbers) -> dict[str, Any]:
    return {_snake(name): each for name, each in numbers.items()}


@cache  # of the names of knobs, which are few
def _snake(name: str) -> str:
    return _CAPITAL.sub(lambda found: "_" + found[0].lower(), name)


def _camel(name: str) -> str:
    return name[0].lower() + name[1:]
