"""Runbooks as they are written: 422 with every reason why one could not be carried out by machine.

Called by `api/writing.py` for each write. The kinds, fields and metrics that a Runbook names are those that are
served now, so that a dry run of an update tells whether one that is stored has become stale (`fairlead runbook check`).
"""

from __future__ import annotations

from fairlead.api.attempt import Attempt
from fairlead.api.desk import Desk
from fairlead.api.runbooks.stamping import keep_readings, stamp_run
from fairlead.api.status import invalid
from fairlead.core.problems import Problems
from fairlead.model.kinds.runbook import RUN, RUNBOOK
from fairlead.model.runbooks.procedure import compile_procedure


def check_runbooks(desk: Desk, attempt: Attempt) -> None:
    """Nothing, for any other kind."""
    if attempt.kind.group != RUNBOOK.group or attempt.new is None:
        return
    if attempt.subresource:
        if attempt.kind.resource == RUN.resource and attempt.old is not None:
            keep_readings(attempt, attempt.new, attempt.old)
        return
    if attempt.kind.resource == RUNBOOK.resource and attempt.verb != "delete":
        problems = Problems()
        spec = attempt.new.get("spec") or {}
        compile_procedure(spec, desk.catalog, desk.tables, problems, series=desk.series)
        if problems:
            raise invalid(attempt.kind, attempt.key.name, problems)
    elif attempt.kind.resource == RUN.resource:
        stamp_run(desk, attempt)
