"""The timeline of one object: everything that the logs, the history and the Events say of it, its owners and what it
owns, joined by decision and revision, in order.

    audit lines and history    who changed what, from what to what
    decisions                  what was read, at which revisions, what refused, what was done
    Events                     what people were told
    quotas, autoscalers        what those who waited waited for, and when that was known

Called by `runtime/server/timelines.py`. Tenants are told of objects that they may get; of the rest, how many lines
there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from fairlead.api.access.sight import EVERYTHING, Sight
from fairlead.core.times import microtime
from fairlead.explain.asking import Asking
from fairlead.explain.sources import Sources, no_such
from fairlead.explain.timeline import inputs, turns, writes
from fairlead.explain.timeline.ages import Ages
from fairlead.explain.timeline.family import Family, family_of
from fairlead.explain.timeline.lines import AUDIT, LINES_FOUND_MAX, Line, records_about
from fairlead.explain.timeline.moment import (
    DESIRED,
    ENDED,
    INPUT,
    MADE,
    Moment,
    causes_of,
    key_of,
    key_text,
)
from fairlead.explain.timeline.moment import merged as merge
from fairlead.explain.timeline.noticed import events_about
from fairlead.explain.timeline.why import gone_on, why_of
from fairlead.explain.timeline.writes import LoggedWrite
from fairlead.model.key import Key

Json = dict[str, Any]
#: bound: plane | moments of one timeline | the oldest are left out, and counted
MOMENTS_MAX = 1000
_PIECE = 50
_TOUCHING = (DESIRED, MADE, ENDED)


class TimelineQuestion(NamedTuple):
    target: Key
    since: float = 0.0
    until: float = 0.0  # 0.0: now


def timeline(sources: Sources, asked: TimelineQuestion, sight: Sight = EVERYTHING) -> Asking[Json]:
    target = key_text(asked.target)
    family = yield from family_of(sources, asked.target, asked.since, asked.until)
    if family.present is None and not family.lines:
        raise no_such(asked.target, ", and no log knows one")
    moments, hidden = yield from moments_about(sources, family, asked, sight)
    told = merge(moments)
    left_out = max(0, len(told) - MOMENTS_MAX)
    told = told[left_out:]
    went_on = gone_on(family.lines.values(), asked.until or sources.clock() + 1.0)
    why = why_of(told, target, family.present is not None, family.own, family.above, went_on)
    meta = (family.present or {}).get("metadata") or {}
    return {
        "object": target,
        "exists": family.present is not None,
        "uid": meta.get("uid", ""),
        "generation": meta.get("generation", 0),
        "owners": [each for each in family.above if sight.sees(*key_of(each))],
        "children": sorted(each for each in family.own - {target} if sight.sees(*key_of(each))),
        "moments": [
            each.as_json(place, cause)
            for place, (each, cause) in enumerate(zip(told, causes_of(told), strict=True))
        ],
        "why": {"sentence": why.sentence, "decisions": list(why.decisions), "evidence": list(why.evidence)},
        "hidden": hidden,
        "leftOut": left_out + family.left_out,
        "unread": unread(sources, family, asked.since),
    }


def moments_about(
    sources: Sources, family: Family, asked: TimelineQuestion, sight: Sight
) -> Asking[tuple[list[Moment], int]]:
    """And how many lines tell of objects that are not in sight."""
    lines = family.sorted_lines()
    others = inputs.quotas_named(
        _touching(lines, family.own), asked.target.namespace
    ) | inputs.autoscalers_of(sources, asked.target.namespace, (*family.own, *family.above))
    waited_for = yield from records_about(sources, others, asked.since, asked.until)
    everything = {(line.stream, line.sequence): line for line in (*lines, *waited_for.lines)}.values()
    until = asked.until or sources.clock() + 1.0
    shown, hidden = sight.shown([line for line in everything if line.at <= until], _place)
    ages = Ages(sources.reader, sources.journal)
    for _ in ages.learn(line.record for line in shown if line.stream != AUDIT):
        yield None
    changes = []
    for number, line in enumerate(each for each in shown if each.stream == AUDIT):
        changes.append(writes.change_of(sources.reader, line))
        if number % _PIECE == _PIECE - 1:
            yield None
    decided = [line for line in shown if line.stream != AUDIT]
    yield None
    found = list(_joined(family, decided, changes, ages, inputs.text_of(others), sight))
    eased = [each for each in found if each.kind == INPUT]
    found += inputs.observed(eased, _touching(decided, {*family.own, *family.above}))
    space = asked.target.namespace
    found += [
        each
        for each in events_about(sources.reader, space, family.own, decided, ages, asked.since)
        if each.at <= until and sight.sees(*key_of(each.about))
    ]
    return [each for each in found if each.at >= asked.since], hidden


def _joined(
    family: Family,
    decided: Sequence[Line],
    changes: Iterable[LoggedWrite],
    ages: Ages,
    others: set[str],
    sight: Sight,
) -> Iterable[Moment]:
    """Decisions with what carried them out, and requests that no decision led to."""
    by_decision: dict[str, list[LoggedWrite]] = {}
    for change in changes:
        by_decision.setdefault(change.decision, []).append(change)
    known = set()
    refused = {line.record["of"] for line in decided if "of" in line.record}
    for line in decided:
        identity = line.record.get("id", "")
        if identity:
            known.add(identity)
        if line.objects[0] in others and key_of(line.objects[0]).resource in inputs.QUOTAS:
            continue  # what a quota's controller did is told by what it wrote
        own = [each for each in by_decision.get(identity, ()) if identity]
        for each in turns.moments_of(line, own, ages, identity in refused):
            if _belongs(family, each, others):
                yield each
    causes = {line.record["id"]: line.record.get("cause", "") for line in decided if "id" in line.record}
    for change in (each for several in by_decision.values() for each in several):
        if change.text in others:
            cause = causes.get(change.decision, "")
            yield from inputs.eased(change, [cause] if "/" in cause and sight.sees(*key_of(cause)) else [])
            if change.key.resource in inputs.QUOTAS:
                continue
        if change.text in family.own:
            carried_out = change.decision in known
            yield from writes.conditions_of(change) if carried_out else writes.moments_of(change)
        elif change.decision not in known:
            yield from (each for each in writes.moments_of(change) if each.kind in _TOUCHING)


def _belongs(family: Family, moment: Moment, others: set[str]) -> bool:
    """Of what owns the object only that is told which was done to it, or to what leads to it."""
    if moment.about in family.own or moment.about in others:
        return True
    return moment.about in family.above and moment.kind in _TOUCHING


def _touching(lines: Iterable[Line], own: set[str]) -> Iterable[Line]:
    return (line for line in lines if not own.isdisjoint(line.objects))


def unread(sources: Sources, family: Family, since: float) -> list[str]:
    """What this could not be made from."""
    told = []
    target = family.target
    floor = sources.reader.floor(target.resource)
    cut = [line for line in family.lines.values() if line.stream == AUDIT and 0 < line.revision <= floor]
    if cut:
        told.append(
            f"history of {target.resource} begins at revision {floor}: of {len(cut)} earlier changes the fields are "
            "told, and no values"
        )
    if family.cut_at:
        told.append(
            f"the logs have more about it than the newest {LINES_FOUND_MAX} lines of each: ask `fairlead timeline` with"
            f" --at {microtime(family.cut_at)} for what was before"
        )
    if not sources.told.schedules:
        told.append("this server runs without a scheduler, and none in another process has told it of itself")
    return told


def _place(line: Line) -> tuple[str, str, str]:
    key = key_of(line.objects[0])
    return key.resource, key.namespace, key.name
