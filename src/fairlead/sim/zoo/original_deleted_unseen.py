"""A node is back, so the pod that was released there goes, whatever has become of the one that should replace it."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.effects import ChangeStatus, Effect
from fairlead.decision.ensure import ensure_gone
from fairlead.model.key import Key
from fairlead.model.marks import RETURNED
from fairlead.model.views import PODS
from fairlead.sim.zoo.wrapping import deciding, spoiling


@deciding
def hasty(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    decision = inner.decide(view, key, now)
    return structs.replace(
        decision, effects=tuple(_gone(inner.name, view, each) for each in decision.effects)
    )


def _gone(name: str, view: Reading, effect: Effect) -> Effect:
    if not isinstance(effect, ChangeStatus) or not _counts_again(effect.patch["status"]):
        return effect
    pod = view.get(PODS, effect.namespace, effect.name)
    gone = ensure_gone(name, pod.metadata, PODS, pod) if pod is not None else None
    return effect if gone is None else gone


def _counts_again(status: dict[str, Any]) -> bool:
    return any(each.get("reason") == RETURNED for each in status.get("conditions") or ())


plant = spoiling("returned", hasty)
