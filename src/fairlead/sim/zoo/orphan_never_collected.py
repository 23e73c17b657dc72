"""Zoo 16: garbage is what its owner's deletion was seen to leave behind. Whatever lost its owner unseen stays.

`plant` is the collector that works so; `deaf_agent` is the same mistake on a node: an agent that ends a pod only if it
saw its object go, and leaves alone what it finds on its machine without one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fairlead.agent.contract import Found
from fairlead.agent.machine import Agent, Instruction
from fairlead.decision.contract import Reading
from fairlead.model.views import View
from fairlead.reconcile.garbage import NAME
from fairlead.sim.parts import Parts
from fairlead.sim.zoo.wrapping import Wrapped, wrap
from fairlead.store.contract import Key


class SightedCollector(Wrapped):
    """Looks at what belongs to an object when that goes, and at nothing else, ever."""

    def adopters(
        self, view: Reading, resource: str, before: View | None, after: View | None
    ) -> Iterable[Key]:
        found: Iterator[Key] = self.inner.adopters(view, resource, before, after)  # type: ignore[attr-defined]
        return found if before is not None else ()

    def unsettled(self, view: Reading) -> Iterable[Key]:
        return ()


class SightedAgent(Agent):
    """Of what it finds it only knows what its mirror shows as well."""

    def found(self, event: Found) -> tuple[Instruction, ...]:
        known = {pod.metadata.uid for pod in self.mirrors["pods"].index.all()}
        mine = tuple(each for each in event.sandboxes if each.uid in known)
        return super().found(Found(mine, event.now))


def plant(parts: Parts) -> Parts:
    return wrap(parts, NAME, SightedCollector)


def deaf_agent(parts: Parts) -> Parts:
    return {**parts, "agent": SightedAgent}
