"""A server that is gone ends no pod, but those of which at most one may run, and those say so before."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairlead.agent import contract as c
from fairlead.model.at_most_one import DEADLINE
from fairlead.model.marks import AT_MOST_ONE
from tests.unit.agent.room import SETTINGS, Room, container, running

ONE = {"annotations": {AT_MOST_ONE: "true"}}
OF_A_SET = {
    "ownerReferences": [
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "u", "controller": True}
    ]
}


def told(room: Room, name: str) -> tuple[str, str, str]:
    found = room.condition(DEADLINE, name)
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


def test_a_pod_runs_on_however_long_the_server_is_away() -> None:
    room = running()
    uid = room.create()
    room.settle()
    room.broken = True
    room.pass_time(3600)
    assert room.machine.running() == [(uid, "main")]
    assert len(room.machine.starts) == 1
    room.broken = False
    room.pass_time(60)
    assert len(room.machine.starts) == 1
    assert room.condition("Ready")["status"] == "True"


def test_while_the_server_is_away_a_pod_keeps_restarts_and_probes() -> None:
    room = running()
    uid = room.create(containers=[container(livenessProbe={"exec": {"command": ["x"]}, "periodSeconds": 10})])
    room.settle()
    room.broken = True
    room.pass_time(120, looks=True)
    room.exits("web", code=1)
    room.pass_time(5, looks=True)
    assert room.machine.running() == [(uid, "main")]
    room.pass_time(60, looks=False)
    room.pass_time(60, looks=True)
    assert len(room.machine.starts) > 2, "a probe that fails restarts it"
    assert room.machine.running() == [(uid, "main")]


@pytest.mark.parametrize("metadata", [ONE, OF_A_SET])
def test_one_of_which_at_most_one_may_run_ends_at_a_deadline_that_its_status_tells_before(
    metadata: dict[str, Any],
) -> None:
    room = running()
    uid = room.create("db", metadata=metadata)
    room.settle()
    status, reason, message = told(room, "db")
    assert (status, reason) == ("True", "Accepted")
    assert message.startswith("ends 40s after the last renewal of its node's lease")
    room.broken = True
    room.pass_time(27)
    assert room.machine.running() == [(uid, "main")]
    room.pass_time(12)
    assert room.machine.running() == []
    room.pass_time(600)
    assert room.machine.running() == [], "it starts again on the API's word only"
    room.broken = False
    room.pass_time(60)
    assert room.machine.running() == [(uid, "main")]


def test_others_say_nothing_of_a_deadline() -> None:
    room = running()
    room.create()
    room.settle()
    assert told(room, "web") == ("", "", "")
    assert room.told(c.Open)[0].deadline is None


def test_a_supervisor_that_accepts_no_deadline_is_told_so() -> None:
    room = running()
    room.machine.accepts_deadlines = False
    room.create("db", metadata=ONE)
    room.settle()
    assert told(room, "db")[:2] == ("False", "NoDeadline")


def test_a_deadline_that_an_older_agent_gave_is_lifted_where_many_may_run() -> None:
    room = running()
    uid, one = room.create(), room.create("db", metadata=ONE)
    room.settle()
    assert room.told(c.LiftDeadline) == [], "neither has one that is to go"
    deadline = room.now + 38
    room.machine.deadlines[uid] = deadline
    room.machine.sandboxes[uid] = msgspec.structs.replace(room.machine.sandboxes[uid], deadline=deadline)
    room.start_agent()
    room.begin()
    room.settle()
    assert room.told(c.LiftDeadline) == [c.LiftDeadline(uid)]
    room.broken = True
    room.pass_time(600)
    assert room.machine.running() == [(uid, "main")]
    assert room.machine.starts.count((uid, "main", 0)) == 1, "it is the process from before"
    assert one in room.machine.opened


def test_a_shorter_lease_is_told_when_no_supervisor_can_hold_the_longer_one() -> None:
    room = Room(settings=msgspec.structs.replace(SETTINGS, lease_seconds=100))
    room.begin()
    room.settle()
    room.create("db", metadata=ONE)
    room.settle()
    assert "ends 100s after" in told(room, "db")[2]
    room.settings = SETTINGS
    room.start_agent()
    room.begin()
    room.settle()
    assert "ends 100s after" in told(room, "db")[2], "the supervisor goes on for 98 s from before"
    room.pass_time(100)
    assert "ends 40s after" in told(room, "db")[2]


def test_every_failed_renewal_is_logged_with_the_seconds_left() -> None:
    room = running()
    room.broken = True
    room.pass_time(37)
    assert len(room.logs) >= 3
    assert "could not renew its lease: timed out; 28 s left until its pods of which" in room.logs[0]
    assert all("could not renew its lease" in each for each in room.logs)
    count = len(room.logs)
    room.pass_time(600)
    assert len(room.logs) == count + 1, "once more when the deadline has come"
    assert "have ended, others run on" in room.logs[-1]
    room.broken = False
    room.pass_time(60)
    room.broken = True
    room.pass_time(20)
    assert "s left until" in room.logs[-1]


def _list_from_before(room: Room, answers: bool = True) -> str:
    """A pod runs, and an agent begins anew whose lists are of before it was there. `answers`: at once."""
    before = room.api.store.revision
    uid = room.create()
    room.settle()
    room.lists_at, room.broken = before, not answers
    room.start_agent()
    room.begin()
    return uid


def test_a_list_that_is_older_than_what_was_kept_ends_nothing() -> None:
    room = running()
    uid = _list_from_before(room)
    room.pass_time(10)
    assert not [each for each in room.told(c.Stop) if each.uid == uid]
    assert len([each for each in room.logs if "the server knows less of its pods" in each]) == 1
    room.lists_at = 0
    room.pass_time(60)
    assert (room.machine.running(), len(room.machine.starts)) == ([(uid, "main")], 1)
    assert room.condition("Ready")["status"] == "True"


def test_an_older_list_ends_nothing_either_where_nobody_answered_before() -> None:
    """As many failures as it has patience with older lists tell nothing of the first of those."""
    room = running()
    uid = _list_from_before(room, answers=False)
    room.pass_time(120)
    room.broken = False
    room.pass_time(40)
    assert room.machine.running() == [(uid, "main")]
    assert len([each for each in room.logs if "the server knows less of its pods" in each]) == 1
    room.lists_at = 0
    room.pass_time(60)
    assert (room.machine.running(), len(room.machine.starts)) == ([(uid, "main")], 1)


def test_a_server_that_was_restored_to_before_is_believed_after_a_while() -> None:
    room = running()
    _list_from_before(room)
    room.pass_time(90)
    assert room.machine.running() == []


@pytest.mark.parametrize("restarts", [True, False])
def test_one_of_which_at_most_one_may_run_waits_for_the_end_of_what_ran_here_under_its_name(
    restarts: bool,
) -> None:
    room = running()
    former = room.create("db", metadata=OF_A_SET)
    room.settle()
    room.machine.stubborn = True
    room.delete("db", grace=0)  # by somebody who says that it does not run
    uid = room.create("db", metadata=OF_A_SET)
    if restarts:
        room.start_agent()
        room.begin()
    room.settle()
    assert room.machine.running() == [(former, "main")]
    waiting = room.container("db")["state"]["waiting"]
    assert waiting["message"] == "what ran here under this name, of another uid, has not ended yet"
    room.machine.stubborn = False
    room.pass_time(60)
    assert room.machine.running() == [(uid, "main")]
