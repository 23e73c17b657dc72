"""Plays an incident again from its tape: `fairlead replay FILE --closed`.

    play(artifact, plant) -> ClosedReplay

A plane is told what the plane was told then, at the same instants and with the same chance: what its watches brought,
what was answered, which fault struck, when it woke, and that it began anew. What it asks for goes to an API over the
objects of the beginning (`server.py`); what others wrote is put in at its revision. As long as the plane asks for the
same, every commit is the same to the byte. The first that is not is the divergence: then what the plane writes counts,
not what it wrote then; what others did, and how far its watches had come, stays as it was. Invariants that can be
judged from commits (`sim/live.py`) are judged throughout. Pure.

Exact from the start of a plane on, so the tape has to have one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import NamedTuple

import msgspec

from fairlead.api.access.users import MASTERS, User
from fairlead.cache.events import Broke, Expired, Framed, Listed, ListFailed, Marked, Mirrored, MirrorEvent
from fairlead.control.instructions import Answers, Call, PlaneEvent, Replied
from fairlead.control.plane import Plane
from fairlead.core.errors import UsageError
from fairlead.core.times import microtime
from fairlead.model.key import Key
from fairlead.port.driving import Started, Stepped, WakeAt, Woke
from fairlead.port.outcome import Outcome, outcome_of
from fairlead.reconcile.root_certificate import CONFIG_MAP
from fairlead.replay.artifact import Artifact
from fairlead.replay.cast import usual_deciders
from fairlead.replay.tape import (
    Awoke,
    Began,
    Delivered,
    Ended,
    Heard,
    Sent,
    SetClock,
    Struck,
    TapeItem,
    WasListed,
    WasMarked,
    WereAnswered,
    digest_of_request,
    text_of_request,
)
from fairlead.sim.closed.captured import (
    OWN,
    beginning_of,
    differing_field,
    flags_of,
    named,
    revisions_of_planes,
    tape_of,
)
from fairlead.sim.closed.server import ClosedServer
from fairlead.sim.injection import UNHEARD, answer_when
from fairlead.sim.live import LiveMonitors
from fairlead.sim.parts import default_parts, load_plant
from fairlead.store.contract import CommittedChange, Entry

_AFTER_SECONDS = 30.0  # so long a plane that went another way goes on when the tape is over
_PATIENCE_SECONDS = 1.0  # what was asked for and is not on the tape is carried out after so long
_FREE = b"closed!!"  # half of the entropy of requests that are not on the tape
_STEPS_MAX = 1_000


class FirstDifference(NamedTuple):
    time: str
    controller: str
    what: str
    recorded: str
    again: str


class ClosedReplay(msgspec.Struct):
    """What came of it. `commits`: of the plane; `equal`: those that are the same to the byte."""

    commits: int = 0
    equal: int = 0
    deliveries: int = 0
    others: int = 0  # commits of everybody else, put in as they were
    starts: int = 0
    faults: dict[str, int] = {}
    divergence: FirstDifference | None = None
    violations: list[str] = []
    objects: tuple[Entry, ...] = ()  # at the end

    @property
    def is_same(self) -> bool:
        return self.divergence is None


def play(artifact: Artifact, plant: str = "") -> ClosedReplay:
    tape = list(tape_of(artifact))
    first = next((at for at, item in enumerate(tape) if isinstance(item, Began)), None)
    if first is None:
        raise UsageError(
            "the capture has no start of a plane, which a closed replay begins with: capture again with"
            " `fairlead incident capture --closed`, or one that covers a restart"
        )
    return _Player(artifact, tape[first:], plant).run()


class _Asked(NamedTuple):
    call: Call
    text: str
    since: float


class _Player:
    def __init__(self, artifact: Artifact, tape: list[TapeItem], plant: str) -> None:
        began = tape[0]
        assert isinstance(began, Began)
        self._tape, self._artifact = tape, artifact
        self._parts = default_parts(deciders=lambda: usual_deciders(artifact.head.hollow_nodes))
        if plant:
            self._parts = load_plant(plant)(self._parts)
        entries, self._changes = beginning_of(artifact, began.revision)
        mounts = any(key.name == CONFIG_MAP for key in entries)
        self._monitors = LiveMonitors()
        ordered = sorted(entries.values(), key=lambda entry: entry.revision)
        self._monitors.learn(ordered)
        self.found = ClosedReplay()
        self._writer = ""  # who the API is asked by just now
        self._server = ClosedServer(
            ordered, began.revision, began.now, self._observe, mounts, self._parts["api"]
        )
        self._ours = revisions_of_planes(artifact, tape)
        self._next = 0  # of what others wrote, the first that is not put in yet
        self._recorded, self._again = [began.revision], [began.revision]  # revisions then, and the same now
        self._now = began.now
        self._plane: Plane | None = None
        self._positions: dict[str, int] = {}  # of mirrors, in revisions of now
        self._asked: dict[int, _Asked] = {}
        self._late: dict[int, _Asked] = {}  # calls of the tape that are given up, and may be sent still
        self._numbers: dict[int, int] = {}  # calls of the tape as they are numbered now
        self._outcomes: dict[int, Outcome] = {}
        self._timers: dict[str, float] = {}
        self._faults: Counter[str] = Counter()

    def run(self) -> ClosedReplay:
        for item in self._tape:
            if self.found.divergence is not None:
                self._go_on_freely(item.now)
            self._feed(item)
        if self.found.divergence is not None:
            self._go_on_freely(self._now + _AFTER_SECONDS)
        self.found.objects = self._server.entries()
        self.found.faults = dict(sorted(self._faults.items()))
        return self.found

    def _feed(self, item: TapeItem) -> None:
        self._now = item.now
        match item:
            case Began(now, chance, identity, _):
                self._begin(identity)
                self._tell(Started(now, chance))
            case Awoke(now, chance, timer):
                self._timers.pop(timer, None)
                self._tell(Woke(now, chance, timer))
            case SetClock(now, ahead, message):
                self._tell(Stepped(ahead, message, now))
            case Sent():
                self._send(item)
            case Struck():
                self._strike(item)
            case WereAnswered(now, replies):
                self._answer(now, replies)
            case Delivered() | WasListed() | WasMarked() | Ended():
                self._mirrored(item)

    # The plane

    def _begin(self, identity: str) -> None:
        """A new one, that knows nothing. What a former one had under way is nobody's."""
        self.found.starts += 1
        deciders = self._parts["deciders"]()
        flags = flags_of(self._artifact, identity, self._now)
        if flags:  # a server may run without a scheduler and most of its controllers, or without hollow nodes
            deciders = tuple(each for each in deciders if f"controller/{each.name}" in flags)
        schedules = not flags or "scheduler" in flags
        self._plane = self._parts["plane"](
            identity, deciders, self._parts["scheduler"] if schedules else None
        )
        self._plane.version = self._artifact.head.fairlead
        self._positions, self._asked, self._late, self._numbers, self._outcomes = {}, {}, {}, {}, {}

    def _tell(self, event: PlaneEvent) -> None:
        assert self._plane is not None
        for instruction in self._plane.handle(event):
            if isinstance(instruction, Call):
                text = text_of_request(instruction.request)
                self._asked[instruction.call] = _Asked(instruction, text, self._now)
            elif isinstance(instruction, WakeAt):
                self._timers[instruction.timer] = instruction.at

    # Its requests

    def _strike(self, struck: Struck) -> None:
        """The answer will be the fault's, where the server's was not heard."""
        self._faults[struck.fault] += 1
        number = self._numbers.get(struck.call)
        if number is None and struck.fault in UNHEARD:
            asked = self._take(struck)
            if asked is None:
                self._diverge(struck.controller, struck.what, struck.what, "was not asked for")
                return
            number = self._numbers[struck.call] = asked.call.call
            self._late[struck.call] = asked
        if number is not None and struck.fault in UNHEARD:
            self._outcomes[number] = answer_when(struck.fault)

    def _take(self, item: Sent | Struck) -> _Asked | None:
        """What was asked for that the item is about: by its number or, where that is not the same any more, the oldest
        that is about the same object."""
        number: int | None = item.call
        if self.found.divergence is not None:
            number = next((call for call, asked in self._asked.items() if asked.text == item.what), None)
        return self._asked.pop(number, None) if number is not None else None

    def _send(self, sent: Sent) -> None:
        late = self._late.pop(sent.call, None)
        asked = late or self._take(sent)
        recorded = f"{sent.what} ({sent.digest})"
        if asked is None:
            self._diverge(sent.controller, sent.what, recorded, "was not asked for")
            return
        again = f"{asked.text} ({digest_of_request(asked.call.request)})"
        if again != recorded:
            self._diverge(sent.controller, sent.what, recorded, again)
        self._numbers[sent.call] = asked.call.call
        self._catch_up(sent.allotted)
        outcome = self._ask(asked.call, sent.now, bytes.fromhex(sent.entropy))
        if self.found.divergence is not None and self._server.committed:
            self._note_position(sent.allotted + 1)  # where it stood then, if it was written then
        if late is None:
            self._outcomes[asked.call.call] = outcome

    def _ask(self, call: Call, now: float, entropy: bytes) -> Outcome:
        user = User(f"{OWN}{call.controller}", groups=(MASTERS,))
        assert self._plane is not None
        self._writer = f"{call.controller} of plane-{self._plane.leadership.identity}"
        outcome = outcome_of(self._server.send(call.request, user, now, entropy))
        self._writer = ""
        for change in self._server.committed:
            self._compare(call, change)
        return outcome

    def _compare(self, call: Call, change: CommittedChange) -> None:
        self.found.commits += 1
        if self.found.divergence is not None:
            return
        at, entry = self._place(change.entry.revision), change.entry
        recorded = self._changes[at] if at < len(self._changes) else None
        if recorded is None or recorded.revision != entry.revision:
            self._diverge(
                call.controller, named(entry.key), "nothing was committed", f"revision {entry.revision}"
            )
        elif (Key(*recorded.key), recorded.change_type) != (entry.key, change.type):
            then = f"{recorded.change_type} {named(Key(*recorded.key))}"
            self._diverge(call.controller, named(entry.key), then, f"{change.type} {named(entry.key)}")
        elif bytes(recorded.value) != entry.data and (
            wrong := differing_field(bytes(recorded.value), entry.data)
        ):
            self._diverge(call.controller, named(entry.key), *wrong)
        else:
            self.found.equal += 1
            self._next = at + 1
            self._note_position(recorded.revision)

    def _answer(self, now: float, replies: tuple[Heard, ...]) -> None:
        heard: list[Replied] = []
        for each in replies:
            number = self._numbers.pop(each.call, None)
            outcome = self._outcomes.pop(number, None) if number is not None else None
            if number is not None and outcome is not None:  # else: of a request that was not made again
                heard.append(Replied(number, outcome, now, each.chance))
        if heard:
            self._tell(Answers(tuple(heard)))

    # Its mirrors

    def _mirrored(self, item: Delivered | WasListed | WasMarked | Ended) -> None:
        self.found.deliveries += 1
        resource, now, attempt = item.resource, item.now, item.attempt
        if isinstance(item, Ended):
            ended: MirrorEvent = (
                Broke(item.reason, now, attempt)
                if item.how == "Broke"
                else Expired(now, attempt)
                if item.how == "Expired"
                else ListFailed(item.reason, now, attempt)
            )
            self._tell(Mirrored(resource, (ended,)))
            return
        self._catch_up(item.revision)
        revision = self._again[bisect_right(self._recorded, item.revision) - 1]
        if isinstance(item, WasMarked):
            self._tell(Mirrored(resource, (Marked(revision, now, attempt),)))
        elif isinstance(item, WasListed):
            self._positions[resource] = revision
            entries = self._server.list(resource, revision)
            self._tell(Mirrored(resource, (Listed(revision, entries, now, attempt),)))
        else:
            changes = self._server.changes(resource, self._positions.get(resource, 0), revision)
            self._positions[resource] = revision
            if changes:
                frames = tuple([Framed(each.type, each.entry, now, attempt) for each in changes])
                self._tell(Mirrored(resource, frames))

    # What others did

    def _catch_up(self, revision: int) -> None:
        """Put in what others had written by then. In step, all that the plane had written is there already."""
        while self._next < len(self._changes) and self._changes[self._next].revision <= revision:
            change = self._changes[self._next]
            self._next += 1
            if self.found.divergence is None:
                self._server.skip_to(change.revision - 1)
            elif change.revision in self._ours:
                continue  # what the plane writes now counts
            self.found.others += self._server.write(change, self._now)
            self._note_position(change.revision)

    def _note_position(self, recorded: int) -> None:
        self._recorded.append(recorded)
        self._again.append(self._server.revision)

    def _place(self, revision: int) -> int:
        return bisect_right(self._changes, revision - 1, key=lambda each: each.revision)

    # When it goes another way

    def _diverge(self, controller: str, what: str, recorded: str, again: str) -> None:
        if self.found.divergence is None:
            self.found.divergence = FirstDifference(microtime(self._now), controller, what, recorded, again)

    def _go_on_freely(self, until: float) -> None:
        """It wakes when it wants to; what it asks for and did not ask for then is carried out and answered."""
        for _ in range(_STEPS_MAX):
            timer = min(self._timers, key=self._timers.__getitem__, default=None)
            asked = min(self._asked.values(), key=lambda each: each.since, default=None)
            wakes = self._timers[timer] if timer is not None else until
            sends = asked.since + _PATIENCE_SECONDS if asked is not None else until
            if min(wakes, sends) >= until:
                return
            self._now = max(self._now, min(wakes, sends))
            if timer is not None and wakes <= sends:
                del self._timers[timer]
                self._tell(Woke(self._now, 0.5, timer))
            elif asked is not None:
                del self._asked[asked.call.call]
                entropy = _FREE + asked.call.call.to_bytes(8, "big")
                outcome = self._ask(asked.call, self._now, entropy)
                self._note_position(self._recorded[-1])
                self._tell(Answers((Replied(asked.call.call, outcome, self._now, 0.5),)))

    def _observe(self, changes: tuple[CommittedChange, ...]) -> None:
        for change in changes:
            for violation in self._monitors.saw(change, self._writer, self._now):
                self.found.violations.append(str(violation))
