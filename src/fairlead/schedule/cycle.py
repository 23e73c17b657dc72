"""Places pods on a snapshot, one after the other, each seeing the placements before it.

    Cycle(snapshot, policy).place(pod) -> SchedulingAttempt

Pure but for the snapshot, which a placed pod is assumed on, or nominated if others have to make room first. Called by
`control/` for the queue, by `explain/` for what-if and for running a recorded attempt again. A Cycle may live as long
as its snapshot and its policy: what it keeps of classes of pods follows the snapshot's changes, and is the same that
a new Cycle would compute.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from fairlead.model.key import Key
from fairlead.model.views import Pod
from fairlead.schedule.class_ranking import ClassState
from fairlead.schedule.contract import FilterRefusal, SchedulingAttempt
from fairlead.schedule.facts import Facts
from fairlead.schedule.messages import explain_unschedulable
from fairlead.schedule.policy import Policy
from fairlead.schedule.preemption import Chosen, Preemption
from fairlead.schedule.snapshot import Snapshot

#: bound: plane | nodes rated, over all classes of pods | rated anew
CLASS_SLOTS_MAX = 1_000_000  # over all classes that are kept: some 40 bytes each
_CLASSES_MIN = 16


class Cycle:
    """`preempting` says whether pods that fit nowhere may push others out at all."""

    def __init__(self, snapshot: Snapshot, policy: Policy, preempting: bool = True) -> None:
        self._snapshot = snapshot
        self._policy = policy
        self._preempting = preempting
        self._states: OrderedDict[Facts, ClassState] = OrderedDict()  # those used last are last
        self._preemption = Preemption(snapshot)

    def place(self, pod: Pod, assume: bool = True) -> SchedulingAttempt:
        snapshot = self._snapshot
        key = Key("pods", pod.metadata.namespace, pod.metadata.name)
        claim = snapshot.release(key)  # a nomination is in nobody's way but its own
        attempt = self._attempt(pod, key, claim.node if claim is not None else "")
        if claim is not None and (not assume or attempt.nominated == claim.node):
            snapshot.restore(claim)
        elif assume:
            self._keep(pod, attempt)
        return attempt

    def _attempt(self, pod: Pod, key: Key, claimed: str) -> SchedulingAttempt:
        snapshot = self._snapshot
        state = self.state(snapshot.facts_for(pod))
        number = len(snapshot.nodes.slot)
        slot = snapshot.nodes.slot.get(claimed, -1) if claimed else -1
        if slot < 0 or not state.open.item(slot):
            slot = state.best()
        if slot >= 0:
            best = state.ranking(slot)
            return SchedulingAttempt(key, pod.metadata.uid, best[0].node, number, state.waterfall, best=best)
        refusals = self.refusals(state)
        preemption = self._preemption
        chosen = preemption.choose(state, claimed, snapshot.budgets) if self._preempting else Chosen()
        ready = bool(chosen.victims) and all(victim.nominated for victim in chosen.victims)
        return SchedulingAttempt(
            key=key,
            uid=pod.metadata.uid,
            node=chosen.node if ready else "",  # nobody is there who would have to leave first
            nodes=number,
            waterfall=state.waterfall,
            refusals=refusals,
            nominated="" if ready else chosen.node,
            victims=chosen.victims,
            considered=chosen.considered,
            message="" if ready else explain_unschedulable(number, refusals, chosen.message),
        )

    def _keep(self, pod: Pod, attempt: SchedulingAttempt) -> None:
        for victim in attempt.victims:
            if victim.nominated:
                self._snapshot.release(victim.key)
        if attempt.node:
            self._snapshot.assume(pod, attempt.node)
        elif attempt.nominated:
            self._snapshot.nominate(pod, attempt.nominated)

    def state(self, facts: Facts) -> ClassState:
        """What is known of a class, up to date with the snapshot."""
        snapshot, states = self._snapshot, self._states
        end = snapshot.changes.end
        state = states.pop(facts, None)
        if state is not None and self._is_outdated(state):
            state = None
        if state is None:
            state = ClassState(snapshot, self._policy, facts)
            self._make_room()
        elif state.seen != end:
            changes = snapshot.changes.since(state.seen)
            assert changes is not None, "it is not outdated"
            state.catch_up(changes, end)
        states[facts] = state
        return state

    def _is_outdated(self, state: ClassState) -> bool:
        """It cannot be brought up to date, or there is so much to catch up on that it is quicker to ask anew."""
        snapshot = self._snapshot
        behind = snapshot.changes.end - state.seen
        return behind > state.behind_max or state.epoch != snapshot.epoch

    def _make_room(self) -> None:
        """Those used last are last: what is outdated, which most classes that ever were are, is at the front."""
        states = self._states
        most = max(_CLASSES_MIN, CLASS_SLOTS_MAX // self._snapshot.nodes.slots)
        while states and (len(states) >= most or self._is_outdated(next(iter(states.values())))):
            states.popitem(last=False)

    def refusals(self, state: ClassState) -> tuple[FilterRefusal, ...]:
        """Each node counted once, by the first filter that refuses it, with all that this filter has against it."""
        left = self._snapshot.nodes.present.copy()
        found = []
        for plugin, prepared in state.prepared:
            mask = prepared.mask()
            if mask is None:
                continue
            refused = np.flatnonzero(left & ~mask)
            left &= mask
            if len(refused):
                for reason, number in sorted(prepared.reasons(refused).items()):
                    found.append(FilterRefusal(plugin.name, reason, number, plugin.concerns))
        return tuple(found)
