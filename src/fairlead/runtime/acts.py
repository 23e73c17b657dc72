"""What a plane did, as lines of the log: decisions with effects, their outcomes, leadership, settings.

The drivers of planes (`server/plane_driver.py`, `remote/plane.py`) hand it every record of a decision as it is kept,
and let it look at the plane after each event. A line carries what joins it to the other signals: the decision's id, the
object with uid and generation, the identities of its effects, the word of its reason. Turns that did nothing are not
logged: `fairlead decisions` has them. Values of objects never are. It costs a search in the first bytes of a record
for most decisions; beyond the rate of `wire/rated_log.py` records are counted and not looked at.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from fairlead.control.instructions import DECISIONS, PlaneDeed, PlaneInstruction, Record
from fairlead.control.plane import Plane
from fairlead.runtime.record_line import RecordLine, decode_line
from fairlead.runtime.tracing.tracer import Tracer
from fairlead.wire.rated_log import RatedLog

log = logging.getLogger("fairlead.acts")

# What in the bytes of a record says that it is about more than a look.
_WORTH_A_LINE = (b'"effects":', b'"batch":', b'"of":', b'"verdict":"Stuck"', b'"term":')
_LOOKED_AT_BYTES = 2048  # they stand before what was read
_PLACED = "Placed"


class ActLog:
    def __init__(self, of: str = "plane") -> None:
        """`of`: which plane, where a process may have several."""
        self._of = of
        self._decisions = RatedLog(log, "decisions")
        self._led: bool | None = None
        self._settings = -1

    def decided(self, records: Sequence[Record]) -> None:
        """Those of one event, as they are kept."""
        told = [each.body for each in records if each.stream == DECISIONS]
        for place, body in enumerate(told):
            if not self._decisions.has_room(len(told) - place):
                return
            if any(body.find(mark, 0, _LOOKED_AT_BYTES) >= 0 for mark in _WORTH_A_LINE):
                line = decode_line(body)
                message = _told(line)
                if message:
                    self._decisions.write(message, _fields(line))

    def records_first(
        self,
        instructions: Iterable[PlaneInstruction],
        keep: Callable[[Sequence[Record]], None],
        tracer: Tracer | None,
    ) -> Iterator[PlaneDeed]:
        """What else there is to carry out, each when the records before it were given to `keep`, in one go."""
        records, decided = list[Record](), list[Record]()
        for instruction in instructions:
            if isinstance(instruction, Record):
                records.append(instruction)
                decided.append(instruction)
                if tracer is not None:
                    tracer.decided(instruction)
                continue
            if records:
                keep(records)
                records = []
            yield instruction
        if records:
            keep(records)
        if decided:
            self.decided(decided)

    def noticed(self, plane: Plane) -> None:
        """After each event: two comparisons, and a line for what is not as it was."""
        leads = plane.leadership.leads
        if leads is not self._led:
            self._tell_leadership(plane, leads)
        generation = plane.health.settings.generation
        if generation != self._settings:
            self._tell_settings(plane, generation)

    def _tell_leadership(self, plane: Plane, leads: bool) -> None:
        before, self._led = self._led, leads
        if before is None and not leads:
            return
        identity = plane.leadership.identity
        fields = {
            "identity": identity,
            "lease": plane.leadership.lease_name,
            "fence": plane.leadership.fence_revision,
        }
        self._write(f"{identity} {'leads' if leads else 'leads no longer'}", fields)

    def _tell_settings(self, plane: Plane, generation: int) -> None:
        before, self._settings = self._settings, generation
        if before < 0 and not generation:
            return
        settings = plane.health.settings
        fields = {"object": "planesettings.fairlead.dev/default", "generation": generation}
        fields["revision"] = settings.revision
        told = f"generation {generation} of the PlaneSettings" if generation else "what is built in"
        self._write(f"works with {told}", fields)

    def _write(self, message: str, fields: dict[str, Any]) -> None:
        if self._decisions.has_room():
            self._decisions.write(f"{self._of}: {message}", {"plane": self._of, **fields})


def _told(line: RecordLine) -> str:
    """A sentence; "" for a record that says nothing on its own."""
    if line.term:
        return f"term {line.term} of {line.identity or 'the plane'} begins"
    if line.of:
        return f"what {line.of} decided was not simply done: {line.outcome}"
    if not line.object:
        return ""  # what the attempts of a batch share
    reason = f" ({line.reason})" if line.reason else ""
    if line.verdict == _PLACED:
        return f"{line.controller} placed {line.object} on {line.node}"
    did = f": {', '.join(_counted(line.effects))}" if line.effects else ""
    return f"{line.controller} decided for {line.object}: {line.verdict}{reason}{did}"


def _counted(effects: tuple[str, ...]) -> list[str]:
    counts: dict[str, int] = {}
    for each in effects:
        verb = each.partition(" ")[0]
        counts[verb] = counts.get(verb, 0) + 1
    return [f"{number} {verb}" for verb, number in counts.items()]


def _fields(line: RecordLine) -> dict[str, Any]:
    return {
        "decision": line.id or line.of,
        "controller": line.controller,
        "object": line.object,
        "uid": line.uid,
        "generation": line.generation,
        "verdict": line.verdict,
        "reason": line.reason,
        "operations": [each.partition(" ")[2] for each in line.effects],
        "about": line.about,
        "cause": line.cause,
        "attempts": line.attempts,
        "node": line.node,
        "nominated": line.nominated,
        "outcome": line.outcome,
        "term": line.term,
        "version": line.version,
    }
