"""What plants share: a Decider around another one, and names that change with every attempt."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import structs

from fairlead.decision.contract import Decider, Decision, Reading
from fairlead.decision.effects import Create, Effect
from fairlead.model.views import Resource, View
from fairlead.sim.parts import Parts
from fairlead.store.contract import Key


class Wrapped:
    """Behaves as the Decider inside; a plant overrides what it spoils."""

    def __init__(self, inner: Decider) -> None:
        self.inner = inner
        self.name = inner.name
        self.reads: tuple[Resource[View], ...] = inner.reads

    def keys(self, resource: str, before: View | None, after: View | None) -> Iterable[Key]:
        return self.inner.keys(resource, before, after)

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        return self.inner.decide(view, key, now)

    def __getattr__(self, name: str) -> Any:
        """What a Decider may have besides: `adopters`, `unsettled`, ..."""
        return getattr(self.inner, name)


class FreshNames(Wrapped):
    """Children get a name of their own at every attempt, and are created whatever has become of their owner: what
    generated names do without a look at what is there."""

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        decision = self.inner.decide(view, key, now)
        effects = tuple(_renamed(effect, now) for effect in decision.effects)
        return structs.replace(decision, effects=effects)


def _renamed(effect: Effect, now: float) -> Effect:
    if not isinstance(effect, Create) or effect.resource != "pods":
        return effect
    name = f"{effect.name}-{int(now * 1000) % 1_000_000:06d}"
    body = {**effect.body, "metadata": {**effect.body["metadata"], "name": name}}
    return structs.replace(effect, name=name, body=body, premise="")


def wrap(parts: Parts, controller: str, wrapper: type[Wrapped]) -> Parts:
    """These parts with one controller's Decider wrapped."""
    deciders = parts["deciders"]

    def wrapped() -> tuple[Decider, ...]:
        return tuple(wrapper(each) if each.name == controller else each for each in deciders())

    return {**parts, "deciders": wrapped}
