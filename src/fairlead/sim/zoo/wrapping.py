"""How plants spoil a controller: its record with another part, and names that change with every attempt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from msgspec import structs

from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.effects import Create, Effect
from fairlead.model.key import Key
from fairlead.sim.parts import Parts, Plant

Spoiling = Callable[[Decider], Decider]


def deciding(decide: Callable[[Decider, Reading, Key, float], Decision]) -> Spoiling:
    """A controller that decides by this function, which is given the sound one as well. It promises nothing about what
    is left to do after its effects."""

    def decided(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
        return structs.replace(decide(inner, view, key, now), is_final=False)

    return lambda inner: replace(inner, decide=partial(decided, inner))


class SpoiltView:
    """A view that shows what another does, but for what a plant shows otherwise."""

    def __init__(self, inner: Reading) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def looking_through(view: type[SpoiltView]) -> Spoiling:
    """A controller that decides on what such a view shows."""

    @deciding
    def decide(inner: Decider, seen: Reading, key: Key, now: float) -> Decision:
        spoilt: Any = view(seen)
        return inner.decide(spoilt, key, now)

    return decide


def wrap(parts: Parts, controller: str, spoil: Spoiling) -> Parts:
    """These parts with one controller spoilt."""
    deciders = parts["deciders"]

    def spoilt(inner: Decider) -> Decider:
        remade = inner.remade
        found = spoil(inner)
        return found if remade is None else replace(found, remade=lambda: spoilt(remade()))

    def wrapped() -> tuple[Decider, ...]:
        return tuple(spoilt(each) if each.name == controller else each for each in deciders())

    return {**parts, "deciders": wrapped}


def spoiling(controller: str, spoil: Spoiling) -> Plant:
    """A plant that does nothing else."""
    return lambda parts: wrap(parts, controller, spoil)


@deciding
def fresh_names(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    """Children get a name of their own at every attempt, and are created whatever has become of their owner: what
    generated names do without a look at what is there."""
    decision = inner.decide(view, key, now)
    effects = tuple(_renamed(effect, now) for effect in decision.effects)
    return structs.replace(decision, effects=effects)


def _renamed(effect: Effect, now: float) -> Effect:
    if not isinstance(effect, Create) or effect.resource != "pods":
        return effect
    name = f"{effect.name}-{int(now * 1000) % 1_000_000:06d}"
    body = {**effect.body, "metadata": {**effect.body["metadata"], "name": name}}
    return structs.replace(effect, name=name, body=body, premises=())
