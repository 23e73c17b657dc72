"""Plants for the tests of the simulator itself: code that is not pure, not the same twice, or not well."""

from __future__ import annotations

import datetime
import os
import random
import secrets
import socket
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import structs

from fairlead.control.instructions import PlaneEvent, PlaneInstruction
from fairlead.control.leadership import Leadership
from fairlead.control.placing import Placer
from fairlead.control.plane import Plane
from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.ledger import override as ledger
from fairlead.model.key import Key
from fairlead.model.views import OVERRIDES, SchedulerOverride
from fairlead.port.driving import Woke
from fairlead.schedule.overrides import Overrides
from fairlead.sim.parts import Parts, Plant
from fairlead.sim.zoo.wrapping import deciding, wrap


def nothing(parts: Parts) -> Parts:
    return parts


@deciding
def _in_order_of_hashes(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    """Carries effects out in the order of a set of strings."""
    decision = inner.decide(view, key, now)
    by_name = {effect.name: effect for effect in decision.effects}
    return structs.replace(decision, effects=tuple(by_name[name] for name in set(by_name)))


def hashed(parts: Parts) -> Parts:
    return wrap(parts, "replicaset", _in_order_of_hashes)


def _doing(act: Callable[[], Any]) -> Plant:
    @deciding
    def doing(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
        act()
        return inner.decide(view, key, now)

    return lambda parts: wrap(parts, "replicaset", doing)


# What reaches outside, by the door it takes.
clock = _doing(lambda: time.time())
stopwatch = _doing(lambda: time.perf_counter())
calendar = _doing(lambda: datetime.datetime.now())
nap = _doing(lambda: time.sleep(0))
thread = _doing(lambda: threading.Thread(target=print).start())
file = _doing(lambda: open(os.devnull).close())
path = _doing(lambda: Path(os.devnull).read_text())
descriptor = _doing(lambda: os.close(os.open(os.devnull, os.O_RDONLY)))
dice = _doing(lambda: random.random())
shuffled = _doing(lambda: random.shuffle([1, 2]))
bits = _doing(lambda: random.getrandbits(8))
entropy = _doing(lambda: os.urandom(1))
token = _doing(lambda: secrets.token_hex())
name = _doing(lambda: uuid.uuid4())
network = _doing(lambda: socket.socket().close())

raising = _doing(lambda: dict[str, str]()["no such key"])


class BrokenPlane(Plane):
    def handle(self, event: PlaneEvent) -> tuple[PlaneInstruction, ...]:
        if isinstance(event, Woke):
            raise KeyError("no such key")
        return super().handle(event)


def broken_plane(parts: Parts) -> Parts:
    return {**parts, "plane": BrokenPlane}


class NeverStops(Plane):
    """Leads until it is told that another does: it does not stop before its lease ends."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.leadership.__class__ = _Endless


class _Endless(Leadership):
    def may_act(self, now: float) -> bool:
        return self.leads

    def _lease_ends(self) -> float:
        return float("inf")


def never_stops(parts: Parts) -> Parts:
    return {**parts, "plane": NeverStops}


@deciding
def _without_an_end(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    """Decides as if it were still before the end of the first override that ends."""
    ends = [ledger.end_of(each) - 1.0 for each in view.list(OVERRIDES)]
    if not ends or now <= min(ends):
        return inner.decide(view, key, now)
    return structs.replace(inner.decide(view, key, min(ends)), again_at=0.0)


def held_for_ever(parts: Parts) -> Parts:
    """A Deployment that an override holds back stays so after its end."""
    return wrap(parts, "deployment", _without_an_end)


class _Grudges(Overrides):
    """Remembers which places were closed to a workload, and keeps pods that come later off them."""

    def expire(self, now: float) -> bool:
        if not self.next_end or now < self.next_end:
            return False
        self.next_end = 0.0
        return True

    def observe(self, before: SchedulerOverride | None, after: SchedulerOverride | None) -> None:
        if after is not None:
            super().observe(before, after)


class GrudgingPlacer(Placer):
    def lead(self, now: float) -> None:
        super().lead(now)
        kept = self.snapshot.overrides
        self.snapshot.overrides = _Grudges()
        for each in kept.kept():
            if ledger.is_active(each, now):
                self.snapshot.overrides.observe(None, each)


def places_once_closed(parts: Parts) -> Parts:
    return {**parts, "scheduler": GrudgingPlacer}
