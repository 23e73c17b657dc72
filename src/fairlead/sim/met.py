"""What a run met, counted: who acted, which verbs were used, which effects were asked for, what answers led to, what
was decided, which kinds were made, what people did.

Planes and people count as they go (`processes/planes.py`, `people.py`); the world joins it into its probes. Which of
these a sample of seeds must have met is `generate/coverage.py`.
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

    __slots__ = ("answers", "counts")

    def __init__(self) -> None:
        self.answers: dict[Next, int] = {}
        self.counts: dict[str, int] = {}

    def add(self, verb: str) -> None:
        self._count(verb_name(verb))

    def called(self, call: Call) -> None:
        request = call.request
        self._count(actor_name(call.controller))
        self._count(verb_name(verb_of(request)))
        effect = _EFFECTS.get(f"{request.verb} {request.subresource}".rstrip())
        if effect is not None and call.controller != "leadership":
            self._count(effect_name(effect))

    def recorded(self, body: bytes) -> None:
        """A record of a decision: only its verdict is looked at."""
        self._count(verdict_name(body.partition(_VERDICT)[2].partition(b'"')[0].decode()))

    def _count(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1


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
