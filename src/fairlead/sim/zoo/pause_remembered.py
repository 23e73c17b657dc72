"""A controller that goes on with what was paused when the pause ends, and pauses whatever comes later: it remembers an
override that has ended, in its memory alone. Who starts anew does not, and no object shows it."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from fairlead.core.times import timestamp
from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.ledger import override as ledger
from fairlead.model.key import Key
from fairlead.model.views import DEPLOYMENTS, OVERRIDES, Json, Resource, SchedulerOverride
from fairlead.sim.zoo.wrapping import SpoiltView, deciding, spoiling

_MUCH_LATER_SECONDS = 86400.0


class _Remembering(SpoiltView):
    def __init__(self, inner: Reading, remembered: SchedulerOverride) -> None:
        super().__init__(inner)
        self._remembered = remembered

    def list(self, resource: Resource[Any], namespace: str = "") -> Any:
        found = self._inner.list(resource, namespace)
        return (*found, self._remembered) if resource.name == OVERRIDES.name else found


def spoil(inner: Decider) -> Decider:
    """A Decider is made anew with each start of a plane: so is what it remembers."""
    known: dict[str, SchedulerOverride] = {}  # by uid of a Deployment
    went_on: dict[str, Json] = {}  # the template that it had when its pause had ended

    @deciding
    def decide(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
        found = view.get(DEPLOYMENTS, key.namespace, key.name)
        if found is None:
            return inner.decide(view, key, now)
        uid, names = found.metadata.uid, ledger.names_of(found.metadata, "deployment")
        pauses = [
            each
            for each in ledger.active(view.list(OVERRIDES), now)
            if each.spec.changes.pause_rollout and ledger.covers(each, found.metadata.namespace, names)
        ]
        if pauses:
            known[uid] = _prolonged(pauses[0], now)
        elif uid in known and went_on.setdefault(uid, found.spec.template) != found.spec.template:
            remembering: Any = _Remembering(view, known[uid])
            return inner.decide(remembering, key, now)
        return inner.decide(view, key, now)

    return decide(inner)


def _prolonged(override: SchedulerOverride, now: float) -> SchedulerOverride:
    later = timestamp(now + _MUCH_LATER_SECONDS)
    return structs.replace(override, spec=structs.replace(override.spec, expires_at=later))


plant = spoiling("deployment", spoil)
