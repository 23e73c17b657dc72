"""What each controller first made of each override that holds: the id of the decision, or why it could make none.

`plane.py` tells it of overrides and of terms; controllers and the scheduler tell it of their turns, which costs nothing
once each has had one, and while there are no overrides. The controller of overrides asks through its view
(`first_turns`), the record keeps the answer, and the plane wakes that controller for what is new (`take`).

A turn counts for an override that concerns its controller if it may be about the target: of controllers that are keyed
by workloads or pods it has to be of the workload itself, of others any of that namespace or, for places, any at all.
Pure; one per plane, forgotten with the term.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from fairlead.decision.contract import FirstTurn
from fairlead.ledger import override as ledger
from fairlead.model.key import Key
from fairlead.model.kinds.scheduleroverride import CLUSTER, NAMESPACE, WORKLOADS, split
from fairlead.model.views import Meta, SchedulerOverride, View

_BY_WORKLOAD = frozenset({"daemonset", "deployment", "replicaset", "scheduler", "statefulset"})
_BY_CLUSTER = frozenset({"release", "repair", "taint-eviction"})  # whose keys are nodes, or all there is
_Place = tuple[str, str]  # namespace and name of a workload; "": all
_NONE: Mapping[str, FirstTurn] = {}


class FirstTurns:
    def __init__(self) -> None:
        self._overrides: dict[Key, tuple[SchedulerOverride, tuple[str, ...]]] = {}  # and whom it concerns
        self._awaited: dict[str, dict[_Place, dict[str, Key]]] = {}  # by controller; uids of overrides
        self._found: dict[str, dict[str, FirstTurn]] = {}  # by uid
        self._news: dict[Key, None] = {}

    # What the plane tells it

    def observe(self, key: Key, found: View | None, affected: Iterable[str], now: float) -> None:
        """An override came, changed or went. `affected`: whom it concerns."""
        known = self._overrides.get(key)
        if not isinstance(found, SchedulerOverride) or not ledger.is_active(found, now):
            self._forget(key)
        elif known is None or known[0].metadata.uid != found.metadata.uid:
            self._forget(key)
            self._overrides[key] = found, tuple(affected)
            self._await(key, *self._overrides[key])

    def begin(self) -> None:
        """Another term: nobody has decided anything in it."""
        self._found.clear()
        self._awaited.clear()
        self._news.clear()
        for key, (override, affected) in self._overrides.items():
            self._await(key, override, affected)

    # What controllers tell it

    def awaits(self, controller: str) -> bool:
        return controller in self._awaited

    def decided(self, controller: str, key: Key, meta: Meta | None, decision: str) -> None:
        awaited = self._awaited.get(controller)
        if not awaited:
            return
        for place in _places(key, meta):
            for uid, override in awaited.pop(place, {}).items():
                self._tell(uid, override, controller, FirstTurn(decision, "/".join(filter(None, key))))
        if not awaited:
            del self._awaited[controller]

    def failed(self, controller: str, key: Key, meta: Meta | None, trouble: str) -> None:
        for place in _places(key, meta):
            for uid, override in self._awaited.get(controller, {}).get(place, {}).items():
                if controller not in self._found.get(uid, _NONE):
                    self._tell(uid, override, controller, FirstTurn(trouble=trouble))

    # What it is asked

    def of(self, uid: str) -> Mapping[str, FirstTurn]:
        """By controller. One that is not in it has had nothing to decide under that override."""
        return self._found.get(uid, _NONE)

    def take(self) -> tuple[Key, ...]:
        """The overrides of which something is new since they were taken last."""
        if not self._news:
            return ()
        news, self._news = tuple(self._news), {}
        return news

    def _tell(self, uid: str, override: Key, controller: str, first: FirstTurn) -> None:
        self._found.setdefault(uid, {})[controller] = first
        self._news[override] = None

    def _await(self, key: Key, override: SchedulerOverride, affected: Iterable[str]) -> None:
        for controller in affected:
            place = _place_of(override, controller)
            self._awaited.setdefault(controller, {}).setdefault(place, {})[override.metadata.uid] = key

    def _forget(self, key: Key) -> None:
        known, _ = self._overrides.pop(key, (None, ()))
        if known is None:
            return
        uid = known.metadata.uid
        self._found.pop(uid, None)
        self._news.pop(key, None)
        for name, places in list(self._awaited.items()):
            for place in [place for place, uids in places.items() if uids.pop(uid, None) and not uids]:
                del places[place]
            if not places:
                del self._awaited[name]


def _place_of(override: SchedulerOverride, controller: str) -> _Place:
    sort, name = split(override.spec.target)
    own = override.metadata.namespace
    if sort not in (*WORKLOADS, NAMESPACE) or sort == CLUSTER or controller in _BY_CLUSTER:
        return "", ""
    if sort == NAMESPACE:
        return name or own, ""
    return own, name if controller in _BY_WORKLOAD else ""


def _places(key: Key, meta: Meta | None) -> Iterator[_Place]:
    """Where overrides may be awaited that a turn of this key counts for."""
    yield key.namespace, key.name
    if meta is not None:
        for each in ledger.names_of_owner(meta):
            yield key.namespace, each.name
    if key.namespace:
        yield key.namespace, ""
    yield "", ""
