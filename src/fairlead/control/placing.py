"""The scheduler at work: pods that wait, and the snapshot they are placed on. Part of the plane.

    changes -> snapshot and queue -> a batch is placed, each pod assumed where it goes -> Bind -> answered -> shown

A pod that fits nowhere says so (its condition), with the node it waits for if others make room for it there; only then
are those evicted. It is not tried again before the mirror shows all of that: nobody chooses victims twice (laws.md 5).

Whoever comes to lead builds its snapshot anew from mirrors that have passed its fence; what a former leader still has
under way is refused by the fence. What is under way here, and what its answers mean, is in `binding_flights.py`. Pure:
time and chance arrive with the events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from fairlead.cache.mirror import Mirror
from fairlead.control.attempt_keeping import AttemptKeeping
from fairlead.control.attempts import (
    Reads,
    batch_of,
    batch_record,
    bind_pod,
    mark_unschedulable,
    notes_for,
    plan_evictions,
)
from fairlead.control.binding_flights import Flight, Flights
from fairlead.control.blocked_counts import counted_line
from fairlead.control.complaints import Complaints, one_line, try_call
from fairlead.control.health import Health
from fairlead.control.instructions import TURNS, Outbox, Record
from fairlead.control.settings import PlacingSettings, Settings
from fairlead.control.turn import Turn
from fairlead.decision.contract import SETTLED, Decision, EventNote, Waiting
from fairlead.decision.effects import Effect
from fairlead.model.key import Key
from fairlead.model.policy import plane_knobs
from fairlead.model.policy.in_use import policy_in_use
from fairlead.model.premise import Premise
from fairlead.model.views import (
    NODES,
    OVERRIDES,
    PLACEMENT_QUOTAS,
    PLANE_SETTINGS,
    PODS,
    SCHEDULING_POLICIES,
    Pod,
    Resource,
    View,
)
from fairlead.port.outcome import Outcome
from fairlead.schedule.contract import SchedulingAttempt
from fairlead.schedule.cycle import Cycle
from fairlead.schedule.policy import Policy
from fairlead.schedule.registry import default_policy, policy_for
from fairlead.schedule.snapshot import Placed, Snapshot
from fairlead.schedule.waiting import TakenPod, WaitingPods

NAME = "scheduler"
COMPONENT = "default-scheduler"
_WITHOUT_NODES = frozenset((NODES.name,))  # what helps a pod that no plugin refused
_POLICY = "policy"  # another one helps whoever was refused


class Placer:
    name: ClassVar[str] = NAME
    reads: ClassVar[tuple[Resource[Any], ...]] = (*Snapshot.reads, SCHEDULING_POLICIES, PLANE_SETTINGS)
    watched: ClassVar[frozenset[str]] = frozenset(resource.name for resource in reads)

    def __init__(
        self,
        health: Health,
        new_call: Callable[[], int],
        mirrors: Mapping[str, Mirror[Any]],
        tell: Callable[[str, EventNote, float, str], None],
        settings: PlacingSettings | None = None,
        *,
        together: bool = False,
        scheduler_name: str = COMPONENT,
    ) -> None:
        """`together`: the API takes bindings that were decided together as one request. `scheduler_name`: whose pods it
        places."""
        self._together = together
        self.settings = settings or PlacingSettings()
        self.scheduler_name = scheduler_name
        self.policy: Policy = default_policy()
        self.snapshot = Snapshot()
        self.waiting = WaitingPods(priority_of=self.snapshot.priority_of)
        self._mirrors = mirrors
        self._kept = health
        self._keeping = AttemptKeeping(NAME, health)
        self.flights = Flights(
            NAME,
            health,
            new_call,
            mirrors,
            lambda note, now, decision: tell(self.scheduler_name, note, now, decision),
            self._read,
        )
        self.flights.begin(self.snapshot, self.waiting)
        self._batches = 0
        self._cycle_of = (self.snapshot, self.policy)
        self._cycle = Cycle(*self._cycle_of)
        self.stirred = True
        self.due_at = 0.0
        self._complaints = Complaints(NAME)
        self.attempts = self.placed = 0  # plain counts

    # What the plane tells it

    def lead(self, now: float) -> None:
        """It leads from now on: everything is taken from the mirrors, nothing from a former time."""
        counted = self.waiting.incoming
        self.snapshot = Snapshot(self.snapshot.facts_of)
        self.waiting = WaitingPods(self.waiting.settings, self.snapshot.priority_of)
        self.waiting.incoming = counted
        self.flights.begin(self.snapshot, self.waiting)
        self._choose_policy(now)
        for resource in self.reads:
            for view in self._mirrors[resource.name].index.all():
                self.observe(resource.name, None, view, now)

    def apply(self, settings: Settings) -> None:
        """Work with these from now on."""
        self.settings = settings.placing
        self.waiting.apply(settings.waiting)
        self.stirred = True

    def resync(self, now: float) -> None:
        """A safety net: pods without a node that the queue does not know."""
        for pod in self._mirrors[PODS.name].index.all():
            key = _key(pod)
            if self._is_ours(pod) and key not in self.waiting:
                self.waiting.put(key, pod, now, True)
                self.stirred = True

    def observe(self, resource: str, before: View | None, after: View | None, now: float) -> None:
        self.stirred = True
        if resource == PODS.name:
            assert before is None or isinstance(before, Pod)
            assert after is None or isinstance(after, Pod)
            self._observe_pod(before, after, now)
            return
        if resource in (PLANE_SETTINGS.name, SCHEDULING_POLICIES.name):
            self._choose_policy(now)
            return
        version, priorities = self.snapshot.nodes.version, self.snapshot.priorities.version
        error = try_call(self.snapshot.observe, resource, before, after)
        if error is not None:
            self._complain_of(resource, error)
        self._follow_priorities(priorities, now)
        if resource != NODES.name or self.snapshot.nodes.version != version:
            self.waiting.caused(resource, now)

    def _choose_policy(self, now: float) -> None:
        """Work with the policy that PlaneSettings names. While that cannot be used, the one in use stays."""
        settings = self._mirrors[PLANE_SETTINGS.name].index.get((PLANE_SETTINGS.name, "", plane_knobs.NAME))
        policies = self._mirrors[SCHEDULING_POLICIES.name].index
        found = policy_in_use(settings, lambda name: policies.get((SCHEDULING_POLICIES.name, "", name)))
        chosen = policy_for(found)
        if chosen.identity != self.policy.identity:
            self.policy = chosen
            self.waiting.caused(_POLICY, now)

    def step(self, now: float, out: Outbox) -> None:
        for report in self._complaints.take():
            out.append(report)
        self.flights.release_seen(now)
        self.flights.send_due(now, out)
        priorities = self.snapshot.priorities.version
        if self.snapshot.expire(now):
            self._follow_priorities(priorities, now)
            self.waiting.caused(OVERRIDES.name, now)
        settings = self.settings
        while self.flights.underway.may_begin(settings.in_flight_max, now):
            batch: list[TakenPod] = []
            while len(batch) < settings.batch_max and (taken := self.waiting.pop(now)) is not None:
                batch.append(taken)
            if not batch:
                return
            self._place(batch, now, out)

    def answered(self, call: int, outcome: Outcome, now: float, chance: float, out: Outbox) -> None:
        self.stirred = True
        self.flights.answered(call, outcome, now, chance, out)

    def next_at(self, now: float) -> float:
        """When there is something to do without being stirred; 0: only then."""
        at = self.flights.underway.next_at(self.settings.in_flight_max, self.waiting.next_ready_at, now)
        end = self.snapshot.overrides.next_end
        return min(at, end) if at and end else at or end

    @property
    def idle(self) -> bool:
        return self.flights.idle

    def would_place(self, pod: Pod) -> SchedulingAttempt:
        """What it would decide about this pod on what it knows; nothing is kept of that."""
        return self._current_cycle().place(pod, assume=False)

    # Pods

    def _observe_pod(self, before: Pod | None, after: Pod | None, now: float) -> None:
        pod = after or before
        assert pod is not None
        key = _key(pod)
        was = self.snapshot.placed.get(key)
        error = try_call(self.snapshot.observe_pod, key, pod, after is not None)
        if error is not None:
            self._complain_of(PODS.name, error)
        if after is not None and self._is_ours(after):
            self.waiting.put(key, after, now, self._may_go_elsewhere(before, after))
        else:
            self.waiting.gone(key)
        found = self.snapshot.placed.get(key)
        changed = was is None or found is None or _differ(was, found)
        if was is not None and changed:
            self.waiting.caused("pods.deleted", now)
        is_there = found is not None and not found.assumed and not found.nominated
        if is_there and (changed or was is None or was.assumed):
            self.waiting.caused("pods.added", now)

    def _is_ours(self, pod: Pod) -> bool:
        spec, name = pod.spec, self.scheduler_name
        return not spec.node_name and spec.scheduler_name == name and pod.live and not spec.scheduling_gates

    def _may_go_elsewhere(self, before: Pod | None, after: Pod) -> bool:
        """Whatever its placement depends on is in its facts; gates are not, but a pod that had one was not ours."""
        if before is None or not self._is_ours(before):
            return True
        facts_of = self.snapshot.facts_of
        return try_call(facts_of, before) is not try_call(facts_of, after)

    def _place(self, batch: list[TakenPod], now: float, out: Outbox) -> None:
        self._batches += 1
        number = self._batches
        shared = batch_of(number, self.policy, self._read(), now)
        shared_line = batch_record(shared, batch, self.snapshot)
        faulty: list[Key] = []
        attempts = [self._attempt(taken.pod, faulty) for taken in batch]
        for report in self._complaints.take():
            out.append(report)
        self.attempts += len(attempts)
        told = [
            self._keeping.lines(shared, shared_line, position, taken, attempt, self.policy, now)
            for position, (taken, attempt) in enumerate(zip(batch, attempts, strict=True))
        ]
        ids = [each.id for each in told]
        if self._kept.first_turns.awaits(NAME):
            for taken, attempt, decision in zip(batch, attempts, ids, strict=True):
                if attempt.key not in faulty:
                    self._kept.first_turns.decided(NAME, attempt.key, taken.pod.metadata, decision)
        lines = [line for each in told for line in each.lines]
        if lines:
            out.append(Record(shared_line))
        for line in lines:
            out.append(Record(line))
        counted = [
            ("/".join(attempt.key), each.counted)
            for each, attempt in zip(told, attempts, strict=True)
            if each.counted is not None
        ]
        if counted:
            out.append(Record(counted_line(NAME, self._kept.term.identity, counted, now), TURNS))
        together: list[Flight] = []
        for taken, attempt, decision in zip(batch, attempts, ids, strict=True):
            flight = self._carry_out(taken, attempt, decision, now, out)
            if flight is not None:
                together.append(flight)
        self.flights.send_together(together, out)

    def _attempt(self, pod: Pod, faulty: list[Key]) -> SchedulingAttempt:
        """A plugin that raises is a fault of the program: this pod waits and says so, and all others go on."""
        attempt = try_call(self._current_cycle().place, pod)
        if isinstance(attempt, SchedulingAttempt):
            return attempt
        key, uid = _key(pod), pod.metadata.uid
        self._complaints.about(f"placing {key.namespace}/{key.name}", attempt)
        self.snapshot.forget(key, uid)
        self._cycle = Cycle(*self._cycle_of)  # what it kept may be half done
        faulty.append(key)
        self._kept.first_turns.failed(NAME, key, pod.metadata, one_line(attempt))
        told = f"the scheduler failed on this pod: {one_line(attempt)}"
        return SchedulingAttempt(key, uid, nodes=len(self.snapshot.nodes), message=told)

    def _follow_priorities(self, version: int, now: float) -> None:
        """Who is raised no longer, on a node, can be pushed out by those who wait, as if its room had become free."""
        if self.snapshot.priorities.version != version:
            self.waiting.reorder(self.snapshot.priorities.raised, now)
            self.waiting.caused("pods.deleted", now)

    def _rests_on(self, pod: Pod) -> tuple[Premise, ...]:
        """What must still hold when others have to leave for it."""
        snapshot = self.snapshot
        return snapshot.priorities.premises_of(snapshot.facts_for(pod)) if snapshot.priorities else ()

    def _complain_of(self, resource: str, error: Exception) -> None:
        """One object that cannot be taken in must not keep the others out."""
        self._complaints.about(f"taking in {resource}", error)

    def _current_cycle(self) -> Cycle:
        """What it keeps of classes of pods is worth keeping as long as snapshot and policy are the same."""
        if self._cycle_of != (self.snapshot, self.policy):
            self._cycle_of = (self.snapshot, self.policy)
            self._cycle = Cycle(*self._cycle_of)
        return self._cycle

    def _carry_out(
        self, taken: TakenPod, attempt: SchedulingAttempt, decision: str, now: float, out: Outbox
    ) -> Flight | None:
        """A binding that can go together with others is returned; everything else is sent."""
        pod = taken.pod
        is_plain = False
        refused_by = wakes_on = frozenset[str]()
        is_undone = False
        effects: tuple[Effect, ...]
        if attempt.node:
            self.placed += 1
            reservation = self.snapshot.reservation_for(pod, attempt.node)
            effects = (bind_pod(pod, attempt.node, reservation),)
            is_plain = self._together and not reservation and not self._has_quota(pod.metadata.namespace)
        else:
            self.flights.tally.preempted(attempt)
            refused_by = frozenset(each.plugin for each in attempt.refusals)
            plugins = (plugin for plugin in self.policy.plugins if plugin.name in refused_by)
            wakes_on = frozenset[str]().union(*(plugin.wakes_on for plugin in plugins)) or _WITHOUT_NODES
            wakes_on |= {_POLICY}
            told = mark_unschedulable(pod, attempt, now)
            victims, is_undone = self._victims(attempt)
            effects = (
                *((told,) if told is not None else ()),
                *plan_evictions(pod, victims, now, self._rests_on(pod)),
            )
        verdict = SETTLED if attempt.node else Waiting("Unschedulable", attempt.message)
        decided = Decision(verdict, effects, events=notes_for(pod, attempt, effects))
        turn = Turn(attempt.key, decided, now, id=decision, waited=taken.waited_seconds)
        flight = Flight(turn, taken, bool(attempt.node), refused_by, wakes_on, is_undone=is_undone)
        self.flights.tell_after(turn, -1, now)
        if is_plain:
            return flight
        if effects:
            self.flights.send(flight, out)
        else:
            self.flights.settle(flight, now)
        return None

    def _has_quota(self, namespace: str) -> bool:
        """Whether placements are counted there: such bindings write more than the pod."""
        return bool(self._mirrors[PLACEMENT_QUOTAS.name].index.in_namespace(namespace))

    def _victims(self, attempt: SchedulingAttempt) -> tuple[list[Pod], bool]:
        """Those who are to leave and do not yet; nobody while some of them are not shown where they were placed, and
        then that they are to be chosen anew."""
        pods = self._mirrors[PODS.name].index
        found = []
        for victim in attempt.victims:
            if not victim.leaving and not victim.nominated:
                pod = pods.get(victim.key)
                if pod is None or pod.metadata.uid != victim.uid or not pod.spec.node_name:
                    return [], True
                found.append(pod)
        return found, False

    def _read(self) -> Reads:
        mirrors = ((each.name, self._mirrors[each.name]) for each in self.reads)
        return {name: [mirror.revision, mirror.newest_seen] for name, mirror in mirrors}


def _key(pod: Pod) -> Key:
    return Key(PODS.name, pod.metadata.namespace, pod.metadata.name)


def _differ(one: Placed, other: Placed) -> bool:
    """In what others may depend on."""
    return (one.uid, one.node, one.leaving, one.facts.labels) != (
        other.uid, other.node, other.leaving, other.facts.labels,
    )  # fmt: skip
