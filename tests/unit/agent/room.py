"""A node's surroundings for tests of its machine: the real API in memory, and a machine whose supervisors are records.

`Room` drives one Agent: what it asks of the API goes through every verb, with the node's own rights; what it asks of
the driver is done by `Supervisors`, which outlive the agent, start each attempt once and keep how it ended. Time moves
only by `pass_time`. `settle` carries out all that waits; a test that wants another order takes from the queues itself.
"""

from __future__ import annotations

import json
from collections import deque
from typing import Any

import msgspec

from fairlead.agent import contract as c
from fairlead.agent.machine import Agent
from fairlead.agent.pace import Pace
from fairlead.api.access.users import MASTERS, User
from fairlead.api.plan import Watch
from fairlead.cache.events import Framed, Listed, ListFailed, Mirrored
from fairlead.model.key import Key
from fairlead.model.marks import RELEASED
from fairlead.port.driving import Follow, ListAll, Started, WakeAt, Woke
from fairlead.port.outcome import Outcome, Refused, Unknown, outcome_of
from fairlead.port.request import MERGE_PATCH, Reply, Request
from fairlead.store.contract import CommittedChange, Entry
from tests.inprocess import InProcess

NODE = "node-a"
PLANE = User("system:fairlead:release", groups=(MASTERS,))
USER = User(f"system:node:{NODE}", groups=("system:nodes", "system:authenticated"))
SETTINGS = c.NodeSettings(
    NODE, labels={"fairlead.dev/driver": "process"}, info={"osImage": "test"}, boot="one"
)


class Supervisors:
    """What is on the machine. `starts` is every start that really happened."""

    def __init__(self) -> None:
        self.sandboxes: dict[str, c.Sandbox] = {}
        self.deadlines: dict[str, float] = {}
        self.starts: list[tuple[str, str, int]] = []
        self.runs: dict[tuple[str, str], c.ContainerRun] = {}
        self.opened: dict[str, c.Open] = {}
        self.told: list[Any] = []  # instructions in order
        self.stubborn = False  # processes ignore SIGTERM
        self.accepts_deadlines = True
        self.kept: dict[tuple[str, str, str], c.Keep] = {}
        self.refuse: dict[str, str] = {}  # instruction -> message: it fails

    def carry_out(self, instruction: Any, now: float) -> list[Any]:
        self.told.append(instruction)
        name = type(instruction).__name__
        if name in self.refuse:
            return [c.Failed(instruction.uid, name, self.refuse[name], now)]
        match instruction:
            case c.Extend():
                for uid in self.deadlines:
                    self.deadlines[uid] = max(self.deadlines[uid], instruction.deadline)
                return []
            case c.LiftDeadline():
                self.deadlines.pop(instruction.uid, None)
                box = msgspec.structs.replace(self.sandboxes[instruction.uid], deadline=None)
                self.sandboxes[instruction.uid] = box
                return [c.Saw(box, now)]
            case c.Open():
                return self._open(instruction, now)
            case c.Start():
                return self._start(instruction, now)
            case c.Stop():
                if instruction.uid not in self.sandboxes:
                    return [c.Closed(instruction.uid, now)]
                if not self.stubborn:
                    self._end(instruction.uid, instruction.container, 143, now, "Error")
                return [c.Saw(self.sandboxes[instruction.uid], now)]
            case c.Close():
                self.sandboxes.pop(instruction.uid, None)
                self.deadlines.pop(instruction.uid, None)
                return [c.Closed(instruction.uid, now)]
        return []

    def _open(self, wanted: c.Open, now: float) -> list[Any]:
        box = self.sandboxes.get(wanted.uid)
        if box is not None and box.fenced:
            return [c.Failed(wanted.uid, "Open", "it must be closed", now)]
        if box is None:
            box = c.Sandbox(wanted.uid, wanted.namespace, wanted.name, wanted.address)
        self.opened[wanted.uid] = wanted
        self.deadlines.pop(wanted.uid, None)
        if wanted.deadline is not None and self.accepts_deadlines:
            self.deadlines[wanted.uid] = wanted.deadline
        deadline = self.deadlines.get(wanted.uid)
        self.sandboxes[wanted.uid] = msgspec.structs.replace(box, alive=True, deadline=deadline)
        return [c.Saw(self.sandboxes[wanted.uid], now)]

    def _start(self, wanted: c.Start, now: float) -> list[Any]:
        box, run = self.sandboxes.get(wanted.uid), wanted.run
        if box is None:
            return [c.Failed(wanted.uid, "Start", "the pod is not open on this machine", now)]
        known = {each.name: each for each in box.containers}
        before = known.get(run.name)
        if not box.alive or box.fenced or (before is not None and before.attempt >= run.attempt):
            return [c.Saw(box, now)]
        assert before is None or before.ended is not None, "two runs of one container at a time"
        self.starts.append((wanted.uid, run.name, run.attempt))
        self.runs[wanted.uid, run.name] = run
        previous = before.ended if before is not None else None
        known[run.name] = c.ContainerState(
            name=run.name, attempt=run.attempt, started_at=now, pid=4711, ended=None, previous=previous
        )
        self.sandboxes[wanted.uid] = msgspec.structs.replace(box, containers=tuple(known.values()))
        return [c.Saw(self.sandboxes[wanted.uid], now)]

    def _end(self, uid: str, container: str, exit_code: int, now: float, reason: str) -> None:
        box = self.sandboxes[uid]
        made = []
        for each in box.containers:
            if each.ended is None and container in ("", each.name):
                end = c.ContainerEnded(
                    attempt=each.attempt,
                    exit_code=exit_code,
                    signal=0,
                    reason=reason,
                    message="",
                    started_at=each.started_at,
                    finished_at=now,
                )
                each = msgspec.structs.replace(each, ended=end, pid=0)
            made.append(each)
        self.sandboxes[uid] = msgspec.structs.replace(box, containers=tuple(made))

    def running(self, uid: str = "") -> list[tuple[str, str]]:
        return [
            (box.uid, each.name)
            for box in self.sandboxes.values()
            if box.alive and not box.fenced and uid in ("", box.uid)
            for each in box.containers
            if each.ended is None
        ]


class Room:
    def __init__(
        self, pace: Pace | None = None, settings: c.NodeSettings = SETTINGS, cidr: str = "127.128.1.0/24"
    ):
        self.api = InProcess()
        self.api.post("/api/v1/namespaces", {"metadata": {"name": "kube-node-lease"}})
        self.pace, self.settings, self.cidr = pace or Pace(), settings, cidr
        self.machine = Supervisors()
        self.asks: deque[c.Ask] = deque()
        self.driver: deque[Any] = deque()  # instructions
        self.events: deque[Any] = deque()  # of the driver
        self.looks: dict[int, c.Probe] = {}
        self.serves: list[c.Serve] = []
        self.logs: list[str] = []
        self.requests: list[Any] = []
        self.broken = False  # the API does not answer
        self.lists_at = (
            0  # lists are answered by a server that has come to this revision; 0: by one that has all
        )
        self.is_full = False  # it has no room for anything but leases
        self.refuses_watches = False  # of single objects
        self.start_agent()

    @property
    def now(self) -> float:
        return self.api.now

    # The agent's life

    def start_agent(self) -> None:
        """A new agent on this machine; the one before is as if killed."""
        self.agent = Agent(self.settings, self.pace)
        self.asks.clear()
        self.driver.clear()
        self.events.clear()
        self.looks.clear()
        self.attended: set[tuple[str, str, str]] = set()
        self.stirs: deque[c.Stirred] = deque()
        self.frames: dict[str, deque[CommittedChange]] = {}
        self.lists: deque[ListAll] = deque()
        self.found_due = False
        self.wake_at = 0.0
        self.mirror_wakes: dict[str, float] = {}
        self._published = len(self.api.published)

    def begin(self) -> None:
        self.begin_unknowing()
        self.find()

    def begin_unknowing(self) -> None:
        """It does not know yet what is on the machine, but for what was kept there."""
        self.tell(c.Recalled(tuple(self.machine.kept.values()), self.now))
        self.tell(Started(self.now, 0.5))

    def find(self) -> None:
        self.found_due = False
        self.events.clear()  # the driver tells nothing before it
        self.tell(c.Found(tuple(self.machine.sandboxes.values()), self.now))

    def tell(self, event: c.AgentEvent) -> None:
        for each in self.agent.handle(event):
            match each:
                case c.Ask():
                    self.asks.append(each)
                case c.Attend():
                    self.attended.add((each.resource, each.namespace, each.name))
                    self._show(each)
                case c.Disregard():
                    self.attended.discard((each.resource, each.namespace, each.name))
                case WakeAt(at, ""):
                    self.wake_at = at
                case WakeAt(at, resource):
                    self.mirror_wakes[resource] = at
                case c.Probe():
                    self.looks[each.number] = each
                case c.Serve():
                    self.serves.append(each)
                case c.Keep():
                    place = (each.resource, each.namespace, each.name)
                    self.machine.kept.pop(place, None)
                    if each.data is not None:
                        self.machine.kept[place] = each
                case c.Log():
                    self.logs.append(each.message)
                case ListAll():
                    self.lists.append(each)
                case Follow():
                    self.frames[each.resource_name] = deque()
                case _:
                    self.driver.append(each)

    def _show(self, wanted: c.Attend) -> None:
        """A watch of one object begins with what is there, if this node may watch it."""
        query = {"fieldSelector": f"metadata.name={wanted.name}"}
        watch = self.api.send(
            Request("watch", "", "v1", wanted.resource, wanted.namespace, query=query), USER
        )
        if self.refuses_watches or self.broken or not isinstance(watch, Watch):
            self.attended.remove((wanted.resource, wanted.namespace, wanted.name))
            self.stirs.append(c.Stirred(wanted.resource, wanted.namespace, wanted.name, 0, self.now))
            return
        entry = self.api.store.get(Key(wanted.resource, wanted.namespace, wanted.name))
        if entry is not None:
            self.stirs.append(c.Stirred(*entry.key, entry.revision, self.now))

    # What waits

    def publish(self) -> None:
        """Committed changes go to the watches that are open."""
        for change in self.api.published[self._published :]:
            resource = change.entry.key.resource
            if resource in self.frames and self._selected(resource, change.entry):
                self.frames[resource].append(change)
            if change.entry.key in self.attended:
                self.stirs.append(c.Stirred(*change.entry.key, change.entry.revision, self.now))
        self._published = len(self.api.published)

    def list_next(self) -> None:
        self.publish()
        asked = self.lists.popleft()
        if self.broken:
            failed = ListFailed("nobody answers", self.now, asked.attempt)
            self.tell(Mirrored(asked.resource_name, (failed,)))
            return
        entries = [
            each
            for each in self.api.store.list(asked.resource_name)
            if self._selected(asked.resource_name, each)
        ]
        if self.lists_at:
            entries = [each for each in entries if each.revision <= self.lists_at]
        event = Listed(self.lists_at or self.api.store.revision, tuple(entries), self.now, asked.attempt)
        self.tell(Mirrored(asked.resource_name, (event,)))

    def frame_next(self, resource: str) -> None:
        change = self.frames[resource].popleft()
        self.tell(Mirrored(resource, (Framed(change.type, change.entry, self.now),)))

    def stir_next(self) -> None:
        self.tell(self.stirs.popleft())

    def answer_next(self, lost_before: bool = False, lost_after: bool = False) -> None:
        ask = self.asks.popleft()
        outcome: Outcome = Unknown("timed out")
        if self.is_full and ask.request.verb != "get" and ask.request.plural != "leases":
            outcome = Refused(507, "InsufficientStorage", "the server's disk is full")
        elif not (lost_before or self.broken):
            self.requests.append(ask.request)
            reply = self.api.send(ask.request, USER)
            assert isinstance(reply, Reply)
            if not lost_after:
                outcome = outcome_of(reply)
            self._assign_range()
        self.tell(c.Answered(ask.call, outcome, self.now))
        self.publish()

    def drive_next(self) -> None:
        self.events.extend(self.machine.carry_out(self.driver.popleft(), self.now))

    def tell_next(self) -> None:
        self.tell(self.events.popleft())

    def waiting(self) -> list[Any]:
        """What could happen next, as functions."""
        self.publish()
        ready: list[Any] = []
        if self.lists:
            ready.append(self.list_next)
        if self.found_due:
            ready.append(self.find)
        for resource, frames in self.frames.items():
            if frames:
                ready.append(lambda resource=resource: self.frame_next(resource))
        for queue, step in (
            (self.driver, self.drive_next),
            (self.events if not self.found_due else (), self.tell_next),
            (self.asks, self.answer_next),
            (self.stirs, self.stir_next),
        ):
            if queue:
                ready.append(step)
        return ready

    def settle(self) -> None:
        for _ in range(5000):
            ready = self.waiting()
            if not ready:
                return
            ready[0]()
        raise AssertionError("it does not come to rest")

    def pass_time(self, seconds: float, looks: bool | None = None) -> None:
        """Time goes on, from timer to timer. `looks`: how every probe ends; None leaves them open."""
        end = self.now + seconds
        self.settle()
        self.look(looks)
        for _ in range(5000):
            timers = [at for at in (self.wake_at, *self.mirror_wakes.values()) if at]
            boxes = self.machine.sandboxes
            timers += [
                at
                for uid, at in self.machine.deadlines.items()
                if boxes[uid].alive and not boxes[uid].fenced  # a dead supervisor fences nothing
            ]
            at = min(timers, default=end)
            if at > end:
                break
            self.api.now = max(self.now, at)
            self.fire()
            self.settle()
            self.look(looks)
        self.api.now = end

    def fire(self) -> None:
        """Timers whose time has come."""
        self.fence()
        for resource, at in list(self.mirror_wakes.items()):
            if at <= self.now:
                del self.mirror_wakes[resource]
                self.tell(Woke(self.now, 0.5, resource))
        if self.wake_at and self.wake_at <= self.now:
            self.wake_at = 0.0
            self.tell(Woke(self.now, 0.5))
            assert not self.wake_at or self.wake_at > self.now, "it would wake without end"

    def fence(self) -> None:
        for uid, at in self.machine.deadlines.items():
            box = self.machine.sandboxes[uid]
            if at <= self.now and box.alive and not box.fenced:
                self.machine._end(uid, "", 137, self.now, "DeadlineExceeded")
                box = msgspec.structs.replace(self.machine.sandboxes[uid], fenced=True, alive=False)
                self.machine.sandboxes[uid] = box
                self.events.append(c.Saw(box, self.now))

    def look(self, good: bool | None) -> None:
        while good is not None and self.looks:
            number = next(iter(self.looks))
            del self.looks[number]
            self.events.append(c.Probed(number, good, "" if good else "no answer", self.now))
            self.settle()

    # The world

    def exits(self, name: str, container: str = "main", code: int = 0, tell: bool = True) -> None:
        uid = self.uid(name)
        reason = "Completed" if code == 0 else "Error"
        self.machine._end(uid, container, code, self.now, reason)
        if tell:
            self.events.append(c.Saw(self.machine.sandboxes[uid], self.now))
            self.settle()

    def lose_supervisor(self, uid: str) -> None:
        self.machine._end(uid, "", 137, self.now, "SupervisorLost")
        box = msgspec.structs.replace(self.machine.sandboxes[uid], alive=False)
        self.machine.sandboxes[uid] = box
        self.events.append(c.Saw(box, self.now))

    def create(self, name: str = "web", containers: Any = None, metadata: Any = None, **spec: Any) -> str:
        whole = {
            "nodeName": NODE,
            "containers": containers or [container()],
            "terminationGracePeriodSeconds": 30,
            **spec,
        }
        body = {"metadata": {"name": name, **(metadata or {})}, "spec": whole}
        status, pod = self.api.post("/api/v1/namespaces/default/pods", body)
        assert status == 201, pod
        return str(pod["metadata"]["uid"])

    def put(self, plural: str, name: str, **fields: Any) -> None:
        body = {"metadata": {"name": name}, **fields}
        status, found = self.api.post(f"/api/v1/namespaces/default/{plural}", body)
        if status == 409:
            status, found = self.api.patch(f"/api/v1/namespaces/default/{plural}/{name}", fields)
        assert status in (200, 201), found

    def release(self, name: str = "web") -> None:
        """As the plane does it."""
        status = {"conditions": [{"type": RELEASED, "status": "True", "reason": "NodeFenced"}]}
        path = f"/api/v1/namespaces/default/pods/{name}/status"
        code, body = self.api.request("PATCH", path, {"status": status}, MERGE_PATCH, user=PLANE)
        assert code == 200, body

    def delete(self, name: str = "web", grace: int | None = None) -> None:
        options = {} if grace is None else {"gracePeriodSeconds": grace}
        self.api.delete(f"/api/v1/namespaces/default/pods/{name}", {"kind": "DeleteOptions", **options})

    def pod(self, name: str = "web") -> Any:
        status, body = self.api.get(f"/api/v1/namespaces/default/pods/{name}")
        return body if status == 200 else None

    def uid(self, name: str = "web") -> str:
        return str(self.pod(name)["metadata"]["uid"])

    def status(self, name: str = "web") -> Any:
        return self.pod(name)["status"]

    def container(self, name: str = "web", container: str = "main") -> Any:
        status = self.status(name)
        listed = [*status.get("containerStatuses", ()), *status.get("initContainerStatuses", ())]
        return next(each for each in listed if each["name"] == container)

    def condition(self, kind: str, name: str = "web") -> Any:
        return next((each for each in self.status(name)["conditions"] if each["type"] == kind), {})

    def node(self) -> Any:
        return self.api.get(f"/api/v1/nodes/{NODE}")[1]

    def lease(self) -> Any:
        return self.api.get(f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{NODE}")[1]

    def reasons(self) -> list[str]:
        """Reasons of all Events, in the order in which they were written."""
        found = self.api.get("/api/v1/namespaces/default/events")[1]["items"]
        found.sort(key=lambda each: int(each["metadata"]["resourceVersion"]))
        return [each["reason"] for each in found]

    def told(self, kind: type) -> list[Any]:
        return [each for each in self.machine.told if isinstance(each, kind)]

    def _assign_range(self) -> None:
        """What a controller does for every node."""
        status, node = self.api.get(f"/api/v1/nodes/{NODE}")
        if status == 200 and self.cidr and not node["spec"].get("podCIDR"):
            self.api.patch(f"/api/v1/nodes/{NODE}", {"spec": {"podCIDR": self.cidr, "podCIDRs": [self.cidr]}})

    def _selected(self, resource: str, entry: Entry) -> bool:
        if resource == "pods":
            return bool(json.loads(entry.data)["spec"].get("nodeName") == NODE)
        return resource != "nodes" or entry.key.name == NODE


def container(name: str = "main", **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": "process", "command": ["serve"], **fields}


def running(pace: Pace | None = None, **options: Any) -> Room:
    """A room whose agent has registered."""
    room = Room(pace, **options)
    room.begin()
    room.settle()
    return room
