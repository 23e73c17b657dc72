"""Whatever order the events of a node come in, crashes included: its agent starts nothing twice, nothing for a pod that
is gone, nothing before it knows what runs, and what is deleted ends, is closed, and leaves no address behind."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead.agent import contract as c
from fairlead.cache import events as mirrored
from fairlead.model.marks import AT_MOST_ONE
from fairlead.port.driving import Started
from tests.unit.agent.room import Room, container

NAMES = ("a", "b")
POLICIES = ("Always", "OnFailure", "Never")
SHAPES: tuple[dict[str, Any], ...] = (
    {},
    {"initContainers": [container("first"), container("beside", restartPolicy="Always")]},
    {"containers": [container(), container("second", livenessProbe={"exec": {"command": ["x"]}})]},
    {
        "containers": [
            container(env=[{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}}])
        ]
    },
    {"activeDeadlineSeconds": 100},
)
ACTS = (
    "step", "step", "step", "step", "step", "step", "step", "step", "create", "create", "delete", "force", "exit", "kill", "crash",
    "time", "long", "lose", "lose-after", "look", "map", "break-watch",
)  # fmt: skip


class Judge:
    """What must hold after every act, judged from the machine and not from status."""

    def __init__(self) -> None:
        self.room = Room()

    def check(self) -> None:
        machine = self.room.machine
        assert len(set(machine.starts)) == len(machine.starts), "an attempt was started twice"
        addresses = [box.address for box in machine.sandboxes.values()]
        assert len(set(addresses)) == len(addresses), "two pods share an address"
        acts = (c.Open, c.Start, c.Stop, c.Close)
        if any(isinstance(each, acts) for each in self.room.driver):
            assert self.room.agent.means.found, "it acted before it knew what runs"
            synced = self.room.agent.mirrors["pods"].synced
            assert synced, "it acted before it knew its pods"
        for ask in self.room.asks:
            if ask.request.verb == "delete":
                uid = json.loads(ask.request.body)["preconditions"]["uid"]
                assert machine.running(uid) == [], "it removed the object of a pod that runs"
                assert not [
                    each for each in self.room.driver if isinstance(each, c.Start) and each.uid == uid
                ]
        for each in self.room.driver:
            if isinstance(each, c.Start):
                work = self.room.agent.works.get(each.uid)
                assert work is not None, "it started what it does not know"


def act(judge: Judge, what: str, pick: int) -> None:
    room = judge.room
    name = NAMES[pick % 2]
    match what:
        case "step":
            for turn in range(pick):
                ready = room.waiting()
                if ready:
                    ready[pick * turn % len(ready)]()
        case "create":
            if room.pod(name) is None:
                one = {"annotations": {AT_MOST_ONE: "true"}} if name == NAMES[1] else {}
                room.create(
                    name, metadata=one, restartPolicy=POLICIES[pick % 3], **SHAPES[pick % len(SHAPES)]
                )
        case "delete" | "force":
            room.delete(name, 0 if what == "force" else None)
        case "exit" | "kill":
            running = room.machine.running()
            if running and what == "exit":
                uid, of = running[pick % len(running)]
                room.machine._end(uid, of, pick % 3, room.now, "Error")
                room.events.append(c.Saw(room.machine.sandboxes[uid], room.now))
            elif running:
                room.lose_supervisor(running[pick % len(running)][0])
        case "crash":
            if pick > 15:
                return
            room.start_agent()
            room.tell(Started(room.now, 0.5))
            room.found_due = True
        case "time" | "long":
            room.api.now += 1.5 if what == "time" else 45.0
            room.fire()
        case "lose" | "lose-after":
            if room.asks:
                room.answer_next(lost_before=what == "lose", lost_after=what == "lose-after")
        case "look":
            if room.looks:
                number = next(iter(room.looks))
                del room.looks[number]
                room.events.append(c.Probed(number, bool(pick % 3), "no", room.now))
        case "map":
            room.put("configmaps", "m", data={"k": str(pick)})
        case "break-watch":
            break_watch(room, ("pods", "nodes", "services")[pick % 3])


def break_watch(room: Room, resource: str) -> None:
    if room.frames.pop(resource, None) is not None:
        room.tell(mirrored.Mirrored(resource, (mirrored.Expired(room.now),)))


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 29)), min_size=20, max_size=160))
def test_nothing_is_started_twice_and_what_is_deleted_ends(acts: list[tuple[str, int]]) -> None:
    judge = Judge()
    room = judge.room
    room.begin()
    for what, pick in acts:
        act(judge, what, pick)
        judge.check()
    # Faults stop: everything is deleted, and must leave.
    ever = set(room.machine.opened)
    for name in NAMES:
        room.delete(name)
    room.pass_time(400.0, looks=True)
    judge.check()
    assert [room.pod(name) for name in NAMES] == [None, None]
    assert room.machine.sandboxes == {}
    assert room.agent.works == {}
    closed = {each.uid for each in room.told(c.Close)}
    assert ever <= closed
    # And a new pod runs.
    uid = room.create("c")
    room.pass_time(30.0, looks=True)
    assert (uid, "main", 0) in room.machine.starts
    assert room.status("c")["phase"] == "Running"
