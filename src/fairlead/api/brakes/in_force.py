"""The switch of PlaneSettings and the ChangeFreezes, as they are committed: what is refused to whom, at an instant.

One per server. Whoever publishes commits hands them to `observe` before a client gets its answer. Asked by
`api/writing.py` for each write if there is a brake at all (`any`), and by `verbs/create.py`, which may otherwise take a
create like one before for granted. Whether one is in force is judged by the instant of the request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from fairlead.core import codec
from fairlead.core.times import parse_time, timestamp
from fairlead.model.freeze_times import window_at
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.kinds.changefreeze import CREATES, KIND, ROLLOUTS
from fairlead.model.kinds.planesettings import KIND as SETTINGS
from fairlead.model.kinds.workload import part
from fairlead.model.policy.plane_knobs import NAME
from fairlead.store.contract import DELETED, CommittedChange, Entry, Reader
from fairlead.store.damage import is_stand_in

_SETTINGS = Key(SETTINGS.resource, "", NAME)


class BrakeInForce(msgspec.Struct, frozen=True):
    """One that is in force, as a refusal tells it. `group`, `resource` and `name`: what one needs a right on."""

    told: str
    group: str
    resource: str
    name: str
    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()


class Brakes:
    heeds = frozenset({KIND.resource, SETTINGS.resource})
    __slots__ = ("_freezes", "_refusal", "any")

    def __init__(self) -> None:
        self._freezes: dict[Key, Json] = {}  # specs
        self._refusal: Json | None = None  # spec.admission.refuseNewWork
        self.any = False

    def learn(self, read: Reader) -> list[str]:
        settings = read.get(_SETTINGS)
        entries = [*read.list(KIND.resource), *([settings] if settings is not None else [])]
        return [trouble for entry in entries for trouble in self._take(entry)]

    def observe(self, changes: Iterable[CommittedChange]) -> list[str]:
        troubles: list[str] = []
        for change in changes:
            key = change.entry.key
            if key.resource != KIND.resource and key != _SETTINGS:
                continue
            if change.type == DELETED:
                self._drop(key)
            else:
                troubles += self._take(change.entry)
        return troubles

    def on_creates(self, namespace: str, now: float) -> Iterator[BrakeInForce]:
        """What stands against new workloads."""
        refusal = self._refusal
        if refusal is not None and now < parse_time(refusal["until"]):
            told = f"the plane takes no new work until {refusal['until']}: {refusal['reason']}"
            yield BrakeInForce(told, SETTINGS.group, SETTINGS.plural, NAME)
        yield from self._freezes_of(CREATES, namespace, now)

    def on_rollouts(self, namespace: str, now: float) -> Iterator[BrakeInForce]:
        """What stands against changes of pod templates."""
        return self._freezes_of(ROLLOUTS, namespace, now)

    def _freezes_of(self, what: str, namespace: str, now: float) -> Iterator[BrakeInForce]:
        for key, spec in self._freezes.items():
            spaces = spec.get("namespaces") or ()
            if what not in spec["forbids"] or (spaces and namespace not in spaces):
                continue
            window = window_at(spec, now)
            if window is not None:
                exceptions = part(spec, "exceptions")
                yield BrakeInForce(
                    f'ChangeFreeze "{key.name}" is in force until {timestamp(window.end)}: {spec["reason"]}',
                    KIND.group,
                    KIND.plural,
                    key.name,
                    frozenset(exceptions.get("users") or ()),
                    frozenset(exceptions.get("groups") or ()),
                )

    def _take(self, entry: Entry) -> list[str]:
        """What cannot be read leaves in force what was: a brake is not lifted by damage."""
        key = entry.key
        if is_stand_in(entry.data):
            return [f"{key} stays in force as it was: it is damaged in the store"]
        spec = part(codec.decode(entry.data), "spec")
        if key == _SETTINGS:
            self._refusal = part(spec, "admission").get("refuseNewWork")
        else:
            self._freezes[key] = spec
        self.any = bool(self._freezes) or self._refusal is not None
        return []

    def _drop(self, key: Key) -> None:
        if key == _SETTINGS:
            self._refusal = None
        else:
            self._freezes.pop(key, None)
        self.any = bool(self._freezes) or self._refusal is not None
