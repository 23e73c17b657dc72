"""What a plane counts, for `/metrics` of the server and of `fairlead control`: leadership, mirrors, controllers,
Events, the scheduler, pods on their way.

Read off the plain numbers of the machines when somebody asks. Called by `server.py` and `runtime/remote/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from fairlead.cache.lag import MirrorLag
from fairlead.cache.mirror import MirrorPhase
from fairlead.control.controller import Controller
from fairlead.control.diagnosis import CHECKS, Check, ControllerLag, controller_lag
from fairlead.control.plane import Plane
from fairlead.model.key import Key
from fairlead.queue.snapshot import QueueSnapshot
from fairlead.runtime.metrics.contract import Metric, MetricSample
from fairlead.runtime.metrics.mirrors import (
    MIRROR_FOLLOWING,
    MIRROR_GAP,
    MIRROR_LAG,
    MIRROR_LISTS,
    MIRROR_OBJECTS,
    MIRROR_REVISION,
    MIRROR_UNREADABLE,
)
from fairlead.runtime.metrics.objectives import objective_samples
from fairlead.runtime.metrics.scheduler import scheduler_samples, stage_samples

_PlaneRead = Callable[[Plane, float], float]
_PLANE: tuple[tuple[Metric, _PlaneRead], ...] = tuple(
    (Metric(name, told), read)
    for name, told, read in (
        (
            "fairlead_plane_leads",
            "1 while this plane's controllers act, 0 while it stands by.",
            lambda plane, _: plane.leadership.leads,
        ),
        (
            "fairlead_plane_takeovers_total",
            "How often it took over leadership.",
            lambda plane, _: plane.leadership.takeovers,
        ),
        (
            "fairlead_plane_breaker_open",
            "1 while writes are held back because the API did not answer.",
            lambda plane, now: plane.health.breaker.is_open(now),
        ),
        (
            "fairlead_plane_breaker_opened_total",
            "How often writes were held back because the API did not answer.",
            lambda plane, _: plane.health.breaker.opened,
        ),
        (
            "fairlead_plane_settings_generation",
            "Of the PlaneSettings in use; 0 without one.",
            lambda plane, _: plane.health.settings.generation,
        ),
        (
            "fairlead_plane_retries_left",
            "Retries that all controllers together may make at once.",
            lambda plane, now: int(plane.health.budget.left(now)),
        ),
        (
            "fairlead_plane_retries_waiting",
            "Retries that wait for the budget.",
            lambda plane, _: len(plane.health.budget.waiting),
        ),
        (
            "fairlead_plane_retries_held_back_total",
            "Retries that had to wait for the budget.",
            lambda plane, _: plane.health.budget.held_back,
        ),
        (
            "fairlead_plane_write_loops",
            "Loops that go on: a controller that writes the same again and again, or writers that loop together.",
            lambda plane, now: len(plane.health.writes.loops(now)),
        ),
        (
            "fairlead_plane_write_loops_total",
            "Loops found, of all kinds.",
            lambda plane, _: plane.health.writes.found,
        ),
        (
            "fairlead_events_waiting",
            "Events that wait to be written.",
            lambda plane, _: plane.recorder.waiting,
        ),
        (
            "fairlead_events_written_total",
            "Events written, counts raised included.",
            lambda plane, _: plane.recorder.written,
        ),
        (
            "fairlead_events_suppressed_total",
            "Notes not told, because their object had its share.",
            lambda plane, _: plane.recorder.suppressed,
        ),
        (
            "fairlead_events_dropped_total",
            "Notes not told, because there were too many at once or the API refused them.",
            lambda plane, _: plane.recorder.dropped,
        ),
        (
            "fairlead_events_unknown_total",
            "Events whose answer was lost.",
            lambda plane, _: plane.recorder.unknown,
        ),
    )
)
CHECK = Metric("fairlead_plane_check_failed", "1 while this check of /readyz?verbose fails.", ("check",))
LOOPS = Metric(
    "fairlead_plane_loops_found_total",
    "Loops found: repeat (one controller), oscillation, amplification, invalid decision.",
    ("kind",),
)
SCALED = Metric(
    "fairlead_autoscaler_scalings_total",
    "Times that an autoscaler asked a workload for more replicas, or for fewer.",
    ("direction",),
)

_OF_CONTROLLER = ("controller",)
_ControllerRead = Callable[[Controller, QueueSnapshot[Key], ControllerLag], float]
_CONTROLLER: tuple[tuple[Metric, _ControllerRead], ...] = tuple(
    (Metric(name, told, _OF_CONTROLLER), read)
    for name, told, read in (
        ("fairlead_queue_ready", "Keys that could be worked on now.", lambda _, queue, __: queue.ready),
        ("fairlead_queue_delayed", "Keys that wait for a time.", lambda _, queue, __: queue.delayed),
        ("fairlead_queue_in_progress", "Turns under way.", lambda _, queue, __: queue.in_progress),
        (
            "fairlead_queue_oldest_seconds",
            "How long the key that waits longest has been ready.",
            lambda _, queue, __: queue.oldest_waiting_seconds,
        ),
        ("fairlead_queue_failing", "Keys whose last turn failed.", lambda _, queue, __: queue.failing),
        (
            "fairlead_queue_hot",
            "Keys slowed down because they want turns without end.",
            lambda _, queue, __: queue.held,
        ),
        (
            "fairlead_queue_retries_total",
            "Turns that were repeated after a failure.",
            lambda _, queue, __: queue.counts.retried,
        ),
        ("fairlead_controller_decisions_total", "Decisions.", lambda controller, _, __: controller.decided),
        (
            "fairlead_controller_conflicts_total",
            "Turns that met a changed object and were decided again.",
            lambda controller, _, __: controller.conflicts,
        ),
        (
            "fairlead_controller_unknown_total",
            "Writes whose outcome had to be looked up.",
            lambda controller, _, __: controller.unknown,
        ),
        (
            "fairlead_controller_stuck_total",
            "Turns given up until the object changes.",
            lambda controller, _, __: controller.stuck,
        ),
        (
            "fairlead_controller_raised_total",
            "Errors of the program in a controller; the log has the traceback.",
            lambda controller, _, __: controller.raised,
        ),
        (
            "fairlead_controller_behind_keys",
            "Keys that are due and not done: ready, under way, or held back.",
            lambda _, __, lag: lag.keys,
        ),
        (
            "fairlead_controller_behind_seconds",
            "How far behind it is: its oldest key that is due, or what the copies lack that it reads.",
            lambda _, __, lag: round(lag.seconds, 3),
        ),
    )
)
GAP_OBJECTS = Metric(
    "fairlead_generation_gap_objects",
    "Objects whose status is of an older generation than their spec: what their controller has not reported on.",
    ("controller", "resource"),
)
GAP_AGE = Metric(
    "fairlead_generation_gap_seconds",
    "For how long this plane has seen the oldest of them so.",
    ("controller", "resource"),
)
METRICS = (
    *(metric for metric, _ in _PLANE),
    CHECK,
    LOOPS,
    SCALED,
    MIRROR_OBJECTS,
    MIRROR_UNREADABLE,
    MIRROR_REVISION,
    MIRROR_FOLLOWING,
    MIRROR_GAP,
    MIRROR_LAG,
    MIRROR_LISTS,
    *(metric for metric, _ in _CONTROLLER),
    GAP_OBJECTS,
    GAP_AGE,
)


def plane_samples(
    plane: Plane, lags: Mapping[str, MirrorLag], checks: Iterable[Check], now: float
) -> Iterator[MetricSample]:
    """All of one metric together, as the text form wants it."""
    for metric, read in _PLANE:
        yield metric.sample(read(plane, now))
    failed = {each.name for each in checks if each.problem}
    for name in CHECKS:
        yield CHECK.sample(name in failed, name)
    for kind, number in plane.health.writes.found_by.items():
        yield LOOPS.sample(number, kind)
    for direction, count in plane.tallies.scaled.items():
        yield SCALED.sample(count, direction)
    yield from _mirrors(plane, lags)
    yield from _controllers(plane, lags, now)
    yield from scheduler_samples(plane.placer)
    yield from stage_samples(plane.tallies.stages, now)
    yield from objective_samples(plane, now)


def _mirrors(plane: Plane, lags: Mapping[str, MirrorLag]) -> Iterator[MetricSample]:
    mirrors = plane.mirrors
    for name, mirror in mirrors.items():
        yield MIRROR_OBJECTS.sample(len(mirror.index), name)
    for name, mirror in mirrors.items():
        yield MIRROR_UNREADABLE.sample(len(mirror.unreadable), name)
    for name, mirror in mirrors.items():
        yield MIRROR_REVISION.sample(mirror.revision, name)
    for name, mirror in mirrors.items():
        yield MIRROR_FOLLOWING.sample(mirror.phase is MirrorPhase.FOLLOWING, name)
    for name, lag in lags.items():
        yield MIRROR_GAP.sample(lag.revisions, name)
    for name, lag in lags.items():
        yield MIRROR_LAG.sample(round(lag.seconds, 3), name)
    for name, mirror in mirrors.items():
        yield MIRROR_LISTS.sample(mirror.lists, name)


def _controllers(plane: Plane, lags: Mapping[str, MirrorLag], now: float) -> Iterator[MetricSample]:
    seen = [
        (controller, queue, controller_lag(controller, queue, lags))
        for controller in plane.controllers
        for queue in (controller.queue.snapshot(now),)
    ]
    for metric, read in _CONTROLLER:
        for controller, queue, lag in seen:
            yield metric.sample(read(controller, queue, lag), controller.decider.name)
    names = {controller.decider.name for controller in plane.controllers}
    gaps = [each for each in plane.tallies.generations.behind(now) if each.controller in names]
    for gap in gaps:
        yield GAP_OBJECTS.sample(gap.objects, gap.controller, gap.resource)
    for gap in gaps:
        yield GAP_AGE.sample(round(gap.seconds, 3), gap.controller, gap.resource)
