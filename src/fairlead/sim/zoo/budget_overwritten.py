"""Zoo 14: the write of an allowance that met a conflict is made again as it was computed, over an eviction that came
between. An eviction that counts the pods itself is safe from it: here it counts those that are ill, and leaves those
that were evicted to the budget."""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from fairlead.api.objects import tree
from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.effects import ChangeStatus, Effect
from fairlead.ledger import disruption
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.views import BUDGETS
from fairlead.sim.parts import Parts
from fairlead.sim.zoo.budget_from_dead_controller import CredulousApi
from fairlead.sim.zoo.wrapping import wrap


def stubborn(inner: Decider) -> Decider:
    """Remembers what it last wanted to write to a budget, and until that is there writes it again, once."""
    wanted: dict[str, ChangeStatus] = {}  # by uid of the budget

    def decide(view: Reading, key: Key, now: float) -> Decision:
        decision = inner.decide(view, key, now)
        return structs.replace(decision, effects=tuple(insisted(view, each) for each in decision.effects))

    def insisted(view: Reading, effect: Effect) -> Effect:
        assert isinstance(effect, ChangeStatus)
        before = wanted.pop(effect.uid, None)
        budget = view.get(BUDGETS, effect.namespace, effect.name)
        assert budget is not None
        allowed = before.patch["status"]["disruptionsAllowed"] if before is not None else -1
        if (
            before is None
            or before.revision == effect.revision
            or budget.status.disruptions_allowed == allowed
        ):
            wanted[effect.uid] = effect
            return effect
        # The object was read again, the answer was not computed again.
        return structs.replace(before, identity=effect.identity, revision=effect.revision)

    return replace(inner, decide=decide)


class HalfSightedApi(CredulousApi):
    __slots__ = ()

    def healthy(self, budget: Json) -> int:
        pods = map(tree, self.desk.read.list("pods", budget["metadata"]["namespace"]))
        ill = sum(
            disruption.covers(budget, pod["metadata"].get("labels") or {}) and _is_ill(pod) for pod in pods
        )
        return int((budget.get("status") or {}).get("expectedPods", 0)) - ill


def _is_ill(pod: Json) -> bool:
    status = pod.get("status") or {}
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    return (
        status.get("phase") == "Running"
        and "deletionTimestamp" not in pod["metadata"]
        and conditions.get("Ready") != "True"
    )


def plant(parts: Parts) -> Parts:
    return {**wrap(parts, "disruption", stubborn), "api": HalfSightedApi}
