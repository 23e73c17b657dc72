"""A run: server, planes, network and people on one timeline, faults first, then calm, then rest. Read this first.

    World(scenario, chance, backup=backup).run() -> Run

Phases: until `faults_until_seconds` faults fire; then they stop and everything must converge: nothing but leases is
written for `quiet_seconds`. From then on nothing may be written, until the run is over (`seconds_min`, and at least
`rest_seconds` of rest). Checkers see every commit before anybody else does; the first Violation ends the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from sys import maxsize

from fairlead.agent.contract import NodeSettings
from fairlead.agent.machine import Agent
from fairlead.control.leadership import FENCE, LEASE, Leadership
from fairlead.control.plane import Plane
from fairlead.core import codec
from fairlead.decision.retry import WAIT_BACKOFF_MAX_SECONDS
from fairlead.model.marks import NODE_LEASES
from fairlead.model.views import LEASES
from fairlead.port.request import Reply, Request
from fairlead.schedule.facts import FactsOf
from fairlead.sim.backup import EMPTY, Backup
from fairlead.sim.chance import Chance
from fairlead.sim.checkers.contract import CommittedObjects, Observed
from fairlead.sim.checkers.forgotten import watch_ends
from fairlead.sim.checkers.mirrors import Mirroring, MirrorsAtRest
from fairlead.sim.checkers.override_moments import OverrideMoments
from fairlead.sim.checkers.quiet import Retold
from fairlead.sim.checkers.roster import all_checkers, process_checkers
from fairlead.sim.counts import CountedWrites, Counts
from fairlead.sim.decoded import Decoded
from fairlead.sim.digest import Digest, NoDigest
from fairlead.sim.encounters import coverage
from fairlead.sim.faults import CALM, Faults
from fairlead.sim.incidents.disk import DiskMishaps
from fairlead.sim.incidents.observer import MishapObserver
from fairlead.sim.incidents.pinned import PinnedFaults
from fairlead.sim.incidents.processes import EVERY_MS, Incidents
from fairlead.sim.liveness import LastWrites, why_restless
from fairlead.sim.memory import Memory
from fairlead.sim.narrow_api import narrow
from fairlead.sim.network import Link
from fairlead.sim.parts import Parts, default_parts
from fairlead.sim.people import People
from fairlead.sim.probes import (
    CALLS,
    CRASH_BETWEEN_WRITES,
    RELIST_AFTER_410,
    TAKEOVER_MID_TURN,
    timeout_after_commit,
)
from fairlead.sim.processes.agents import AgentProcess, NodeLink
from fairlead.sim.processes.machines import SimulatedMachine
from fairlead.sim.processes.planes import PlaneProcess
from fairlead.sim.processes.runs import RunLog
from fairlead.sim.processes.server import SimulatedServer
from fairlead.sim.purity_guard import Trespass
from fairlead.sim.rest import are_idle, nothing_is_due
from fairlead.sim.scenario import Scenario
from fairlead.sim.time import EPOCH, Timeline
from fairlead.sim.trail import Trail
from fairlead.sim.violation import Violation
from fairlead.store.contract import ADDED, DELETED, CommittedChange
from fairlead.store.watch import Subscription

_NAMESPACES = ("default", "kube-system")
WORLD = "world"  # as an actor


@dataclass(slots=True)
class Run:
    """What came of it."""

    violation: Violation | None
    digest: str
    seconds: float  # virtual
    commits: int
    events: int
    faults: dict[str, int]
    probes: dict[str, int]
    rested_at: float | None
    objects: CommittedObjects
    counts: Counts
    chance: Chance
    trail: Trail | None = field(default=None, repr=False)


class World:
    def __init__(
        self,
        scenario: Scenario,
        chance: Chance,
        faults: Faults = CALM,
        parts: Parts | None = None,
        trail: bool = False,
        backup: Backup = EMPTY,
        epoch: int = EPOCH,
        memory: Memory | None = None,
        stop_seconds: float | None = None,
        compared: bool = True,
    ) -> None:
        """`stop_seconds`: the run is looked at no further than this. `compared`: its digest is of interest."""
        self.scenario = scenario
        self._stop_ms = int(stop_seconds * 1000) if stop_seconds is not None else maxsize
        self.chance = chance
        self.timeline = Timeline(chance, epoch)
        self.digest = Digest(self.timeline, trail) if compared else NoDigest(self.timeline)
        chance.on_fault = self._fault
        chance.step = self.timeline.last_step
        memory = memory or Memory()
        self._decoded = Decoded(memory.start)
        self._facts_of = FactsOf()  # like views, found out once for all planes
        of_processes = process_checkers()
        fencing = scenario.capabilities.fencing
        self.observed = Observed((*all_checkers(fencing), *of_processes), self._decoded)
        self.runs = RunLog(of_processes)
        self.commits = 0
        self._created: dict[str, int] = {}  # by resource
        self._quiet_since_ms = self._calm_since_ms = 0
        self._rested_at: float | None = None
        self._takeovers_mid_turn = 0
        self._holder = ""  # of the lease, where there are no fences
        self._last_writes, self._counted, self._retold = LastWrites(), CountedWrites(), Retold()
        parts = parts or default_parts(*scenario.controllers, deciders=scenario.deciders)
        parts = watch_ends(parts, scenario, self.observed, lambda: self.planes)
        self._moments: dict[str, int] = {}
        self.observed.add(OverrideMoments(self._moments))
        api = parts["api"] if scenario.capabilities.complete else narrow(parts["api"], scenario.capabilities)
        store = parts["store"]
        self.server = SimulatedServer(
            self.timeline, chance, self.digest, self, backup=backup, api=api, memory=memory, store=store
        )
        left = len(scenario.steps) + len(scenario.disk_mishaps)
        self.people = People(self.timeline, chance, self.server, self.digest, self.observed, left)
        self.observed.committed(backup.changes, {}, 0.0)
        self.planes = tuple(self._plane(slot, parts) for slot in range(scenario.planes))
        self.agents = self._agents(parts)
        self._processes: tuple[PlaneProcess | AgentProcess, ...] = (*self.planes, *self.agents)
        self._links = tuple(each.link for each in self._processes)
        self._incidents = Incidents(self.timeline, chance, self.server, self.planes, self.agents)
        self._pinned = PinnedFaults(self.timeline, chance, self.server, self.planes)
        self.observed.add(MirrorsAtRest(self._mirroring))
        self.observed.add(self._last_writes)
        self.observed.add(self._counted)
        self.mishaps = MishapObserver(self.timeline, self.observed, self.server, self.people, fencing)
        self._disk_mishaps = DiskMishaps(self.timeline, chance, self.server, self.planes, self.mishaps)
        self._faults = CALM
        self._set_faults(faults if not scenario.faults_from_seconds else Faults(clock_skew=faults.clock_skew))
        if scenario.faults_from_seconds:
            self.timeline.at(int(scenario.faults_from_seconds * 1000), self._begin_faults, faults)

    def _plane(self, slot: int, parts: Parts) -> PlaneProcess:
        def make(identity: str) -> Plane:
            nodes = parts["nodes"](self.scenario.hollow_prefix)
            lacks = self._lacks(slot)
            known = (each for each in parts["deciders"]() if each.name not in lacks)
            can, settings = self.scenario.capabilities, self.scenario.leadership
            leading = lambda new_call: Leadership(identity, new_call, settings, can.fencing)  # noqa: E731
            given = (identity, (*known, nodes), parts["scheduler"], can, leading)
            plane: Plane = parts["plane"](*given)
            for controller in plane.controllers:
                queue, actor = controller.queue, f"plane-{slot} {controller.decider.name}"
                reorders = self.chance.faults("queue_reordered", actor)
                likely = lambda: self._faults.queue_reordered  # noqa: E731
                controller.queue = parts["queue"](queue.settings, reorders, likely)
            for mirror in plane.mirrors.values():
                mirror.decode = self._decoded.decoder(mirror.resource.type)
            if plane.placer is not None:
                plane.placer.snapshot.facts_of = self._facts_of
            return plane

        link: Link = parts["link"](f"plane-{slot}", self.timeline, self.chance, self.server)
        tells_progress = self.scenario.capabilities.complete
        return PlaneProcess(slot, make, self.timeline, self.chance, self.digest, link, tells_progress)

    def _lacks(self, slot: int) -> tuple[str, ...]:
        """Controllers that a plane which starts now does not know yet."""
        older = self.scenario.older
        if older is None or slot != older.slot or self.timeline.ms >= older.until_seconds * 1000:
            return ()
        return older.lacks

    def _agents(self, parts: Parts) -> tuple[AgentProcess, ...]:
        made: list[AgentProcess] = []
        for settings in self.scenario.nodes:
            before = sum(each.settings.name == settings.name for each in made)
            name = f"{settings.name}-{before + 1}" if before else settings.name
            made.append(self._agent(settings, name, parts))
        return tuple(made)

    def _agent(self, settings: NodeSettings, name: str, parts: Parts) -> AgentProcess:
        """`name`: of the process; two may have nodes of one name."""

        def make(started: NodeSettings) -> Agent:
            agent: Agent = parts["agent"](started, self.scenario.pace)
            for mirror in agent.mirrors.values():
                mirror.decode = self._decoded.decoder(mirror.resource.type)
            return agent

        timeline, chance = self.timeline, self.chance
        machine = SimulatedMachine(settings.name, timeline, chance, self.digest, self.runs, name)
        machine.deadlines = settings.name not in self.scenario.without_deadlines
        link = NodeLink(timeline, chance, self.server, settings.name, name)
        return AgentProcess(settings, make, machine, timeline, chance, self.digest, link)

    # The run

    def run(self) -> Run:
        violation = None
        try:
            self.begin()
            self._go()
        except Violation as broken:
            violation = broken
        except Trespass as reached:
            violation = Violation("pure", str(reached))
            violation.__cause__ = reached
        except Exception as raised:  # noqa: BLE001 whatever it is, it belongs to this seed
            violation = Violation("no-exception", f"{type(raised).__name__}: {raised}")
            violation.__cause__ = raised
        if violation is not None:
            self.digest.violated(WORLD, violation)
        self.digest.add_choices(self.chance.choices)
        return Run(
            violation=violation,
            digest=self.digest.hex(),
            seconds=self.timeline.ms / 1000,
            commits=self.commits,
            events=self.timeline.ran,
            faults=dict(sorted(self.chance.fired.items())),
            probes=self._probes(),
            rested_at=self._rested_at,
            objects=self.observed.objects,
            counts=self._counted.counts(),
            chance=self.chance,
            trail=self.digest.trail,
        )

    def begin(self) -> None:
        """Put what is going to happen on the timeline; `run` does, and goes through it."""
        for name in (*_NAMESPACES, NODE_LEASES) if self.agents else _NAMESPACES:
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            self.people.ask(Request("create", "", "v1", "namespaces", body=codec.encode(body)), counts=False)
        for step in self.scenario.steps:
            self.timeline.at(round(step.at_seconds * 1000), self.people.take, step)
        for plane in self.planes:
            self.timeline.after(10 + self.chance.stream("start", plane.name).choose(1000), plane.start)
        for agent in self.agents:
            self.timeline.after(10 + self.chance.stream("start", agent.name).choose(1000), agent.start)
        for mishap in self.scenario.mishaps:
            inject, lasts_ms = self._incidents.of_nodes.inject, int(mishap.seconds * 1000)
            self.timeline.at(int(mishap.at_seconds * 1000), inject, mishap.name, mishap.node, lasts_ms)
        for pinned in self.scenario.pinned:
            self.timeline.at(int(pinned.at_seconds * 1000), self._pinned.begin, pinned)
        for of_disk in self.scenario.disk_mishaps:
            self.timeline.at(int(of_disk.at_seconds * 1000), self._disk_mishaps.begin, of_disk)
        for plane in self.planes:
            plane.link.stalled.update((name, int(until * 1000)) for name, until in self.scenario.unlisted)
        if (older := self.scenario.older) is not None:
            self.timeline.at(int(older.until_seconds * 1000), self.planes[older.slot].crash)
        if self._faults.incident:
            self.timeline.after(EVERY_MS, self._tick)

    def _begin_faults(self, faults: Faults) -> None:
        self._set_faults(faults)
        self._tick()

    def _go(self) -> None:
        scenario, timeline = self.scenario, self.timeline
        self._until(scenario.faults_until_seconds)
        if timeline.ms >= self._stop_ms:
            return
        self._calm_down()
        quiet_ms = int(scenario.quiet_seconds * 1000)
        while self.people.left or not self._is_quiet(quiet_ms):
            if timeline.ms >= scenario.seconds_max * 1000:
                raise self._restless()
            if timeline.ms >= self._stop_ms:
                return
            # Who does not see what is to be done is not at rest, and neither are those whom nobody leads.
            if not all(each.follows for each in self._processes) or not self._is_led():
                self._quiet_since_ms = timeline.ms
            self._until(timeline.ms / 1000 + 1.0)
        self._rested_at = timeline.ms / 1000
        self.digest.tell("rests", WORLD, "nothing was written for a while, and everybody follows")
        self.observed.quiesced(self._rested_at)
        rest = scenario.rest_seconds
        if not scenario.looks_ahead:
            rest = max(scenario.quiet_seconds, rest)
        self._until(max(scenario.seconds_min, self._rested_at + rest))

    def _is_led(self) -> bool:
        return not self.planes or any(each.plane.leadership.may_act(each.now) for each in self.planes)

    def _is_quiet(self, quiet_ms: int) -> bool:
        quiet_for_ms, scenario = self.timeline.ms - self._quiet_since_ms, self.scenario
        if not scenario.looks_ahead:
            return quiet_for_ms >= quiet_ms
        if not self.agents and nothing_is_due(self.timeline, self.planes, scenario.quiet_seconds):
            return True
        enough_ms = quiet_ms if self.agents else max(quiet_ms, WAIT_BACKOFF_MAX_SECONDS * 1000)
        return quiet_for_ms >= enough_ms and are_idle(self.planes, scenario.rest_seconds)

    def _restless(self) -> Violation:
        return why_restless(self.server, self._processes, self.timeline.ms, self._last_writes, self.people)

    def _mirroring(self) -> Iterator[Mirroring]:
        for each in self._processes:
            yield Mirroring(each.called, each.mirrors, each.link.listed)

    def _until(self, seconds: float) -> None:
        self.timeline.run_until(min(int(seconds * 1000), self._stop_ms))

    def _calm_down(self) -> None:
        """Faults stop: what is cut is joined, what is down comes up, clocks stay as they are."""
        self.digest.tell("calm", WORLD, "faults stop")
        self.chance.end_faults()
        self._set_faults(CALM)
        self._last_writes.forget()
        # Quiet is counted from here: before it, nobody might have been able to write.
        self._quiet_since_ms = self._calm_since_ms = self.timeline.ms
        for link in self._links:
            link.join()

    def _set_faults(self, faults: Faults) -> None:
        self._faults = self.server.faults = faults
        self.people.unheard = faults.person_unheard
        for plane in self.planes:
            plane.faults = faults
            plane.link.set_faults(faults)
        for agent in self.agents:
            agent.set_faults(faults)
        self._incidents.of_nodes.goes_on = bool(faults.incident)

    def _tick(self) -> None:
        if self._faults.incident:
            self._incidents.perhaps(self._faults)
            self.timeline.after(EVERY_MS, self._tick)

    def _fault(self, label: str, actor: str) -> None:
        self.digest.tell("fault", actor.partition(" ")[0] or WORLD, f"{label} {actor}".rstrip())

    # Witness of the server

    def committed(self, changes: tuple[CommittedChange, ...], origins: dict[int, str]) -> None:
        timeline = self.timeline
        self.commits += len(changes)
        for change in changes:
            key = change.entry.key
            if change.type == ADDED:
                self._created[key.resource] = self._created.get(key.resource, 0) + 1
            if key.resource != LEASES.name:
                if not self._retold.is_so(key, change.type != DELETED, timeline.ms / 1000):
                    self._quiet_since_ms = timeline.ms
            elif self._is_takeover(change) and any(plane.mid_turn for plane in self.planes):
                self._takeovers_mid_turn += 1
        self.observed.committed(changes, origins, timeline.ms / 1000, self.server.seconds_ahead)

    def answered(self, request: Request, origin: str, reply: Reply) -> None:
        if self._faults is CALM:
            calm_seconds = (self.timeline.ms - self._calm_since_ms) / 1000
            self.observed.answered(request, origin, reply, calm_seconds)

    def _is_takeover(self, change: CommittedChange) -> bool:
        if self.scenario.capabilities.fencing:
            return change.entry.key.name == FENCE
        if change.entry.key.name != LEASE:
            return False
        before, self._holder = self._holder, codec.decode(change.entry.data)["spec"]["holderIdentity"]
        return bool(before != self._holder)

    def wake_watches(self, subscriptions: list[Subscription]) -> None:
        for subscription in subscriptions:
            for link in self._links:
                if link.wake(subscription):
                    break

    def server_died(self) -> None:
        for link in self._links:
            link.break_watches()

    def _probes(self) -> dict[str, int]:
        """What must happen sometimes, or the seeds prove little; 0 where it did not."""
        probes = {
            CRASH_BETWEEN_WRITES: sum(p.crashes_between_writes for p in self.planes),
            TAKEOVER_MID_TURN: self._takeovers_mid_turn,
            RELIST_AFTER_410: sum(p.link.expired for p in self.planes),
        }
        for effect, call in CALLS.items():
            timeouts = sum(p.link.timeouts_after_commit.get(call, 0) for p in self.planes)
            probes[timeout_after_commit(effect)] = timeouts
        return (
            probes
            | self._moments
            | coverage(self.people, [plane.met for plane in self.planes], self._created)
        )
