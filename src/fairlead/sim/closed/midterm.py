"""Plays a tape that has no start of a plane, or one of which history is no longer kept: its plane had run for long.

What a plane remembers (back-offs, refusals, what is under way) is on no tape. So one is begun as after a restart in
place: it knows the objects of that moment, holds the lease that is held, looks at everything once, and is then told
what the plane was told. What it asks for meanwhile is only tried: a refusal is one that the plane had met as well, all
else waits for the tape. From there on requests are found by what they ask, and commits are compared to the byte, as by
`player.py`. What only the plane of then asked for is put in as it was (`unasked`), what it did not ask for is not
carried out (`unmade`); after half a minute, when what it remembered is over, another request is a divergence. Pure.
"""

from __future__ import annotations

from collections import Counter

from msgspec import structs

from fairlead.cache.events import Listed, Marked, Mirrored
from fairlead.control.instructions import Answers, Call, Replied
from fairlead.control.leadership import NAMESPACE
from fairlead.core.errors import UsageError
from fairlead.core.times import microtime
from fairlead.model.key import Key
from fairlead.model.views import LEASES
from fairlead.port.driving import Started, Woke
from fairlead.port.outcome import Done, Outcome, outcome_of
from fairlead.replay.artifact import Artifact
from fairlead.replay.capture import history_from, playable_from, why_mid_term
from fairlead.replay.tape import Began, Sent, Struck, TapeItem, digest_of_request
from fairlead.sim.closed.captured import leader_of, tape_of
from fairlead.sim.closed.player import AskedCall, ClosedReplay, MidTerm, TapePlayer
from fairlead.sim.injection import answer_when

_WARM_SECONDS = 10.0  # before the tape, in which it looks at everything
_SETTLING_SECONDS = (
    30.0  # of the tape, in which what it asks for otherwise is put in as it was: longest back-off
)
_STEP_SECONDS = 0.1
_PATIENCE_SECONDS = 2.0  # after which what it asks for and is not on the tape is sent away, to be tried later
_LATE_SECONDS = 1.0  # it is woken by the tape, and by itself if that is so much later than it wants
_LEADERSHIP = "leadership"
_EVENTS = "events"  # they are counted by who wrote them, which a plane that begins does not know


def play(artifact: Artifact, plant: str = "") -> ClosedReplay:
    """From the first start of a plane that the tape has and of which history is kept, or else in mid-term."""
    tape = list(tape_of(artifact))
    if not tape:
        raise UsageError(
            "the capture has no tape of what a plane was told, which --closed plays: the server's own plane keeps one;"
            " without it `fairlead replay FILE` still runs every decision again"
        )
    first, is_start = playable_from(artifact, tape)
    if is_start:
        return TapePlayer(artifact, tape[first:], plant).run()
    if first == len(tape):
        raise UsageError(
            "nothing that the plane was told has its history still, which --closed plays on; without it"
            " `fairlead replay FILE` runs every decision again of which there is enough"
        )
    began = Began(tape[first].now - _WARM_SECONDS, 0.5, leader_of(artifact), history_from(artifact))
    return MidTermPlayer(artifact, [began, *tape[first:]], plant, why_mid_term(artifact, tape)).run()


class MidTermPlayer(TapePlayer):
    """`tape`: with a start of the plane before it that there was not."""

    renumbers = True

    def __init__(self, artifact: Artifact, tape: list[TapeItem], plant: str, why: str) -> None:
        super().__init__(artifact, tape, plant)
        self._why = why
        self._began = tape.pop(0)
        self._settled_at = tape[0].now + _SETTLING_SECONDS
        self._unasked: Counter[str] = Counter()
        self._unmade: Counter[str] = Counter()
        self.found.begins = microtime(tape[0].now)

    def run(self) -> ClosedReplay:
        began = self._began
        assert isinstance(began, Began)
        self.begin(began.identity)
        self.tell(Started(began.now, began.chance))
        tried: set[int] = set()
        while self.now < began.now + _WARM_SECONDS - _STEP_SECONDS:
            self._deliver_all()
            self._lead()
            self._try(tried)
            self._wake(self.now)
            self.now += _STEP_SECONDS
        for call in tried & self.asked.keys():  # patience begins with the tape
            self.asked[call] = self.asked[call]._replace(since=self.now)
        found = super().run()
        found.mid_term = MidTerm(_listed(self._unasked), _listed(self._unmade), self._why)
        return found

    def feed(self, item: TapeItem) -> None:
        if not self.is_free:
            self._wake(item.now - _LATE_SECONDS)
            self._send_away(item.now)
            self._mark()
        self._lead()
        if not isinstance(item, Sent | Struck) or item.controller != _LEADERSHIP:
            super().feed(item)

    def take(self, item: Sent | Struck) -> AskedCall | None:
        """By what it asks: numbers are others."""
        same = [each for each in self.asked.values() if each.text == item.what]
        if isinstance(item, Sent):
            alike = [each for each in same if digest_of_request(each.call.request) == item.digest]
            same = alike or ([] if item.controller == _EVENTS or item.now < self._settled_at else same)
        return self.asked.pop(same[0].call.call) if same else None

    def was_not_asked(self, item: Sent | Struck) -> None:
        if self.is_free:
            return
        self._unasked[f"{item.controller}: {item.what}"] += 1

    # Before the tape

    def _deliver_all(self) -> None:
        """Its watches bring everything at once."""
        while self.lists:
            resource = self.lists.pop(0)
            revision = self.positions[resource] = self.server.revision
            listed = Listed(revision, self.server.list(resource, revision), self.now)
            self.tell(Mirrored(resource, (listed,)))
        self._mark()

    def _try(self, tried: set[int]) -> None:
        """What would be refused is refused; what would be done waits."""
        for number, asked in list(self.asked.items()):
            if number in tried or asked.call.request.bindings:
                continue
            tried.add(number)
            request = asked.call.request
            if request.verb != "get":
                request = structs.replace(request, query={**request.query, "dryRun": "All"})
            outcome = self.ask_server(structs.replace(asked.call, request=request))
            if not isinstance(outcome, Done) or request.verb == "get":
                self._answer_with(asked, outcome)

    # Throughout

    def _lead(self) -> None:
        """Its lease is renewed on the tape: it is told that it did."""
        while mine := [each for each in self.asked.values() if each.call.controller == _LEADERSHIP]:
            request = mine[0].call.request
            kept = self.server.store.get(Key(LEASES.name, NAMESPACE, request.name))
            if request.verb == "get" or kept is None:
                self._answer_with(mine[0], self.ask_server(mine[0].call))
            else:
                self._answer_with(mine[0], Done(kept.revision, kept.data))

    def _mark(self) -> None:
        """How far a mirror is, if nothing is on its way to it."""
        behind, self.behind = dict.fromkeys(self.behind), []
        for resource in behind:
            if not self.server.changes(resource, self.positions.get(resource, 0), self.server.revision):
                self.tell(Mirrored(resource, (Marked(self.server.revision, self.now),)))

    def _wake(self, until: float) -> None:
        for timer in [each for each, at in self.timers.items() if at <= until]:
            del self.timers[timer]
            self.tell(Woke(self.now, 0.5, timer))

    def _send_away(self, now: float) -> None:
        for asked in [each for each in self.asked.values() if each.since + _PATIENCE_SECONDS < now]:
            if asked.call.controller != _EVENTS:
                self._unmade[f"{asked.call.controller}: {asked.text}"] += 1
            self._answer_with(asked, answer_when("throttled"))

    def _answer_with(self, asked: AskedCall, outcome: Outcome) -> None:
        self.asked.pop(asked.call.call, None)
        self.tell(Answers((Replied(asked.call.call, outcome, self.now, 0.5),)))

    def ask_server(self, call: Call) -> Outcome:
        """Without a trace: it reads, or is only tried."""
        reply = self.server.send(call.request, self.user_of(call), self.now, bytes(16))
        return outcome_of(reply)


def _listed(counts: Counter[str]) -> tuple[str, ...]:
    return tuple(f"{what} ({count} times)" if count > 1 else what for what, count in sorted(counts.items()))
