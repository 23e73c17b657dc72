"""The record of one decision: small, because its detail is recomputed by running the same pure function again.

Names the decision by its id (`term.py`), the instant, the controller, the object with uid and generation, every other
object that its effects touch, what led to it and how long it waited, the verdict, the effects by identity, and for
every resource that was read the revision used and the newest that was known then, and the revision of the settings
(laws.md 9). Questions about silence and the wall clock are in no history, so they are kept with their answers, and so
are values that were measured (`Decision.inputs`). `digest` is what a re-run must give.

A line of a turn that settled and did nothing is shorter and goes to a log of its own, TURNS, so that it displaces
nothing that people ask for. What became of a decision is told by a line that names it (`of`), unless all of its effects
were simply committed: then the audit line of each write names the decision, in the transaction of that write.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from fairlead.cache.view import MirrorView
from fairlead.control.blocked_counts import counted_line
from fairlead.control.instructions import DECISIONS, TURNS, Record
from fairlead.control.merging import Attempts, Merging, without_counters
from fairlead.control.recording import Recording, RecordSubject
from fairlead.control.refusals import Wait
from fairlead.control.term import Term
from fairlead.control.turn import Turn
from fairlead.core import codec
from fairlead.core.times import microtime
from fairlead.decision.contract import Reading, Settled, Stuck, Verdict, Waiting
from fairlead.decision.digest import digest_of
from fairlead.model.key import Key
from fairlead.model.kinds.recordingpolicy import FULL, NONE, OUTCOME

STREAM = DECISIONS
SEVERAL = "several"
_NO_CAUSE = Key("", "", "")

# What became of a decision, where its effects were not simply committed.
CONFLICT, REFUSED, UNKNOWN, LOOKED_UP = "conflict", "refused", "unknown", "looked up"
RAISED, LOOP = "raised", "write loop"  # the Decider failed; it was carried out, and led back to itself

Json = dict[str, Any]
DETAIL = "detail"  # a record that is not in full says so
_HOW = frozenset({"inputs", "heard", "wall", "cause", "waited"})  # how it came about: of records in full


class Kept(Protocol):
    """What the controllers of a plane share of records (`health.py`)."""

    merging: Merging
    recording: Recording
    term: Term


class Deciding(NamedTuple):
    """What a record says of who decided, beside the turn."""

    controller: str
    settings: int = 0  # the revision of the PlaneSettings in use, 0 for what is built in


def records_of(
    who: Deciding, turn: Turn, view: Reading | None, now: float, kept: Kept, held: Wait | None = None
) -> list[Record]:
    """What was decided, before any of it is carried out, in the detail that the policy asks for (`recording.py`). A
    blocked turn that says what the one before said is counted (`merging.py`): then it goes by the id of that one.
    `held`: the refusal for which some of it is not carried out."""
    if kept.recording.is_off:
        return []
    line, stream = _line_of(who, turn, view, now, held)
    verdict, merging, recording = turn.decision.verdict, kept.merging, kept.recording
    is_blocked = not turn.decision.effects and isinstance(verdict, Waiting | Stuck)
    level, subject = FULL, None
    if recording.policy is not None:
        subject = RecordSubject(who.controller, turn.key, is_blocked, _owner(turn.key, view))
        level = recording.level(subject, now)
    if not is_blocked or not isinstance(verdict, Waiting | Stuck):
        before = [*map(Record, merging.other(who.controller, turn.key))]
        if level == NONE or (stream == TURNS and not recording.is_sampled(turn.id)):
            recording.left_out += 1
            return before
        body = codec.encode(_detailed(line, level))
        recording.count(level, len(body))
        return [*before, Record(body, stream)]
    said = (
        line["verdict"], verdict.reason, without_counters(verdict.message), turn.is_held, line.get("uid"),
        line.get("generation"), who.settings,
    )  # fmt: skip
    if subject is not None and not merging.repeats(who.controller, turn.key, said):
        recording.failing(subject, now)
        level = recording.level(subject, now)

    def encode(attempts: Attempts | None) -> bytes:
        told = line if attempts is None else {**line, "attempts": attempts}
        body = codec.encode(_detailed(told, level))
        recording.count(level, len(body))
        return body

    told = merging.blocked(who.controller, turn.key, said, turn.id, encode)
    turn.id = told.id
    found = [*map(Record, told.lines)]
    if told.counted is not None:
        about = [(text_of(turn.key), told.counted)]
        found.append(Record(counted_line(who.controller, kept.term.identity, about, now), TURNS))
    return found


def _detailed(line: Json, level: str) -> Json:
    if level == FULL:
        return line
    return {**{field: value for field, value in line.items() if field not in _HOW}, DETAIL: OUTCOME}


def _owner(key: Key, view: Reading | None) -> str:
    found = view.metadata_of(key) if isinstance(view, MirrorView) else None
    owner = found.controller if found is not None else None
    return owner.name if owner is not None else ""


def _line_of(
    who: Deciding, turn: Turn, view: Reading | None, now: float, held: Wait | None
) -> tuple[Json, str]:
    """A line, and the log that it is for."""
    decision = turn.decision
    line = _head(who, turn, now)
    settles = isinstance(decision.verdict, Settled) and not decision.effects and not turn.is_held
    line["verdict"] = type(decision.verdict).__name__
    if isinstance(view, MirrorView):
        found = view.metadata_of(turn.key)
        if found is not None:
            line["uid"] = found.uid
            if found.generation:
                line["generation"] = found.generation
    _tell_verdict(line, decision.verdict)
    if decision.effects:
        line["effects"] = [f"{type(effect).__name__} {effect.identity}" for effect in decision.effects]
        if about := touched(turn):
            line["about"] = about
    if decision.inputs:
        line["inputs"] = list(decision.inputs)
    if held is not None:
        line["held"] = held.told()
    if turn.cause is not None and not settles:
        line["cause"] = SEVERAL if turn.cause == _NO_CAUSE else text_of(turn.cause)
    if not settles:
        line["waited"] = round(turn.waited, 6)
    line["digest"] = digest_of(decision)
    if isinstance(view, MirrorView):
        line["reads"] = dict(sorted(view.reads().items()))
        if heard := view.heard():
            line["heard"] = heard
        if view.walls:
            line["wall"] = {microtime(at): microtime(shown) for at, shown in view.walls.items()}
    return line, TURNS if settles else DECISIONS


def outcome_of(who: Deciding, turn: Turn, outcome: str, now: float, verdict: Verdict | None = None) -> Record:
    """What became of a decision; `verdict`: what follows from that."""
    line = _head(who, turn, now, outcome)
    line["verdict"] = type(verdict).__name__ if verdict is not None else type(turn.decision.verdict).__name__
    if verdict is not None:
        _tell_verdict(line, verdict)
    if about := touched(turn):
        line["about"] = about
    if turn.trouble:
        line["trouble"] = turn.trouble
    return Record(codec.encode(line))


def touched(turn: Turn) -> list[str]:
    """The objects that its effects are about, but for its own."""
    keys = dict.fromkeys(effect.key for effect in turn.decision.effects)
    return [text_of(key) for key in keys if key != turn.key]


def text_of(key: Key) -> str:
    return "/".join([part for part in key if part])


def _head(who: Deciding, turn: Turn, now: float, outcome: str = "") -> Json:
    line: Json = {"time": microtime(now), "controller": who.controller, "object": text_of(turn.key)}
    if outcome:
        line["of"], line["outcome"] = turn.id, outcome
    else:
        line["id"] = turn.id
    if who.settings:
        line["settings"] = who.settings
    return line


def _tell_verdict(line: Json, verdict: Verdict) -> None:
    if isinstance(verdict, Waiting | Stuck):
        line["reason"] = verdict.reason
        if verdict.message:
            line["message"] = verdict.message
