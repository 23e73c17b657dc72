"""The scheduler at work: pods that wait, the snapshot they are placed on, bindings under way. Part of the plane.

    changes -> snapshot and queue -> a batch is placed, each pod assumed where it goes -> Bind -> answered -> shown

What an answer to a Bind means:

    Done      it is so; the pod stays assumed until the mirror shows it (law 5)
    Unknown   look. Bound: it is so. Not bound: the same node again, because the first request may still arrive. If the
              node is suspected by now it is only looked at further, and given up when nothing can arrive any more
    Conflict  look. Bound: it is so, by whomever. Not bound: as Refused
    Refused   it cannot be so: the assumption is dropped, and the pod is tried again after a back-off

A pod that fits nowhere says so (its condition), with the node it waits for if others make room for it there; only then
are those evicted. It is not tried again before the mirror shows all of that: nobody chooses victims twice (law 5).

Whoever comes to lead builds its snapshot anew from mirrors that have passed its fence; what a former leader still has
under way is refused by the fence. Pure: time and chance arrive with the events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from msgspec import structs

from fairlead.cache.mirror import Mirror
from fairlead.control.attempts import (
    Reads,
    batch_of,
    batch_record,
    binding,
    evictions,
    failure_record,
    following,
    notes_for,
    record_for,
    unschedulable,
)
from fairlead.control.complaints import Complaints, one_line, tried
from fairlead.control.health import Health
from fairlead.control.instructions import Call, Instruction, Record
from fairlead.control.settings import PlacingSettings, Settings
from fairlead.control.tally import ERROR, SCHEDULED, UNSCHEDULABLE, Tally
from fairlead.control.turn import Next, Turn, Write
from fairlead.core import codec
from fairlead.decision.contract import SETTLED, Decision, EventNote, Waiting
from fairlead.decision.effects import Bind, Effect
from fairlead.model import plane_knobs
from fairlead.model.key import Key
from fairlead.model.marks import SUSPECT, UNREACHABLE
from fairlead.model.policy_in_use import policy_in_use
from fairlead.model.views import (
    BUDGETS,
    NAMESPACES,
    NODES,
    PLACEMENT_QUOTAS,
    PLANE_SETTINGS,
    PODS,
    RESERVATIONS,
    SCHEDULING_POLICIES,
    Json,
    Node,
    Pod,
    Resource,
    View,
)
from fairlead.port.outcome import Conflict, Done, Outcome
from fairlead.schedule.contract import Attempt
from fairlead.schedule.cycle import Cycle
from fairlead.schedule.policy import Policy
from fairlead.schedule.registry import default_policy, policy_for
from fairlead.schedule.snapshot import Placed, Snapshot
from fairlead.schedule.waiting import Taken, WaitingPods

NAME = "scheduler"
COMPONENT = "default-scheduler"
_WITHOUT_NODES = frozenset((NODES.name,))  # what helps a pod that no plugin refused
_POLICY = "policy"  # another one helps whoever was refused
_NOT_READY: Json = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_DOUBTS = frozenset({SUSPECT, UNREACHABLE})
_ARRIVES_SECONDS = 30.0  # a request that nobody answered is not carried out later than this


@dataclass(slots=True)
class _Flight:
    """What is under way for a pod: its binding, or what follows from its refusal."""

    turn: Turn
    taken: Taken
    binds: bool
    refused_by: frozenset[str] = frozenset()
    wakes_on: frozenset[str] = frozenset()
    was_conflict: bool = False  # it is not bound by us, and the look is to tell whether by another
    is_undone: bool = False  # not all of it was carried out

    @property
    def pod(self) -> Pod:
        return self.taken.pod

    @property
    def uid(self) -> str:
        return self.taken.pod.metadata.uid


class Placer:
    name: ClassVar[str] = NAME
    reads: ClassVar[tuple[Resource[Any], ...]] = (
        PODS,
        NODES,
        NAMESPACES,
        BUDGETS,
        PLACEMENT_QUOTAS,
        RESERVATIONS,
        SCHEDULING_POLICIES,
        PLANE_SETTINGS,
    )
    watched: ClassVar[frozenset[str]] = frozenset(resource.name for resource in reads)

    def __init__(
        self,
        health: Health,
        new_call: Callable[[], int],
        mirrors: Mapping[str, Mirror[Any]],
        tell: Callable[[str, EventNote, float], None],
        settings: PlacingSettings | None = None,
    ) -> None:
        self.settings = settings or PlacingSettings()
        self.scheduler_name = COMPONENT  # whose pods it places
        self.policy: Policy = default_policy()
        self.snapshot = Snapshot()
        self.waiting = WaitingPods()
        self._health, self._new_call, self._mirrors, self._tell = health, new_call, mirrors, tell
        self._flights: dict[int, _Flight] = {}
        self._later: list[tuple[float, _Flight]] = []  # looks and second tries that are postponed
        self._unseen: list[_Flight] = []  # done, and the mirror does not show it yet
        self._batches = 0
        self._cycle_of = (self.snapshot, self.policy)
        self._cycle = Cycle(*self._cycle_of)
        self.stirred = True
        self.due_at = 0.0
        self.tally = Tally()
        self._complaints = Complaints(NAME)
        self.attempts = self.placed = self.unplaced = self.conflicts = self.unknown = 0  # plain counts

    # What the plane tells it

    def lead(self, now: float) -> None:
        """It leads from now on: everything is taken from the mirrors, nothing from a former time."""
        counted = self.waiting.incoming
        self.snapshot, self.waiting = Snapshot(), WaitingPods(self.waiting.settings)
        self.waiting.incoming = counted
        self._flights.clear()
        self._later.clear()
        self._unseen.clear()
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
        version = self.snapshot.nodes.version
        if isinstance(after, Node):
            after = _as_placed_on(after)
        self._see(resource, before, after)
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

    def step(self, now: float) -> Iterator[Instruction]:
        yield from self._complaints.take()
        self._release_seen(now)
        yield from self._send_due(now)
        settings = self.settings
        while self.under_way < settings.in_flight_max:
            if self._health.breaker.is_open(now):
                return
            batch: list[Taken] = []
            while len(batch) < settings.batch_max and (taken := self.waiting.pop(now)) is not None:
                batch.append(taken)
            if not batch:
                return
            yield from self._place(batch, now)

    def answered(self, call: int, outcome: Outcome, now: float, chance: float) -> Iterator[Instruction]:
        self.stirred = True
        self._health.heard(outcome, now)
        flight = self._flights.pop(call, None)
        if flight is None:
            return  # of a former time as leader
        turn = flight.turn
        looked = turn.looking
        if isinstance(outcome, Conflict) and not looked:
            flight.was_conflict = turn.looking = True
            then = Next.LOOK
        else:
            then = turn.answered(outcome)
        if then is Next.FINISH:
            self._finished(flight, outcome, looked, now)
        elif then is Next.EFFECT and looked:
            self._undo(flight)
        elif then is Next.EFFECT:
            rest = tuple(following(effect, turn.writes[-1]) for effect in turn.decision.effects)
            turn.decision = structs.replace(turn.decision, effects=rest)
            self._tell_after(turn, turn.position - 1, now)
            yield self._call(flight)
        elif then is Next.LOOK and self._health.budget.take(now):
            yield self._call(flight)
        elif then in (Next.LOOK, Next.LOOK_LATER) or (looked and self._may_still_arrive(flight, now)):
            # After a look that found nothing it is the same again: the same node, the same victim. Not where nothing
            # is to be placed any more: there it is looked whether the first request has arrived.
            doubtful = self._is_doubtful(turn.effect)
            turn.looking |= doubtful
            self.unknown += 1
            times = 2 ** min(turn.looks, 4) if doubtful else 1
            seconds = self._health.settings.loop.look_again_seconds * times
            self._later.append((now + seconds * (0.5 + chance), flight))
        elif looked and not flight.binds and isinstance(outcome, Done):
            assert turn.effect is not None
            turn.writes.append(Write(turn.effect.key, outcome.revision, False))
            self._undo(flight)
        else:
            self._failed(flight, now, chance)
            yield Record(failure_record(turn, flight.taken, self._read(), now))

    def next_at(self, now: float) -> float:
        """When there is something to do without being stirred; 0: only then."""
        times = [at for at, _ in self._later]
        if self._health.breaker.is_open(now):
            times.append(self._health.breaker.open_until)
        elif self.under_way < self.settings.in_flight_max:
            times.append(self.waiting.next_ready_at(now) or 0.0)
        return min((at for at in times if at), default=0.0)

    def turns(self) -> Iterator[Turn]:
        for flight in (*self._flights.values(), *(flight for _, flight in self._later)):
            yield flight.turn

    @property
    def under_way(self) -> int:
        """Pods whose binding, or whose refusal, is being told."""
        return len(self._flights) + len(self._later)

    @property
    def idle(self) -> bool:
        return not self._flights and not self._later and not self._unseen

    # Pods

    def _observe_pod(self, before: Pod | None, after: Pod | None, now: float) -> None:
        pod = after or before
        assert pod is not None
        key = _key(pod)
        was = self.snapshot.placed.get(key)
        self._see(PODS.name, before, after)
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
        return tried(facts_of, before) is not tried(facts_of, after)

    def _place(self, batch: list[Taken], now: float) -> Iterator[Instruction]:
        self._batches += 1
        number = self._batches
        shared = batch_of(number, self.policy, self._read(), now)
        yield Record(batch_record(shared, batch, self.snapshot))
        attempts = [self._attempt(taken.pod) for taken in batch]
        yield from self._complaints.take()
        self.attempts += len(attempts)
        for position, (taken, attempt) in enumerate(zip(batch, attempts, strict=True)):
            yield Record(record_for(shared, position, taken, attempt))
        for taken, attempt in zip(batch, attempts, strict=True):
            yield from self._carry_out(taken, attempt, now)

    def _attempt(self, pod: Pod) -> Attempt:
        """A plugin that raises is a fault of the program: this pod waits and says so, and all others go on."""
        attempt = tried(self._current_cycle().place, pod)
        if isinstance(attempt, Attempt):
            return attempt
        key, uid = _key(pod), pod.metadata.uid
        self._complaints.about(f"placing {key.namespace}/{key.name}", attempt)
        self.snapshot.forget(key, uid)
        self._cycle = Cycle(*self._cycle_of)  # what it kept may be half done
        told = f"the scheduler failed on this pod: {one_line(attempt)}"
        return Attempt(key, uid, nodes=len(self.snapshot.nodes), message=told)

    def _see(self, resource: str, before: View | None, after: View | None) -> None:
        """One object that cannot be taken in must not keep the others out."""
        error = tried(self.snapshot.observe, resource, before, after)
        if error is not None:
            self._complaints.about(f"taking in {resource}", error)

    def _current_cycle(self) -> Cycle:
        """What it keeps of classes of pods is worth keeping as long as snapshot and policy are the same."""
        if self._cycle_of != (self.snapshot, self.policy):
            self._cycle_of = (self.snapshot, self.policy)
            self._cycle = Cycle(*self._cycle_of)
        return self._cycle

    def _carry_out(self, taken: Taken, attempt: Attempt, now: float) -> Iterator[Instruction]:
        pod = taken.pod
        refused_by = wakes_on = frozenset[str]()
        is_undone = False
        effects: tuple[Effect, ...]
        if attempt.node:
            self.placed += 1
            effects = (binding(pod, attempt.node, self.snapshot.reservation_for(pod, attempt.node)),)
        else:
            self.unplaced += 1
            self.tally.preempted(attempt)
            refused_by = frozenset(each.plugin for each in attempt.refusals)
            plugins = (plugin for plugin in self.policy.plugins if plugin.name in refused_by)
            wakes_on = frozenset[str]().union(*(plugin.wakes_on for plugin in plugins)) or _WITHOUT_NODES
            wakes_on |= {_POLICY}
            told = unschedulable(pod, attempt.message, attempt.nominated, now)
            victims, is_undone = self._victims(attempt)
            effects = (*((told,) if told is not None else ()), *evictions(pod, victims, now))
        verdict = SETTLED if attempt.node else Waiting("Unschedulable", attempt.message)
        turn = Turn(attempt.key, Decision(verdict, effects, events=notes_for(pod, attempt, effects)), now)
        flight = _Flight(turn, taken, bool(attempt.node), refused_by, wakes_on, is_undone=is_undone)
        self._tell_after(turn, -1, now)
        if effects:
            yield self._call(flight)
        else:
            self._settle(flight, now)

    def _victims(self, attempt: Attempt) -> tuple[list[Pod], bool]:
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

    def _finished(self, flight: _Flight, outcome: Outcome, looked: bool, now: float) -> None:
        turn = flight.turn
        if not flight.binds:
            self._tell_after(turn, turn.position - 1, now)
            flight.is_undone |= looked
            self._unseen.append(flight)
            return
        effect = turn.decision.effects[0]
        assert isinstance(effect, Bind)
        node = _bound_to(outcome, flight.uid)
        self.tally.ended(SCHEDULED if node in ("", effect.node) else ERROR, flight.taken, turn.began, now)
        if node in ("", effect.node):
            self._tell_after(turn, 0, now)
        elif flight.uid == getattr(self.snapshot.assumed.get(turn.key), "uid", ""):
            self.snapshot.assume(flight.pod, node)  # another was faster, with another node

    def _may_still_arrive(self, flight: _Flight, now: float) -> bool:
        """A request that nobody answered; but for a binding to a node that is gone."""
        effect = flight.turn.effect
        if isinstance(effect, Bind) and effect.node not in self.snapshot.nodes.slot:
            return False
        if self._is_doubtful(effect) and now >= flight.turn.began + _ARRIVES_SECONDS:
            return False
        return not flight.was_conflict

    def _is_doubtful(self, effect: Effect | None) -> bool:
        """A binding to a node that is not heard of."""
        if not isinstance(effect, Bind):
            return False
        node = self._mirrors[NODES.name].index.get(Key(NODES.name, "", effect.node))
        return node is not None and any(taint.get("key") in _DOUBTS for taint in node.spec.taints)

    def _failed(self, flight: _Flight, now: float, chance: float) -> None:
        """It did not happen and will not."""
        turn = flight.turn
        self.conflicts += 1
        self.tally.ended(ERROR, flight.taken, turn.began, now)
        is_claimed = turn.position > 0 or bool(flight.pod.status.nominated_node_name)
        if flight.binds or not is_claimed:
            self.snapshot.forget(turn.key, flight.uid)
            self.waiting.caused("pods.deleted", now)  # what was assumed there is free again
        self.waiting.put_back(turn.key, flight.uid, now, chance)

    def _undo(self, flight: _Flight) -> None:
        """What is there is not what was decided on: it is decided anew when the mirror shows it."""
        flight.is_undone = True
        self._unseen.append(flight)

    def _settle(self, flight: _Flight, now: float) -> None:
        key = flight.turn.key
        result = ERROR if flight.is_undone else UNSCHEDULABLE
        self.tally.ended(result, flight.taken, flight.turn.began, now)
        if flight.is_undone:
            self.waiting.put_back(key, flight.uid, now, 0.5)
        else:
            self.waiting.refused(key, flight.uid, flight.refused_by, flight.wakes_on, now, 0.5)

    def _release_seen(self, now: float) -> None:
        """Refused pods may be tried again once the mirror shows all that was written for them."""
        if self._unseen:
            seen = [flight for flight in self._unseen if all(map(self._seen, flight.turn.writes))]
            for flight in seen:
                self._unseen.remove(flight)
                self._settle(flight, now)

    def _seen(self, write: Write) -> bool:
        """Also what is not there any more is seen."""
        current = self._mirrors[write.key.resource].revision_of(write.key)
        return not current or current >= write.revision

    # Requests

    def _call(self, flight: _Flight) -> Call:
        call = self._new_call()
        self._flights[call] = flight
        return Call(call, NAME, flight.turn.request())

    def _send_due(self, now: float) -> Iterator[Instruction]:
        health = self._health
        for due in [item for item in self._later if item[0] <= now]:
            self._later.remove(due)
            flight = due[1]
            if not flight.turn.looking and health.breaker.is_open(now):
                self._later.append((health.breaker.open_until, flight))
            elif health.budget.take(now):
                yield self._call(flight)
            else:
                self._later.append((health.budget.ready_at(now), flight))

    def _tell_after(self, turn: Turn, place: int, now: float) -> None:
        for note in turn.decision.events:
            if note.after == place:
                self._tell(self.scheduler_name, note, now)

    def _read(self) -> Reads:
        mirrors = ((each.name, self._mirrors[each.name]) for each in self.reads)
        return {name: [mirror.revision, mirror.newest_seen] for name, mirror in mirrors}


def _key(pod: Pod) -> Key:
    return Key(PODS.name, pod.metadata.namespace, pod.metadata.name)


def _as_placed_on(node: Node) -> Node:
    """A node that does not say that it is ready, or is on its way out, repels like one that is tainted for it."""
    if node.ready and not node.metadata.deletion_timestamp:
        return node
    return structs.replace(node, spec=structs.replace(node.spec, taints=(*node.spec.taints, _NOT_READY)))


def _differ(one: Placed, other: Placed) -> bool:
    """In what others may depend on."""
    return (one.uid, one.node, one.leaving, one.facts.labels) != (
        other.uid, other.node, other.leaving, other.facts.labels,
    )  # fmt: skip


def _bound_to(outcome: Outcome, uid: str) -> str:
    """The node that a look found this pod on; "" where it tells none."""
    if not isinstance(outcome, Done) or not outcome.body:
        return ""
    found = codec.decode(outcome.body)
    if found.get("kind") != PODS.kind or found["metadata"].get("uid") != uid:
        return ""
    return str(found["spec"].get("nodeName", ""))
