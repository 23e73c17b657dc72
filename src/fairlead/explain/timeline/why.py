"""One sentence at the end of a timeline: why the object is gone, or why it has come no further; with the decisions and
what they rest on.

A removal is followed back: the decision that asked for it, the change that led to that decision, and so on, to a
request that no decision led to, or to what the logs no longer keep. What held an object up holds it no more once the
same controller was seen to go on with it (`gone_on`). Called by `telling.py`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from fairlead.core.times import microtime
from fairlead.explain.timeline.lines import AUDIT, Line
from fairlead.explain.timeline.moment import (
    BOUND,
    CONDITION,
    DESIRED,
    ENDED,
    FILTERED,
    MADE,
    REFUSED,
    WAITED,
    ToldMoment,
    name_of,
)
from fairlead.model.marks import RELEASED

_STEPS_MAX = 6
_BLOCKS = (FILTERED, REFUSED, WAITED)
_PASSED = (BOUND, ENDED)  # what has a node, or is gone, waits no more
_FAILED = "Failed=True"
_REPORTS = "ChangeStatus "


class Why(NamedTuple):
    sentence: str
    decisions: tuple[str, ...]
    evidence: tuple[int, ...]  # numbers of the lines that it rests on


def gone_on(lines: Iterable[Line], until: float) -> dict[tuple[str, str], float]:
    """When each controller was last seen to go on with each object: it did something that was not refused, or found
    everything as it should be."""
    decided = [line.record for line in lines if line.stream != AUDIT]
    refused = {record["of"] for record in decided if "of" in record}
    return {
        (line.record["controller"], line.objects[0]): line.at
        for line in sorted(lines, key=lambda each: each.at)
        if line.stream != AUDIT and line.at <= until and _goes_on(line.record, refused)
    }


def _goes_on(record: dict[str, Any], refused: Container[str]) -> bool:
    if record.get("verdict") == "Settled":
        return True
    acts = any(not each.startswith(_REPORTS) for each in record.get("effects") or ())
    return acts and record.get("id", "") not in refused


def why_of(
    told: Sequence[ToldMoment],
    target: str,
    exists: bool,
    own: Container[str],
    above: Sequence[str],
    went_on: Mapping[tuple[str, str], float],
) -> Why:
    """`own`: the object and what it owns; `above`: what owns it; `went_on`: as `gone_on` tells."""
    if not exists:
        return _gone(told, target, above)
    gone = _removed(told)
    for place in range(len(told) - 1, -1, -1):
        each = told[place]
        if each.first.kind in (BOUND, MADE) and target in each.about:
            break  # it has a node since, or what is before it tells of another of that name
        if each.first.kind == CONDITION and target in each.about and each.last.what.startswith(_FAILED):
            return _made(told, _failed(target, each), [place])
        if not each.last.decision:
            continue  # what somebody asked for by mistake, and was refused, keeps no controller from going on
        if each.first.kind in _BLOCKS and each.last.about in own and each.last.about not in gone:
            name = name_of(each.last.about)
            more = f" and {len(each.about) - 1} more" if len(each.about) > 1 else ""
            later = [
                other
                for other in told[place:]
                if other.first.kind in _PASSED and each.last.about in other.about
            ]
            passed = went_on.get((each.last.who, each.last.about), 0.0) > each.last.at
            if not later and not passed:
                said = f"{name}{more} came no further at {_clock(each.last.at)}: {each.last.who}: {each.last.what}"
                return _made(told, said, [place])
    return Why("nothing here holds it up", (), ())


def _removed(told: Iterable[ToldMoment]) -> set[str]:
    """What is gone: a write about it that was on its way, and is refused, holds nothing up."""
    gone: set[str] = set()
    for each in told:
        if each.first.kind == MADE:
            gone.difference_update(each.about)
        elif each.first.kind == ENDED and each.last.what.startswith("is removed"):
            gone.update(each.about)
    return gone


def _failed(target: str, told: ToldMoment) -> str:
    why = told.last.what.removeprefix(_FAILED).strip()
    return f"{name_of(target)} has failed at {_clock(told.last.at)}, and is not tried again: {why}"


def _gone(told: Sequence[ToldMoment], target: str, above: Sequence[str]) -> Why:
    ends = [place for place, each in enumerate(told) if each.first.kind == ENDED and target in each.about]
    if not ends:
        return Why("it is gone, and the logs no longer say who removed it", (), ())
    first = told[ends[0]]
    parts = [f"it is gone: at {_clock(first.first.at)} {first.first.what}, by {first.first.who}"]
    places = [*ends[:1]]
    released = [
        place
        for place in range(ends[0])
        if told[place].first.kind == CONDITION and target in told[place].about
        and told[place].last.what.startswith(f"{RELEASED}=True")
    ]  # fmt: skip
    if released:
        mark = told[released[-1]]
        parts.append(f"it had been released by {mark.last.who} at {_clock(mark.last.at)} ({mark.last.what})")
        places.append(released[-1])
    place = ends[0]
    for _ in range(_STEPS_MAX):
        before = _led(told, place, above)
        if before < 0 or before in places:
            break
        step = told[before]
        parts.append(
            f"that followed from {name_of(step.last.about)} at {_clock(step.last.at)}: {step.last.what},"
            f" by {step.last.who}"
        )
        places.append(before)
        place = before
    return _made(told, "; ".join(parts), places)


def _led(told: Sequence[ToldMoment], place: int, above: Sequence[str]) -> int:
    """The last change before it of the object that its decision was woken by; or the end of one of its owners."""
    cause = told[place].first.led_by
    for before in range(place - 1, -1, -1):
        each = told[before]
        if cause and cause in each.about and each.first.kind in (DESIRED, MADE, ENDED):
            return before
    for before in range(place - 1, -1, -1):
        each = told[before]
        if each.first.kind == ENDED and not set(above).isdisjoint(set(each.about) - set(told[place].about)):
            return before
    return -1


def _made(told: Sequence[ToldMoment], sentence: str, places: Iterable[int]) -> Why:
    known = list(places)
    decisions = [told[place].last.decision for place in known if told[place].last.decision]
    return Why(sentence, tuple(dict.fromkeys(decisions)), tuple(known))


def _clock(at: float) -> str:
    """As the lines of the timeline show it."""
    return microtime(at)[11:23]
