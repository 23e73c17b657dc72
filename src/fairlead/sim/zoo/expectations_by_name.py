"""Pods that a controller asked for are expected under the name of their set: who makes a set of the same name at once
waits for pods that nobody will ever make, since what they rested on has gone with the first."""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from fairlead.decision.contract import NOTHING, Decision, Reading, Waiting
from fairlead.decision.decider import Decider
from fairlead.decision.effects import Create
from fairlead.model.key import Key
from fairlead.model.views import PODS, REPLICASETS
from fairlead.sim.zoo.wrapping import spoiling


def expecting(inner: Decider) -> Decider:
    expected: dict[Key, tuple[str, list[str]]] = {}  # by name of the set: its uid, and names of pods

    def decide(view: Reading, key: Key, now: float) -> Decision:
        found = view.get(REPLICASETS, key.namespace, key.name)
        if found is None:
            expected.pop(key, None)
            return NOTHING
        uid, names = expected.get(key, ("", []))
        missing = [name for name in names if view.get(PODS, key.namespace, name) is None]
        if missing and uid != found.metadata.uid:  # of the same set what has not come by now was refused
            return Decision(Waiting("Expecting", f"{len(missing)} pods are to come"))
        decision = structs.replace(inner.decide(view, key, now), is_final=False)
        made = [each.name for each in decision.effects if isinstance(each, Create)]
        expected[key] = found.metadata.uid, made
        return decision

    return replace(inner, decide=decide)


plant = spoiling("replicaset", expecting)
