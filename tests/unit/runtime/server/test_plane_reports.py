"""What a plane in another process sends is kept once, in order, and known to who explains."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairlead.api.access.sight import EVERYTHING, Sight
from fairlead.api.access.users import User
from fairlead.api.plan import Context
from fairlead.control.instructions import DECISIONS, TURNS, Record
from fairlead.control.placing import Placer
from fairlead.control.plane import Plane
from fairlead.control.roster import serving_deciders, workload_deciders
from fairlead.core import codec
from fairlead.core.errors import BadRequest, TooManyRequests, Unavailable
from fairlead.explain.asking import Asking, answered
from fairlead.explain.index import MemoryIndex
from fairlead.model.key import Key
from fairlead.port.request import Reply
from fairlead.runtime.data.decisions_file import DecisionsFile
from fairlead.runtime.queues_told import queues_told
from fairlead.runtime.server import extensions
from fairlead.runtime.server.plane_reports import PlaneReports
from fairlead.store.contract import Batch, CommitFailed, CommitOutcome, Committed, Transaction
from fairlead.store.memory import MemoryJournal
from fairlead.wire.documents import Later
from tests.unit.api.access.test_sight import sight_of

TOLD = {"identity": "one", "phase": "Leading", "leads": True, "synced": True, "at": 5.0, "heard": {"pods": 7}}
WHO = Context(user=User("admin"), now=1.0, entropy=b"0" * 16, request_id="r", user_agent="", source="")


def line(number: int) -> dict[str, Any]:
    return {
        "time": "2026-11-18T00:00:00Z",
        "controller": "job",
        "id": f"aa-{number}",
        "object": f"jobs.batch/n/{number}",
    }


class AtOnce:
    """In place of `Answering`."""

    def later(self, asking: Asking[Any]) -> Later:
        return Later(lambda done: done(Reply(200, codec.encode(answered(asking)))))


class Served:
    def __init__(self) -> None:
        self.journal = MemoryJournal()
        self.failing = False
        self.held: list[Callable[[], None]] | None = None  # commits that are under way
        self.restart()

    def restart(self) -> None:
        index = MemoryIndex(self.journal)
        self.reports = PlaneReports(self.journal, index, AtOnce(), self._submit, lambda: 100.0)  # type: ignore[arg-type]

    def _submit(self, transaction: Transaction, then: Callable[[CommitOutcome], None]) -> None:
        def commit() -> None:
            if self.failing:
                then(CommitFailed("StorageFailed", "the disk is gone"))
                return
            self.journal.append(Batch((), transaction.notes, 1.0))
            then(Committed(()))

        if self.held is None:
            commit()
        else:
            self.held.append(commit)

    def send(self, first: int, *numbers: int, stream: str = DECISIONS, log: str = "f00d") -> int:
        lines = [[stream, line(number)] for number in numbers]
        return self.post({"log": log, "first": first, "lines": lines, "told": TOLD})

    def post(self, body: Any) -> int:
        found: list[Reply | Exception] = []
        self.reports.answer(codec.encode(body), WHO, EVERYTHING).start(found.append)
        if not found:
            return -1
        if isinstance(found[0], Exception):
            raise found[0]
        return int(codec.decode(found[0].body)["have"])

    @property
    def kept(self) -> list[str]:
        return [codec.decode(note.body)["id"] for _, _, note in self.journal.notes(DECISIONS, 0, 100)]


def test_each_line_is_kept_once_also_when_it_is_sent_again() -> None:
    served = Served()
    assert served.send(1, 1, 2) == 2
    assert served.send(1, 1, 2, 3) == 3
    assert served.send(2, 2) == 3, "nothing new"
    served.restart()
    assert served.send(2, 2, 3, 4) == 4, "what the log itself says is found again"
    assert served.send(9, 9) == 9, "lines that were given up at the sender's are a gap"
    assert served.kept == ["aa-1", "aa-2", "aa-3", "aa-4", "aa-9"]


def test_turns_count_too_and_each_log_has_its_own_numbers() -> None:
    served = Served()
    assert served.send(1, 1) == 1
    assert served.send(2, 2, stream=TURNS) == 2
    assert served.send(1, 5, log="other") == 1
    served.restart()
    assert served.send(3, 3) == 3
    assert served.kept == ["aa-1", "aa-5", "aa-3"]


def test_a_batch_under_way_is_not_written_twice() -> None:
    served = Served()
    served.held = []
    assert served.send(1, 1) == -1
    with pytest.raises(TooManyRequests):
        served.send(1, 1)
    served.held.pop()()
    served.held = None
    assert served.send(1, 1) == 1
    assert served.kept == ["aa-1"]


def test_after_a_failure_it_is_looked_up_how_far_it_came() -> None:
    served = Served()
    served.failing = True
    with pytest.raises(Unavailable, match="the disk is gone"):
        served.send(1, 1)
    served.failing = False
    assert served.send(1, 1) == 1
    assert served.kept == ["aa-1"]


def test_the_queues_of_who_leads_are_shown_and_tenants_see_no_names_of_others() -> None:
    served = Served()
    server = Plane("server", serving_deciders())
    answer = extensions.queues(lambda: server, lambda: 103.0, served.reports.queues)

    def shown(sight: Sight) -> Any:
        reply = answer("", {}, WHO, sight)
        assert isinstance(reply, Reply)
        return codec.decode(reply.body)

    assert "plane" not in shown(EVERYTHING), "none has told of its own"
    plane = Plane("one", workload_deciders(), Placer)
    queue = plane.controllers[0].queue
    queue.add(Key("deployments.apps", "shop", "web"), 0.0)
    told = queues_told(plane, 5.0)
    served.post({"log": "b", "first": 1, "lines": [], "told": TOLD, "queues": told})
    served.send(1)  # without queues: those of before stay
    found = shown(EVERYTHING)
    assert (found["plane"], found["toldSecondsAgo"]) == ("one", 0.0)
    first = found["items"][0]
    assert first["controller"] == plane.controllers[0].decider.name
    assert first["queue"]["oldest_waiting"] == ["deployments.apps", "shop", "web"]
    assert found["scheduler"]["active"] == 0
    blind = shown(sight_of())
    assert blind["items"][0]["queue"]["oldest_waiting"] is None
    assert blind["items"][0]["queue"]["ready"] == 1
    with pytest.raises(BadRequest):
        served.post({"log": "b", "first": 1, "lines": [], "told": TOLD, "queues": {"items": 5}})


def test_a_plane_is_told_of_the_experiment_that_runs_and_tells_what_it_injected() -> None:
    served = Served()
    running: dict[str, Any] = {"uid": "u1", "spec": {"faults": []}, "seconds": 5.0}
    served.reports.chaos = lambda: running
    found: list[Reply | Exception] = []
    body = {"log": "b", "first": 1, "lines": [], "told": TOLD, "injected": ["u1", {"throttled": 3}]}
    served.reports.answer(codec.encode(body), WHO, EVERYTHING).start(found.append)
    [reply] = found
    assert isinstance(reply, Reply)
    assert codec.decode(reply.body) == {"have": 0, "chaos": running}
    served.post({**body, "told": {**TOLD, "identity": "two"}})
    assert served.reports.injected("u1") == [{"throttled": 3}, {"throttled": 3}]
    assert served.reports.injected("u2") == []


def test_who_leads_is_told_with_the_servers_own_instant() -> None:
    served = Served()
    assert served.reports.leading() is None
    served.send(1)
    told = served.reports.leading()
    assert told is not None
    assert (told.identity, told.acts, told.heard, told.at) == ("one", True, {"pods": 7}, 100.0)
    served.post({"log": "b", "first": 1, "lines": [], "told": {**TOLD, "identity": "two", "leads": False}})
    leading = served.reports.leading()
    assert leading is not None
    assert leading.identity == "one"


@pytest.mark.parametrize(
    "wrong",
    [
        {"log": ""},
        {"first": 0},
        {"lines": [["audit", line(1)]]},
        {"lines": [[DECISIONS, {"controller": "x"}]]},
        {"lines": [[DECISIONS, 7]]},
        {"told": {}},
    ],
)
def test_what_is_no_report_is_refused(wrong: dict[str, Any]) -> None:
    served = Served()
    with pytest.raises(BadRequest):
        served.post({"log": "f00d", "first": 1, "lines": [], "told": TOLD, **wrong})
    assert served.reports.leading() is None


def test_lines_wait_in_the_file_until_the_server_has_them(tmp_path: Path) -> None:
    file = DecisionsFile(tmp_path)
    file.append([Record(codec.encode(line(0)))])
    assert file.unsent(9) == [], "nobody takes them"
    file.sends = True
    file.append([Record(codec.encode(line(1))), Record(codec.encode(line(2)), TURNS)])
    assert [(each.number, each.stream) for each in file.unsent(9)] == [(1, DECISIONS), (2, TURNS)]
    file.sent(1)
    log = file.log
    file.close()
    again = DecisionsFile(tmp_path)
    assert again.log == log
    assert [each.number for each in again.unsent(9)] == [2], "a restart sends what is left"
    again.sent(2)
    again.sends = True
    again.append([Record(codec.encode(line(3)))])
    assert [each.number for each in again.unsent(9)] == [3], "no number is given twice"
    again.close()
