"""Lesson 020: a new leader decides on a mirror that does not show yet what the former one did, and makes a second
Reservation for the same purpose. Its name does not follow from owner and intent, and the API asks for no such name:
either alone would keep it to one."""

from __future__ import annotations

from dataclasses import replace

from fairlead.api.access.sign_in import SignIn
from fairlead.api.desk import Desk
from fairlead.api.server import Api
from fairlead.control.plane import Plane
from fairlead.decision.contract import Reading
from fairlead.decision.decider import Decider
from fairlead.model.catalog import Catalog
from fairlead.model.kinds import reservation
from fairlead.model.views import RESERVATIONS, Pod, Reservation
from fairlead.sim.parts import Parts
from fairlead.sim.worlds.recovery import INTENT, NAME, Recovery


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


def eager(parts: Parts) -> Parts:
    """The stale leader alone."""
    return {**parts, "plane": EagerPlane}


def plant(parts: Parts) -> Parts:
    deciders = parts["deciders"]

    def loose() -> tuple[Decider, ...]:
        return tuple(ByAttempt().decider() if each.name == NAME else each for each in deciders())

    return {**eager(parts), "deciders": loose, "api": without_the_rule}
