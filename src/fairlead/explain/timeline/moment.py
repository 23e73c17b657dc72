"""One thing that mattered, as a timeline tells it; and many that are alike, told as one.

`turns.py`, `writes.py`, `noticed.py` and `inputs.py` make them, `telling.py` puts them in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairlead.core.times import microtime
from fairlead.explain.timeline.ages import ReadAge
from fairlead.model.catalog import CATALOG
from fairlead.model.key import Key

Json = dict[str, Any]

# What a moment is; also the kinds that a page lets readers hide.
DESIRED, MADE, ENDED = "desired", "made", "ended"
QUEUED, TRIED, FILTERED, BOUND, ACTED, WAITED = "queued", "tried", "filtered", "bound", "acted", "waits"
REFUSED, EVENT, CONDITION, INPUT, OBSERVED = "refused", "event", "condition", "input", "observed"
# Of moments at one instant: what is decided on comes before what is decided, and that before what is told of it.
_RANK = {
    kind: rank
    for rank, kind in enumerate(
        (DESIRED, INPUT, QUEUED, OBSERVED, TRIED, FILTERED, ACTED, MADE, BOUND, REFUSED, WAITED, CONDITION)
    )
}
_LAST = 99
_NEAR = 1.0
_GROUND = (DESIRED, INPUT, OBSERVED)  # after these, the same again means something else
_STEPS = (*_GROUND, MADE, BOUND, ENDED)


@dataclass(frozen=True, slots=True)
class Moment:
    at: float
    who: str
    kind: str
    about: str  # RESOURCE/NAMESPACE/NAME
    what: str  # what happened to it, in words
    decision: str = ""
    revision: int = 0  # that it was written at
    led_by: str = ""  # the object whose change led to it
    alike: str = ""  # moments of one who, about and kind that say the same; "": `what`
    reads: tuple[ReadAge, ...] = ()  # what was decided on

    @property
    def order(self) -> tuple[int, int, int, int]:
        """Audit lines count milliseconds: within one, in the order of decisions, and then by what comes of what."""
        number = int(self.decision.rpartition("-")[2] or 0)
        return int(self.at * 1000), number, _RANK.get(self.kind, _LAST), self.revision


@dataclass(frozen=True, slots=True)
class ToldMoment:
    """As many of them as were alike."""

    first: Moment
    last: Moment
    about: tuple[str, ...]
    count: int = 1

    def as_json(self, number: int, cause: int) -> Json:
        first, last = self.first, self.last
        told: Json = {
            "number": number,
            "time": microtime(first.at),
            "who": first.who,
            "kind": first.kind,
            "about": list(self.about),
            "what": last.what,
        }
        if self.count > 1:
            told |= {"count": self.count, "last": microtime(last.at)}
        for name, value in (("decision", last.decision), ("revision", last.revision)):
            if value:
                told[name] = value
        if first.reads:
            told["reads"] = [each.as_json() for each in first.reads]
        if cause >= 0:
            told["cause"] = cause
        return told


def merged(moments: Iterable[Moment]) -> list[ToldMoment]:
    """In order of time. What is said again of one object is told once, as long as no step was made since; of several
    objects, what is alike and within a second."""
    told: list[ToldMoment] = []
    newest: dict[tuple[str, ...], int] = {}  # where the last line is that says this of an object
    voices: dict[tuple[str, ...], int] = {}  # and of any object
    # Where the last line is that tells of a step of an object; "": of what all of them rest on.
    stepped: dict[str, int] = {}
    for each in sorted(moments, key=lambda moment: moment.order):
        said = (each.about, each.who, each.kind, _says(each))
        place = newest.get(said, -1)
        if each.kind not in _STEPS and place > max(stepped.get(each.about, -1), stepped.get("", -1)):
            told[place] = replace(told[place], last=each, count=told[place].count + 1)
            continue
        near = voices.get(said[1:], -1)
        if (
            near > stepped.get("", -1)
            and each.about not in told[near].about
            and each.at - told[near].last.at < _NEAR
        ):
            told[near] = replace(told[near], about=(*told[near].about, each.about), last=each)
            newest[said] = near
            continue
        told.append(ToldMoment(each, each, (each.about,)))
        voices[said[1:]] = len(told) - 1
        newest[said] = len(told) - 1
        if each.kind in _STEPS:
            stepped["" if each.kind in _GROUND else each.about] = len(told) - 1
    return told


def _says(moment: Moment) -> str:
    return moment.alike or moment.what


def causes_of(told: Sequence[ToldMoment]) -> list[int]:
    """Which line before led to each: the last of the same decision, or what was written last to the object that it was
    woken by; -1: none is known."""
    decided: dict[str, int] = {}
    written: dict[str, int] = {}
    given = -1  # the last input
    found = []
    for place, each in enumerate(told):
        first = each.first
        wanted = first.led_by or (first.about if first.kind in (TRIED, QUEUED, ACTED, WAITED) else "")
        if first.decision in decided:
            found.append(decided[first.decision])
        elif first.kind == OBSERVED:
            found.append(given)
        else:
            found.append(written.get(wanted, -1))
        for decision in filter(None, (first.decision, each.last.decision)):
            decided[decision] = place
        if first.kind == INPUT:
            given = place
        if first.revision:
            written.update(dict.fromkeys(each.about, place))
    return found


def key_text(key: Key) -> str:
    return "/".join([part for part in key if part])


def key_of(text: str) -> Key:
    resource, _, rest = text.partition("/")
    namespace, slash, name = rest.partition("/")
    return Key(resource, namespace, name) if slash else Key(resource, "", namespace)


def name_of(text: str) -> str:
    """`pod/web-0`, of pods/default/web-0: as people type it."""
    key = key_of(text)
    kind = CATALOG.of_resource(key.resource)
    return f"{kind.singular_name if kind is not None else key.resource}/{key.name}"
