"""Decisions of controllers and of the scheduler, in words: what was read, what refused, what was done of it.

A decision is told together with the requests that carried it out, which name it; what became of it otherwise is a line
of its own. Turns that only report are not told here: what they report is (`writes.py`). Called by `telling.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fairlead.control.attempts import SCHEDULER
from fairlead.control.blocked_counts import RECOVERED
from fairlead.control.record import CONFLICT
from fairlead.explain import words
from fairlead.explain.timeline.ages import Ages, read_told, stale_told
from fairlead.explain.timeline.lines import Line
from fairlead.explain.timeline.moment import (
    ACTED,
    BOUND,
    DESIRED,
    ENDED,
    FILTERED,
    MADE,
    QUEUED,
    REFUSED,
    TRIED,
    WAITED,
    Moment,
    name_of,
)
from fairlead.explain.timeline.writes import LoggedWrite, deed_of
from fairlead.model.reasons import WAITING_PREFIX

Json = dict[str, Any]
_NODES = "nodes"
_REPORTS = "ChangeStatus "
# What a controller waits for that it brings about itself, or of which another line tells: no news.
_ITS_OWN = frozenset(
    [
        "PodsUnavailable",
        "MissingPods",
        "SurplusPods",
        "RollingOut",
        "Scaling",
        "ToldAMomentAgo",
        "PodsInTransition",
        "Evicting",
    ]
)
_KINDS = {"create": MADE, "delete": ENDED}


def moments_of(
    line: Line, changes: Sequence[LoggedWrite], ages: Ages, refused: bool = False
) -> Iterator[Moment]:
    """`changes`: the requests that carried it out; `refused`: a line tells that it, or a part of it, was not."""
    record = line.record
    if "of" in record:
        yield from _outcome(line)
    elif RECOVERED in record:
        yield _recovered(line)
    elif record["controller"] == SCHEDULER and "attempt" in record:
        yield from _attempt(line, changes, ages)
    else:
        yield from _turn(line, changes, ages, refused)


def _recovered(line: Line) -> Moment:
    """Counted by a plane that was killed: of what they had read nothing is known."""
    record = line.record
    first, last = record["attempts"]
    which = f"attempts {first} to {last}" if first != last else f"attempt {last}"
    why = record.get("message") or record.get("reason") or record["verdict"]
    what = f"{which} came to the same, counted before the plane was killed: {why}"
    repeated = str(record["id"]).rpartition(".")[0]
    return Moment(line.at, record["controller"], WAITED, line.objects[0], what, repeated)


def _attempt(line: Line, changes: Sequence[LoggedWrite], ages: Ages) -> Iterator[Moment]:
    record, about, decision = line.record, line.objects[0], line.record["id"]
    at, waited = line.at, record["waited"]
    reads = ages.of(record.get("reads") or {}, at)
    stale = stale_told(reads)
    read = read_told(reads, _NODES)
    told = f"attempt {record['attempt']}, woken by {record['cause']}, after {waited:.1f} s in the queue"
    told = f"{told}; {read}" if read else told
    bound = (
        next((each for each in changes if each.line.record["code"] < 400), None)
        if record.get("node")
        else None
    )
    if bound is not None and record["attempt"] == 1 and not stale:  # as nearly all are: one line
        what = f"is bound to {record['node']} ({told})"
        alike = f"is bound to {record['node']}"
        yield Moment(
            bound.line.at,
            SCHEDULER,
            BOUND,
            about,
            what,
            decision,
            bound.line.revision,
            alike=alike,
            reads=reads,
        )
        return
    if record["attempt"] == 1:
        yield Moment(at - waited, SCHEDULER, QUEUED, about, "enters the queue of the scheduler", decision)
    alike = f"stale {stale}" if stale else "fresh"
    yield Moment(at, SCHEDULER, TRIED, about, told, decision, alike=alike, reads=reads)
    for each in record.get("refusals") or ():
        nodes = f"{each['nodes']} of {words.count_nodes(record['nodes'])}"
        yield Moment(
            at, SCHEDULER, FILTERED, about, f"{each['plugin']} refuses {nodes}: {each['reason']}", decision
        )
    if record.get("node"):
        when, revision = (bound.line.at, bound.line.revision) if bound is not None else (at, 0)
        what = f"is bound to {record['node']}" if bound is not None else f"is to be bound to {record['node']}"
        yield Moment(when, SCHEDULER, BOUND, about, what, decision, revision)
    elif record.get("nominated"):
        victims = len(record.get("victims") or ())
        what = f"waits for {record['nominated']}, from which {victims} of lower priority have to go"
        yield Moment(at, SCHEDULER, WAITED, about, what, decision)
    elif not record.get("refusals"):
        what = f"fits on no node: {record.get('reason') or 'no reason is recorded'}"
        yield Moment(at, SCHEDULER, WAITED, about, what, decision)


def _turn(line: Line, changes: Sequence[LoggedWrite], ages: Ages, refused: bool) -> Iterator[Moment]:
    record, who, decision = line.record, line.record["controller"], line.record["id"]
    effects = [each for each in record.get("effects") or () if not each.startswith(_REPORTS)]
    why = _why(record)
    if not effects:
        reason = record.get("reason", "")
        if record["verdict"] == "Stuck":
            yield Moment(line.at, who, WAITED, line.objects[0], f"is stuck: {why}", decision, alike=reason)
        elif record.get("message") and reason not in _ITS_OWN and not reason.startswith(WAITING_PREFIX):
            yield Moment(line.at, who, WAITED, line.objects[0], f"waits: {why}", decision, alike=reason)
        return
    reads = ages.of(record.get("reads") or {}, line.at)
    stale = stale_told(reads)
    tail = (
        f" ({'; '.join(part for part in (why, f'reads {stale}' if stale else '') if part)})"
        if why or stale
        else ""
    )
    done = [each for each in changes if each.line.record["code"] < 400 and not each.is_status]
    if not done and not refused:
        named = ", ".join(sorted({each.partition(" ")[0].lower() for each in effects}))
        objects = [name_of(each) for each in line.objects[1:]] or [name_of(line.objects[0])]
        yield Moment(
            line.at, who, ACTED, line.objects[0], f"decides to {named} {words.some(objects)}{tail}", decision,
            led_by=_led_by(record), reads=reads,
        )  # fmt: skip
    for each in done:
        deed = deed_of(each)
        if deed:
            kind = _KINDS.get(each.line.record["verb"], DESIRED)
            yield Moment(
                each.line.at, who, kind, each.text, f"{deed}{tail}", decision, each.line.revision, _led_by(record),
                reads=reads,
            )  # fmt: skip


def _outcome(line: Line) -> Iterator[Moment]:
    record = line.record
    outcome, why = (
        record["outcome"],
        record.get("message") or record.get("trouble") or record.get("reason") or "",
    )
    if outcome == CONFLICT and record["controller"] != SCHEDULER:
        return  # it is decided again at once
    who, about, reason = record["controller"], line.objects[0], record.get("reason", "")
    plain = record.get("trouble") or why
    yield Moment(
        line.at, who, REFUSED, about, f"{outcome}: {plain}" if plain else outcome, record["of"],
        alike=f"{outcome} {reason}" if reason else "",
    )  # fmt: skip


def _why(record: Json) -> str:
    measured = [_measured(each) for each in record.get("inputs") or () if "metric" in each]
    return "; ".join([*([_reason(record)] if _reason(record) else []), *measured])


def _measured(used: Json) -> str:
    """`cpu 90 of 50, 8 wanted`"""
    fields = ("averageUtilization", "averageValue", "value")
    found = next((each for each in fields if each in used["current"] and each in used["target"]), "")
    amounts = f" {used['current'][found]} of {used['target'][found]}" if found else ""
    return f"{used['metric']}{amounts}, {used['replicas']} wanted"


def _reason(record: Json) -> str:
    reason, message = record.get("reason", ""), record.get("message", "")
    return f"{reason}: {message}" if reason and message else message or reason


def _led_by(record: Json) -> str:
    cause = record.get("cause", "")
    return cause if "/" in cause else ""
