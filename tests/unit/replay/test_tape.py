"""The tape of a plane: what is told is kept in order and comes back, and nothing is kept when it is off."""

from __future__ import annotations

from typing import Any

from fairlead.cache.events import Broke, Framed, Listed, Marked, Mirrored
from fairlead.control.instructions import Answers, Call, Replied
from fairlead.model.key import Key
from fairlead.port.driving import Started, Woke
from fairlead.port.outcome import Done, Unknown
from fairlead.port.request import Binding, Request
from fairlead.replay.tape import (
    TAPE_ITEMS_MAX,
    Awoke,
    Began,
    Delivered,
    Ended,
    Heard,
    Sent,
    Struck,
    TapeWriter,
    WasListed,
    WasMarked,
    WereAnswered,
    digest_of_request,
    items_of,
    text_of_request,
)
from fairlead.store.contract import ADDED, Entry

CREATE = Request("create", "apps", "v1", "replicasets", "shop", body=b"{}")


def frame(revision: int) -> Framed:
    return Framed(ADDED, Entry(Key("pods", "shop", "web"), "u", revision, b"{}"), 3.0, 2)


def test_what_is_told_comes_back_in_order() -> None:
    tape = TapeWriter()
    tape.began(Started(1.0, 0.5), "vm", 7)
    tape.told(Mirrored("pods", (Listed(7, (), 2.0, 1),)))
    tape.told(Mirrored("pods", (frame(8), frame(9), Broke("cut", 3.0, 2))))
    tape.told(Mirrored("nodes", (Marked(9, 3.0, 1),)))
    tape.told(Woke(4.0, 0.25, "pods"))
    tape.sent(Call(3, "deployment", CREATE), 4.5, b"\x01\x02", 9)
    tape.struck(Call(3, "deployment", CREATE), 4.6, "reply_lost")
    tape.told(Answers((Replied(3, Unknown("?"), 5.0, 0.1), Replied(4, Done(11), 5.0, 0.2))))
    what = "create replicasets.apps shop/"
    assert items_of(tape.take(5.0)) == (
        Began(1.0, 0.5, "vm", 7),
        WasListed(2.0, "pods", 7, 1),
        Delivered(3.0, "pods", 9, 2),
        Ended(3.0, "pods", "Broke", "cut", 2),
        WasMarked(3.0, "nodes", 9, 1),
        Awoke(4.0, 0.25, "pods"),
        Sent(3, 4.5, "0102", "deployment", what, digest_of_request(CREATE), 9),
        Struck(3, 4.6, "deployment", what, "reply_lost"),
        WereAnswered(5.0, (Heard(3, 0.1, 0), Heard(4, 0.2, 11))),
    )
    assert tape.take(6.0) == b""


def test_a_line_is_bounded_and_nothing_is_kept_when_it_is_off() -> None:
    tape = TapeWriter()
    for _ in range(TAPE_ITEMS_MAX):
        assert not tape.is_full
        tape.told(Woke(1.0))
    assert tape.is_full
    off = TapeWriter()
    off.is_on = False
    off.told(Woke(1.0))
    assert off.take(1.0) == b""


def test_requests_are_told_apart_by_what_they_ask_for() -> None:
    def bind(*names: str) -> Any:
        bindings = tuple(Binding("shop", name, "u", "n1") for name in names)
        return Request("create", "", "v1", "pods", subresource="binding", bindings=bindings)

    assert text_of_request(bind("web-1", "web-2", "web-3")) == "bind pods shop/web-1 and 2 more"
    assert digest_of_request(bind("web-1")) != digest_of_request(bind("web-2"))
