"""What a run met, counted: who acted, which verbs were used, which effects were asked for, what answers led to, what
was decided, which kinds were made, what people did.

Planes and people count as they go (`processes/planes.py`, `people.py`); the world joins it into its probes. Which of
these a sample of seeds must have met is `tests/sim/coverage.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from fairlead.control.instructions import Call
from fairlead.control.turn import Next
from fairlead.port.request import APPLY_PATCH, Request
from fairlead.sim.probes import CALLS

_EFFECTS = {call: effect.__name__ for effect, call in CALLS.items()}
_VERDICT = b'"verdict":"'


class Met:
    """Of one plane, over all its lives."""

    __slots__ = ("_calls", "_lists", "_verdicts", "answers")

    def __init__(self) -> None:
        self.answers: dict[Next, int] = {}
        # Named when they are asked for: planes count all the time.
        self._lists: dict[str, int] = {}
        self._calls: dict[tuple[str, str, str, str], int] = {}
        self._verdicts: dict[bytes, int] = {}

    def add(self, verb: str) -> None:
        self._lists[verb] = self._lists.get(verb, 0) + 1

    def called(self, call: Call) -> None:
        request = call.request
        kind = (call.controller, request.verb, request.subresource, request.content_type)
        self._calls[kind] = self._calls.get(kind, 0) + 1

    def recorded(self, body: bytes) -> None:
        """A record of a decision: only its verdict is looked at."""
        verdict = body.partition(_VERDICT)[2].partition(b'"')[0]
        self._verdicts[verdict] = self._verdicts.get(verdict, 0) + 1

    @property
    def counts(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for verb, count in self._lists.items():
            _count(found, verb_name(verb), count)
        for (controller, verb, subresource, content_type), count in self._calls.items():
            _count(found, actor_name(controller), count)
            _count(found, verb_name("apply" if content_type == APPLY_PATCH else verb), count)
            effect = _EFFECTS.get(f"{verb} {subresource}".rstrip())
            if effect is not None and controller != "leadership":
                _count(found, effect_name(effect), count)
        for verdict, count in self._verdicts.items():
            _count(found, verdict_name(verdict.decode()), count)
        return found


def _count(found: dict[str, int], name: str, count: int) -> None:
    found[name] = found.get(name, 0) + count


class Doers(Protocol):
    did: dict[str, int]
    verbs: dict[str, int]


def coverage(people: Doers, planes: Iterable[Met], created: Mapping[str, int]) -> dict[str, int]:
    found = {action_name(action): count for action, count in people.did.items()}
    for verb, count in people.verbs.items():
        found[verb_name(verb)] = found.get(verb_name(verb), 0) + count
    for met in planes:
        for name, count in met.counts.items():
            found[name] = found.get(name, 0) + count
        for following, count in met.answers.items():
            found[answer_name(following)] = found.get(answer_name(following), 0) + count
    return found | {kind_name(resource): count for resource, count in created.items()}


def verb_of(request: Request) -> str:
    return "apply" if request.content_type == APPLY_PATCH else request.verb


def actor_name(controller: str) -> str:
    return f"{controller} acts"


def verb_name(verb: str) -> str:
    return f"verb {verb}"


def effect_name(effect: str) -> str:
    return f"{effect} is asked for"


def answer_name(following: Next) -> str:
    return f"an answer leads to {following.name}"


def verdict_name(verdict: str) -> str:
    return f"a decision is {verdict}"


def kind_name(resource: str) -> str:
    return f"{resource} are made"


def action_name(action: str) -> str:
    return f"people {action}"
