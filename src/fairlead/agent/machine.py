"""The agent of one node: what it hears of its pods, its machine and the API becomes what is to be done. A machine.

Each method takes one event (`contract.py`) and returns instructions; `runtime/agent_driver.py` and the simulator
drive it. Inside: the heartbeat (`lease.py`), the Node (`node.py`), one Work for every pod (`pod.py`), what they share
(`means.py`). No clock, no chance, no waiting: time and chance come with the events.

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

from collections.abc import Iterable

from fairlead.agent import at_most_one, disk, lease, node, notes, pod_writes, references
from fairlead.agent import contract as c
from fairlead.agent.life import Life
from fairlead.agent.means import Means
from fairlead.agent.mirrors import Mirrors, Passed
from fairlead.agent.pace import Pace
from fairlead.agent.pod import Work
from fairlead.agent.pod_run import run
from fairlead.agent.views import BOUND_PODS, OWN_NODE, BoundPod
from fairlead.cache import events as mirrored
from fairlead.model.service_views import SERVICES

Instruction = (
    c.Open
    | c.Start
    | c.Stop
    | c.Refresh
    | c.Close
    | c.Extend
    | c.Keep
    | c.LiftDeadline
    | c.Probe
    | c.Serve
    | c.Ask
    | c.Attend
    | c.Disregard
    | c.WakeAt
    | c.Log
    | Passed
)


class Agent:
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
        self.works: dict[str, Work] = {}  # by uid
        self._looks: dict[int, tuple[str, str]] = {}  # number -> uid, container
        self._routes: tuple[c.Route, ...] | None = None
        self._wake_at = 0.0
        self._begun = False
        self._begun_at = 0.0

    @property
    def empty(self) -> bool:
        """After `leave`: nothing runs here any more, and what could be tidied up is."""
        return self.means.found and all(not work.opened or work.left_behind for work in self.works.values())

    # Events

    def begin(self, now: float, chance: float, kept: Iterable[c.Keep] = ()) -> tuple[Instruction, ...]:
        """`kept`: what an earlier agent of this machine had kept."""
        self._begun, self._begun_at = True, now
        self.means.chance = chance
        out: list[Instruction] = []
        kept = tuple(kept)
        for resource, changes in self._watched.recall(kept).items():
            self._changed(resource, list(changes), False, out)
        if self._watched.recalled:
            self.means.library.recall(kept)
        out += self._watched.begin(now, chance)
        return self._finish(out, (), now)

    def mirror(self, resource: str, *events: mirrored.Event) -> tuple[Instruction, ...]:
        """What a list or a watch of the resource brought."""
        heard = self._watched.hear(resource, events)
        out: list[Instruction] = [*heard.passed, *heard.keeps]
        touched = self._changed(resource, heard.changes, heard.first, out)
        if resource == BOUND_PODS.name and self._look_whether_away(heard.first):
            touched = tuple(self.works)
        return self._finish(out, touched, heard.now)

    def _look_whether_away(self, answers: bool) -> bool:
        """Whether it turned out just now that no API answers, so that what was recalled has to do."""
        means, mirror = self.means, self.mirrors[BOUND_PODS.name]
        if answers:
            means.away = means.library.away = False
            means.library.forget_recalled()
        if means.away or mirror.synced or not mirror.failures or not self._watched.recalled:
            return False
        means.away = means.library.away = True
        self.heartbeat.recall()
        return True

    def found(self, event: c.Found) -> tuple[Instruction, ...]:
        means = self.means
        out: list[Instruction] = []
        means.found = True
        for sandbox in event.sandboxes:
            self._work(sandbox.uid).see_sandbox(sandbox, means, event.now)
        if self.heartbeat.held(event.now):
            out.append(c.Extend(self.heartbeat.deadline))
        return self._finish(out, tuple(self.works), event.now)

    def saw(self, event: c.Saw) -> tuple[Instruction, ...]:
        uid = event.sandbox.uid
        self._work(uid).see_sandbox(event.sandbox, self.means, event.now)
        return self._finish([], (uid,), event.now)

    def closed(self, event: c.Closed) -> tuple[Instruction, ...]:
        work = self.works.get(event.uid)
        if work is None:
            return self._finish([], (), event.now)
        work.closed(event.now)
        self.means.addresses.release(event.uid)
        waiting = [uid for uid, each in self.works.items() if each.life is Life.WAITING]
        return self._finish([], (event.uid, *waiting), event.now)

    def failed(self, event: c.Failed) -> tuple[Instruction, ...]:
        work = self.works.get(event.uid)
        if work is not None:
            work.failed(event.what, event.message, self.means, event.now)
        return self._finish([], (event.uid,), event.now)

    def probed(self, event: c.Probed) -> tuple[Instruction, ...]:
        uid, container = self._looks.pop(event.number, ("", ""))
        work = self.works.get(uid)
        if work is None:
            return self._finish([], (), event.now)
        work.probed(container, event.number, event.good, event.message, self.means, event.now)
        return self._finish([], (uid,), event.now)

    def measured(self, event: c.Disk) -> tuple[Instruction, ...]:
        self.registration.disk = disk.pressure(event, self.registration.disk)
        return self._finish([], (), event.now)

    def stepped(self, event: c.Stepped) -> tuple[Instruction, ...]:
        """Nothing here goes by the wall clock: people are told, that is all."""
        own = self._watched.own_node
        uid = own.metadata.uid if own is not None else self.settings.name
        self.means.notes.tell_of_node(uid, notes.WARNING, "ClockStepped", event.message, event.now)
        return self._finish([], (), event.now)

    def answered(self, event: c.Answered) -> tuple[Instruction, ...]:
        means, now, outcome = self.means, event.now, event.outcome
        purpose = means.calls.answered(event.call)
        out: list[Instruction] = []
        touched: tuple[str, ...] = ()
        match purpose.part if purpose is not None else "":
            case lease.PART:
                was_held = self.heartbeat.held(now)
                out += self.heartbeat.answered(outcome, now, means.chance)
                means.deadline, means.regained = self.heartbeat.deadline, self.heartbeat.regained
                touched = () if was_held else tuple(self.works)
            case node.PART:
                self.registration.answered(outcome, now, means.chance)
            case at_most_one.PART if purpose is not None:
                work = self.works.get(purpose.about)
                if work is not None:
                    work.word.answered(purpose.about, outcome, means, now)
                touched = (purpose.about,)
            case references.PART if purpose is not None:
                touched = means.library.answered(purpose.about, outcome, now, means.chance)
            case notes.PART if purpose is not None:
                means.notes.answered(purpose.about, outcome)
            case pod_writes.PART if purpose is not None:
                work = self.works.get(purpose.about)
                if work is not None:
                    work.writes.answered(outcome, means, now)
                waiting = [uid for uid, each in self.works.items() if each.wants_write]
                touched = (purpose.about, *waiting)
        return self._finish(out, touched, now)

    def stirred(self, event: c.Stirred) -> tuple[Instruction, ...]:
        self.means.library.stirred(event, self.means.chance)
        return self._finish([], (), event.now)

    def woke(self, event: c.Woke) -> tuple[Instruction, ...]:
        self.means.chance = event.chance
        self._wake_at = 0.0
        due = [uid for uid, work in self.works.items() if work.due and work.due <= event.now]
        return self._finish([], due, event.now)

    def leave(self, now: float) -> tuple[Instruction, ...]:
        """End every pod with its grace. Nothing is started any more; `empty` says when it is done."""
        self.means.leaving = True
        return self._finish([], tuple(self.works), now)

    # Inside

    def _work(self, uid: str) -> Work:
        work = self.works.get(uid)
        if work is None:
            work = self.works[uid] = Work(uid)
        return work

    def _changed(
        self, resource: str, changes: list[mirrored.Changed], first: bool, out: list[Instruction]
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
        made = self._watched.routes
        if made is not None and made != self._routes:
            self._routes = made
            out.append(c.Serve(made))
        return tuple(self.works) if first else ()

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

    def _finish(self, out: list[Instruction], touched: Iterable[str], now: float) -> tuple[Instruction, ...]:
        """The steps that follow an event: of the pods it concerns, then of the rest of the agent."""
        for uid in touched:
            work = self.works.get(uid)
            if work is not None and self.heartbeat.ours and (self.means.pods_synced or self.means.away):
                out += self._step(work, now)
        if self._begun:
            out += self._step_node(now)
        if not self.heartbeat.ours:
            out += self._give_way(now)
        out += self.means.library.step(now)
        out += self.means.library.keeps()
        out += self.means.notes.step(now)
        dues = [self.heartbeat.due if self._begun else 0.0, self.registration.next_at]
        dues += [self.means.library.next_at, self.means.notes.next_at]
        dues += [work.due for work in self.works.values()]
        at = min((due for due in dues if due), default=0.0)
        if at and at != self._wake_at:
            self._wake_at = at
            out.append(c.WakeAt(at))
        return tuple(out)

    def _give_way(self, now: float) -> list[Instruction]:
        """While another agent has the lease: once that one was seen to renew it, it runs all pods of this node, and
        those that run here would be the second of each."""
        out: list[Instruction] = []
        for work in self.works.values():
            work.due = 0.0  # all are looked at again when the lease is ours
            if self.heartbeat.taken and self.means.found and work.opened:
                out += work.give_way(self.means, now)
        return out

    def _step(self, work: Work, now: float) -> list[Instruction]:
        means = self.means
        out: list[Instruction] = []
        if not work.prepare(means, now):
            return out
        if work.life is Life.CLOSING:
            out += work.close(means, now)
        elif work.ending is not None:
            out += work.end(work.ending, means, now)
        elif work.view is not None:
            out += run(work, work.view, means, now)
        out += work.write(means, now)
        for each in out:
            if isinstance(each, c.Probe):
                self._looks[each.number] = (each.uid, each.container)
        if work.life is Life.GONE:
            means.addresses.release(work.uid)
            means.library.give_back(work.uid)
            del self.works[work.uid]
        return out

    def _step_node(self, now: float) -> list[Instruction]:
        mirror, own = self.mirrors[OWN_NODE.name], self._watched.own_node
        out: list[Instruction] = []
        out += self.heartbeat.step(now, own.metadata.uid if own is not None else "")
        if mirror.synced and self.heartbeat.ours and not (own is not None and self._starting(now)):
            out += self.registration.step(own, mirror.revision, self._ready(now), now)
        return out

    def _starting(self, now: float) -> bool:
        """A node that was there before this agent says nothing new before it can say that it is ready, or cannot."""
        known = self.means.found and self.heartbeat.renewals > 0
        return not known and not self.means.leaving and now < self._begun_at + self.pace.start_seconds

    def _ready(self, now: float) -> tuple[bool, str]:
        if self.means.leaving:
            return False, "node is shutting down"
        if not self.means.found:
            return False, "the agent is finding out what runs on this machine"
        if not self.heartbeat.held(now):
            return False, "the node's lease has not been renewed"
        return True, ""
