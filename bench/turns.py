"""Turns per second of the whole plane, with 10,000 Deployments: real API, store in memory, all controllers, one thread.

    python bench/turns.py [--json] [--deployments 10000] [--nodes 200] [--profile PHASE]

No sockets, no disk, no waiting: time is virtual and passes only when there is nothing to do, so that what is measured
is the work of the plane and of the API under it. Seconds are of processor time. Phases, each until all is settled:

    one        a single Deployment of one replica is made: what one pod takes, in decisions of each controller (`decisions`)
    create     every Deployment is made, with one replica: ReplicaSets, pods, bindings, statuses
    touch      an annotation of each changes, which its ReplicaSet gets too
    scale      each is scaled to two replicas
    resync     every key of every controller is decided anew, and nothing is to be done
    takeover   another plane, whose mirrors are warm, finds the leader gone and takes over

`turns` are decisions, of which many find nothing to do; `keys_slowed` became hot, because time hardly passes here;
`calls` are requests to the API, `commits` changes stored.
`--profile` prints where the time of one phase goes.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import pstats
import resource
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from fairlead.agent.hollow.decider import hollow_decider
from fairlead.api.access.authn import Tokens
from fairlead.api.access.users import MASTERS, User
from fairlead.api.assembly import Assembly
from fairlead.api.conversation import stored_reply
from fairlead.api.plan import Context
from fairlead.cache.events import Framed, Listed, Marked, Mirrored
from fairlead.control.instructions import (
    Answers,
    AskProgress,
    Call,
    PlaneEvent,
    Record,
    Replied,
    Report,
)
from fairlead.control.placing import Placer
from fairlead.control.plane import Plane
from fairlead.control.roster import default_deciders
from fairlead.core import codec
from fairlead.port.driving import ListAll, Started, WakeAt, Woke
from fairlead.port.outcome import outcome_of
from fairlead.port.request import MERGE_PATCH, Reply, Request
from fairlead.sim.stepped import SteppedServer
from fairlead.store.contract import CommittedChange
from fairlead.store.machine import Store
from fairlead.store.memory import MemoryJournal

CHANGES_AT_ONCE = 256  # as runtime/server/plane_driver.py takes them
NAMESPACES = 20
USER = User("bench", groups=(MASTERS,))


class Server(SteppedServer):
    """The API over a store in memory; a write is durable at once."""

    def __init__(self) -> None:
        journal = MemoryJournal()
        store = Store(journal.recover(), journal)
        super().__init__(Assembly(store, Tokens({}), b"secret"), journal, now=1_800_000_000.0)
        self.commits = self._requests = 0

    def send(self, request: Request) -> Reply:
        self._requests += 1
        number = self._requests
        context = Context(
            user=USER,
            now=self.now,
            entropy=number.to_bytes(16, "big"),
            request_id=str(number),
            user_agent="bench",
            source="127.0.0.1",
        )
        return stored_reply(self.answer(request, context))

    def publish(self, changes: tuple[CommittedChange, ...]) -> None:
        self.commits += len(changes)
        super().publish(changes)


class Process:
    """One plane, driven until it has nothing to do."""

    def __init__(self, server: Server, identity: str, nodes: int) -> None:
        self.server = server
        self.plane = Plane(identity, (*default_deciders(), hollow_decider("node-", nodes)), Placer)
        self.calls = self.records = self.reports = 0
        self.wake_at = 0.0
        self._todo: deque[Any] = deque()
        self._follows: dict[str, tuple[Any, int]] = {}
        self.tell(Started(server.now, 0.5))

    @property
    def turns(self) -> int:
        return sum(self.decisions.values())

    @property
    def decisions(self) -> dict[str, int]:
        return {controller.decider.name: controller.decided for controller in self.plane.controllers}

    def settle(self, seconds: float) -> None:
        """Do all there is to do now and in the next (virtual) seconds."""
        end = self.server.now + seconds
        while True:
            self.keep_up()
            if not self.wake_at or self.wake_at > end:
                break
            self.server.now = max(self.server.now, self.wake_at)
            self.tell(Woke(self.server.now, 0.5))
        self.server.now = end

    def keep_up(self) -> None:
        """Do all there is to do now. What happened is taken in between any two answers, as in production."""
        while self._deliver() or self._todo:
            if self._todo:
                self._do(self._todo.popleft())

    def tell(self, event: PlaneEvent) -> None:
        for instruction in self.plane.handle(event):
            if isinstance(instruction, WakeAt) and not instruction.timer:
                self.wake_at = instruction.at
            elif isinstance(instruction, Record):
                self.records += 1
            elif isinstance(instruction, Report) and instruction.error is None:
                self.reports += 1  # keys that were slowed down
            elif isinstance(instruction, Report | WakeAt):
                raise RuntimeError(f"something went wrong: {instruction}")
            else:
                self._todo.append(instruction)

    def _do(self, instruction: Any) -> None:
        now = self.server.now
        if isinstance(instruction, Call):
            self.calls += 1
            outcome = outcome_of(self.server.send(instruction.request))
            self.tell(Answers((Replied(instruction.call, outcome, now, 0.5),)))
        elif isinstance(instruction, ListAll):
            name = instruction.resource_name
            entries = tuple(self.server.store.list(name))
            listed = Listed(self.server.store.revision, entries, now, instruction.attempt)
            self.tell(Mirrored(name, (listed,)))
        elif isinstance(instruction, AskProgress):
            subscription, attempt = self._follows[instruction.resource]
            self._deliver()
            marked = Marked(self.server.hub.progress(subscription), now, attempt)
            self.tell(Mirrored(instruction.resource, (marked,)))
        else:
            name = instruction.resource_name
            subscription = self.server.hub.subscribe(name, "", None, instruction.since_revision)
            self._follows[name] = (subscription, instruction.attempt)

    def _deliver(self) -> bool:
        found = False
        now = self.server.now
        for name, (subscription, attempt) in self._follows.items():
            if subscription.cut:
                raise RuntimeError(f"the watch of {name} was cut: it was not read for too long")
            if not subscription.ready:
                continue
            changes = self.server.hub.take(subscription, CHANGES_AT_ONCE)
            if changes:
                found = True
                frames = [Framed(each.type, each.entry, now, attempt) for each in changes]
                self.tell(Mirrored(name, tuple(frames)))
        return found


class Bench:
    def __init__(self, deployments: int, nodes: int, profiled: str) -> None:
        self.server = Server()
        self.nodes = nodes
        self.places = [(f"team-{number % NAMESPACES}", f"web-{number:05d}") for number in range(deployments)]
        self.profiled = profiled
        self.asked, self.asked_commits = 0.0, 0
        for name in ("default", "kube-system", *(f"team-{number}" for number in range(NAMESPACES))):
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            self._ask(Request("create", "", "v1", "namespaces", body=codec.encode(body)))
        self.process = Process(self.server, "first", nodes)
        self.process.settle(30.0)

    def run(self) -> dict[str, dict[str, Any]]:
        phases: dict[str, Callable[[], None]] = {
            "one": lambda: self.create("default", "one"),
            "create": lambda: self.run_each(self.create),
            "touch": lambda: self.run_each(self.patched({"metadata": {"annotations": {"touched": "1"}}})),
            "scale": lambda: self.run_each(self.patched({"spec": {"replicas": 2}})),
        }
        results = {name: self._measured(name, begin, 60.0) for name, begin in phases.items()}
        self._check()
        results["resync"] = self._measured("resync", lambda: None, 200.0)
        first, self.process = self.process, Process(self.server, "second", self.nodes)
        self.process.keep_up()
        results["takeover"] = self._measured("takeover", lambda: None, 60.0)
        assert self.process.plane.leadership.leads
        assert first is not self.process
        return results

    def _measured(self, name: str, begin: Callable[[], None], seconds: float) -> dict[str, Any]:
        process, server = self.process, self.server
        gc.collect()
        gc.freeze()
        decisions = process.decisions
        turns, calls, commits, reports = process.turns, process.calls, server.commits, process.reports
        self.asked = 0.0
        self.asked_commits = 0
        profile = cProfile.Profile() if name == self.profiled else None
        began = time.process_time()
        if profile is not None:
            profile.enable()
        begin()
        process.settle(seconds)
        if profile is not None:
            profile.disable()
            pstats.Stats(profile).sort_stats("tottime").print_stats(35)
        took = time.process_time() - began - self.asked
        turns, calls = process.turns - turns, process.calls - calls
        commits = server.commits - commits - self.asked_commits
        return {
            "seconds": round(took, 3),
            "turns": turns,
            "turns_per_second": round(turns / took),
            "calls": calls,
            "calls_per_second": round(calls / took),
            "commits": commits,
            "keys_slowed": process.reports - reports,
            "microseconds_per_turn": round(took / max(1, turns) * 1e6, 1),
            "decisions": {
                name: count - decisions.get(name, 0)
                for name, count in process.decisions.items()
                if count > decisions.get(name, 0)
            },
        }

    # What clients do; their own requests are not counted

    def _ask(self, request: Request) -> None:
        began, commits = time.process_time(), self.server.commits
        reply = self.server.send(request)
        assert reply.status < 300, reply
        self.asked += time.process_time() - began
        self.asked_commits += self.server.commits - commits

    def run_each(self, act: Callable[[str, str], None]) -> None:
        """In lots, so that no watch is cut because nobody reads it."""
        for number, (namespace, name) in enumerate(self.places):
            act(namespace, name)
            if number % CHANGES_AT_ONCE == 0:
                self.process.keep_up()

    def create(self, namespace: str, name: str) -> None:
        labels = {"app": name}
        body = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "main", "image": "web:1"}]},
                },
            },
        }
        self._ask(Request("create", "apps", "v1", "deployments", namespace, body=codec.encode(body)))

    def patched(self, patch: dict[str, Any]) -> Callable[[str, str], None]:
        body = codec.encode(patch)

        def act(namespace: str, name: str) -> None:
            where = ("patch", "apps", "v1", "deployments", namespace, name)
            self._ask(Request(*where, body=body, content_type=MERGE_PATCH))

        return act

    def _check(self) -> None:
        """Everything is as it was asked for."""
        for entry in self.server.store.list("deployments.apps"):
            available = codec.decode(entry.data)["status"].get("availableReplicas")
            assert available == (1 if entry.key.name == "one" else 2), (entry.key, available)


def main() -> None:
    parser = argparse.ArgumentParser(description="Turns per second of the plane, with many Deployments.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--deployments", type=int, default=10_000)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--profile", default="", metavar="PHASE")
    options = parser.parse_args()
    gc.set_threshold(50_000, 20, 100)  # as runtime/server/process.py does
    phases = Bench(options.deployments, options.nodes, options.profile).run()
    peak = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    if options.json:
        result = {
            "bench": "turns",
            "deployments": options.deployments,
            "nodes": options.nodes,
            "phases": phases,
        }
        print(json.dumps({**result, "peak_mb": peak}, indent=2))
        return
    names = [name for name in next(iter(phases.values())) if name != "decisions"]
    print("phase     " + "".join(f"{name:>23}" for name in names))
    for phase, row in phases.items():
        print(f"{phase:<10}" + "".join(f"{row[name]:>23,}" for name in names))
    for phase, row in phases.items():
        print(f"{phase:<10}" + ", ".join(f"{name} {count:,}" for name, count in row["decisions"].items()))
    print(f"{peak} MB")


if __name__ == "__main__":
    main()
