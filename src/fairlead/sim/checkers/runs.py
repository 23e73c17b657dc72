"""Runs of runbooks keep their word: each step once and in order, the record is what happened, an abort leaves nothing,
and a run ends.

Judged from the runs and from the marks on what they made, without the code that advances them.
"""

from __future__ import annotations

from typing import Any

from fairlead.decision.effects import OPERATION
from fairlead.model.kinds.runbook import ABORTED, ENDED
from fairlead.model.views.runbooks import RUNBOOK_RUNS, RunbookRun
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation

_MADE_BY = "runbook/"
_BEGUN, _LEFT = "Running", "Left"
# What may follow what.
_NEXT = {
    "Running": {"Done", "Failed"},
    "Done": {"Undoing", "Undone", "Left"},
    "Undoing": {"Undone", "Left"},
    "Skipped": set[str](),
    "Failed": set[str](),
    "Undone": set[str](),
    "Left": set[str](),
}


class RunsKeepTheirWord:
    name = "runs-keep-their-word"

    def __init__(self) -> None:
        self._made: dict[str, str] = {}  # operation -> uid of what it made

    def saw(self, sight: SeenChange) -> None:
        if sight.key.resource == RUNBOOK_RUNS.name:
            if sight.after is not None:
                self._judge(sight.before, sight.after)
            return
        operation = _operation(sight.last)
        if operation and sight.before is None and sight.after is not None:
            uid = sight.after.metadata.uid
            if self._made.setdefault(operation, uid) != uid:
                raise Violation(
                    self.name, f"{operation} was done twice: {sight.key.name} is there a second time"
                )

    def _judge(self, before: RunbookRun | None, after: RunbookRun) -> None:
        run, records = after.metadata.name, after.status.steps
        known = {each.name: each for each in before.status.steps} if before is not None else {}
        order = [each["name"] for each in after.spec.procedure.get("steps") or ()]
        if [each.name for each in records] != order[: len(records)]:
            raise Violation(self.name, f"run {run} is out of order: {[each.name for each in records]}")
        if missing := known.keys() - {each.name for each in records}:
            raise Violation(self.name, f"run {run} forgot {sorted(missing)}")
        for each in records:
            was = known.get(each.name)
            if was is not None and was.state != each.state and each.state not in _NEXT[was.state]:
                raise Violation(self.name, f"run {run}: {each.name} was {was.state} and is {each.state}")
            if was is not None and was.made is not None and each.made != was.made:
                raise Violation(
                    self.name, f"run {run}: {each.name} made {was.made.name}, and says otherwise now"
                )
        if sum(each.state in (_BEGUN, "Undoing") for each in records) > 1:
            raise Violation(self.name, f"run {run} does two steps at once")
        if before is not None and before.status.phase in ENDED and after.status != before.status:
            raise Violation(self.name, f"run {run} had ended, and goes on")

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        runs = {view.metadata.uid: view for view in objects.of(RUNBOOK_RUNS.name).values()}
        for run in runs.values():
            if run.status.phase not in ENDED:
                raise Violation(
                    self.name, f"run {run.metadata.name} is {run.status.phase or 'Pending'} and rests"
                )
        for key, view in objects.all():
            operation = _operation(view)
            if not operation or key.resource == RUNBOOK_RUNS.name:
                continue
            _, uid, *_ = operation.split("/")
            owner = runs.get(uid)
            records = owner.status.steps if owner is not None else ()
            uids = {each.made.uid: each for each in records if each.made is not None}
            record = uids.get(view.metadata.uid)
            if owner is None:
                raise Violation(self.name, f"{key.name} is left of a run that is gone")
            if record is None:
                raise Violation(self.name, f"{key.name} is not in the record of run {owner.metadata.name}")
            if owner.status.phase == ABORTED and record.state != _LEFT:
                raise Violation(
                    self.name, f"{key.name} is left of run {owner.metadata.name}, which was aborted"
                )


def _operation(view: Any) -> str:
    found = str(view.metadata.annotations.get(OPERATION, ""))
    return found if found.startswith(_MADE_BY) else ""
