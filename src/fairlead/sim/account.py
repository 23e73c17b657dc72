"""A failure that explains itself: what was violated, when, by whose write, on what view, after which faults, and why.

`account(trail)` reads all of it from the trail of a failing run, whose last step is the violation: the chain of causes
leads from there to the write, to the decision behind the write, and to the events that woke it. The decision's record
names the revision it had read of each kind; what was committed of those kinds since is what it did not know. `lines` is
one screen. Called by `fairlead sim run`, `show` and `replay`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from fairlead.sim.trail import COMMITTED, NO_CAUSE, Trail, TrailStep

_SHOWN = 8  # of each list
_WIDTH = 150
_MORE = " ..."


@dataclass(frozen=True, slots=True)
class UnseenChange:
    """Something that had happened and that the decision had not read."""

    step: TrailStep
    resource: str


@dataclass(frozen=True, slots=True)
class FailureAccount:
    violation: TrailStep
    write: TrailStep | None  # the commit that broke it
    decision: TrailStep | None  # the record of the decision behind the write
    read: dict[str, int]  # by kind, the revision that the decision had read
    unseen: tuple[UnseenChange, ...]
    faults: tuple[TrailStep, ...]
    causes: tuple[TrailStep, ...]

    @property
    def revision(self) -> int:
        return revision_of(self.write) if self.write is not None else 0

    @property
    def writer(self) -> str:
        return self.write.text.rpartition(" by ")[2] if self.write is not None else ""

    def lines(self) -> Iterator[str]:
        invariant, _, message = self.violation.text.partition(": ")
        at = f" at revision {self.revision}" if self.revision else ""
        yield f"{invariant} was broken after {seconds(self.violation)} s of virtual time{at}"
        yield f"  what      {message}"
        if self.write is not None:
            yield f"  written   {seconds(self.write)} s, {object_of(self.write)} by {self.writer}"
        if self.decision is not None:
            yield self._decided(self.decision)
        yield from _listed("unseen", [f"{seconds(each.step)} s  {each.step.text}" for each in self.unseen])
        yield from _listed("faults", [f"{seconds(each)} s  {each.text}" for each in self.faults])
        causes = [f"{seconds(each)} s  {each.actor}: {shown(each)}" for each in self.causes]
        yield from _listed("causes", causes[-_SHOWN:])

    def _decided(self, decision: TrailStep) -> str:
        """As many kinds as there is room for; first those of which something had changed."""
        changed = {each.resource for each in self.unseen}
        kinds = sorted(self.read, key=lambda name: (name not in changed, name))
        line = f"  decided   {seconds(decision)} s by {decision.actor}, having read"
        for at, name in enumerate(kinds):
            more = f" {name} at {self.read[name]}{',' if at < len(kinds) - 1 else ''}"
            if len(line) + len(more) > _WIDTH - len(_MORE):
                return line + _MORE
            line += more
        return line


def account(trail: Trail) -> FailureAccount | None:
    """None if nothing was violated."""
    if not trail or trail[-1].kind != "violation":
        return None
    violation = trail[-1]
    cause = trail[violation.cause] if violation.cause != NO_CAUSE else None
    write = cause if cause is not None and cause.kind == COMMITTED else None
    until = write.number if write is not None else violation.number
    chain = trail.chain(until)
    # Nobody's decision is behind what is neither a write nor the refusal of one.
    is_asked = write is not None or (cause is not None and cause.kind == "call")
    call = next((step for step in reversed(chain) if step.kind == "call"), None) if is_asked else None
    decision = _decision(trail, call) if call is not None else None
    read = _read(trail, decision)
    return FailureAccount(
        violation=violation,
        write=write,
        decision=decision,
        read=read,
        unseen=tuple(_unseen(trail, read, until)),
        faults=tuple(step for step in trail if step.kind == "fault"),
        causes=tuple(step for step in chain if step.kind in _TELLING),
    )


# Kinds of steps that say why; timers and renewals do not.
_TELLING = frozenset(
    {"asks", "call", "committed", "told", "record", "crash", "start", "fault", "replied", "process"}
)


def revision_of(step: TrailStep) -> int:
    word = step.text.partition(" ")[0]
    return int(word) if word.isdigit() else 0


def object_of(step: TrailStep) -> str:
    return step.text.partition(" ")[2].rpartition(" by ")[0]


def seconds(step: TrailStep) -> str:
    return f"{step.ms / 1000:.3f}"


def shown(step: TrailStep) -> str:
    if step.kind == "record":
        record = json.loads(step.data)
        who = record.get("controller")
        if "object" not in record and "batch" in record:  # what the scheduler had read for several pods
            return f"{who} takes up batch {record['batch']}: {', '.join(record.get('pods') or ())}"
        if "object" not in record and "term" in record:
            return f"{who} of {record.get('identity', '')} begins term {record['term']}"
        told = record.get("reason") or record.get("message") or record.get("verdict", "")
        return f"{who} decides on {record.get('object', '')}: {told}"
    return f"{step.kind} {step.text}"[:_WIDTH]


def _decision(trail: Trail, call: TrailStep) -> TrailStep | None:
    """The record that belongs to a call is noted right after the calls of its decision, or before them."""
    after = (
        step
        for step in trail[call.number : call.number + 40]
        if step.actor == call.actor and step.ms == call.ms
    )
    found = next((step for step in after if step.kind == "record"), None)
    if found is not None:
        return found
    return next((step for step in reversed(trail.chain(call.number)) if step.kind == "record"), None)


def _read(trail: Trail, decision: TrailStep | None) -> dict[str, int]:
    """What attempts to place pods had read stands in the record of their batch, which is noted before them."""
    if decision is None:
        return {}
    record = json.loads(decision.data)
    batch = (record["time"], record["batch"]) if "batch" in record else None
    if batch is not None and "reads" not in record:
        noted = (step for step in reversed(trail[: decision.number]) if step.kind == "record")
        records = (json.loads(step.data) for step in noted if step.actor == decision.actor)
        shared = (each for each in records if "reads" in each and (each["time"], each.get("batch")) == batch)
        record = next(shared, record)
    reads = record.get("reads") or {}
    return {name: value[0] if isinstance(value, list) else int(value) for name, value in reads.items()}


def _unseen(trail: Trail, read: dict[str, int], until: int) -> Iterator[UnseenChange]:
    for step in trail[:until]:
        if step.kind == COMMITTED:
            resource = object_of(step).partition("/")[0]
            if resource in read and revision_of(step) > read[resource]:
                yield UnseenChange(step, resource)


def _listed(title: str, told: list[str]) -> Iterator[str]:
    left = len(told) - _SHOWN
    if left > 0:
        half = _SHOWN // 2
        told = [*told[:half], f"... {left} more ...", *told[-half:]]
    for number, line in enumerate(told):
        yield f"  {title if number == 0 else '':<9} {line}"[:_WIDTH]
