"""What a plane that was killed had counted is completed in the log of decisions, once, and only what is missing."""

from __future__ import annotations

from typing import Any

from fairlead.control.blocked_counts import Counted, counted_line
from fairlead.control.instructions import DECISIONS, TURNS
from fairlead.core import codec
from fairlead.core.times import microtime
from fairlead.explain.asking import answered
from fairlead.explain.index import MemoryIndex
from fairlead.runtime.server.lost_counts import LostCounts
from fairlead.store.contract import Batch, Note
from fairlead.store.memory import MemoryJournal

POD = "pods/default/web"
Json = dict[str, Any]


class Killed:
    def __init__(self) -> None:
        self.journal = MemoryJournal()
        nothing: Any = None
        self.lost = LostCounts(
            self.journal, MemoryIndex(self.journal), nothing, lambda notes: self.write(*notes)
        )

    def write(self, *notes: Note) -> None:
        self.journal.append(Batch((), notes, 1.0))

    def decide(self, number: int, attempts: list[int] | None = None, **more: Any) -> None:
        line: Json = {"time": microtime(number), "controller": "c", "object": POD, "id": f"aa-{number}"}
        line |= {"verdict": "Waiting", "reason": "NoRoom", "digest": "d", "reads": {"pods": [1, 2]}, **more}
        if attempts is not None:
            line["attempts"] = attempts
        self.write(Note(DECISIONS, codec.encode(line)))

    def count(self, of: int, first: int, last: int, by: str = "one", at: float = 50.0) -> None:
        counted = [(POD, Counted(f"aa-{of}", first, last))]
        self.write(Note(TURNS, counted_line("c", by, counted, at)))

    def recover(self, by: str = "one", before: float = 100.0) -> int:
        return answered(self.lost.recover(by, before))

    @property
    def last(self) -> Json:
        found: Json = codec.decode(self.journal.notes_before(DECISIONS, 0, 1)[0][2].body)
        return found


def test_the_newest_count_becomes_a_record_once() -> None:
    killed = Killed()
    killed.decide(1)
    killed.decide(2, [2, 2])
    killed.decide(4, [3, 4])
    for last in (5, 6, 7):
        killed.count(4, 5, last, at=40.0 + last)
    assert killed.recover() == 1
    told = killed.last
    assert (told["id"], told["attempts"], told["time"]) == ("aa-4.7", [5, 7], microtime(47.0))
    assert (told["verdict"], told["reason"], told["recovered"]) == ("Waiting", "NoRoom", True)
    assert told.keys().isdisjoint({"digest", "reads"}), "what those turns had read is not known"
    assert killed.recover() == 0


def test_what_was_written_after_all_is_not_written_again() -> None:
    killed = Killed()
    killed.decide(4, [3, 4])
    killed.count(4, 5, 7)
    killed.decide(8, [5, 8])
    assert killed.recover() == 0


def test_only_what_that_plane_counted_before_is_completed() -> None:
    killed = Killed()
    killed.decide(4, [3, 4])
    killed.count(4, 5, 7)
    assert killed.recover(by="two") == 0
    assert killed.recover(before=50.0) == 0
    killed.decide(1, [5, 9], id="bb-1")
    assert killed.recover() == 1, "another term counted anew"


def test_a_record_that_is_gone_cannot_be_completed() -> None:
    killed = Killed()
    killed.count(4, 5, 7)
    assert killed.recover() == 0
