"""Tokens in the volumes of pods: asked for, renewed, kept when the API is away, and given back."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.agent import contract as c
from fairlead.agent.calls import Calls
from fairlead.agent.pace import Pace
from fairlead.agent.pod.tokens import PART, PodTokens
from fairlead.api.access.account_tokens import ISSUER
from fairlead.core.times import timestamp
from fairlead.port.outcome import Done, Unknown
from fairlead.port.request import Request
from tests.unit.agent.room import Room, running

HOUR, DAY = 3600.0, 86_400.0


def projected(*sources: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token", **each}} for each in sources]}}
    ]  # fmt: skip


def room_with_account() -> Room:
    room = running()
    room.put("serviceaccounts", "robot")
    return room


def create(room: Room, name: str = "web", *sources: dict[str, Any]) -> str:
    return room.create(name, serviceAccountName="robot", volumes=projected(*(sources or ({},))))


def requests(room: Room) -> list[Request]:
    return [each for each in room.requests if each.subresource == "token"]


def files(room: Room, uid: str) -> list[bytes]:
    """What the pod found in its token file, one after the other."""
    found = []
    for told in room.machine.told:
        if isinstance(told, c.Open | c.Refresh) and told.uid == uid:
            for volume in told.volumes:
                found += [data for path, data, _ in volume.files or () if path == "token"]
    return found


def wait(room: Room, seconds: float) -> None:
    """By the hour: a room passes so many timers at a time."""
    while seconds > 0:
        room.pass_time(min(seconds, HOUR))
        seconds -= HOUR


def whose(room: Room, token: bytes) -> str:
    user = room.api.api.sign_in.accounts.authenticate(token.decode(), room.now)
    return dict(user.extra)["authentication.kubernetes.io/pod-uid"][0]


def test_a_pod_starts_with_a_token_that_was_issued_for_it() -> None:
    room = room_with_account()
    uid = create(room)
    room.settle()
    assert room.machine.running() == [(uid, "main")]
    (token,) = files(room, uid)
    assert whose(room, token) == uid
    assert len(requests(room)) == 1


def test_two_sources_that_ask_for_the_same_are_one_question() -> None:
    room = room_with_account()
    path = {"path": "other"}
    uid = create(
        room, "web", {}, path, {"audience": "vault/one", **path}, {"expirationSeconds": 7200, **path}
    )
    room.settle()
    assert len(requests(room)) == 3
    assert room.machine.running() == [(uid, "main")]
    room.pass_time(60)
    assert len(requests(room)) == 3


def test_a_token_for_others_is_in_its_file() -> None:
    room = room_with_account()
    uid = create(room, "web", {"audience": "vault/one"})
    room.settle()
    (token,) = files(room, uid)
    accounts = room.api.api.sign_in.accounts
    assert accounts.authenticate(token.decode(), room.now, ("vault/one",))
    assert ISSUER not in accounts.meant_for(token.decode())


@pytest.mark.parametrize(
    ("seconds", "renewed_after"),
    [(600, 480.0), (3600, 2880.0)],
    ids=["ten minutes", "an hour"],
)
def test_the_file_is_replaced_before_the_token_ends(seconds: int, renewed_after: float) -> None:
    room = room_with_account()
    uid = create(room, "web", {"expirationSeconds": seconds})
    room.settle()
    wait(room, renewed_after - 1)
    assert len(files(room, uid)) == 1
    wait(room, 2)
    first, second = files(room, uid)
    assert first != second
    assert whose(room, second) == uid
    assert len(room.machine.starts) == 1, "the process goes on"
    wait(room, renewed_after)
    assert len(files(room, uid)) == 3


@pytest.mark.parametrize(
    ("seconds", "renewed_after"),
    [(100_000, 80_000.0), (1_000_000, DAY)],
    ids=["four fifths of its time", "a day at most"],
)
def test_one_that_lasts_is_due_after(seconds: int, renewed_after: float) -> None:
    room = room_with_account()
    asked_at = room.now
    create(room, "web", {"expirationSeconds": seconds})
    room.settle()
    assert len(requests(room)) == 1
    assert room.agent.means.tokens.next_at == pytest.approx(asked_at + renewed_after, abs=1.0)


def test_what_cannot_be_renewed_stays_and_is_asked_for_again_and_again() -> None:
    room = room_with_account()
    uid = create(room)
    room.settle()
    room.broken = True
    room.pass_time(2 * HOUR)
    assert len(files(room, uid)) == 1
    assert room.machine.running() == [(uid, "main")]
    room.broken = False
    room.pass_time(60)
    _, second = files(room, uid)
    assert whose(room, second) == uid


def test_a_refused_renewal_leaves_the_pod_its_token() -> None:
    room = room_with_account()
    uid = create(room)
    room.settle()
    room.api.delete("/api/v1/namespaces/default/serviceaccounts/robot")
    room.pass_time(HOUR)
    assert len(files(room, uid)) == 1
    assert room.machine.running() == [(uid, "main")]
    room.put("serviceaccounts", "robot")
    room.pass_time(60)
    assert whose(room, files(room, uid)[1]) == uid


def test_a_refusal_keeps_the_pod_from_starting_and_it_says_why() -> None:
    room = running()
    uid = create(room)
    room.settle()
    assert room.machine.running() == []
    waiting = room.container()["state"]["waiting"]
    assert (
        'the token of its service account cannot be had: serviceaccounts "robot" not found'
        in waiting["message"]
    )
    room.put("serviceaccounts", "robot")
    room.pass_time(60)
    assert room.machine.running() == [(uid, "main")]
    assert whose(room, files(room, uid)[0]) == uid


def test_a_lost_answer_is_asked_for_again() -> None:
    room = room_with_account()
    uid = create(room)
    while not any(each.request.subresource == "token" for each in room.asks):
        room.waiting()[0]()
    while room.asks[0].request.subresource != "token":
        room.answer_next()
    room.answer_next(lost_after=True)
    room.settle()
    assert room.machine.running() == []
    room.pass_time(5)
    assert room.machine.running() == [(uid, "main")]
    assert len(requests(room)) == 2


def with_another_key(room: Room) -> None:
    """As a server is that was started again without its key."""
    sign_in = room.api.api.sign_in
    sign_in.accounts = room.api.desk.accounts
    room.api.desk.accounts.__init__(room.api.store, b"another")  # type: ignore[misc]


def test_tokens_of_a_lost_key_are_replaced_when_the_api_is_back() -> None:
    room = room_with_account()
    uids = [create(room, f"web-{number}") for number in range(3)]
    room.settle()
    assert len(requests(room)) == 3
    room.broken = True
    room.pass_time(60)
    with_another_key(room)
    room.broken = False
    room.pass_time(60)
    for uid in uids:
        first, second = files(room, uid)
        assert first != second
        assert whose(room, second) == uid
    assert len(requests(room)) == 6


def test_an_api_that_is_back_with_its_key_is_asked_for_one_token() -> None:
    room = room_with_account()
    uids = [create(room, f"web-{number}") for number in range(3)]
    room.settle()
    room.broken = True
    room.pass_time(60)
    room.broken = False
    room.pass_time(60)
    assert len(requests(room)) == 4
    assert sorted(len(files(room, uid)) for uid in uids) == [1, 1, 2]


def kept_room() -> tuple[Room, str]:
    """A node that knows a pod from what it kept, after a restart while no API answers."""
    room = room_with_account()
    uid = create(room)
    room.settle()
    room.broken = True
    room.start_agent()
    return room, uid


def test_a_pod_that_starts_while_no_api_answers_gets_its_token_later() -> None:
    room, uid = kept_room()
    room.machine.sandboxes.clear()  # as after a restart of the machine
    room.machine.runs.clear()
    before = len(files(room, uid))
    room.begin()
    room.pass_time(60)
    assert room.machine.running() == [(uid, "main")]
    assert files(room, uid)[before:] == [b""]
    room.broken = False
    room.pass_time(90)
    assert whose(room, files(room, uid)[-1]) == uid


def test_an_agent_that_starts_while_no_api_answers_takes_no_token_from_a_pod_that_runs() -> None:
    room, uid = kept_room()
    (token,) = files(room, uid)
    room.begin()
    room.pass_time(120)
    assert room.machine.running() == [(uid, "main")]
    assert files(room, uid) == [token]
    room.broken = False
    room.pass_time(90)
    assert whose(room, files(room, uid)[-1]) == uid


def test_nothing_is_asked_for_a_pod_that_is_gone() -> None:
    room = room_with_account()
    create(room)
    room.settle()
    room.delete(grace=0)
    room.pass_time(60)
    before = len(requests(room))
    room.pass_time(2 * HOUR)
    assert len(requests(room)) == before
    assert room.agent.means.tokens.next_at == 0.0


def test_an_answer_for_a_pod_that_is_gone_changes_nothing() -> None:
    tokens = PodTokens(Pace(), Calls())
    assert tokens.answered("uid/3600/", Unknown("lost"), 0.0, 0.5) == ()
    assert tokens.version == 0


def test_many_pods_ask_a_few_at_a_time() -> None:
    room = room_with_account()
    count = 3 * Pace().reads_in_flight_max
    for number in range(count):
        create(room, f"web-{number}")
    most = 0
    for _ in range(5000):
        ready = room.waiting()
        if not ready:
            break
        ready[0]()
        most = max(most, room.agent.means.calls.open_for(PART))
    assert len(room.machine.running()) == count
    assert 0 < most <= Pace().reads_in_flight_max


def test_an_answer_without_a_token_is_a_failure_like_any() -> None:
    room = room_with_account()
    create(room)
    while not any(each.request.subresource == "token" for each in room.asks):
        room.waiting()[0]()
    tokens = room.agent.means.tokens
    about = f"{room.uid()}/3600/"
    at = timestamp(room.now).encode()
    for body in (
        b"{}",
        b"[]",
        b"not JSON",
        b'{"status":[]}',
        b'{"status":{"token":"x"}}',
        b'{"status":{"token":"x","expirationTimestamp":"soon"}}',
        b'{"status":{"token":"","expirationTimestamp":"%b"}}' % at,
    ):
        assert tokens.answered(about, Done(body=body), room.now, 0.5) == (room.uid(),)
        assert (tokens.version, tokens.next_at > room.now) == (0, True), body
