"""Zoo 14: the write of an allowance that met a conflict is made again as it was computed, over an eviction that came
between. An eviction that counts the pods itself is safe from it: here it counts those that are ill, and leaves those
that were evicted to the budget."""

from __future__ import annotations

from msgspec import structs

from fairlead.api.objects import tree
from fairlead.decision.contract import Decider, Decision, Reading
from fairlead.decision.effects import ChangeStatus, Effect
from fairlead.ledger import disruption
from fairlead.model.kind import Json
from fairlead.model.views import BUDGETS
from fairlead.sim.parts import Parts
from fairlead.sim.zoo.budget_from_dead_controller import CredulousApi
from fairlead.sim.zoo.wrapping import Wrapped, wrap
from fairlead.store.contract import Key


class Stubborn(Wrapped):
    """Remembers what it last wanted to write to a budget, and until that is there writes it again, once."""

    def __init__(self, inner: Decider) -> None:
        super().__init__(inner)
        self._wanted: dict[str, ChangeStatus] = {}  # by uid of the budget

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        decision = self.inner.decide(view, key, now)
        effects = tuple(self._insisted(view, effect) for effect in decision.effects)
        return structs.replace(decision, effects=effects)

    def _insisted(self, view: Reading, effect: Effect) -> Effect:
        assert isinstance(effect, ChangeStatus)
        before = self._wanted.pop(effect.uid, None)
        budget = view.get(BUDGETS, effect.namespace, effect.name)
        assert budget is not None
        allowed = before.patch["status"]["disruptionsAllowed"] if before is not None else -1
        if (
            before is None
            or before.revision == effect.revision
            or budget.status.disruptions_allowed == allowed
        ):
            self._wanted[effect.uid] = effect
            return effect
        # The object was read again, the answer was not computed again.
        return structs.replace(before, identity=effect.identity, revision=effect.revision)


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
    return {**wrap(parts, "disruption", Stubborn), "api": HalfSightedApi}
