"""An operator on a CustomResourceDefinition, written with Fairlead's Decider contract: each Lighthouse keeps lamps lit.

    apiVersion: example.com/v1, kind: Lighthouse      spec.lamps: how many ConfigMaps NAME-0, NAME-1, ... there are to be

A Lighthouse that is torn down waits (by a finalizer) until its lamps are out. `lighthouse_decider` is the operator.
`hasty_decider` is the same with a stale-view bug: what it creates does not insist that the Lighthouse is still as it was
seen. One decision at a time both do the same; `world.py` beside this tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fairlead.decision.contract import NOTHING, SETTLED, Decision, Reading, Waiting
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.effects import Effect, Premises, premise_of
from fairlead.decision.ensure import ensure_child, ensure_fields, ensure_gone
from fairlead.decision.wakes import itself
from fairlead.model.key import Key
from fairlead.model.views import Resource, Stored

GROUP, VERSION = "example.com", "example.com/v1"
LIGHTHOUSES = Resource(f"lighthouses.{GROUP}", VERSION, "Lighthouse", Stored)
LAMPS = Resource("configmaps", "v1", "ConfigMap", Stored)
NAME, LABEL, FINALIZER = "lighthouse", f"{GROUP}/lighthouse", f"{GROUP}/lamps"


class _Spec(msgspec.Struct):
    lamps: int = 0


class _Lighthouse(msgspec.Struct):
    spec: _Spec


_read = msgspec.json.Decoder(_Lighthouse).decode


def lighthouse_decider() -> Decider:
    return _decider(careful=True)


def hasty_decider() -> Decider:
    return _decider(careful=False)


def _decider(careful: bool) -> Decider:
    def decide(view: Reading, key: Key, now: float) -> Decision:
        house = view.get(LIGHTHOUSES, key.namespace, key.name)
        if house is None:
            return NOTHING
        if house.deleting:
            return _tear_down(view, house)
        # What is still on its way from an older picture comes to nothing once the Lighthouse has changed.
        return _light(view, house, (premise_of(LIGHTHOUSES, house.metadata),) if careful else ())

    return Decider(
        name=NAME,
        reads=(LIGHTHOUSES, LAMPS),
        wakes=(Wake(LIGHTHOUSES, itself), Wake(LAMPS, _of_lamp)),
        decide=decide,
    )


def _of_lamp(event: WatchEvent[Stored]) -> Iterable[Key]:
    house = event.newest.metadata.labels.get(LABEL)
    return (Key(LIGHTHOUSES.name, event.key.namespace, house),) if house else ()


def _light(view: Reading, house: Stored, premises: Premises) -> Decision:
    meta = house.metadata
    effects: list[Effect] = []
    for place in range(_read(house.data).spec.lamps):
        name = f"{meta.name}-{place}"
        body = {"metadata": {"name": name, "labels": {LABEL: meta.name}}}
        found = view.get(LAMPS, meta.namespace, name)
        occasion = f"{place} after {found.uid if found else len(_lamps(view, house))}"
        made = ensure_child(NAME, meta, LAMPS, found, body, occasion, premises)
        effects += [made] if made is not None else []
    return Decision(Waiting("Lighting", "lamps are out"), tuple(effects)) if effects else Decision(SETTLED)


def _tear_down(view: Reading, house: Stored) -> Decision:
    meta, lamps = house.metadata, _lamps(view, house)
    if lamps:
        gone = [ensure_gone(NAME, meta, LAMPS, lamp) for lamp in lamps]
        return Decision(Waiting("Dousing", "lamps burn"), tuple(each for each in gone if each is not None))
    wanted = {"metadata": {"finalizers": None}}
    current = {"metadata": {"finalizers": list(meta.finalizers) or None}}
    free = ensure_fields(NAME, meta, LIGHTHOUSES, house, "release", current, wanted)
    return Decision(SETTLED, (free,) if free is not None else ())


def _lamps(view: Reading, house: Stored) -> list[Stored]:
    name, namespace = house.metadata.name, house.metadata.namespace
    return [each for each in view.list(LAMPS, namespace) if each.metadata.labels.get(LABEL) == name]
