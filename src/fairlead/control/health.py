"""What the controllers of one plane share so that together they do no harm: settings, breaker, retry budget, the
detector of write loops, what refused keys wait for, the numbers of decisions, what is merged of them, and which were
the first under an override. Made by `plane.py`, handed to each controller.
"""

from __future__ import annotations

from fairlead.cache.events import Changed
from fairlead.control import recording
from fairlead.control.breaker import Breaker
from fairlead.control.budget import RetryBudget
from fairlead.control.merging import Merging
from fairlead.control.override_first_turns import FirstTurns
from fairlead.control.recording import Recording
from fairlead.control.refusal_waits import Waits
from fairlead.control.settings import BUILT_IN, Settings
from fairlead.control.term import Term
from fairlead.control.turn import Next
from fairlead.control.write_loops import WriteLoops
from fairlead.model.key import Key
from fairlead.model.views import OVERRIDES, SchedulerOverride
from fairlead.port.outcome import Done, Outcome, Refused, Unknown
from fairlead.reconcile.overrides.telling import affected_by


class Health:
    heeds = frozenset({*recording.WATCHED, OVERRIDES.name})  # whose changes `observe` goes by

    def __init__(self) -> None:
        self.settings = BUILT_IN
        self.term = Term()
        self.merging = Merging()
        self.recording = Recording()
        self.first_turns = FirstTurns()
        self.breaker = Breaker()
        self.budget: RetryBudget[tuple[str, Key]] = RetryBudget()  # waiting: controller and key
        self.writes = WriteLoops()
        self.waits = Waits()
        # What answers led to, for metrics and for who wants to have met them all.
        self.answered: dict[Next, int] = {}

    def apply(self, settings: Settings) -> None:
        self.settings = settings
        self.breaker.apply(settings.breaker)
        self.budget.apply(settings.budget)
        self.writes.apply(settings.writes)

    def observe(self, resource: str, changed: Changed, now: float) -> None:
        """A mirror shows a change: of what decides how much is recorded, or of an override."""
        if resource in recording.WATCHED:
            self.recording.observe(resource, changed.before, changed.after, now)
        if resource == OVERRIDES.name:
            after = changed.after
            affected = affected_by(after) if isinstance(after, SchedulerOverride) else ()
            self.first_turns.observe(changed.key, after, affected, now)

    def record_outcome(self, outcome: Outcome, now: float) -> None:
        """An answer, or that there was none."""
        if isinstance(outcome, Unknown) or (isinstance(outcome, Refused) and outcome.retry == "later"):
            self.breaker.failed(now)
            return
        self.breaker.succeeded()
        if isinstance(outcome, Done):
            self.budget.earned()
