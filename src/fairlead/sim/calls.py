"""The way of a process's calls to the API server, and what becomes of them. `network.py` adds lists and watches.

A call has one fate, drawn when it leaves:

    as it should     request arrives, reply arrives
    request_lost     nothing arrives; the caller gives up after TIMEOUT_MS and knows nothing
    request_late     the caller gives up, and then the request arrives and is carried out
    reply_lost       carried out, but the caller never learns of it
    request_slow     both ways take seconds, and the answer comes in time
    request_twice    what is between sends it again: the caller hears of either, never of both
    throttled        the server has no time for it: 429
    racing_write     somebody else changes the object a moment before; of a create, what its premise is about

While the way is cut both directions lose; while it is deaf only what comes back does, while it is mute only what is
asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fairlead.api.access.users import MASTERS, User
from fairlead.api.status import failure
from fairlead.core import codec
from fairlead.core.errors import TooManyRequests
from fairlead.model.key import Key
from fairlead.model.kind import Kind
from fairlead.model.views import LEASES, PODS
from fairlead.port.outcome import Outcome, Unknown, outcome_of
from fairlead.port.request import MERGE_PATCH, READ_VERBS, Reply, Request
from fairlead.sim.chance import Chance, FaultStream, Stream
from fairlead.sim.checkers.contract import LATE
from fairlead.sim.faults import Faults
from fairlead.sim.processes.server import SimulatedServer
from fairlead.sim.time import Timeline

TIMEOUT_MS = 10_000
_LATE_MS_MAX = 5_000
_SLOW_MS_MAX = 4_000  # each way
_TWICE_MS_MAX = 8_000
DELAYS_MS = 16  # each way, of a calm network
# The last is of writes alone.
FATES = (
    "request_lost",
    "request_late",
    "reply_lost",
    "request_slow",
    "request_twice",
    "throttled",
    "racing_write",
)
TOUCHED = "sim.fairlead.dev/touched"  # the annotation that a racing writer leaves
_SOMEBODY = User("somebody", groups=(MASTERS, "system:authenticated"))

Heard = Callable[[Outcome], None]


class CallLink:
    def __init__(self, name: str, timeline: Timeline, chance: Chance, server: SimulatedServer) -> None:
        """`name`: of the process at this end."""
        self.name = name
        self.set_faults(Faults())
        self.cut_until = 0  # milliseconds
        self.deaf_until = 0
        self.mute_until = 0
        self._timeline = timeline
        self._chance = chance
        self._server = server
        self._calls: dict[tuple[str, str, str], tuple[Stream, FaultStream, Stream]] = {}
        self._touches = 0
        self.timeouts_after_commit: dict[str, int] = {}  # by verb and subresource

    def set_faults(self, faults: Faults) -> None:
        self.faults = faults
        weights = {
            "request_lost": faults.request_lost,
            "request_late": faults.request_late,
            "reply_lost": faults.reply_lost,
            "request_slow": faults.request_slow,
            "request_twice": faults.request_twice,
            "throttled": faults.throttled,
            "racing_write": faults.racing_write,
        }
        self._fates_of_writes = tuple((name, weights[name]) for name in FATES)
        self._fates_of_others = self._fates_of_writes[:-1]

    def call(self, request: Request, user: User, origin: str, heard: Heard) -> None:
        kind = (user.name, request.verb, what_of(request))
        delays, fates, late = self._calls.get(kind) or self._chances_of(kind)
        delay = delays.choose(DELAYS_MS * DELAYS_MS)
        there, back = 1 + delay % DELAYS_MS, 1 + delay // DELAYS_MS
        fate = fates.pick(self._fates_of(request))
        after = self._timeline.after
        if self._timeline.ms < self.cut_until or self._timeline.ms < self.mute_until:
            fate = "request_lost"
        if not fate:
            after(there, self._arrive, request, user, origin, heard, fate, back)
            return
        if fate in ("request_lost", "request_late"):
            after(TIMEOUT_MS, heard, Unknown("no answer in time"))
        if fate == "request_lost":
            return
        if fate == "request_late":
            there = TIMEOUT_MS + 1 + late.choose(_LATE_MS_MAX)
        elif fate == "request_slow":
            slow = late.choose(_SLOW_MS_MAX)
            there, back = there + slow, back + _SLOW_MS_MAX - slow
        elif fate == "request_twice":
            self._send_again(request, user, origin, heard, there, back, late)
            return
        after(there, self._arrive, request, user, origin, heard, fate, back)

    def _fates_of(self, request: Request) -> tuple[tuple[str, float], ...]:
        """Nobody races for what is only read, nor for a lease: of that every change is a sign of life."""
        is_raced = request.verb not in READ_VERBS and request.plural != "leases"
        return self._fates_of_writes if is_raced else self._fates_of_others

    def _send_again(
        self, request: Request, user: User, origin: str, heard: Heard, there: int, back: int, late: Stream
    ) -> None:
        """The copy comes later; whose answer is heard is chance's."""
        drawn = late.choose(2 * _TWICE_MS_MAX)
        again, of_the_copy = there + 1 + drawn // 2, drawn % 2
        unheard: Heard = _nobody_hears
        first, copy = (unheard, heard) if of_the_copy else (heard, unheard)
        arrive, after = self._arrive, self._timeline.after
        after(there, arrive, request, user, origin, first, "", back)
        after(again, arrive, request, user, LATE + origin if origin else "", copy, "", back)

    def _chances_of(self, kind: tuple[str, str, str]) -> tuple[Stream, FaultStream, Stream]:
        """Calls of one kind draw from streams of their own: one call more or less of another moves none of them."""
        user, verb, what = kind
        actor = f"{self.name} {user.rpartition(':')[2]} {verb} {what}"
        chance = self._chance
        fates = chance.faults("call", actor)
        streams = (chance.stream("call.delay", actor), fates, chance.details("call.late", fates))
        self._calls[kind] = streams
        return streams

    def _arrive(self, request: Request, user: User, origin: str, heard: Heard, fate: str, back: int) -> None:
        if fate == "request_late":
            self._server.send(request, user, LATE + origin if origin else "", _nobody)
            return
        # Only what a leader writes is an effect; leases are not.
        what = f"{request.verb} {request.subresource}".rstrip() if origin else ""
        answer = partial(self._answer, heard, fate, back, what)
        if fate == "throttled":
            answer(failure(TooManyRequests("the server is busy; try again later", retry_after_seconds=1)))
            return
        if fate == "racing_write":
            self._touch(request)
        self._server.send(request, user, origin, answer)

    def _touch(self, request: Request) -> None:
        """A change that nobody minds, of what this write is about."""
        key = writes_on(request)
        kind = next((each for each in self._server.served if each.resource == key.resource), None)
        if kind is None:
            return  # a create that rests on nothing
        self._touches += 1
        self._server.send(touch_of(kind, key, f"{self.name}-{self._touches}"), _SOMEBODY, "somebody", _nobody)

    def _answer(self, heard: Heard, fate: str, back: int, what: str, reply: Reply | None) -> None:
        timeline = self._timeline
        if fate == "reply_lost" or timeline.ms < self.cut_until or timeline.ms < self.deaf_until:
            if reply is not None and reply.status < 300:
                self.timeouts_after_commit[what] = self.timeouts_after_commit.get(what, 0) + 1
            timeline.after(TIMEOUT_MS, heard, Unknown("no answer in time"))
        elif reply is None:
            timeline.after(back, heard, Unknown("the connection broke"))
        else:
            timeline.after(back, heard, outcome_of(reply))


def what_of(request: Request) -> str:
    """What a call is about, as a part of the names of choices: pods/binding."""
    return f"{request.plural}/{request.subresource}" if request.subresource else request.plural


def writes_on(request: Request) -> Key:
    """The object that a write is about, or, of a create, what it rests on; of no resource if it rests on nothing."""
    if request.bindings:
        first = request.bindings[0]
        return Key(PODS.name, first.namespace, first.name)
    if request.name:
        resource = f"{request.plural}.{request.group}" if request.group else request.plural
        return Key(resource, request.namespace, request.name)
    premises = [each.key for each in request.premises if each.key.resource != LEASES.name]
    return premises[0] if premises else Key("", "", "")


def touch_of(kind: Kind, key: Key, text: str) -> Request:
    """A change that nobody minds, but who has read the object before and writes it now."""
    return Request(
        verb="patch",
        group=kind.group,
        version=kind.version,
        plural=kind.plural,
        namespace=key.namespace,
        name=key.name,
        body=codec.encode({"metadata": {"annotations": {TOUCHED: text}}}),
        content_type=MERGE_PATCH,
    )


def _nobody(reply: Reply | None) -> None:
    """The caller has given up."""


def _nobody_hears(outcome: Outcome) -> None:
    """Of two answers the caller hears one."""
