"""The priorities with which pods are placed where an override gives them another than their own.

Part of the snapshot, which is its only writer: it tells `follow` which overrides hold. A pod whose priority is another
one is of another class (`Facts.own` is the one that it would be of), so whatever the scheduler keeps by class stays
right. Without such overrides nothing here costs anything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from fairlead.core.bounded_dict import BoundedDict
from fairlead.ledger import priority as ledger
from fairlead.ledger.override import mark_of, premise_of
from fairlead.model.key import Key
from fairlead.model.premise import Premise
from fairlead.model.views import PODS, SchedulerOverride
from fairlead.schedule.facts import Facts

#: bound: plane | classes of pods whose priority is another by an override | found anew
CLASSES_MAX = 4096


class Priorities:
    def __init__(self) -> None:
        self.version = 0  # moves whenever an answer may have changed
        self._bearing: dict[str, SchedulerOverride] = {}  # by uid
        self._raised: dict[str, tuple[Key, SchedulerOverride]] = {}  # by uid of the pod
        # By the own class, and by the override's uid.
        self._others: BoundedDict[tuple[Facts, str], Facts] = BoundedDict(CLASSES_MAX)

    def __bool__(self) -> bool:
        return bool(self._bearing)

    def follow(self, overrides: Iterable[SchedulerOverride]) -> set[Key]:
        """These hold now. Returns the pods that were raised, or are: what they have may have changed."""
        bearing = {each.metadata.uid: each for each in overrides if ledger.bears_on_priority(each)}
        if bearing == self._bearing:
            return set()
        before = self.raised
        self._bearing = bearing
        self._raised = {
            raised.uid: (Key(PODS.name, raised.namespace, raised.name), each)
            for each in bearing.values()
            for raised in each.status.raised
        }
        for name in [each for each in self._others if each[1] not in bearing]:
            del self._others[name]
        self.version += 1
        return before | self.raised

    @property
    def raised(self) -> set[Key]:
        return {key for key, _ in self._raised.values()}

    def facts_of(self, uid: str, own: Facts, *, waits: bool) -> Facts:
        """The class of a pod which by itself is of the class `own`; `waits`: it has no node yet."""
        if not self._bearing:
            return own
        raised = self._raised.get(uid)
        if raised is not None and ledger.raises(raised[1], uid, own.priority):
            return self._other(own, raised[1])
        if not waits:
            return own
        lower = ledger.lowering(self._bearing.values(), own.namespace, own.workload, own.priority)
        return self._other(own, lower) if lower is not None else own

    def premises_of(self, facts: Facts) -> tuple[Premise, ...]:
        """What must still hold when that is done which only such a priority allows."""
        if facts.own is None or facts.priority <= facts.own.priority:
            return ()
        return tuple(
            premise_of(each) for each in self._bearing.values() if mark_of(each) == facts.prioritized_by
        )

    def _other(self, own: Facts, override: SchedulerOverride) -> Facts:
        name = own, override.metadata.uid
        found = self._others.get(name)
        if found is None:
            value, preempts = ledger.value_of(override), ledger.preempts(override)
            other = replace(own, priority=value, preempts=preempts, own=own, prioritized_by=mark_of(override))
            found = self._others.keep(name, other)
        return found
