"""What `fairlead queues` shows of a plane, as plain data: each controller's queue, the scheduler's, what they share.

Given by `server/extensions.py` for the plane of that process, without the names that a tenant may not see; a plane in
another process sends the same (`remote/shipping.py`), and `server/plane_reports.py` keeps it: one command shows both.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fairlead.control.health import Health
from fairlead.control.plane import Plane
from fairlead.control.retries_told import retries_in_force
from fairlead.schedule.waiting import FLUSH, State

Json = dict[str, Any]


def queues_told(plane: Plane, now: float) -> Json:
    recorder = plane.recorder
    told: Json = msgspec.to_builtins(
        {
            "leads": plane.leadership.leads,
            "phase": plane.leadership.phase.value,
            "events": {
                "waiting": recorder.waiting,
                "written": recorder.written,
                "suppressed": recorder.suppressed,
                "dropped": recorder.dropped,
                "unknown": recorder.unknown,
                "settings": recorder.settings,
            },
            "scheduler": scheduler_queue(plane, now),
            "recording": _recording(plane),
            **_health(plane.health, now),
            "retries": retries_in_force(plane.health.settings),
            "items": [
                {
                    "controller": controller.decider.name,
                    "decided": controller.decided,
                    "conflicts": controller.conflicts,
                    "unknown": controller.unknown,
                    "stuck": controller.stuck,
                    "raised": controller.raised,
                    "settings": plane.health.settings.source(controller.decider.name),
                    "turns": controller.settings,
                    "queue": controller.queue.snapshot(now),
                }
                for controller in plane.controllers
            ],
        }
    )
    return told


def _recording(plane: Plane) -> Json:
    """What this plane recorded since it began, by level, and under which policy."""
    recording, policy = plane.health.recording, plane.health.recording.policy
    return {
        "policy": [policy.metadata.name, policy.metadata.generation] if policy is not None else None,
        "lines": recording.lines,
        "bytes": recording.bytes,
        "leftOut": recording.left_out,
        "merged": plane.health.merging.merged,
    }


def scheduler_queue(plane: Plane, now: float) -> Json | None:
    """Pods that wait for a node; None where no scheduler runs."""
    placer = plane.placer
    if placer is None:
        return None
    counts, since = placer.waiting.counts(), placer.waiting.oldest_since()
    return {
        "active": counts[State.ACTIVE.value],
        "backoff": counts[State.RESTING.value],
        "unschedulable": counts[State.WAITING.value],
        "underWay": len(placer.flights.underway),
        "oldestSeconds": round(max(0.0, now - since), 3) if since else 0.0,
        "attempts": placer.attempts,
        "placed": placer.placed,
        "conflicts": placer.flights.conflicts,
        "unknown": placer.flights.unknown,
        "flushes": placer.waiting.incoming.get((State.ACTIVE, FLUSH), 0),
        "flushesNeeded": placer.flights.tally.flushes_needed,
        "policy": [placer.policy.name, placer.policy.revision],
        "settings": {"placing": placer.settings, "waiting": placer.waiting.settings},
    }


def _health(health: Health, now: float) -> Json:
    """What the controllers share: which settings they work with, retries left, whether the API is left alone, loops."""
    settings, budget, breaker = health.settings, health.budget, health.breaker
    return {
        "settings": {"revision": settings.revision, "generation": settings.generation, "loop": settings.loop},
        "retryBudget": {
            "left": int(budget.left(now)),
            "waiting": len(budget.waiting),
            "spent": budget.spent,
            "heldBack": budget.held_back,
            "settings": budget.settings,
        },
        "breaker": {
            "open": breaker.is_open(now),
            "opened": breaker.opened,
            "settings": breaker.settings,
        },
        "writeLoops": list(health.writes.loops(now)),
    }
