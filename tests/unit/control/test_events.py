"""The recorder of Events: what is told as one, what is combined, held back or dropped, and what an answer leads to."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest

from fairlead.control.events import COMBINED, MESSAGE_MAX, Recorder, RecorderSettings
from fairlead.control.instructions import Call
from fairlead.core.times import timestamp
from fairlead.decision.contract import EventNote, Regarding
from fairlead.port.outcome import Conflict, Done, Outcome, Refused, Unknown

NOW = 1_700_000_000.0
WEB = Regarding("apps/v1", "ReplicaSet", "default", "web", "uid-web")
EXISTS = Conflict("AlreadyExists", "it exists")
GONE = Refused(404, "NotFound", "it is gone")
Json = dict[str, Any]


def note(message: str = "Created pod: a", occasion: str = "", about: Regarding = WEB) -> EventNote:
    return EventNote(about, "Normal", "SuccessfulCreate", message, occasion=occasion)


class Bench:
    """A recorder, a clock, and a look at what it sends."""

    def __init__(self, **settings: Any) -> None:
        self.now = NOW
        self.recorder = Recorder(count(1).__next__, RecorderSettings(**settings))

    def tell(self, *notes: EventNote, seconds: float = 0.0) -> None:
        for each in notes:
            self.now += seconds
            self.recorder.tell("replicaset-controller", each, self.now)

    def calls(self) -> list[Call]:
        return list(self.recorder.step(self.now))

    def one(self) -> Call:
        (call,) = self.calls()
        return call

    def answer(self, call: Call, outcome: Outcome | None = None) -> None:
        self.recorder.answered(call.call, outcome or Done(7))

    def drain(self) -> list[Json]:
        """Bodies of all that is sent when everything is done at once."""
        bodies = []
        while calls := self.calls():
            for call in calls:
                bodies.append(body(call))
                self.answer(call)
        return bodies


def body(call: Call) -> Json:
    found: Json = json.loads(call.request.body)
    return found


def verb(call: Call) -> tuple[str, str, str]:
    return call.request.verb, call.request.namespace, call.request.name


def test_a_note_becomes_an_event_as_kubectl_shows_it() -> None:
    bench = Bench()
    bench.tell(note())
    call = bench.one()
    assert (call.controller, call.request.verb, call.request.plural) == ("events", "create", "events")
    event = body(call)
    assert event.pop("metadata")["namespace"] == "default"
    assert event == {
        "apiVersion": "v1",
        "kind": "Event",
        "involvedObject": {
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "namespace": "default", "name": "web", "uid": "uid-web",
        },
        "type": "Normal",
        "reason": "SuccessfulCreate",
        "message": "Created pod: a",
        "source": {"component": "replicaset-controller"},
        "reportingComponent": "replicaset-controller",
        "reportingInstance": "",
        "firstTimestamp": timestamp(NOW),
        "lastTimestamp": timestamp(NOW),
        "count": 1,
        "eventTime": None,
    }  # fmt: skip


def test_an_event_about_an_object_without_namespace_is_in_default() -> None:
    bench = Bench()
    bench.tell(note(about=Regarding("v1", "Node", "", "node-1", "uid-node")))
    event = body(bench.one())
    assert event["metadata"]["namespace"] == "default"
    assert "namespace" not in event["involvedObject"]


def test_the_name_follows_from_what_is_told_and_is_the_same_for_every_leader() -> None:
    names = []
    for _ in range(2):
        bench = Bench()
        bench.tell(note(), note("Created pod: b"))
        names.append([each["metadata"]["name"] for each in bench.drain()])
    assert names[0] == names[1]
    assert len(set(names[0])) == 2
    assert all(name.startswith("web.") for name in names[0])


def test_a_long_name_still_makes_a_name() -> None:
    bench = Bench()
    bench.tell(note(about=Regarding("v1", "Pod", "default", "x" * 253, "uid-x")))
    assert len(body(bench.one())["metadata"]["name"]) == 253


def test_the_same_again_raises_the_count_of_the_same_event() -> None:
    bench = Bench()
    bench.tell(note())
    first = bench.one()
    bench.answer(first)
    bench.tell(note(), note(), seconds=10)
    call = bench.one()
    assert verb(call) == ("patch", "default", body(first)["metadata"]["name"])
    assert body(call) == {"count": 3, "lastTimestamp": timestamp(NOW + 20), "message": "Created pod: a"}


def test_what_is_told_while_a_call_is_under_way_is_told_by_the_next() -> None:
    bench = Bench()
    bench.tell(note())
    first = bench.one()
    bench.tell(note(), note())
    assert bench.calls() == []
    bench.answer(first)
    assert body(bench.one())["count"] == 3


def test_one_occasion_is_told_once() -> None:
    bench = Bench()
    bench.tell(note(occasion="10:00"), note(occasion="10:00"))
    assert len(bench.drain()) == 1
    bench.tell(note(occasion="10:00"), note(occasion="10:10"))
    assert [each["count"] for each in bench.drain()] == [2]


def test_more_than_ten_messages_of_one_reason_are_combined() -> None:
    bench = Bench()
    bench.tell(*(note(f"Created pod: {number}") for number in range(13)))
    sent = bench.drain()
    assert [each["message"] for each in sent[:10]] == [f"Created pod: {number}" for number in range(10)]
    (combined,) = sent[10:]
    assert (combined["message"], combined["count"]) == (COMBINED + "Created pod: 12", 3)
    bench.tell(note("Created pod: 0"))
    assert bench.drain()[0]["count"] == 2, "one that has an event of its own keeps it"


def test_similar_ones_are_counted_anew_after_a_pause() -> None:
    bench = Bench(object_burst=100)
    bench.tell(*(note(f"Created pod: {number}") for number in range(11)))
    bench.drain()
    bench.tell(note("Created pod: late"), seconds=601)
    assert bench.drain()[0]["message"] == "Created pod: late"


def test_an_object_has_an_allowance_that_refills_slowly() -> None:
    bench = Bench(similar_max=1000)
    bench.tell(*(note(f"Created pod: {number}") for number in range(40)))
    assert len(bench.drain()) == 25
    assert bench.recorder.suppressed == 15
    other = Regarding("v1", "Pod", "default", "other", "uid-other")
    bench.tell(note(about=other))
    assert len(bench.drain()) == 1, "others have theirs"
    bench.tell(note("later"), note("later still"), seconds=300)
    assert [each["message"] for each in bench.drain()] == ["later", "later still"]
    bench.tell(note("too soon"))
    assert bench.drain() == []


def pods(number: int) -> list[EventNote]:
    return [note(about=Regarding("v1", "Pod", "default", f"p{n}", f"uid-{n}")) for n in range(number)]


def test_all_together_keep_a_rate_and_what_finds_no_room_is_dropped() -> None:
    bench = Bench(waiting_max=50, burst=20.0, per_second=10, in_flight_max=100)
    bench.tell(*pods(80))
    assert (bench.recorder.waiting, bench.recorder.dropped) == (50, 30)
    assert len(bench.drain()) == 20
    assert bench.recorder.next_at == bench.now + 0.25
    bench.now += 1
    assert len(bench.drain()) == 10
    bench.now += 10
    assert len(bench.drain()) == 20
    assert (bench.recorder.next_at, bench.recorder.waiting) == (0.0, 0)


def test_only_a_few_are_under_way_at_once() -> None:
    bench = Bench()
    bench.tell(*pods(10))
    calls = bench.calls()
    assert len(calls) == 4
    bench.answer(calls[0])
    assert len(bench.calls()) == 1


def test_memory_is_bounded() -> None:
    bench = Bench(remembered_max=10, waiting_max=10)
    bench.tell(*pods(1000))
    recorder = bench.recorder
    held = (recorder._told, recorder._allowances, recorder._similar, recorder._waiting)
    assert [len(each) for each in held] == [10, 10, 10, 10]


def test_what_a_former_leader_told_is_counted_on() -> None:
    bench = Bench()
    bench.tell(note())
    first = bench.one()
    bench.answer(first, EXISTS)
    look = bench.one()
    assert verb(look) == ("get", "default", body(first)["metadata"]["name"])
    bench.answer(look, Done(9, b'{"count": 4, "firstTimestamp": "2023-01-01T00:00:00Z"}'))
    patch = bench.one()
    assert (patch.request.verb, body(patch)["count"]) == ("patch", 5)


def test_one_that_expired_is_made_anew() -> None:
    bench = Bench()
    bench.tell(note())
    bench.answer(bench.one())
    bench.tell(note(), seconds=4000)
    bench.answer(bench.one(), GONE)
    call = bench.one()
    assert call.request.verb == "create"
    assert (body(call)["count"], body(call)["firstTimestamp"]) == (1, timestamp(NOW + 4000))


@pytest.mark.parametrize(
    ("outcome", "counted"),
    [
        pytest.param(Unknown("no answer"), {"unknown": 1, "dropped": 0}, id="unknown"),
        pytest.param(GONE, {"unknown": 0, "dropped": 1}, id="no namespace"),
        pytest.param(Refused(403, "Forbidden", "no"), {"unknown": 0, "dropped": 1}, id="forbidden"),
        pytest.param(Refused(429, "TooMany", "no", "later"), {"unknown": 0, "dropped": 1}, id="too busy"),
    ],
)
def test_what_fails_is_counted_and_not_repeated(outcome: Outcome, counted: dict[str, int]) -> None:
    bench = Bench()
    bench.tell(note())
    bench.answer(bench.one(), outcome)
    assert bench.calls() == []
    assert {name: getattr(bench.recorder, name) for name in counted} == counted


def test_after_a_lost_answer_the_next_occurrence_finds_out() -> None:
    bench = Bench()
    bench.tell(note())
    bench.answer(bench.one(), Unknown("no answer"))
    bench.tell(note())
    create = bench.one()
    assert create.request.verb == "create"
    bench.answer(create, EXISTS)
    bench.answer(bench.one(), Done(9, b'{"count": 1}'))
    assert body(bench.one())["count"] == 2, "the first was there after all"


def test_a_look_that_finds_nothing_ends_it() -> None:
    bench = Bench()
    bench.tell(note())
    bench.answer(bench.one(), EXISTS)
    bench.answer(bench.one(), GONE)
    assert (bench.calls(), bench.recorder.dropped) == ([], 1)


def test_a_new_time_as_leader_begins_with_nothing() -> None:
    bench = Bench()
    bench.tell(note(), *pods(6))
    (first, *_) = bench.calls()
    bench.recorder.forget()
    assert (bench.recorder.waiting, bench.recorder.dropped) == (0, 3)
    assert bench.recorder.answers(first.call)
    bench.answer(first)
    bench.tell(note())
    assert bench.one().request.verb == "create", "what was known of it is forgotten"


def test_a_message_is_cut() -> None:
    bench = Bench()
    bench.tell(note("x" * 2000))
    assert len(body(bench.one())["message"]) == MESSAGE_MAX
