"""Replays an incident: every decision of a capture is run again on its recorded inputs.

    replay(artifact, what_if) -> Replay       how many came out the same, and the first that did not

Controllers are run turn by turn (`rerun.py`), the scheduler batch by batch (`placement.py`), in the order of time. What
cannot be run again is counted with the reason. A `WhatIf` changes what is decided on: another policy of placement, or
an override that had not been laid down. Each decision is then still made on the state as it was then: what would have
become of that state is for the simulator (`fairlead sim from`). Pure; `cli/replay.py` shows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from fairlead.control.attempts import SCHEDULER
from fairlead.control.blocked_counts import RECOVERED
from fairlead.control.instructions import DECISIONS, TURNS
from fairlead.control.record import DETAIL
from fairlead.core import codec
from fairlead.core.errors import NotFound
from fairlead.decision.contract import Decision
from fairlead.decision.decider import Decider
from fairlead.model.kind import Json
from fairlead.model.views import OVERRIDES, SchedulingPolicy
from fairlead.replay.artifact import Artifact
from fairlead.replay.cast import Cast, usual_deciders
from fairlead.replay.past import NotKept
from fairlead.replay.placement import differences, place_again, policy_then
from fairlead.replay.rerun import Rerun, Rerunner
from fairlead.replay.stored import CapturedHistory
from fairlead.replay.terms import pretended_in, term_of
from fairlead.schedule.registry import policy_from

#: bound: plane | differences that a replay names one by one | the others are counted
DIFFERENCES_MAX = 1_000


# Lines that are no decision of their own: outcomes, terms, counts, and what was completed after a kill.
_UNRUN = frozenset({"of", "term", "counted", RECOVERED})
_TOLD = ("verdict", "reason", "message", "effects", "digest")


class WhatIf(NamedTuple):
    """`policy`: every placement under this one. `without_override`: as if this SchedulerOverride had not been."""

    policy: SchedulingPolicy | None = None
    without_override: str = ""


class DifferentDecision(NamedTuple):
    """One decision that comes out otherwise: what was recorded, and what comes out now."""

    id: str
    time: str
    controller: str
    object: str
    recorded: Json
    again: Json
    why: str = ""


class Replay(msgspec.Struct):
    decisions: int = 0
    equal: int = 0
    different: int = 0
    skipped: dict[str, int] = {}  # why -> how many
    controllers: dict[str, int] = {}  # how many of each were run
    differences: list[DifferentDecision] = []

    @property
    def first_divergence(self) -> DifferentDecision | None:
        return self.differences[0] if self.differences else None


def replay(
    artifact: Artifact, what_if: WhatIf | None = None, deciders: Sequence[Decider] | None = None
) -> Replay:
    """`deciders`: instead of those of this release."""
    what_if = what_if or WhatIf()
    history = CapturedHistory(artifact)
    if what_if.without_override:
        _leave_out(history, what_if.without_override)
    cast = Cast(deciders) if deciders is not None else cast_of(artifact)
    return _Replaying(artifact, history, cast, what_if).run()


def cast_of(artifact: Artifact) -> Cast:
    """The controllers of this release, with as many nodes to pretend as the captured planes had."""
    return Cast(usual_deciders(artifact.head.hollow_nodes), pretended_in(artifact))


def _leave_out(history: CapturedHistory, named: str) -> None:
    """`NAME`, of whatever namespace, or `NAMESPACE/NAME`."""
    space, _, name = named.rpartition("/")
    found = [key for key in history.keys(OVERRIDES.name) if key.name == name and space in ("", key.namespace)]
    if not found:
        known = ", ".join(f"{key.namespace}/{key.name}" for key in history.keys(OVERRIDES.name))
        raise NotFound(
            f"there is no override {named!r} in the capture; there are: {known or 'none'}",
            kind=OVERRIDES.name,
            name=name,
        )
    for key in found:
        history.without(key)


class _Replaying:
    def __init__(self, artifact: Artifact, history: CapturedHistory, cast: Cast, what_if: WhatIf) -> None:
        self._artifact = artifact
        self._cast = cast
        self._runner = Rerunner(history, cast)
        self._policy = policy_from(what_if.policy) if what_if.policy is not None else None
        self._found = Replay()
        self._skipped: Counter[str] = Counter()
        self._ran: Counter[str] = Counter()

    def run(self) -> Replay:
        attempts = self._attempts()
        for line in self._lines():
            if "batch" in line:
                if "pods" in line:
                    self._place(line, attempts.pop((line["time"], line["batch"]), []))
            elif "digest" in line:
                self._decide(line)
            elif _UNRUN.isdisjoint(line) and line.get("controller") != SCHEDULER:
                self._skip(_why_without_digest(line))
        for left in attempts.values():
            self._skip("the record of its batch was not captured", len(left))
        self._found.skipped = dict(self._skipped)
        self._found.controllers = dict(sorted(self._ran.items()))
        return self._found

    def _lines(self) -> Iterator[Json]:
        """Of both streams, in the order of time: a mirror that only goes forwards is cheap."""
        lines: list[tuple[str, str, int, Json]] = []
        for each in self._artifact.lines:
            if each.stream in (DECISIONS, TURNS):
                line = codec.decode(bytes(each.body))
                lines.append((line["time"], each.stream, each.sequence, line))
        lines.sort(key=lambda each: each[:3])
        return (line for *_, line in lines)

    def _attempts(self) -> dict[tuple[str, int], list[Json]]:
        found: dict[tuple[str, int], list[Json]] = {}
        for line in self._lines():
            if "batch" in line and "position" in line:
                found.setdefault((line["time"], line["batch"]), []).append(line)
        return found

    def _decide(self, line: Json) -> None:
        found = self._runner.run(line)
        if isinstance(found, str):
            self._skip(found)
            return
        if found.digest != line["digest"] and DETAIL in line:
            self._skip("a RecordingPolicy keeps its outcome alone, without what it heard")
            return
        if found.digest != line["digest"] and not self._cast.knows_nodes(
            line["controller"], term_of(line.get("id", ""))
        ):
            self._skip("the line that opened its term is not kept, which says how many nodes it pretended")
            return
        self._count(line["controller"])
        if found.digest == line["digest"]:
            self._found.equal += 1
        else:
            recorded: Json = {name: line[name] for name in _TOLD if name in line}
            self._differ(line, recorded, told(found), found.why)

    def _place(self, batch: Json, attempts: list[Json]) -> None:
        try:
            policy = self._policy or policy_then(self._runner.past, batch["reads"], tuple(batch["policy"]))
            placed = place_again(self._runner.past, batch, policy)
        except NotKept as missing:
            self._skip(str(missing), len(attempts))
            return
        for record in attempts:
            self._count(SCHEDULER)
            found = differences(record, placed[record["position"]])
            if self._policy is not None:  # scores are on another scale: what was chosen counts
                found = tuple(each for each in found if each.field in ("node", "nominated", "victims"))
            elif DETAIL in record:
                found = tuple(each for each in found if each.field in ("node", "nominated"))
            if not found:
                self._found.equal += 1
                continue
            self._differ(
                record,
                {each.field: each.recorded for each in found},
                {each.field: each.again for each in found},
                f"{', '.join(each.field for each in found)}",
            )

    def _count(self, controller: str) -> None:
        self._found.decisions += 1
        self._ran[controller] += 1

    def _skip(self, why: str, count: int = 1) -> None:
        self._skipped[why] += count

    def _differ(self, line: Json, recorded: Json, again: Json, why: str) -> None:
        self._found.different += 1
        if len(self._found.differences) < DIFFERENCES_MAX:
            self._found.differences.append(
                DifferentDecision(
                    line.get("id", ""), line["time"], line["controller"], line["object"], recorded, again, why
                )
            )


def told(found: Rerun) -> Json:
    """What came out, in the words of a record."""
    return {} if found.decision is None else {**told_decision(found.decision), "digest": found.digest}


def told_decision(decision: Decision) -> Json:
    verdict: Any = decision.verdict
    line: Json = {"verdict": type(verdict).__name__}
    for name in ("reason", "message"):
        if text := getattr(verdict, name, ""):
            line[name] = text
    if decision.effects:
        line["effects"] = [f"{type(effect).__name__} {effect.identity}" for effect in decision.effects]
    return line


def _why_without_digest(line: Json) -> str:
    if line.get("reason") == "DeciderFailed":
        return "the controller failed, and what it had read is not recorded"
    return "its record has no digest: it tells what became of another, or is of an older release"
