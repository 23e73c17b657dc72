"""An original that is to count again gets its quota back only when its replacement has gone: a rival may be faster."""

from __future__ import annotations

import msgspec
from msgspec import structs

from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.effects import ChangeStatus, Effect
from fairlead.model.key import Key
from fairlead.model.marks import QUOTA_GIVEN
from fairlead.model.views import PODS
from fairlead.sim.zoo.wrapping import deciding, spoiling


@deciding
def forgetful(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    decision = inner.decide(view, key, now)
    return structs.replace(decision, effects=tuple(_kept(view, each) for each in decision.effects))


def _kept(view: Reading, effect: Effect) -> Effect:
    """The same change, but that a pod which gave its quota away goes on saying so."""
    pod = view.get(PODS, effect.namespace, effect.name)
    if not isinstance(effect, ChangeStatus) or pod is None:
        return effect
    given = [msgspec.to_builtins(each) for each in pod.status.conditions if each.type == QUOTA_GIVEN]
    told = effect.patch["status"].get("conditions") or []
    if any(each["type"] == QUOTA_GIVEN for each in told):
        return effect
    return structs.replace(
        effect, patch={"status": {**effect.patch["status"], "conditions": [*told, *given]}}
    )


plant = spoiling("returned", forgetful)
