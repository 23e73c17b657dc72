"""Runs a recorded decision again: the same pure function on what it read then, and compares the digests (laws.md 9).

    Rerunner(history, deciders).run(line) -> Rerun

`line` is of the stream `decisions` or `turns` (`control/record.py`). Used by `fairlead replay` for all of an incident
(`replaying.py`) and by `fairlead explain` for one. What the loop does to a Decision before it is carried out is done
here as well: a decision that missed something waits, one whose effects would be refused again is held back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from fairlead.control.complaints import one_line
from fairlead.control.refusals import Wait, hold_back
from fairlead.control.unread import wait_until_readable
from fairlead.core.times import parse_time
from fairlead.decision.contract import NOTHING, Decision
from fairlead.decision.decider import Decider
from fairlead.decision.digest import digest_of
from fairlead.model.custom.definition import DEFINITIONS
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.replay.cast import Cast
from fairlead.replay.past import History, HistoryMirrors, NotAsked, NotKept, PastView
from fairlead.replay.terms import term_of
from fairlead.replay.tracing import TracedView

_FAILED = "DeciderFailed"


class Rerun(NamedTuple):
    """What came of it. `why` says why it could not be run, or what it asked that it had not asked then."""

    decision: Decision | None
    digest: str
    why: str = ""
    seen: frozenset[Key] = frozenset()  # what it was shown, if that was asked for


def starts_of(lines: Iterable[Json]) -> dict[str, int]:
    """The oldest revision of each resource that any of these decisions read: so far back history must reach."""
    found: dict[str, int] = {}
    for line in lines:
        read = [(name, used) for name, (used, _) in line.get("reads", {}).items()]
        if kinds := line.get("heard", {}).get("kinds"):
            read.append((DEFINITIONS, kinds))
        for name, used in read:
            if used:
                found[name] = min(used, found.get(name, used))
    return found


class Rerunner:
    def __init__(self, history: History, cast: Cast) -> None:
        self._cast = cast
        self.past = HistoryMirrors(history, cast.resources)

    def run(self, line: Json, *, traced: bool = False, at: str = "") -> Rerun | str:
        """Or why it cannot be run at all: what it rests on is not at hand. `traced`: also tell what it was shown; `at`:
        as if it had been another instant."""
        reads = line.get("reads")
        if reads is None:
            return "its record names no revisions"
        heard = line.get("heard") or {}
        try:
            self._serve_kinds(heard)
            decider = self._cast.decider(line["controller"], term_of(line.get("id", "")))
            if decider is None:
                return f"there is no controller {line['controller']} in this release"
            key = self._cast.key_of(line["object"])
            now = parse_time(at or line["time"])
            view = TracedView(self.past, reads, heard) if traced else PastView(self.past, reads, heard)
            wait = msgspec.convert(line["held"], Wait) if "held" in line else None
            decision = decide_again(decider, view, key, now, wait)
        except NotKept as missing:
            return str(missing)
        except NotAsked as asked:
            return Rerun(None, "", f"it asks now {asked}, which it did not ask then")
        except Exception as error:  # noqa: BLE001 - a Decider that raises is a finding like any other
            return Rerun(None, "", f"{_FAILED}: {one_line(error)}")
        seen = view.seen if isinstance(view, TracedView) else frozenset[Key]()
        return Rerun(decision, digest_of(decision), seen=seen)

    def _serve_kinds(self, heard: Json) -> None:
        revision = heard.get("kinds", 0)
        self._cast.serve(self.past.at(DEFINITIONS, revision).index.all() if revision else ())


def decide_again(decider: Decider, view: PastView, key: Key, now: float, wait: Wait | None) -> Decision:
    """As `control/controller.py` comes to what it carries out."""
    decision = decider.decide(view, key, now)
    missed = view.missed()
    if missed:
        decision = wait_until_readable(decider, view, key, missed, now)
    if wait is None:
        return decision

    def report() -> Decision:
        return NOTHING if decider.refused is None else decider.refused(view, key, wait.refusal, now)

    return hold_back(decision, wait, report, now) or decision
