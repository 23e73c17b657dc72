"""Whether a plane does its work: who leads, whether its mirrors keep up, its controllers, the breaker. For people.

Pure, and nothing is decided by it. `runtime/` asks when somebody wants to know: /readyz?verbose, `fairlead status`,
metrics. Names of controllers and resources are told, never those of objects: who asks for health need not sign in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fairlead.cache.lag import MirrorLag
from fairlead.control.controller import Controller
from fairlead.control.plane import Plane
from fairlead.model.key import Key
from fairlead.queue.snapshot import QueueSnapshot

LEADER, MIRRORS, CONTROLLERS, BREAKER = "leader", "mirrors", "controllers", "breaker"
CHECKS = (LEADER, MIRRORS, CONTROLLERS, BREAKER)
_NAMED_MAX = 4  # of what is wrong; the rest is counted


class Check(NamedTuple):
    """One aspect of a plane; `problem` is "" where it is well, else a sentence without a full stop."""

    name: str
    problem: str = ""


class ControllerLag(NamedTuple):
    """How much is due and not done, and for how long."""

    keys: int
    seconds: float


def controller_lag(
    controller: Controller, queue: QueueSnapshot[Key], lags: Mapping[str, MirrorLag]
) -> ControllerLag:
    """Behind is who lets keys wait, and who cannot know yet that there is something to do."""
    running = max((each.seconds for each in queue.longest_running), default=0.0)
    unseen = max(
        (lags[each.name].seconds for each in controller.decider.reads if each.name in lags), default=0.0
    )
    keys = queue.ready + queue.in_progress + queue.again
    return ControllerLag(keys, max(queue.oldest_waiting_seconds, running, unseen))


def diagnose(
    plane: Plane, lags: Mapping[str, MirrorLag], now: float, since: float, failed: str = ""
) -> tuple[Check, ...]:
    """`since`: when this plane began; `failed`: what it died of, "" while it lives."""
    if failed:
        dead = f"the plane has failed ({failed}): nothing is decided"
        return (Check(LEADER, dead), Check(MIRRORS, dead), Check(CONTROLLERS, dead), Check(BREAKER))
    return (
        Check(LEADER, _leader(plane, now, since)),
        Check(MIRRORS, _mirrors(plane, lags)),
        Check(CONTROLLERS, _controllers(plane, lags, now)),
        Check(BREAKER, _breaker(plane, now)),
    )


def _leader(plane: Plane, now: float, since: float) -> str:
    leadership = plane.leadership
    if leadership.may_act(now):
        return ""
    holder, silent = leadership.other_holder(now)
    if holder and silent < leadership.settings.duration_seconds:
        return ""  # another plane does the work
    if now - since < leadership.settings.duration_seconds and not leadership.takeovers:
        return ""  # it has just begun
    last = f"; {holder} did until {silent:.0f} s ago" if holder else ""
    return f"nobody leads: {leadership.identity} is {leadership.phase.value}{last}"


def _mirrors(plane: Plane, lags: Mapping[str, MirrorLag]) -> str:
    limit = plane.health.settings.health.mirror_behind_seconds
    late = {name: lag for name, lag in lags.items() if lag.seconds > limit}
    worst = sorted(late, key=lambda name: (-late[name].seconds, name))
    return _several(f"{name} is {late[name].told}" for name in worst)


def _controllers(plane: Plane, lags: Mapping[str, MirrorLag], now: float) -> str:
    """Those that raise, and those that are behind; who does not lead is not behind."""
    limit = plane.health.settings.health.controller_behind_seconds
    acts = plane.leadership.may_act(now)
    found: list[str] = []
    for controller in plane.controllers:
        queue = controller.queue.snapshot(now)
        name, lag = controller.decider.name, controller_lag(controller, queue, lags)
        if controller.raised and queue.failing:
            found.append(f"{name} raises errors ({controller.raised} so far, {queue.failing} keys fail)")
        elif acts and lag.seconds > limit:
            found.append(f"{name} is {lag.seconds:.0f} s and {lag.keys} keys behind")
    return _several(found)


def _breaker(plane: Plane, now: float) -> str:
    breaker = plane.health.breaker
    if not breaker.is_open(now):
        return ""
    return f"the API does not answer the controllers: nothing is written for {breaker.open_until - now:.1f} s"


def _several(found: Iterable[str]) -> str:
    told = list(found)
    more = f", and {len(told) - _NAMED_MAX} more" if len(told) > _NAMED_MAX else ""
    return ", ".join(told[:_NAMED_MAX]) + more
