"""Lesson 020: a new leader decides on a mirror that does not show yet what the former one did, and makes a second
Reservation for the same purpose. Its name does not follow from owner and intent, and the API asks for no such name:
either alone would keep it to one."""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from fairlead.api.access.sign_in import SignIn
from fairlead.api.admission import AdmissionChain
from fairlead.api.desk import Desk
from fairlead.api.server import Api
from fairlead.control.plane import Plane
from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.effects import Create, Effect
from fairlead.model.catalog import Catalog
from fairlead.model.key import Key
from fairlead.model.kinds import reservation
from fairlead.model.views import RESERVATIONS, Pod, Reservation
from fairlead.reconcile.overrides.capacity import NAME as CAPACITY
from fairlead.sim.parts import Parts
from fairlead.sim.worlds.recovery import INTENT, NAME, Recovery
from fairlead.sim.zoo.timeout_read_as_failure import HastyPlane
from fairlead.sim.zoo.wrapping import deciding, wrap


class EagerPlane(Plane):
    """Does not wait for its mirrors after a take-over."""

    def _behind_the_fence(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return (), ()


class ByAttempt(Recovery):
    """Looks for owner and intent among what the mirror shows; what it makes is named after the attempt."""

    def found(self, view: Reading, pod: Pod) -> Reservation | None:
        meta = pod.metadata
        wanted = (meta.uid, meta.annotations[INTENT])
        mine = (
            each
            for each in view.list(RESERVATIONS, meta.namespace)
            if (each.spec.owner.uid, each.spec.intent) == wanted
        )
        return next(mine, None)

    def name_of(self, pod: Pod, now: float) -> str:
        return f"{pod.metadata.name}-{int(now * 1000)}"


def without_the_rule(desk: Desk, sign_in: SignIn) -> Api:
    """An API to which one name for a Reservation is as good as another."""
    loose = replace(reservation.KIND, name_of=None, validate=lambda body, problems: None)
    kinds = (loose if kind is reservation.KIND else kind for kind in desk.catalog)
    return Api(replace(desk, catalog=Catalog(kinds)), sign_in)


def without_any_rule(desk: Desk, sign_in: SignIn) -> Api:
    """Nor does it count what is made under an override."""
    steps = tuple(step for step in desk.chain.steps if step.name != "OverrideReservations")
    return without_the_rule(replace(desk, chain=AdmissionChain(steps)), sign_in)


@deciding
def named_by_attempt(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    decision = inner.decide(view, key, now)
    return structs.replace(decision, effects=tuple(_renamed(each, now) for each in decision.effects))


def _renamed(effect: Effect, now: float) -> Effect:
    if not isinstance(effect, Create) or effect.resource != RESERVATIONS.name:
        return effect
    name = f"{effect.name}-{int(now * 1000) % 1_000_000:06d}"
    body = {**effect.body, "metadata": {**effect.body["metadata"], "name": name}}
    return structs.replace(effect, name=name, body=body)


def live(parts: Parts) -> Parts:
    """The same on a plane as it is released, whose overrides make Reservations: a lost answer is read as a failure, and
    the retry makes another while the watch is late. For incidents that were captured (`fairlead replay --closed`)."""
    hasty = {**wrap(parts, CAPACITY, named_by_attempt), "plane": HastyPlane}
    return {**hasty, "api": without_any_rule}


def eager(parts: Parts) -> Parts:
    """The stale leader alone."""
    return {**parts, "plane": EagerPlane}


def plant(parts: Parts) -> Parts:
    deciders = parts["deciders"]

    def loose() -> tuple[Decider, ...]:
        return tuple(ByAttempt().decider() if each.name == NAME else each for each in deciders())

    return {**eager(parts), "deciders": loose, "api": without_the_rule}
