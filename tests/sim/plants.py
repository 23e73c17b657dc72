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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec import structs

from fairlead.control.instructions import PlaneInstruction, Woke
from fairlead.control.leadership import Leadership
from fairlead.control.plane import Plane
from fairlead.decision.contract import Decision, Reading
from fairlead.model.key import Key
from fairlead.sim.parts import Parts, Plant
from fairlead.sim.zoo.wrapping import Wrapped, wrap


def nothing(parts: Parts) -> Parts:
    return parts


class Hashed(Wrapped):
    """Carries effects out in the order of a set of strings."""

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        decision = self.inner.decide(view, key, now)
        by_name = {effect.name: effect for effect in decision.effects}
        return structs.replace(decision, effects=tuple(by_name[name] for name in set(by_name)))


def hashed(parts: Parts) -> Parts:
    return wrap(parts, "replicaset", Hashed)


def _doing(act: Callable[[], Any]) -> Plant:
    class Doing(Wrapped):
        def decide(self, view: Reading, key: Key, now: float) -> Decision:
            act()
            return self.inner.decide(view, key, now)

    return lambda parts: wrap(parts, "replicaset", Doing)


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

raising = _doing(lambda: {}["no such key"])


class BrokenPlane(Plane):
    def woke(self, event: Woke) -> Iterator[PlaneInstruction]:
        raise KeyError("no such key")


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
