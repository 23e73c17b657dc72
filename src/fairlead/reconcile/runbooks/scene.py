"""One turn of a run: the view, the run, its procedure, and what its expressions make of them.

Objects are read only if an expression names them, and once a turn. Used by all of this folder. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeVar

from fairlead.core.times import timestamp
from fairlead.model.catalog import Catalog
from fairlead.model.cel.errors import EvaluationError
from fairlead.model.cel.library.standard import timestamp_of
from fairlead.model.cel.program import Budget, Program
from fairlead.model.runbooks.procedure import CheckedCondition, Procedure, Read, RunbookStep
from fairlead.model.runbooks.running import answered, facts_of, places_of, where_of
from fairlead.model.runbooks.sight import VIEWS, seen
from fairlead.model.runbooks.values import read_values
from fairlead.model.selectors import LabelMatcher, from_object
from fairlead.model.views import Json, Resource, View
from fairlead.model.views.runbooks import RunbookRun, StepRecord

#: bound: plane | objects that one variable of a runbook holds | the expression has no value
READ_OBJECTS_MAX = 2000
#: bound: plane | what was measured for a run counts for | the run waits until it is measured anew
READINGS_FRESH_SECONDS = 30.0
#: bound: plane | clocks of a plane and its server may differ, where a run is measured, by | as if it was not measured
CLOCKS_DIFFER_SECONDS = 90.0


T = TypeVar("T", bound=View)


class ObjectReader(Protocol):
    """What a run reads: the view of a plane (`decision/contract.py`), or for a dry run the API itself."""

    def get(self, resource: Resource[T], namespace: str, name: str) -> T | None: ...

    def select(
        self, resource: Resource[T], namespace: str, selector: LabelMatcher | Json | None
    ) -> Sequence[T]: ...

    def owned(self, resource: Resource[T], owner_uid: str, namespace: str = "") -> Sequence[T]: ...


def seen_resources(catalog: Catalog) -> dict[str, Resource[View]]:
    """Every stored resource, in the view in which expressions see it; where there is none, in any."""
    found: dict[str, Resource[View]] = {}
    for kind in catalog:
        view = VIEWS.get(kind.resource, View)
        found.setdefault(kind.resource, Resource(kind.resource, kind.api_version, kind.kind, view))
    return found


class Judged(NamedTuple):
    """What came of some conditions: the first that is not as wanted, and why; "" if all are."""

    name: str = ""
    why: str = ""


class Scene:
    def __init__(
        self,
        view: ObjectReader,
        run: RunbookRun,
        procedure: Procedure,
        resources: Mapping[str, Resource[View]],
        now: float,
        seen_at: float | None = None,
    ) -> None:
        """`seen_at`: when this version of the run was seen, by the clock of who decides; None where that is now."""
        self.view = view
        self.run = run
        self.procedure = procedure
        self.resources = resources
        self.now = now
        self._seen_at = now if seen_at is None else seen_at
        self._budget = Budget()
        self._read: dict[str, Any] = {}

    @cached_property
    def user(self) -> str:
        return str(self.run.spec.requested_by.get("username") or "")

    @cached_property
    def _facts(self) -> dict[str, Any]:
        meta = self.run.metadata
        return facts_of(meta.name, meta.namespace, self.user, self.run.status.started_at)

    @cached_property
    def _params(self) -> dict[str, Any]:
        return read_values(self.procedure.params, self.run.spec.params)

    @cached_property
    def _answers(self) -> dict[str, dict[str, Any]]:
        return answered(self.procedure, {each.step: each.values for each in self.run.spec.answers})

    @cached_property
    def _measured(self) -> Json:
        readings = self.run.status.readings
        return readings.values if readings is not None else {}

    @property
    def awaits_readings(self) -> bool:
        """Whether what it is to judge by was not measured, or too long ago. Who measures writes anew before it is: so
        it is old if nothing was seen of the run for so long, by the clock of who decides alone. Its own reports are
        seen as well: how long these may do is bounded by when it was measured, by clocks that may differ."""
        if not self.procedure.is_measuring:
            return False
        readings = self.run.status.readings
        if readings is None or self.now - self._seen_at > READINGS_FRESH_SECONDS:
            return True
        return self.now - readings.taken > READINGS_FRESH_SECONDS + CLOCKS_DIFFER_SECONDS

    @cached_property
    def places(self) -> dict[str, Any]:
        """What each `${name}` stands for."""
        return places_of(self._facts, self._params, self._answers)

    def holds(self, program: Program) -> bool:
        """Raises EvaluationError if there is no telling."""
        names: dict[str, Any] = {
            "params": self._params,
            "answers": self._answers,
            "run": self._facts,
            "now": timestamp_of(timestamp(self.now)),
        }
        for read in self.procedure.reads:
            if read.name in program.uses:
                if read.name not in self._read:
                    self._read[read.name] = self._look(read)
                names[read.name] = self._read[read.name]
        measured = [each.name for each in self.procedure.metrics]
        measured += [each.name for each in self.procedure.decisions]
        names.update((name, self._measured.get(name)) for name in measured if name in program.uses)
        return program.run(names, self._budget) is True

    def _look(self, read: Read) -> Any:
        resource = self.resources[read.kind.resource]
        namespace, name, labels = where_of(read, self.places)
        if read.labels is None:
            found = self.view.get(resource, namespace, name)
            return None if found is None else seen(found)
        several = self.view.select(resource, namespace, from_object({"matchLabels": labels}))
        if len(several) > READ_OBJECTS_MAX:
            raise EvaluationError(
                f"{read.name} would hold {len(several)} objects, more than {READ_OBJECTS_MAX}"
            )
        return [seen(each) for each in several]

    def unmet(self, conditions: Iterable[CheckedCondition]) -> Judged:
        """The first that does not hold."""
        for each in conditions:
            try:
                if not self.holds(each.program):
                    return Judged(each.name, each.message or f"{each.program.text.strip()} is false")
            except EvaluationError as error:
                return Judged(each.name, f"{each.program.text.strip()} has no value: {error}")
        return Judged()

    def met(self, conditions: Iterable[CheckedCondition]) -> Judged:
        """The first that holds. One without a value counts: a rule that cannot be judged protects nobody."""
        for each in conditions:
            try:
                if self.holds(each.program):
                    return Judged(each.name, each.message or f"{each.program.text.strip()} is true")
            except EvaluationError as error:
                return Judged(each.name, f"{each.program.text.strip()} has no value: {error}")
        return Judged()

    def record(self, step: str) -> StepRecord | None:
        return next((each for each in self.run.status.steps if each.name == step), None)

    @property
    def current(self) -> tuple[RunbookStep, StepRecord] | None:
        """The step that was begun last."""
        if not self.run.status.steps:
            return None
        record = self.run.status.steps[-1]
        step = self.procedure.step(record.name)
        return None if step is None else (step, record)
