"""The agent of one node: what it hears of its pods, its machine and the API becomes what is to be done. A machine.

Its events and instructions are in `contract.py`; `runtime/node/driver.py` and the simulator drive it. Inside: the
heartbeat (`lease.py`), the Node (`node.py`), one PodWorker for every pod (`pod/worker.py`), what they share
(`pod/shared_by_pods.py`). No clock, no chance, no waiting: time and chance come with the events.

A pod's Life (rows), and where an event may lead it. `pod`: its object changed; `gone`: its object went; `Saw`,
`Failed`, `Closed`: of the driver; `other`: an answer, a probe, time, another object.

|          | pod                  | gone                 | Saw                     | Failed                | Closed                    | other                                    |
| -------- | -------------------- | -------------------- | ----------------------- | --------------------- | ------------------------- | ---------------------------------------- |
| WAITING  | WAITING OPENING OVER CLOSING | WAITING CLOSING GONE | WAITING OPENING         | WAITING               | WAITING                   | WAITING OPENING UP STOPPING OVER CLOSING |
| OPENING  | OPENING OVER         | CLOSING              | WAITING OPENING UP      | WAITING               | OPENING                   | WAITING OPENING OVER                     |
| UP       | UP STOPPING OVER     | STOPPING CLOSING     | WAITING OPENING UP OVER | UP                    | -                         | UP STOPPING OVER CLOSING                 |
| STOPPING | STOPPING             | STOPPING             | STOPPING OVER CLOSING   | STOPPING OVER CLOSING | -                         | STOPPING                                 |
| OVER     | OVER CLOSING         | CLOSING GONE         | OVER                    | OVER                  | OVER                      | OVER CLOSING                             |
| CLOSING  | CLOSING              | CLOSING              | CLOSING                 | CLOSING               | WAITING OPENING OVER GONE | CLOSING                                  |

What was found on the machine is WAITING until its pods are known. A fenced sandbox is closed once its status tells of
it, and the pod goes on in a new one. Nothing is opened, started, stopped or closed before Found, nor ended because it
is absent before the pods were listed. Pods go on, are probed and restarted whether or not the lease is held; only those
of which at most one may run are opened and started under a lease that holds, and end by their supervisor's deadline. An
agent that starts where no API answers goes by what an earlier one kept on the machine (`Keep`), until one does.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from fairlead.agent import contract as c
from fairlead.agent import disk, lease, node, notes, references
from fairlead.agent.mirrors import Mirrors
from fairlead.agent.pace import Pace
from fairlead.agent.pod import at_most_one, tokens
from fairlead.agent.pod import writes as pod_writes
from fairlead.agent.pod.life import Life
from fairlead.agent.pod.run import run
from fairlead.agent.pod.shared_by_pods import Means
from fairlead.agent.pod.worker import PodWorker
from fairlead.agent.views import BOUND_PODS, OWN_NODE, BoundPod
from fairlead.cache import events as mirrored
from fairlead.cache.events import Mirrored
from fairlead.model.service_views import SERVICES
from fairlead.port.driving import Started, Stepped, WakeAt, Woke
from fairlead.port.outcome import Done

_OLDER_SERVER = (
    "node {}: the server knows less of its pods than was known here before, as one that lags or was restored from a "
    "backup: pods go on as they were for about half a minute, then what the server says holds"
)


class Agent:
    """`handle` is the only mutator."""

    def __init__(self, settings: c.NodeSettings, pace: Pace | None = None) -> None:
        self.settings = settings
        self.pace = pace or Pace()
        self._watched = Mirrors(settings.name)
        self.mirrors = self._watched.all
        self.selectors = self._watched.selectors
        self.means = Means(settings, self.pace)
        self.heartbeat = lease.Heartbeat(settings, self.pace, self.means.calls)
        self.registration = node.Registration(settings, self.pace, self.means.calls)
        self.means.host_address = self.registration.address
        self.works: dict[str, PodWorker] = {}  # by uid
        self._looks: dict[int, tuple[str, str]] = {}  # number -> uid, container
        self._routes: tuple[c.Route, ...] | None = None
        self._routes_until = 0.0  # weights of zones end then; 0: there are none
        self._wake_at = 0.0
        self._begun = False
        self._begun_at = 0.0

    @property
    def empty(self) -> bool:
        """After ShutdownRequested: nothing runs here any more, and what could be tidied up is."""
        return self.means.found and all(not work.opened or work.left_behind for work in self.works.values())

    def handle(self, event: c.AgentEvent) -> tuple[c.AgentInstruction, ...]:
        match event:
            case c.Saw():
                return self._saw(event)
            case c.Answered():
                return self._answered(event)
            case Mirrored(resource, events):
                return self._hear(resource, events)
            case c.Probed():
                return self._probed(event)
            case c.Stirred():
                self.means.library.stirred(event, self.means.chance)
                return self._finish([], (), event.now)
            case Woke():
                return self._hear(event.timer, (event,)) if event.timer else self._woke(event)
            case c.Closed():
                return self._closed(event)
            case c.Failed():
                return self._failed(event)
            case c.Found():
                return self._found(event)
            case c.Disk():
                self.registration.disk = disk.describe_pressure(event, self.registration.disk)
                return self._finish([], (), event.now)
            case c.Measured():
                self.heartbeat.usage = event.usage
                return self._finish([], (), event.now)
            case Stepped():
                return self._clock_stepped(event)
            case c.ShutdownRequested():
                self.means.leaving = True
                return self._finish([], tuple(self.works), event.now)
            case c.Recalled():
                return self._recalled(event)
            case Started():
                self._begun, self._begun_at = True, event.now
                self.means.chance = event.chance
                return self._finish([*self._watched.begin(event)], (), event.now)
            case _:
                assert_never(event)

    # Events

    def _recalled(self, event: c.Recalled) -> tuple[c.AgentInstruction, ...]:
        out: list[c.AgentInstruction] = []
        for resource, changes in self._watched.recall(event.kept).items():
            self._changed(resource, list(changes), False, event.now, out)
        if self._watched.recalled:
            self.means.library.recall(event.kept)
        return tuple(out)

    def _hear(self, resource: str, events: Sequence[mirrored.Event]) -> tuple[c.AgentInstruction, ...]:
        """What a list or a watch of the resource brought, or its mirror's timer."""
        pods = self.mirrors[BOUND_PODS.name]
        stale = pods.stale_lists
        heard = self._watched.hear(resource, events)
        out: list[c.AgentInstruction] = [*heard.passed, *heard.keeps]
        touched = self._changed(resource, heard.changes, heard.first, heard.now, out)
        if pods.failures:
            self.means.tokens.heard(False, heard.now)
        if pods.stale_lists and not stale and not pods.synced:
            out.append(c.Log(_OLDER_SERVER.format(self.settings.name)))
        if resource == BOUND_PODS.name and self._look_whether_away(heard.first):
            touched = tuple(self.works)
        return self._finish(out, touched, heard.now)

    def _look_whether_away(self, answers: bool) -> bool:
        """Whether it turned out just now that no API answers, so that what was recalled has to do."""
        means, mirror = self.means, self.mirrors[BOUND_PODS.name]
        if answers:
            means.away = means.library.away = means.tokens.away = False
            means.library.forget_recalled()
        if means.away or mirror.synced or not mirror.failures or not self._watched.recalled:
            return False
        means.away = means.library.away = means.tokens.away = True
        self.heartbeat.recall()
        return True

    def _found(self, event: c.Found) -> tuple[c.AgentInstruction, ...]:
        means = self.means
        out: list[c.AgentInstruction] = []
        means.found = True
        for sandbox in event.sandboxes:
            self._work(sandbox.uid).see_sandbox(sandbox, means, event.now)
        if self.heartbeat.held(event.now):
            out.append(c.Extend(self.heartbeat.deadline))
        return self._finish(out, tuple(self.works), event.now)

    def _saw(self, event: c.Saw) -> tuple[c.AgentInstruction, ...]:
        uid = event.sandbox.uid
        self._work(uid).see_sandbox(event.sandbox, self.means, event.now)
        return self._finish([], (uid,), event.now)

    def _closed(self, event: c.Closed) -> tuple[c.AgentInstruction, ...]:
        work = self.works.get(event.uid)
        if work is None:
            return self._finish([], (), event.now)
        work.closed(event.now)
        self.means.addresses.release(event.uid)
        waiting = [uid for uid, each in self.works.items() if each.life is Life.WAITING]
        return self._finish([], (event.uid, *waiting), event.now)

    def _failed(self, event: c.Failed) -> tuple[c.AgentInstruction, ...]:
        work = self.works.get(event.uid)
        if work is not None:
            work.failed(event.what, event.message, self.means, event.now)
        return self._finish([], (event.uid,), event.now)

    def _probed(self, event: c.Probed) -> tuple[c.AgentInstruction, ...]:
        uid, container = self._looks.pop(event.number, ("", ""))
        work = self.works.get(uid)
        if work is None:
            return self._finish([], (), event.now)
        work.probed(container, event.number, event.good, event.message, self.means, event.now)
        return self._finish([], (uid,), event.now)

    def _clock_stepped(self, event: Stepped) -> tuple[c.AgentInstruction, ...]:
        """Nothing here goes by the wall clock: people are told, that is all."""
        own = self._watched.own_node
        uid = own.metadata.uid if own is not None else self.settings.name
        self.means.notes.tell_of_node(uid, notes.WARNING, "ClockStepped", event.message, event.now)
        return self._finish([], (), event.now)

    def _answered(self, event: c.Answered) -> tuple[c.AgentInstruction, ...]:
        means, now, outcome = self.means, event.now, event.outcome
        purpose = means.calls.answered(event.call)
        out: list[c.AgentInstruction] = []
        touched: tuple[str, ...] = ()
        match purpose.part if purpose is not None else "":
            case lease.PART:
                was_held = self.heartbeat.held(now)
                out += self.heartbeat.answered(outcome, now, means.chance)
                means.deadline, means.regained = self.heartbeat.deadline, self.heartbeat.regained
                means.renewals = self.heartbeat.renewals
                means.tokens.heard(isinstance(outcome, Done), now)
                contradicted = tuple(uid for uid, each in self.works.items() if each.wants_write)
                touched = contradicted if was_held else tuple(self.works)
            case node.PART:
                self.registration.answered(outcome, now, means.chance)
            case at_most_one.PART if purpose is not None:
                work = self.works.get(purpose.about)
                if work is not None:
                    work.word.answered(purpose.about, outcome, means, now)
                touched = (purpose.about,)
            case references.PART if purpose is not None:
                touched = means.library.answered(purpose.about, outcome, now, means.chance)
            case tokens.PART if purpose is not None:
                touched = means.tokens.answered(purpose.about, outcome, now, means.chance)
            case notes.PART if purpose is not None:
                means.notes.answered(purpose.about, outcome)
            case pod_writes.PART if purpose is not None:
                work = self.works.get(purpose.about)
                if work is not None:
                    work.writes.answered(outcome, means, now)
                waiting = [uid for uid, each in self.works.items() if each.wants_write]
                touched = (purpose.about, *waiting)
        return self._finish(out, touched, now)

    def _woke(self, event: Woke) -> tuple[c.AgentInstruction, ...]:
        self.means.chance = event.chance
        self._wake_at = 0.0
        due = [uid for uid, work in self.works.items() if work.due and work.due <= event.now]
        return self._finish([], due, event.now)

    # Inside

    def _work(self, uid: str) -> PodWorker:
        work = self.works.get(uid)
        if work is None:
            work = self.works[uid] = PodWorker(uid)
        return work

    def _changed(
        self,
        resource: str,
        changes: list[mirrored.Changed],
        first: bool,
        now: float,
        out: list[c.AgentInstruction],
    ) -> tuple[str, ...]:
        """What a change of a mirror means; the pods that it concerns."""
        means, mirror = self.means, self.mirrors[resource]
        if resource == BOUND_PODS.name:
            means.pods_synced, means.pods_revision = mirror.synced, mirror.revision
            means.unreadable = frozenset(each.metadata.uid for each in mirror.unreadable.values())
            out += self._watched.unreadable_pods(changes)
            touched = dict.fromkeys(uid for each in changes for uid in self._pod_changed(each))
            unsettled = (uid for uid, each in self.works.items() if each.wants_write)
            return tuple(self.works) if first else tuple(dict.fromkeys((*touched, *unsettled)))
        if resource == OWN_NODE.name:
            own = self._watched.own_node
            if own is not None:
                means.addresses.use(own.spec.pod_cidr)
            return (
                tuple(uid for uid, each in self.works.items() if each.life is Life.WAITING) if changes else ()
            )
        if resource == SERVICES.name:
            means.services_known = mirror.synced or self._watched.recalled
            means.services = mirror.index.all()
        self._serve(now, out)
        return tuple(self.works) if first else ()

    def _serve(self, now: float, out: list[c.AgentInstruction]) -> None:
        made = self._watched.routes(now)
        held = self._watched.weights_held(now)
        self._routes_until = held.until
        if made is not None:
            self.heartbeat.follow(held.by, now)
        if made is not None and made != self._routes:
            self._routes = made
            out.append(c.Serve(made))

    def _pod_changed(self, change: mirrored.Changed) -> tuple[str, ...]:
        before, after = change.before, change.after
        touched = []
        if isinstance(before, BoundPod) and after is None:
            uid = before.metadata.uid
            if uid in self.works and uid not in self.means.unreadable:
                self.works[uid].gone = True
                touched.append(uid)
        if isinstance(after, BoundPod) and after.spec.node_name == self.settings.name:
            uid = after.metadata.uid
            self._work(uid).see_pod(after)
            touched.append(uid)
        return tuple(touched)

    def _finish(
        self, out: list[c.AgentInstruction], touched: Iterable[str], now: float
    ) -> tuple[c.AgentInstruction, ...]:
        """The steps that follow an event: of the pods it concerns, then of the rest of the agent."""
        for uid in touched:
            work = self.works.get(uid)
            if work is not None and self.heartbeat.ours and (self.means.pods_synced or self.means.away):
                out += self._step(work, now)
        if self._begun:
            out += self._step_node(now)
        if self._routes_until and self._routes_until <= now:
            self._serve(now, out)
        if not self.heartbeat.ours:
            out += self._give_way(now)
        out += self.means.library.step(now)
        out += self.means.library.keeps()
        out += self.means.tokens.step(now)
        out += self.means.notes.step(now)
        dues = [self.heartbeat.due if self._begun else 0.0, self.registration.next_at, self._routes_until]
        dues += [self.means.library.next_at, self.means.tokens.next_at, self.means.notes.next_at]
        dues += [work.due for work in self.works.values()]
        at = min((due for due in dues if due), default=0.0)
        if at and at != self._wake_at:
            self._wake_at = at
            out.append(WakeAt(at))
        return tuple(out)

    def _give_way(self, now: float) -> list[c.AgentInstruction]:
        """While another agent has the lease: once that one was seen to renew it, it runs all pods of this node, and
        those that run here would be the second of each."""
        out: list[c.AgentInstruction] = []
        for work in self.works.values():
            work.due = 0.0  # all are looked at again when the lease is ours
            if self.heartbeat.taken and self.means.found and work.opened:
                out += work.give_way(self.means, now)
        return out

    def _step(self, work: PodWorker, now: float) -> list[c.AgentInstruction]:
        means = self.means
        out: list[c.AgentInstruction] = []
        if not work.prepare(means, now):
            return out
        if work.life is Life.CLOSING:
            out += work.close(means, now)
        elif work.ending is not None:
            out += work.end(work.ending, means, now)
        elif work.view is not None and not work.awaits_namesake(self.works.values()):
            out += run(work, work.view, means, now)
        out += work.write(means, now)
        for each in out:
            if isinstance(each, c.Probe):
                self._looks[each.number] = (each.uid, each.container)
        if work.life is Life.GONE:
            means.addresses.release(work.uid)
            means.library.give_back(work.uid)
            means.tokens.give_back(work.uid)
            del self.works[work.uid]
        return out

    def _step_node(self, now: float) -> list[c.AgentInstruction]:
        mirror, own = self.mirrors[OWN_NODE.name], self._watched.own_node
        out: list[c.AgentInstruction] = []
        out += self.heartbeat.step(now, own.metadata if own is not None else None)
        if own is not None and self._starting(now):
            self.registration.next_at = self._begun_at + self.pace.start_seconds
        elif mirror.synced and self.heartbeat.ours and (own is None or not self._unheard(now)):
            ready = self._ready(now)
            out += self.registration.step(own, mirror.revision, ready, self.means.renewals, now)
        else:
            self.registration.next_at = 0.0  # the mirror, or the lease, wakes it
        return out

    def _starting(self, now: float) -> bool:
        """A node that was there before this agent says nothing new before it can say that it is ready, or cannot."""
        known = self.means.found and self.heartbeat.renewals > 0
        return not known and not self.means.leaving and now < self._begun_at + self.pace.start_seconds

    def _unheard(self, now: float) -> bool:
        """Nobody has answered a renewal for as long as the lease lasts. Whoever judges this node has heard as little of
        it: a status that gets through first, after an outage, would call it not ready though it is about to be."""
        ready = self.means.found and not self.means.leaving
        return ready and not self.heartbeat.held(now) and not self.heartbeat.refused

    def _ready(self, now: float) -> tuple[bool, str]:
        if self.means.leaving:
            return False, "node is shutting down"
        if not self.means.found:
            return False, "the agent is finding out what runs on this machine"
        if not self.heartbeat.held(now):
            return False, "the node's lease has not been renewed"
        return True, ""
