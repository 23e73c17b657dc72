"""A controller as a record: its name, what it reads, what wakes it, and how it decides.

`contract.py` says what deciding is; `control/roster.py` lists the controllers that exist, and `control/` runs them.

    Decider(
        name="replicaset",
        reads=(REPLICASETS, PODS),
        wakes=(Wake(REPLICASETS, itself), Wake(PODS, by_controller(REPLICASETS), when=OWNED)),
        decide=_decide,
    )

A wake is a watched resource, a mapping from a change of one of its objects to keys, and a predicate that says which
changes the mapping is asked about. `wakes.py` has the usual mappings. One key too many costs a look; one too few is a
change that nobody acts on until the next resync.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

import msgspec

from fairlead.decision.contract import Decision, Reading, Refusal
from fairlead.decision.predicates import ANY, Predicate, facts_of
from fairlead.model.key import Key
from fairlead.model.served import Served
from fairlead.model.views import Resource, Stored, View

_KEPT = 2048
T = TypeVar("T", bound=View)
T_co = TypeVar("T_co", bound=View, covariant=True)


class WatchEvent(msgspec.Struct, Generic[T_co], frozen=True):
    """One object became another (None: it was not there, it is gone). `view` shows all there is by now."""

    view: Reading
    key: Key  # of the object
    before: T_co | None
    after: T_co | None

    @property
    def newest(self) -> T_co:
        found = self.after if self.after is not None else self.before
        assert found is not None
        return found


KeysOf = Callable[[WatchEvent[T]], Iterable[Key]]


@dataclass(frozen=True, slots=True)
class Wake(Generic[T]):
    """`keys`: which keys deserve a look because of a change. It is asked if a fact in `when` holds of the change, and,
    where all it can name are objects of one resource (`among`), while there is one of those; where it names something
    only because an object of one resource is being deleted (`while_leaving`), while one of those is."""

    resource: Resource[T]
    keys: KeysOf[T]
    when: Predicate = ANY
    among: Resource[Any] | None = None
    while_leaving: Resource[Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Decider:
    """One controller. Stateless: all that it knows is in the view.

    `name`          as records, metrics and field managers show it: `deployment`, `replicaset`
    `reads`         every resource it may ask the view for; a resync offers the objects of the first to the wakes
    `wakes`         what gives a key a turn, in the order in which keys are queued
    `decide`        pure; see `contract.py`
    `refused`       the report on an object while the API keeps refusing an effect
    `unsettled`     all keys with something to do, asked at a resync. Without it a resync offers each object of the
                    first resource to the wakes, as if it were new
    `initial_keys`  keys that nothing in the world wakes
    `dated`         resources of which it asks the view when their objects were seen
    `gathers`       the resource of which each of its looks is at every object: of many, once for several changes
    `kinds`         the list of custom kinds that the plane is to keep as definitions come and go
    `remade`        this controller for the kinds that are served now, where what it reads depends on them
    """

    name: str
    reads: tuple[Resource[View], ...]
    wakes: tuple[Wake[Any], ...]
    decide: Callable[[Reading, Key, float], Decision]
    refused: Callable[[Reading, Key, Refusal, float], Decision] | None = None
    unsettled: Callable[[Reading], Iterable[Key]] | None = None
    initial_keys: tuple[Key, ...] = ()
    dated: tuple[Resource[View], ...] = ()
    gathers: Resource[View] | None = None
    kinds: Served | None = None
    remade: Callable[[], Decider] | None = None

    def __post_init__(self) -> None:
        if not self.reads:
            raise ValueError(f"{self.name} reads nothing: its keys have no resource")
        known = {each.name for each in self.reads}
        further = [*(wake.resource for wake in self.wakes), *self.dated]
        for wake in self.wakes:
            further += [each for each in (wake.among, wake.while_leaving) if each is not None]
        if self.gathers is not None:
            further.append(self.gathers)
        missing = sorted({each.name for each in further} - known)
        if missing:
            raise ValueError(f"{self.name} watches {', '.join(missing)}, which it does not read")

    def wakes_on(self, resource: str, facts: int) -> tuple[Wake[Any], ...]:
        """The wakes that a change with these facts concerns."""
        return _wakes_on(self, resource, facts)

    def woken_by(self, event: WatchEvent[View]) -> Iterator[Key]:
        """The keys that a change wakes."""
        for wake in self.wakes_on(event.key.resource, facts_of(event.before, event.after)):
            yield from wake.keys(event)


@lru_cache(maxsize=_KEPT)  # a resync asks for each object, and operators of flags are slow
def _wakes_on(decider: Decider, resource: str, facts: int) -> tuple[Wake[Any], ...]:
    return tuple(wake for wake in decider.wakes if wake.resource.name == resource and int(wake.when) & facts)


def key_of(resource: str, view: View) -> Key:
    if isinstance(view, Stored):
        return view.key
    found: Any = view
    return Key(resource, found.metadata.namespace, found.metadata.name)
