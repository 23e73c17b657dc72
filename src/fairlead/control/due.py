"""When a plane that leads has something to do without being told: the times of its workers, Events and retries.

Part of `plane.py`, which asks to be woken then; `rests_until` looks ahead for the simulator's `sim/rest.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.cache.view import MirrorView
from fairlead.control.controller import Controller
from fairlead.control.events import Recorder
from fairlead.control.health import Health
from fairlead.control.outgoing import Worker
from fairlead.model.key import Key


class Due:
    def __init__(self, workers: Sequence[Worker], recorder: Recorder, health: Health) -> None:
        self._workers, self._recorder, self._health = workers, recorder, health

    def work_at(self, now: float) -> float:
        """When it goes on with what it has to do; 0: when it is told something."""
        due = [self._recorder.next_at, *[worker.due_at for worker in self._workers]]
        if self._health.budget.waiting:
            due.append(self._health.budget.ready_at(now))
        return min(filter(None, due), default=0.0)

    def rests_until(self, most: float, view: MirrorView) -> float:
        """Of one that has nothing under way, looking ahead to `most`: keys that nothing wakes are looked at and
        settled, which may be due before something else that is."""
        due, looks = [self._recorder.next_at], list[Controller]()
        for worker in self._workers:
            if 0.0 < worker.due_at < most:
                if isinstance(worker, Controller) and worker.decider.initial_keys:
                    looks.append(worker)
                else:
                    due.append(worker.due_at)
        if not any(due):  # what these would find is worth the looks only if nothing else is due
            due = [each.due_at for each in looks if _finds(each, each.decider.initial_keys, view, most)]
        return min(filter(None, due), default=most)


def _finds(controller: Controller, keys: Sequence[Key], view: MirrorView, now: float) -> bool:
    """Whether a controller would have anything to do for one of these keys then."""
    return any(controller.decider.decide(view, key, now).effects for key in keys)
