"""What controllers do by the clock, and which of it coincides. Read from the settings in force and from the
constants."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.control.plane import Plane
from fairlead.explain.coupling.contract import Timer
from fairlead.model.policy import plane_knobs
from fairlead.reconcile.autoscaling import decider as autoscaling
from fairlead.reconcile.disruption_budget import DELETION_SECONDS
from fairlead.reconcile.job.orphans import AGAIN_SECONDS
from fairlead.reconcile.nodes.health import LOOK_AGAIN_SECONDS
from fairlead.reconcile.runbooks.reporting import LOOK_SECONDS
from fairlead.reconcile.stale_disruption import STALE_DISRUPTION_SECONDS

_FIXED = (
    Timer("node-health", "looks again while something is due", LOOK_AGAIN_SECONDS),
    Timer("job-orphans", "looks again at a pod whose Job is gone", AGAIN_SECONDS),
    Timer("disruption", "an eviction that was allowed is forgotten", DELETION_SECONDS),
    Timer("stale-disruption", "a mark of an eviction is taken back", STALE_DISRUPTION_SECONDS),
    Timer("runbook", "looks again at what a step waits for", LOOK_SECONDS),
)
SCHEDULER = "scheduler"


def timers_of(plane: Plane) -> list[Timer]:
    """All that this plane has."""
    settings = plane.health.settings
    loop = settings.loop
    names = [each.decider.name for each in plane.controllers]
    found = [Timer(name, "resync", loop.resync_seconds, loop.resync_spread_seconds) for name in names]
    for name in names:
        queue = settings.queue(name)
        found.append(Timer(name, "back-off at most", queue.backoff_max_seconds, queue.backoff_jitter))
    found += [each for each in _FIXED if each.controller in names]
    if autoscaling.NAME in names:
        knobs = plane_knobs.numbers(settings.spec, "autoscaling")
        found.append(Timer(autoscaling.NAME, "looks at its metrics", knobs["syncSeconds"]))
    if plane.placer is not None:
        waiting = settings.waiting
        found += [
            Timer(SCHEDULER, "tries again what waits without a cause", waiting.flush_seconds),
            Timer(SCHEDULER, "back-off at most", waiting.backoff_max_seconds),
        ]
    return found


def aligned(timers: Iterable[Timer], controller: str = "") -> list[list[Timer]]:
    """Those with one period, of two controllers or more; only groups with this controller, if one is named."""
    by_period: dict[float, list[Timer]] = {}
    for timer in timers:
        by_period.setdefault(timer.seconds, []).append(timer)
    groups = [group for _, group in sorted(by_period.items()) if len({each.controller for each in group}) > 1]
    return [
        group for group in groups if not controller or any(each.controller == controller for each in group)
    ]
