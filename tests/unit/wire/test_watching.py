"""One change told to watches: large ones in pieces of bytes that all watches share, and streams that end between two."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fairlead.api.access.users import User
from fairlead.api.plan import Watch
from fairlead.model.key import Key
from fairlead.store.contract import ADDED, CommittedChange, Entry
from fairlead.store.watch import Hub
from fairlead.wire.exchange import Exchange
from fairlead.wire.watching import PIECE_BYTES, Watches

LARGE = b'{"metadata":{"resourceVersion":"2"},"text":"%b"}' % (b"x" * 300_000)


class Client:
    """Both an exchange and the client behind it."""

    def __init__(self) -> None:
        self.pieces: list[memoryview | bytes] = []
        self.writable, self.ended, self.aborted = True, False, False
        self.on_gone: Any = None
        self.resumed: Any = None
        self.room = 1 << 60

    def stream(self, content_type: bytes) -> None: ...

    def on_writable(self, resumed: Any) -> None:
        self.resumed = resumed

    def chunk_ends(self, size: int) -> tuple[bytes, bytes]:
        return b"%x\r\n" % size, b"\r\n"

    def send(self, frames: bytes) -> None:
        self.send_pieces([b"%x\r\n" % len(frames), frames, b"\r\n"])

    def send_pieces(self, pieces: list[Any]) -> None:
        assert not self.ended
        self.pieces += pieces
        self.room -= sum(map(len, pieces))
        self.writable = self.room > 0

    def end(self) -> None:
        self.ended = True

    def abort(self) -> None:
        self.aborted = True

    def read(self) -> list[bytes]:
        """The chunks that it was sent."""
        text, chunks = b"".join(self.pieces), []
        while text:
            size, _, text = text.partition(b"\r\n")
            chunks.append(text[: int(size, 16)])
            assert text[int(size, 16) :][:2] == b"\r\n"
            text = text[int(size, 16) + 2 :]
        return chunks


class World:
    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        reader = SimpleNamespace(revision=1, floor=lambda _: 0, lost=())
        self.hub = Hub(cast(Any, reader))
        self.watches = Watches(self.loop, self.hub, lambda: 0.0)
        self.revision = 1

    def open(self, encode: Any = None, room: int = 1 << 60) -> Client:
        client = Client()
        client.room = room
        watch = Watch(
            resource="configmaps",
            namespace="",
            since=1,
            initial=(),
            accepts=None,
            encode=encode,
            bookmarks=False,
            bookmark=lambda *_: b"bookmark\n",
            initial_end=False,
            timeout_seconds=60.0,
        )
        self.watches.open(cast(Exchange, client), watch, User("ann"))
        return client

    def change(self, data: bytes = LARGE) -> CommittedChange:
        self.revision += 1
        entry = Entry(Key("configmaps", "default", "a"), "uid", self.revision, data, self.revision)
        change = CommittedChange(ADDED, entry, None)
        self.watches.wake(self.hub.publish([change]))
        return change

    def settle(self) -> None:
        while self.watches.fanout._turn_due is not None:
            self.loop.run_until_complete(asyncio.sleep(0))


@pytest.fixture
def world() -> Any:
    made = World()
    yield made
    made.watches.stop()
    made.loop.close()


def test_watches_share_the_bytes_of_a_large_change_and_get_it_in_pieces(world: World) -> None:
    clients = [world.open() for _ in range(5)]
    change = world.change()
    world.settle()
    for client in clients:
        assert client.read() == [b'{"type":"ADDED","object":' + LARGE + b"}\n"]
        large = [piece for piece in client.pieces if len(piece) > 100]
        assert all(isinstance(piece, memoryview) and piece.obj is change.entry.data for piece in large)
        assert max(map(len, large)) <= PIECE_BYTES
    assert not change.frame, "no second copy of it was made"


def test_small_changes_go_out_together_and_in_order_with_large_ones(world: World) -> None:
    client = world.open(room=PIECE_BYTES)
    world.change()
    texts = [b'{"n":%d}' % number for number in range(20)]
    for text in texts:
        world.change(text)
    world.change()
    world.settle()
    assert not client.writable
    client.writable, client.room = True, 1 << 60
    client.resumed()
    world.settle()
    first, *between, last = client.read()
    assert first == last == b'{"type":"ADDED","object":' + LARGE + b"}\n"
    assert b"".join(between).splitlines() == [b'{"type":"ADDED","object":%b}' % text for text in texts]
    assert len(between) < 8


def test_of_a_large_change_no_more_than_a_piece_is_sent_to_who_does_not_read(world: World) -> None:
    client = world.open(room=1)
    world.change()
    world.settle()
    assert sum(map(len, client.pieces)) <= PIECE_BYTES
    assert world.watches.fanout.budget.held
    client.on_gone()
    assert world.watches.fanout.budget.held == 0


def test_a_stream_ends_after_the_change_that_was_begun(world: World) -> None:
    client = world.open(room=1)
    world.change()
    world.watches.keep(lambda user: False)
    assert client.ended
    assert client.read() == [b'{"type":"ADDED","object":' + LARGE + b"}\n"]
    assert len(world.watches) == 0


def test_who_falls_behind_is_cut_and_who_reads_is_not(world: World) -> None:
    silent, reading = world.open(room=1), world.open()
    for _ in range(80):
        world.change()
        world.settle()
    assert (silent.aborted, reading.aborted, reading.ended) == (True, False, False)
    assert len(reading.read()) == 80


def test_a_form_of_its_own_is_sent_in_pieces_as_well(world: World) -> None:
    client = world.open(encode=lambda event, change, now: b"own " + change.entry.data + b"\n")
    world.change()
    world.settle()
    assert client.read() == [b"own " + LARGE + b"\n"]
    assert max(map(len, client.pieces)) <= PIECE_BYTES
