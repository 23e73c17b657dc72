"""Zoo 10: a controller waits until it has seen each pod that it deleted being marked, and counts no pod that is gone
before: a list that shows what came of it, and not how, leaves the counter above nothing for ever."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from msgspec import structs

from fairlead.decision.contract import Decision, Reading, Waiting
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.effects import Delete
from fairlead.decision.predicates import CHANGED
from fairlead.model.key import Key
from fairlead.model.views import PODS, Pod
from fairlead.sim.zoo.wrapping import spoiling


def expecting(inner: Decider) -> Decider:
    expected: dict[Key, dict[str, Delete]] = {}  # by set: deletions whose marks were not seen yet, by uid

    def notice(event: WatchEvent[Pod]) -> Iterable[Key]:
        if event.newest.metadata.deletion_timestamp:
            for left in expected.values():
                left.pop(event.newest.metadata.uid, None)
        return ()

    def decide(view: Reading, key: Key, now: float) -> Decision:
        left = expected.setdefault(key, {})
        for uid, asked in list(left.items()):
            pod = view.get(PODS, asked.namespace, asked.name)
            if pod is not None and pod.metadata.uid == uid:  # it was not deleted: that was refused
                del left[uid]
        if left:
            return Decision(Waiting("Expecting", f"{len(left)} pods are to be marked"))
        decision = structs.replace(inner.decide(view, key, now), is_final=False)
        left.update((each.uid, each) for each in decision.effects if isinstance(each, Delete))
        return decision

    return replace(inner, wakes=(Wake(PODS, notice, when=CHANGED), *inner.wakes), decide=decide)


plant = spoiling("replicaset", expecting)
