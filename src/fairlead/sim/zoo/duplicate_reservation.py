"""Lesson 020: a new leader decides on a mirror that does not show yet what the former one did, and makes a second
Reservation for the same purpose. It does not look at what the server counted, its name does not follow from owner and
intent, and the API asks for no such name: each alone would keep it to one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from msgspec import structs

from fairlead.api.access.sign_in import SignIn
from fairlead.api.admission import AdmissionChain
from fairlead.api.desk import Desk
from fairlead.api.server import Api
from fairlead.control.fence_progress import FenceProgress
from fairlead.control.instructions import AskProgress
from fairlead.control.plane import Plane
from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.effects import OPERATION, Create, Effect
from fairlead.model.catalog import Catalog
from fairlead.model.key import Key
from fairlead.model.kinds import reservation
from fairlead.model.views import OVERRIDES
from fairlead.reconcile.overrides.capacity import NAME
from fairlead.sim.parts import Parts
from fairlead.sim.zoo.timeout_read_as_failure import HastyPlane
from fairlead.sim.zoo.wrapping import SpoiltView


class Unawaited(FenceProgress):
    def look(self, now: float) -> tuple[bool, tuple[AskProgress, ...]]:
        return True, ()


class EagerPlane(Plane):
    """Does not wait for its mirrors after a take-over."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._progress = Unawaited(self._sources, lambda: self.leadership, self.health)


class OwnCount(SpoiltView):
    """Only what the mirror of Reservations shows is there; what the server counted is not looked at."""

    def get(self, resource: Any, namespace: str, name: str) -> Any:
        found = self._inner.get(resource, namespace, name)
        if found is None or resource.name != OVERRIDES.name:
            return found
        return structs.replace(found, status=structs.replace(found.status, reserved=()))


def by_attempt(decider: Decider) -> Decider:
    """What it makes is named after the attempt."""

    def renamed(effect: Effect, now: float) -> Effect:
        if not isinstance(effect, Create):
            return effect
        name = f"{effect.body['spec']['intent']}-{int(now * 1000)}"
        metadata = {**effect.body["metadata"], "name": name}
        label = f"{effect.identity}/{name}"
        metadata["annotations"] = {**metadata["annotations"], OPERATION: label}
        return structs.replace(effect, identity=label, name=name, body={**effect.body, "metadata": metadata})

    def decide(view: Reading, key: Key, now: float) -> Decision:
        decision = decider.decide(OwnCount(view), key, now)
        return structs.replace(decision, effects=tuple(renamed(each, now) for each in decision.effects))

    return replace(decider, decide=decide)


def without_the_rule(desk: Desk, sign_in: SignIn) -> Api:
    """An API to which one name for a Reservation is as good as another."""
    loose = replace(reservation.KIND, name_of=None, validate=lambda body, problems: None)
    kinds = (loose if kind is reservation.KIND else kind for kind in desk.catalog)
    return Api(replace(desk, catalog=Catalog(kinds)), sign_in)


def without_any_rule(desk: Desk, sign_in: SignIn) -> Api:
    """Nor does it count what is made under an override."""
    steps = tuple(step for step in desk.chain.steps if step.name != "OverrideReservations")
    return without_the_rule(replace(desk, chain=AdmissionChain(steps)), sign_in)


def live(parts: Parts) -> Parts:
    """The same without a second leader: a lost answer is read as a failure, and the retry makes another while the watch
    is late. For incidents that were captured (`fairlead replay --closed`)."""
    return {**parts, "deciders": _loose(parts), "plane": HastyPlane, "api": without_any_rule}


def eager(parts: Parts) -> Parts:
    """The stale leader alone."""
    return {**parts, "plane": EagerPlane}


def plant(parts: Parts) -> Parts:
    return {**eager(parts), "deciders": _loose(parts), "api": without_the_rule}


def _loose(parts: Parts) -> Callable[[], tuple[Decider, ...]]:
    deciders = parts["deciders"]
    return lambda: tuple(by_attempt(each) if each.name == NAME else each for each in deciders())
