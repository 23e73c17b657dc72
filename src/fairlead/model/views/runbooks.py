"""Views of runs: what the controller that advances them decides on, and what it reports."""

from __future__ import annotations

from fairlead.core.times import parse_time
from fairlead.model.views.common import Condition, Json, Meta, Resource, View


class TouchedObject(View, frozen=True):
    """An object that a step created, changed or deleted."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class StepRecord(View, frozen=True):
    name: str
    state: str = ""
    started_at: str = ""
    finished_at: str = ""
    message: str = ""
    by: str = ""
    made: TouchedObject | None = None
    before: str = ""


class RunAnswer(View, frozen=True):
    step: str
    values: dict[str, str] = {}
    by: str = ""
    at: str = ""


class Abort(View, frozen=True):
    reason: str = ""
    by: str = ""
    at: str = ""


class RunbookRunSpec(View, frozen=True):
    runbook: str = ""
    params: dict[str, str] = {}
    requested_by: Json = {}
    procedure: Json = {}
    answers: tuple[RunAnswer, ...] = ()
    abort: Abort | None = None


class RunReadings(View, frozen=True):
    """What was measured for its expressions, and when. `values`: by variable."""

    at: str = ""
    values: Json = {}

    @property
    def taken(self) -> float:
        """In seconds since the epoch; 0, which is long ago, if it does not say when."""
        try:
            return parse_time(self.at)
        except ValueError:
            return 0.0


class RunbookRunStatus(View, frozen=True):
    observed_generation: int = 0
    phase: str = ""
    step: str = ""
    started_at: str = ""
    finished_at: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[Condition, ...] = ()
    steps: tuple[StepRecord, ...] = ()
    readings: RunReadings | None = None


class RunbookRun(View, frozen=True):
    metadata: Meta
    spec: RunbookRunSpec = RunbookRunSpec()
    status: RunbookRunStatus = RunbookRunStatus()


RUNBOOK_RUNS = Resource("runbookruns.fairlead.dev", "fairlead.dev/v1", "RunbookRun", RunbookRun)
