"""Zoo 5: what comes after a deletion is remembered by whoever deleted, and by nobody else.

A pod whose node came back is to count again in place of its replacement: first the replacement is deleted, then the pod
is made to count. Here only the process that deleted knows that the second step is due. If it dies in between, the pod
stays neither counted nor gone.
"""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.effects import ChangeStatus, Delete, Effect
from fairlead.model.key import Key
from fairlead.model.marks import REPLACES
from fairlead.model.views import PODS
from fairlead.sim.zoo.wrapping import spoiling


def remembering(inner: Decider) -> Decider:
    due: set[str] = set()  # uids of pods whose replacement this process deleted

    def decide(view: Reading, key: Key, now: float) -> Decision:
        decision = inner.decide(view, key, now)
        effects = tuple(each for each in decision.effects if knows(view, each))
        return structs.replace(decision, effects=effects)

    def knows(view: Reading, effect: Effect) -> bool:
        if effect.resource != PODS.name:
            return True
        pod = view.get(PODS, effect.namespace, effect.name)
        if pod is None:
            return True
        if isinstance(effect, Delete):
            replaced = pod.metadata.annotations.get(REPLACES)
            if replaced:
                due.add(replaced)
        elif isinstance(effect, ChangeStatus):
            return pod.metadata.uid in due
        return True

    return replace(inner, decide=decide)


plant = spoiling("replicaset", remembering)
