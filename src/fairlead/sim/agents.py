"""An agent as a process: `runtime/agent_driver.py` in virtual time, with crashes, pauses and a clock that may be wrong.

It speaks to the API as its node (`system:node:NAME`) over a way of its own, and to its machine (`machines.py`), which
goes on without it. Each start is a new Agent that knows what the one before kept on its machine, and finds the rest.
What comes while it is paused waits, and is handled in the order in which it came.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from msgspec import structs

from fairlead.agent import contract
from fairlead.agent.machine import Agent
from fairlead.api.plan import Context, Watch
from fairlead.api.users import AUTHENTICATED, NODE_PREFIX, NODES, User
from fairlead.cache import events as mirrored
from fairlead.cache.mirror import Phase
from fairlead.model.catalog import CATALOG
from fairlead.port.outcome import Outcome
from fairlead.port.request import READ_VERBS, Reply, Request
from fairlead.sim.digest import Digest
from fairlead.sim.faults import Faults, NodeFaults
from fairlead.sim.machines import Machine
from fairlead.sim.network import Link
from fairlead.sim.server import Server
from fairlead.sim.tape import Tape
from fairlead.sim.time import Timeline
from fairlead.store.contract import Entry
from fairlead.store.watch import Accepts, Subscription

_SKEW_MS_MAX = 60_000
_RESTART_MS_MAX = 8_000

MakeAgent = Callable[[contract.NodeSettings], Agent]


class NodeLink(Link):
    """Lists and watches as this node may: through the API's own judgement, with the selectors that the agent names."""

    label = "ask"

    def __init__(self, timeline: Timeline, tape: Tape, server: Server, node: str) -> None:
        super().__init__(timeline, tape, server)
        self.user = User(f"{NODE_PREFIX}{node}", groups=(NODES, AUTHENTICATED))
        self.selectors: dict[str, str] = {}

    def _entries(self, resource: str) -> tuple[tuple[Entry, ...], int]:
        listed = self._planned(resource, "list")
        if not isinstance(listed, Reply) or listed.status != 200:
            raise RuntimeError(f"a node's list was refused: {listed}")
        accepts = self._accepted(resource)
        entries, revision = super()._entries(resource)
        return tuple(each for each in entries if accepts is None or accepts(each)), revision

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


class AgentProcess:
    def __init__(
        self,
        settings: contract.NodeSettings,
        make: MakeAgent,
        machine: Machine,
        timeline: Timeline,
        tape: Tape,
        digest: Digest,
        link: NodeLink,
    ) -> None:
        self.settings = settings
        self.machine = machine
        self.link = link
        self.up = False
        self._make = make
        self._timeline, self._tape, self._digest = timeline, tape, digest
        self._faults = Faults()
        self._life = 0
        self._skew_ms = 0
        self._paused_until = 0
        self._waiting: deque[tuple[Callable[..., Iterable[Any]], tuple[Any, ...]]] = deque()
        self._timer = 0
        self._mirror_timers: dict[str, int] = {}

    @property
    def now(self) -> float:
        """What this process believes."""
        return self._timeline.epoch + (self._timeline.ms + self._skew_ms) / 1000

    @property
    def faults(self) -> Faults:
        return self._faults

    @faults.setter
    def faults(self, faults: Faults) -> None:
        self._faults = self.link.faults = faults
        self.machine.failing = faults.driver_failed if isinstance(faults, NodeFaults) else 0.0

    @property
    def follows(self) -> bool:
        """It runs, and all its mirrors are up to date, or will be soon."""
        return (
            self.up
            and self._timeline.ms >= self._paused_until
            and all(mirror.phase is Phase.FOLLOWING for mirror in self.agent.mirrors.values())
        )

    # What becomes of it

    def start(self) -> None:
        self._life += 1
        self.up = True
        self._skew_ms = 0
        if self._tape.happens("clock_skew", self._faults.clock_skew):
            self._skew_ms = self._tape.choose("skew", 2 * _SKEW_MS_MAX) - _SKEW_MS_MAX
        self._paused_until = self.link.paused_until = 0
        self._waiting.clear()
        self._mirror_timers.clear()
        self.agent = self._make(structs.replace(self.settings, boot=str(self._life)))
        self.link.selectors = self.agent.selectors
        self._note(f"starts, {self._skew_ms} ms ahead")
        kept = tuple(self.machine.kept.values())
        self._carry_out(self.agent.begin(self.now, self._tape.chance("agent.chance"), kept))
        if self.up:
            self.machine.attach(partial(self._hear, self._life, self._driven), self._skew_ms)

    def crash(self, restarts: bool = True) -> None:
        if not self.up:
            return
        self.up = False
        self.link.close()
        self.machine.detach()
        self._note("dies")
        if restarts:
            delay = 500 + self._tape.choose("agent.restart", _RESTART_MS_MAX)
            self._timeline.after(delay, self._restart, self._life)

    def pause(self, ms: int) -> None:
        """Nothing happens in it for a while; then it goes on as if nothing had been. Its machine does not wait."""
        self._paused_until = max(self._paused_until, self._timeline.ms + ms)
        self.link.paused_until = self._paused_until

    def set_wall_clock(self, ahead_seconds: float) -> None:
        """Of its machine. Its own time goes on; it is told."""
        self._note(f"has its wall clock set {ahead_seconds:g} s ahead")
        self._hear(self._life, self._stepped, f"the wall clock was set, {ahead_seconds:g} s ahead")

    def _stepped(self, told: str) -> Iterable[Any]:
        return self.agent.stepped(contract.Stepped(told, self.now))

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

    def _restart(self, life: int) -> None:
        if life == self._life and not self.up:
            self.start()

    # What reaches it

    def _hear(self, life: int, act: Callable[..., Iterable[Any]], *arguments: Any) -> None:
        if life != self._life or not self.up:
            return
        if self._timeline.ms < self._paused_until or self._waiting:
            if not self._waiting:
                self._timeline.at(self._paused_until, self._go_on, life)
            self._waiting.append((act, arguments))
            return
        self._carry_out(act(*arguments))

    def _go_on(self, life: int) -> None:
        while life == self._life and self.up and self._waiting:
            if self._timeline.ms < self._paused_until:
                self._timeline.at(self._paused_until, self._go_on, life)
                return
            act, arguments = self._waiting.popleft()
            self._carry_out(act(*arguments))

    def _driven(self, make: Callable[[float], Any]) -> Iterable[Any]:
        event = make(self.now)
        self._note(f"hears {type(event).__name__}")
        match event:
            case contract.Saw():
                return self.agent.saw(event)
            case contract.Probed():
                return self.agent.probed(event)
            case contract.Closed():
                return self.agent.closed(event)
            case contract.Failed():
                return self.agent.failed(event)
            case contract.Found():
                return self.agent.found(event)
        raise TypeError(event)

    def _answered(self, call: int, outcome: Outcome) -> Iterable[Any]:
        self._note(f"is answered {call} {type(outcome).__name__}")
        return self.agent.answered(contract.Answered(call, outcome, self.now))

    def _woke(self, timer: int) -> Iterable[Any]:
        if timer != self._timer:
            return ()
        return self.agent.woke(contract.Woke(self.now, self._tape.chance("agent.chance")))

    def _mirror_woke(self, resource: str, timer: int) -> Iterable[Any]:
        if timer != self._mirror_timers.get(resource):
            return ()
        return self._told(resource, mirrored.Woke(self.now, self._tape.chance("agent.chance")))

    def _told(self, resource: str, *events: mirrored.Event) -> Iterable[Any]:
        now = self.now
        if events[0].now != now:  # they waited while the process was paused
            events = tuple(structs.replace(event, now=now) for event in events)
        revisions = [event.entry.revision for event in events if isinstance(event, mirrored.Framed)]
        self._note(f"is told {resource} {type(events[0]).__name__} {revisions}")
        return self.agent.mirror(resource, *events)

    # What it asks for

    def _carry_out(self, instructions: Iterable[Any]) -> None:
        for instruction in instructions:
            if isinstance(instruction, contract.Ask):
                self._ask(instruction)
                if not self.up:
                    return  # it died at this write
            elif isinstance(instruction, contract.WakeAt):
                self._timer += 1
                self._at(instruction.at, self._woke, self._timer)
            elif isinstance(instruction, contract.MirrorWakeAt):
                resource = instruction.resource
                timer = self._mirror_timers[resource] = self._mirror_timers.get(resource, 0) + 1
                self._at(instruction.at, self._mirror_woke, resource, timer)
            elif isinstance(instruction, mirrored.ListAll):
                name, attempt = instruction.resource_name, instruction.attempt
                self.link.list(name, attempt, self._teller(name), self._clock)
            elif isinstance(instruction, mirrored.Follow):
                name, attempt = instruction.resource_name, instruction.attempt
                self.link.follow(name, instruction.since_revision, attempt, self._teller(name), self._clock)
            elif isinstance(instruction, contract.Keep):
                self.machine.keep(instruction)
            elif isinstance(instruction, (contract.Serve, contract.Log)):
                self._note(repr(instruction))
            elif isinstance(instruction, (contract.Attend, contract.Disregard)):
                pass  # its watches bring nothing: an agent does without such hints
            else:
                self.machine.carry_out(instruction)

    def _ask(self, ask: contract.Ask) -> None:
        request, faults = ask.request, self._faults
        self._note(
            f"asks {ask.call} {request.verb} {request.resource} {request.namespace}/{request.name}/"
            f"{request.subresource} {request.body.decode()}"
        )
        likely = faults.agent_crash_at_write if isinstance(faults, NodeFaults) else 0.0
        dies = request.verb not in READ_VERBS and self._tape.happens("agent_crash_at_write", likely)
        if not dies or self._tape.choose("crash.sent", 2):
            heard = partial(self._hear, self._life, self._answered, ask.call)
            self.link.call(request, self.link.user, f"agent of {self.settings.name}", heard)
        if dies:
            self.crash()

    def _at(self, at: float, act: Callable[..., Iterable[Any]], *arguments: Any) -> None:
        ms = int((at - self._timeline.epoch) * 1000) + 1 - self._skew_ms
        self._timeline.at(max(ms, self._timeline.ms + 1), self._hear, self._life, act, *arguments)

    def _teller(self, resource: str) -> Callable[..., None]:
        return partial(self._hear, self._life, self._told, resource)

    def _clock(self) -> float:
        return self.now

    def _note(self, text: str) -> None:
        self._digest.add(b"agent", f"{self.settings.name} {text}")
