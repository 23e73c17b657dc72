"""An agent as a process: `runtime/node/driver.py` in virtual time.

It speaks to the API as its node (`system:node:NAME`) over a way of its own, and to its machine (`machines.py`), which
goes on without it. Each start is a new Agent that knows what the one before kept on its machine, and finds the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import structs

from fairlead.agent import contract as c
from fairlead.agent.machine import Agent
from fairlead.api.access.users import AUTHENTICATED, NODE_PREFIX, NODES, User
from fairlead.api.plan import Context, Watch
from fairlead.cache.events import Framed, Mirrored
from fairlead.cache.mirror import Mirror, MirrorPhase
from fairlead.model.catalog import CATALOG
from fairlead.port.driving import Follow, ListAll, Stepped, WakeAt, Woke
from fairlead.port.request import READ_VERBS, Reply, Request
from fairlead.sim.calls import Heard
from fairlead.sim.chance import Chance
from fairlead.sim.digest import Digest
from fairlead.sim.faults import Faults, NodeFaults
from fairlead.sim.network import Link
from fairlead.sim.processes.driving import SimulatedProcess
from fairlead.sim.processes.machines import SimulatedMachine
from fairlead.sim.processes.server import SimulatedServer
from fairlead.sim.time import Timeline
from fairlead.store.contract import Entry
from fairlead.store.watch import Accepts, Subscription

_STATUS_LATE_MS_MAX = 9_000

MakeAgent = Callable[[c.NodeSettings], Agent]


class NodeLink(Link):
    """Lists and watches as this node may: through the API's own judgement, with the selectors that the agent names."""

    def __init__(
        self, timeline: Timeline, chance: Chance, server: SimulatedServer, node: str, name: str
    ) -> None:
        self._reported: dict[tuple[str, str, str], Request] = {}  # the last of each object
        super().__init__(name, timeline, chance, server)
        self.user = User(f"{NODE_PREFIX}{node}", groups=(NODES, AUTHENTICATED))
        self.selectors: dict[str, str] = {}

    def set_faults(self, faults: Faults) -> None:
        super().set_faults(faults)
        of_nodes = faults if isinstance(faults, NodeFaults) else NodeFaults()
        self._late, self._again = of_nodes.status_late, of_nodes.status_again

    def call(self, request: Request, user: User, origin: str, heard: Heard) -> None:
        """A report of a status may be under way for long, and the one before may come after it once more."""
        if request.subresource != "status":
            super().call(request, user, origin, heard)
            return
        what, chance = f"{self.name} {request.plural}", self._chance
        before = self._reported.get((request.plural, request.namespace, request.name))
        self._reported[request.plural, request.namespace, request.name] = request
        send = super().call
        if chance.faults("status_late", what).happens(self._late):
            self._timeline.after(1 + chance.stream("status.late", what).choose(_STATUS_LATE_MS_MAX), send,
                                 request, user, origin, heard)  # fmt: skip
        else:
            send(request, user, origin, heard)
        if before is not None and chance.faults("status_again", what).happens(self._again):
            delay = 100 + chance.stream("status.again", what).choose(_STATUS_LATE_MS_MAX)
            self._timeline.after(delay, send, before, user, origin, lambda outcome: None)

    def _entries(self, resource: str, revision: int) -> tuple[Entry, ...]:
        listed = self._planned(resource, "list")
        if not isinstance(listed, Reply) or listed.status != 200:
            raise RuntimeError(f"a node's list was refused: {listed}")
        accepts = self._accepted(resource)
        entries = super()._entries(resource, revision)
        return tuple(each for each in entries if accepts is None or accepts(each))

    def _subscribe(self, resource: str, since: int) -> Subscription:
        return self._server.hub.subscribe(resource, "", self._accepted(resource), since)

    def _accepted(self, resource: str) -> Accepts | None:
        watch = self._planned(resource, "watch")
        if not isinstance(watch, Watch):
            raise RuntimeError(f"a node's watch was refused: {watch}")
        return watch.accepts

    def _planned(self, resource: str, verb: str) -> object:
        kind = CATALOG.of_resource(resource)
        assert kind is not None
        query = {"resourceVersion": str(self._server.store.revision)} if verb == "watch" else {}
        if self.selectors.get(resource):
            query["fieldSelector"] = self.selectors[resource]
        request = Request(verb, kind.group, kind.version, kind.plural, query=query)
        return self._server.api.plan(request, Context(self.user, self._timeline.now, bytes(16)))


class AgentProcess(SimulatedProcess[c.AgentEvent, c.AgentInstruction]):
    skew_ms_max = 60_000
    drifts = False  # supervisors and agent go by one clock, on which deadlines rest
    in_order = True

    def __init__(
        self,
        settings: c.NodeSettings,
        make: MakeAgent,
        machine: SimulatedMachine,
        timeline: Timeline,
        chance: Chance,
        digest: Digest,
        link: NodeLink,
    ) -> None:
        super().__init__(timeline, chance, digest, link)
        self._crashes = chance.faults("agent_crash_at_write", self.name)
        self._crash_sent = chance.details("crash.sent", self._crashes)
        self.settings = settings
        self.machine = machine
        self._user, self._selectors = link.user, link.selectors
        self._make = make

    def set_faults(self, faults: Faults) -> None:
        self.faults = faults
        self.link.set_faults(faults)
        self.machine.failing = faults.driver_failed if isinstance(faults, NodeFaults) else 0.0

    @property
    def follows(self) -> bool:
        """It runs, and all its mirrors are up to date, or will be soon."""
        return (
            self.up
            and self._timeline.ms >= self._paused_until
            and all(mirror.phase is MirrorPhase.FOLLOWING for mirror in self.agent.mirrors.values())
        )

    @property
    def called(self) -> str:
        return f"agent of {self.settings.name}"

    @property
    def mirrors(self) -> Mapping[str, Mirror[Any]]:
        return self.agent.mirrors

    # What becomes of it

    def start(self) -> None:
        self._begin_life()
        self.agent = self._make(structs.replace(self.settings, boot=str(self._life)))
        self._selectors.update(self.agent.selectors)
        self._note(f"starts, {self._skew_ms} ms ahead")
        self._start_machine(self.agent, c.Recalled(tuple(self.machine.kept.values()), self.now))
        if self.up:
            life = self._life
            self.machine.attach(lambda make: self._hear(life, lambda: make(self.now)), self._skew_ms)

    def crash(self, restarts: bool = True) -> None:
        if not self.up:
            return
        self.up = False
        self.link.close()
        self.machine.detach()
        self._note("dies")
        if restarts:
            self._restart_later()

    def set_wall_clock(self, ahead_seconds: float) -> None:
        """Of its machine. Its own time goes on; it is told."""
        self._note(f"has its wall clock set {ahead_seconds:g} s ahead")
        told = f"the wall clock was set, {ahead_seconds:g} s ahead"
        self._hear(self._life, lambda: Stepped(ahead_seconds - self._skew_ms / 1000, told, self.now))

    def lose_power(self, ms: int) -> None:
        """The whole machine, for so long."""
        if not self.machine.powered:
            return
        self.crash(restarts=False)
        self._life += 1
        self.machine.lose_power()
        self._timeline.after(ms, self._restore, self._life)

    def _restore(self, life: int) -> None:
        if life == self._life:
            self.machine.restore()
            self.start()

    def _note_event(self, event: c.AgentEvent) -> None:
        match event:
            case c.Saw() | c.Probed() | c.Closed() | c.Failed() | c.Found():
                self._note(f"hears {type(event).__name__}")
            case c.Answered(call, outcome):
                self._note(f"is answered {call} {type(outcome).__name__}")
            case Mirrored(resource, events):
                revisions = [each.entry.revision for each in events if isinstance(each, Framed)]
                self._note(f"is told {resource} {type(events[0]).__name__} {revisions}")
            case Woke(timer=resource) if resource:
                self._note(f"is told {resource} Woke []")

    # What it asks for

    def _carry_out(self, instruction: c.AgentInstruction) -> None:
        match instruction:
            case c.Ask():
                self._ask(instruction)
            case WakeAt():
                self._wake_at(instruction)
            case ListAll():
                self._list(instruction)
            case Follow():
                self._follow(instruction)
            case c.Keep():
                self.machine.keep(instruction)
            case c.Serve() | c.Log():
                self._note(repr(instruction))
            case c.Attend() | c.Disregard():
                pass  # its watches bring nothing: an agent does without such hints
            case _:
                self.machine.carry_out(instruction)

    def _ask(self, ask: c.Ask) -> None:
        request, faults = ask.request, self.faults
        self._note(
            f"asks {ask.call} {request.verb} {request.plural} {request.namespace}/{request.name}/"
            f"{request.subresource} {request.body.decode()}"
        )
        likely = faults.agent_crash_at_write if isinstance(faults, NodeFaults) else 0.0
        dies = request.verb not in READ_VERBS and self._crashes.happens(likely)
        if not dies or self._crash_sent.choose(2):
            life, origin = self._life, self.called
            self.link.call(
                request,
                self._user,
                origin,
                lambda outcome: self._hear(life, lambda: c.Answered(ask.call, outcome, self.now)),
            )
        if dies:
            self.crash()

    def _note(self, text: str) -> None:
        self._digest.add(b"agent", self.name, text)
