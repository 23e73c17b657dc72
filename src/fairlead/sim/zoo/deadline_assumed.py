"""Zoo: a silent node is believed to have ended its pods, whether or not their supervisors accepted a deadline."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import structs

from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.effects import ChangeStatus, Effect
from fairlead.model.at_most_one import ACCEPTED, DEADLINE, accepted_message, accepted_seconds
from fairlead.model.key import Key
from fairlead.model.views import Condition, Pod
from fairlead.sim.parts import Parts
from fairlead.sim.zoo.wrapping import deciding, wrap

_ASSUMED = Condition(DEADLINE, "True", ACCEPTED, accepted_message(19))


class _Trusting:
    """Sees every pod of a node with a deadline."""

    def __init__(self, view: Reading) -> None:
        self._view = view

    def on_node(self, name: str) -> Iterable[Any]:
        for pod in self._view.on_node(name):
            if isinstance(pod, Pod) and accepted_seconds(pod.status.conditions) is None:
                conditions = (*pod.status.conditions, _ASSUMED)
                pod = structs.replace(pod, status=structs.replace(pod.status, conditions=conditions))
            yield pod

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)


@deciding
def assuming(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    trusting: Any = _Trusting(view)
    decision = inner.decide(trusting, key, now)
    return structs.replace(decision, effects=tuple(map(_unsaid, decision.effects)))


def _unsaid(effect: Effect) -> Effect:
    """It is believed, not written."""
    conditions = (
        effect.patch.get("status", {}).get("conditions") if isinstance(effect, ChangeStatus) else None
    )
    if not isinstance(effect, ChangeStatus) or not conditions:
        return effect
    said = [each for each in conditions if each.get("message") != _ASSUMED.message]
    return structs.replace(effect, patch={"status": {**effect.patch["status"], "conditions": said}})


def plant(parts: Parts) -> Parts:
    return wrap(wrap(parts, "release", assuming), "evidence-policy", assuming)
