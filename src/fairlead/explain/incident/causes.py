"""What held things up in an incident, and what lifted it: the decisive inputs, and inputs that were read too old.

Where an object was blocked and then no longer, the two decisions are compared (`replay/difference.py`): the later one
is run again with each changed input as it had been; of a pod that waited it is asked what made room (`room.py`). A
decision read an input too old if a change of that kind had been written by then (the audit log says when) that it did
not show. Called by `report.py`; pure.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from fairlead.control.attempts import SCHEDULER
from fairlead.core import codec
from fairlead.core.times import parse_time
from fairlead.explain.incident.moments import BlockedSpan, records_of
from fairlead.explain.incident.room import PlacedBatch, what_made_room
from fairlead.explain.timeline.values import told_changes, told_status
from fairlead.model.key import Key
from fairlead.replay.artifact import Artifact
from fairlead.replay.capture import AUDIT
from fairlead.replay.cast import Cast
from fairlead.replay.difference import ChangedInput, Inputs, Recorded, difference
from fairlead.replay.past import NotKept
from fairlead.replay.stored import CapturedHistory

Json = dict[str, Any]
#: bound: plane | blocked objects of an incident of which it is found out what lifted them | the longest are
LIFTED_MAX = 12
# What was written so shortly before is on its way to everybody.
_SOON_SECONDS = 0.25


class Lifted(NamedTuple):
    """`by`: the inputs that made the difference, in words; empty: none of them alone."""

    span: BlockedSpan
    by: tuple[str, ...]
    unread: str = ""


class StaleReads(NamedTuple):
    controller: str
    resource: str
    decisions: int
    behind_max: int  # changes of its own that were missing
    example: str  # the id of the decision with most of them


def written_at(artifact: Artifact) -> dict[int, float]:
    """When each change was committed, by its revision, as far as the audit log tells."""
    lines = (line for line in records_of(artifact, AUDIT) if line.get("revision"))
    return {line["revision"]: parse_time(line["time"]) for line in lines}


def what_lifted(
    artifact: Artifact,
    history: CapturedHistory,
    cast: Cast,
    spans: Iterable[BlockedSpan],
    written: Mapping[int, float],
) -> list[Lifted]:
    found: list[Lifted] = []
    for span in spans:
        if span.lifted is None:
            continue
        if len(found) == LIFTED_MAX:
            break
        if span.controller == SCHEDULER:
            found += _placed(artifact, history, cast, span, span.lifted)
            continue
        try:
            one = Recorded(span.last, inputs_at(history, span.last))
            other = Recorded(span.lifted, inputs_at(history, span.lifted))
        except NotKept as missing:
            found.append(Lifted(span, (), str(missing)))
            continue
        told = difference(cast, one, other)
        by = [_told(each) for each in told.changed if each.is_decisive]
        if told.by_time:
            by.append("the time that had passed")
        if "held" in span.last and "held" not in span.lifted:
            by += _eased(history, span, written) or ["the refusal that held it back was over"]
        found.append(Lifted(span, tuple(by), told.unread))
    return found


def _placed(
    artifact: Artifact, history: CapturedHistory, cast: Cast, span: BlockedSpan, lifted: Json
) -> Iterable[Lifted]:
    """What made room for a pod; nothing of one that waits for another reason then."""
    if not lifted.get("node"):
        return
    batches = (each for each in records_of(artifact) if "pods" in each and "assumed" in each)
    wanted = lifted["time"], lifted["batch"]
    batch = next((each for each in batches if (each["time"], each["batch"]) == wanted), None)
    if batch is None or not span.last.get("reads"):
        yield Lifted(span, (), "the record of its batch was not captured")
        return
    try:
        placed = PlacedBatch(batch, inputs_at(history, batch), lifted["position"])
        told = what_made_room(cast.resources, inputs_at(history, span.last), placed)
    except NotKept as missing:
        yield Lifted(span, (), str(missing))
        return
    by = [_told(each) for each in told.alone]
    by += [f"{count} changes of {resource} together" for resource, count in told.together]
    yield Lifted(span, tuple(by), told.unread)


def _eased(history: CapturedHistory, span: BlockedSpan, written: Mapping[int, float]) -> list[str]:
    """What changed of the objects that a refusal waited for, while it did."""
    found = []
    began, over = parse_time(span.first["time"]), parse_time((span.lifted or span.last)["time"])
    for text in span.last["held"]["refusal"]["lifted_by"]:
        key = Key(*text.split("/")) if text.count("/") == 2 else None
        changes = history.of(key.resource).changes if key is not None else ()
        known = [each.entry for each in changes if each.entry.key == key]
        within = [each for each in known if began <= written.get(each.revision, 0.0) <= over]
        before = next(
            (each for each in reversed(known) if within and each.revision < within[0].revision), None
        )
        if key is not None and within and before is not None:
            told = _told(ChangedInput(key, before, within[-1]))
            found.append(told)
    return found


def inputs_at(history: CapturedHistory, record: Json) -> Inputs:
    """What it read, as it was. NotKept, in words, if that is not in the capture."""
    return {
        name: (used, history.entries_at(name, used) if used else ())
        for name, (used, _) in (record.get("reads") or {}).items()
    }


def stale_reads(artifact: Artifact, written: Mapping[int, float]) -> list[StaleReads]:
    """Of decisions that could not go on, or placed something: those for whom it matters."""
    changes: dict[str, list[int]] = {}
    for change in artifact.changes:
        if change.revision in written:
            changes.setdefault(change.key[0], []).append(change.revision)
    counts: Counter[tuple[str, str]] = Counter()
    worst: dict[tuple[str, str], tuple[int, str]] = {}
    for record in records_of(artifact):
        if "reads" not in record or "id" not in record or not (record.get("reason") or "node" in record):
            continue
        at = parse_time(record["time"])
        for resource, (used, _) in record["reads"].items():
            later = changes.get(resource, [])
            missing = sum(
                1 for each in later[bisect_right(later, used) :] if written[each] < at - _SOON_SECONDS
            )
            if missing:
                place = (record["controller"], resource)
                counts[place] += 1
                worst[place] = max(worst.get(place, (0, "")), (missing, record["id"]))
    return [
        StaleReads(controller, resource, count, *worst[controller, resource])
        for (controller, resource), count in counts.most_common()
    ]


def _told(change: ChangedInput) -> str:
    name = "/".join(part for part in change.key if part)
    if change.before is None or change.after is None:
        return f"{name} {'came' if change.before is None else 'went'}"
    old, new = codec.decode(change.before.data), codec.decode(change.after.data)
    parts = [told_changes(change.key.resource, old, new, "spec", "data")]
    parts += [text for text, _ in told_status(old, new)] or [
        told_changes(change.key.resource, old, new, "status")
    ]
    return f"{name}: {'; '.join(filter(None, parts)) or 'it changed'}"
