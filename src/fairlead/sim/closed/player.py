"""Plays an incident again from its tape: `fairlead replay FILE --closed`.

    play(artifact, plant) -> ClosedReplay

A plane is told what the plane was told then, at the same instants and with the same chance: what its watches brought,
what was answered, which fault struck, when it woke, and that it began anew. What it asks for goes to an API over the
objects of the beginning (`server.py`); what others wrote is put in at its revision. As long as the plane asks for the
same, every commit is the same to the byte. The first that is not is the divergence: then what the plane writes counts,
not what it wrote then; what others did, and how far its watches had come, stays as it was. Invariants that can be
judged from commits (`sim/live.py`) are judged throughout. Pure.

Exact from the start of a plane on; where the tape has none, `midterm.py` begins with a plane that has forgotten.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import NamedTuple

import msgspec

from fairlead.api.access.users import MASTERS, User
from fairlead.cache.events import Broke, Expired, Framed, Listed, ListFailed, Marked, Mirrored, MirrorEvent
from fairlead.control.instructions import Answers, AskProgress, Call, PlaneEvent, Replied
from fairlead.control.plane import Plane
from fairlead.core.times import microtime
from fairlead.model.key import Key
from fairlead.port.capabilities import FAIRLEAD
from fairlead.port.driving import ListAll, Started, Stepped, WakeAt, Woke
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
from fairlead.replay.terms import hollow_nodes_of
from fairlead.sim.closed.captured import (
    OWN,
    beginning_of,
    differing_field,
    flags_of,
    named,
    revisions_of_planes,
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


class MidTerm(NamedTuple):
    """Where it began in mid-term (`midterm.py`): requests of then that it does not make, whose writes were put in, and
    those that it makes and were not made then, which are not carried out."""

    unasked: tuple[str, ...]
    unmade: tuple[str, ...]
    why: str = ""  # the capture


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
    begins: str = ""  # when what is played begins
    mid_term: MidTerm | None = None  # if that is no start of a plane

    @property
    def is_same(self) -> bool:
        return self.divergence is None


class AskedCall(NamedTuple):
    """What the plane asked for, and is not answered yet."""

    call: Call
    text: str
    since: float


class TapePlayer:
    def __init__(self, artifact: Artifact, tape: list[TapeItem], plant: str) -> None:
        began = tape[0]
        assert isinstance(began, Began)
        self._tape, self._artifact = tape, artifact
        self._hollow_nodes = artifact.head.hollow_nodes
        self._parts = default_parts(deciders=lambda: usual_deciders(self._hollow_nodes))
        if plant:
            self._parts = load_plant(plant)(self._parts)
        entries, self.changes = beginning_of(artifact, began.revision)
        mounts = any(key.name == CONFIG_MAP for key in entries)
        self._monitors = LiveMonitors()
        ordered = sorted(entries.values(), key=lambda entry: entry.revision)
        self._monitors.learn(ordered)
        self.found = ClosedReplay(begins=microtime(began.now))
        self._writer = ""  # who the API is asked by just now
        self.server = ClosedServer(
            ordered, began.revision, began.now, self._observe, mounts, self._parts["api"]
        )
        self.ours = revisions_of_planes(artifact, tape)
        self._next = 0  # of what others wrote, the first that is not put in yet
        self._recorded, self._again = [began.revision], [began.revision]  # revisions then, and the same now
        self.now = began.now
        self._plane: Plane | None = None
        self.positions: dict[str, int] = {}  # of mirrors, in revisions of now
        self.asked: dict[int, AskedCall] = {}
        self._late: dict[int, AskedCall] = {}  # calls of the tape that are given up, and may be sent still
        self._numbers: dict[int, int] = {}  # calls of the tape as they are numbered now
        self._outcomes: dict[int, Outcome] = {}
        self.timers: dict[str, float] = {}
        # Lists that it asked for, and mirrors of which it asked how far they are: on a tape the answers follow.
        self.lists: list[str] = []
        self.behind: list[str] = []
        self._faults: Counter[str] = Counter()

    renumbers = False  # whether its calls have other numbers than then

    @property
    def is_free(self) -> bool:
        """It went another way: what it asks for now counts."""
        return self.found.divergence is not None

    def run(self) -> ClosedReplay:
        for item in self._tape:
            if self.is_free:
                self._go_on_freely(item.now)
            self.feed(item)
        if self.is_free:
            self._go_on_freely(self.now + _AFTER_SECONDS)
        self.found.objects = self.server.entries()
        self.found.faults = dict(sorted(self._faults.items()))
        return self.found

    def feed(self, item: TapeItem) -> None:
        self.now = item.now
        match item:
            case Began(now, chance, identity, _):
                self.begin(identity)
                self.tell(Started(now, chance))
            case Awoke(now, chance, timer):
                self.timers.pop(timer, None)
                self.tell(Woke(now, chance, timer))
            case SetClock(now, ahead, message):
                self.tell(Stepped(ahead, message, now))
            case Sent():
                self._send(item)
            case Struck():
                self._strike(item)
            case WereAnswered(now, replies):
                self._answer(now, replies)
            case Delivered() | WasListed() | WasMarked() | Ended():
                self._mirrored(item)

    # The plane

    def begin(self, identity: str) -> None:
        """A new one, that knows nothing. What a former one had under way is nobody's."""
        self.found.starts += 1
        told = flags_of(self._artifact, identity, self.now)
        if told:
            self._hollow_nodes = hollow_nodes_of(told)
        deciders = self._parts["deciders"]()
        flags = frozenset(each.partition("=")[0] for each in told)
        if flags:  # a server may run without a scheduler and most of its controllers, or without hollow nodes
            deciders = tuple(each for each in deciders if f"controller/{each.name}" in flags)
        schedules = not flags or "scheduler" in flags
        scheduler = self._parts["scheduler"] if schedules else None
        given = (identity, deciders, scheduler, FAIRLEAD, None, self._artifact.head.fairlead)
        self._plane = self._parts["plane"](*given)
        self.positions, self.asked, self._late, self._numbers, self._outcomes = {}, {}, {}, {}, {}

    def tell(self, event: PlaneEvent) -> None:
        assert self._plane is not None
        for instruction in self._plane.handle(event):
            if isinstance(instruction, Call):
                text = text_of_request(instruction.request)
                self.asked[instruction.call] = AskedCall(instruction, text, self.now)
            elif isinstance(instruction, WakeAt):
                self.timers[instruction.timer] = instruction.at
            elif isinstance(instruction, ListAll):
                self.lists.append(instruction.resource_name)
            elif isinstance(instruction, AskProgress):
                self.behind.append(instruction.resource)

    # Its requests

    def _strike(self, struck: Struck) -> None:
        """The answer will be the fault's, where the server's was not heard."""
        self._faults[struck.fault] += 1
        number = self._numbers.get(struck.call)
        if number is None and struck.fault in UNHEARD:
            asked = self.take(struck)
            if asked is None:
                self.was_not_asked(struck)
                return
            number = self._numbers[struck.call] = asked.call.call
            self._late[struck.call] = asked
        if number is not None and struck.fault in UNHEARD:
            self._outcomes[number] = answer_when(struck.fault)

    def take(self, item: Sent | Struck) -> AskedCall | None:
        """What was asked for that the item is about: by its number or, where that is not the same any more, the oldest
        that is about the same object."""
        number: int | None = item.call
        if self.is_free:
            number = next((call for call, asked in self.asked.items() if asked.text == item.what), None)
        return self.asked.pop(number, None) if number is not None else None

    def _send(self, sent: Sent) -> None:
        late = self._late.pop(sent.call, None)
        asked = late or self.take(sent)
        recorded = f"{sent.what} ({sent.digest})"
        if asked is None:
            self.was_not_asked(sent)
            return
        again = f"{asked.text} ({digest_of_request(asked.call.request)})"
        if again != recorded:
            self.diverge(sent.controller, sent.what, recorded, again)
        self._numbers[sent.call] = asked.call.call
        self._catch_up(sent.allotted)
        outcome = self._ask(asked.call, sent.now, bytes.fromhex(sent.entropy))
        if self.is_free and self.server.committed:
            self.note_position(sent.allotted + 1)  # where it stood then, if it was written then
        if late is None:
            self._outcomes[asked.call.call] = outcome

    def was_not_asked(self, item: Sent | Struck) -> None:
        recorded = f"{item.what} ({item.digest})" if isinstance(item, Sent) else item.what
        self.diverge(item.controller, item.what, recorded, "was not asked for")

    def user_of(self, call: Call) -> User:
        return User(f"{OWN}{call.controller}", groups=(MASTERS,))

    def _ask(self, call: Call, now: float, entropy: bytes) -> Outcome:
        assert self._plane is not None
        self._writer = f"{call.controller} of plane-{self._plane.leadership.identity}"
        outcome = outcome_of(self.server.send(call.request, self.user_of(call), now, entropy))
        self._writer = ""
        for change in self.server.committed:
            self._compare(call, change)
        return outcome

    def _compare(self, call: Call, change: CommittedChange) -> None:
        self.found.commits += 1
        if self.found.divergence is not None:
            return
        at, entry = self.place(change.entry.revision), change.entry
        recorded = self.changes[at] if at < len(self.changes) else None
        if recorded is None or recorded.revision != entry.revision:
            self.diverge(
                call.controller, named(entry.key), "nothing was committed", f"revision {entry.revision}"
            )
        elif (Key(*recorded.key), recorded.change_type) != (entry.key, change.type):
            then = f"{recorded.change_type} {named(Key(*recorded.key))}"
            self.diverge(call.controller, named(entry.key), then, f"{change.type} {named(entry.key)}")
        elif bytes(recorded.value) != entry.data and (
            wrong := differing_field(bytes(recorded.value), entry.data)
        ):
            self.diverge(call.controller, named(entry.key), *wrong)
        else:
            self.found.equal += 1
            self._next = at + 1
            self.note_position(recorded.revision)

    def _answer(self, now: float, replies: tuple[Heard, ...]) -> None:
        heard: list[Replied] = []
        for each in replies:
            number = self._numbers.pop(each.call, None)
            outcome = self._outcomes.pop(number, None) if number is not None else None
            if number is not None and outcome is not None:  # else: of a request that was not made again
                heard.append(Replied(number, outcome, now, each.chance))
        if heard:
            self.tell(Answers(tuple(heard)))

    # Its mirrors

    def _mirrored(self, item: Delivered | WasListed | WasMarked | Ended) -> None:
        self.found.deliveries += 1
        resource, now = item.resource, item.now
        attempt = 0 if self.renumbers else item.attempt  # 0: of whichever call it makes now
        if isinstance(item, Ended):
            ended: MirrorEvent = (
                Broke(item.reason, now, attempt)
                if item.how == "Broke"
                else Expired(now, attempt)
                if item.how == "Expired"
                else ListFailed(item.reason, now, attempt)
            )
            self.tell(Mirrored(resource, (ended,)))
            return
        self._catch_up(item.revision)
        revision = self._again[bisect_right(self._recorded, item.revision) - 1]
        if isinstance(item, WasMarked):
            self.tell(Mirrored(resource, (Marked(revision, now, attempt),)))
        elif isinstance(item, WasListed):
            self.positions[resource] = revision
            entries = self.server.list(resource, revision)
            self.tell(Mirrored(resource, (Listed(revision, entries, now, attempt),)))
        else:
            changes = self.server.changes(resource, self.positions.get(resource, 0), revision)
            self.positions[resource] = revision
            if changes:
                frames = tuple([Framed(each.type, each.entry, now, attempt) for each in changes])
                self.tell(Mirrored(resource, frames))

    # What others did

    def _catch_up(self, revision: int) -> None:
        """Put in what others had written by then. In step, all that the plane had written is there already."""
        while self._next < len(self.changes) and self.changes[self._next].revision <= revision:
            change = self.changes[self._next]
            self._next += 1
            if not self.is_free:
                self.server.skip_to(change.revision - 1)
            elif change.revision in self.ours:
                continue  # what the plane writes now counts
            self.found.others += self.server.write(change, self.now)
            self.note_position(change.revision)

    def note_position(self, recorded: int) -> None:
        self._recorded.append(recorded)
        self._again.append(self.server.revision)

    def place(self, revision: int) -> int:
        return bisect_right(self.changes, revision - 1, key=lambda each: each.revision)

    # When it goes another way

    def diverge(self, controller: str, what: str, recorded: str, again: str) -> None:
        if self.found.divergence is None:
            self.found.divergence = FirstDifference(microtime(self.now), controller, what, recorded, again)

    def _go_on_freely(self, until: float) -> None:
        """It wakes when it wants to; what it asks for and did not ask for then is carried out and answered."""
        for _ in range(_STEPS_MAX):
            timer = min(self.timers, key=self.timers.__getitem__, default=None)
            asked = min(self.asked.values(), key=lambda each: each.since, default=None)
            wakes = self.timers[timer] if timer is not None else until
            sends = asked.since + _PATIENCE_SECONDS if asked is not None else until
            if min(wakes, sends) >= until:
                return
            self.now = max(self.now, min(wakes, sends))
            if timer is not None and wakes <= sends:
                del self.timers[timer]
                self.tell(Woke(self.now, 0.5, timer))
            elif asked is not None:
                del self.asked[asked.call.call]
                entropy = _FREE + asked.call.call.to_bytes(8, "big")
                outcome = self._ask(asked.call, self.now, entropy)
                self.note_position(self._recorded[-1])
                self.tell(Answers((Replied(asked.call.call, outcome, self.now, 0.5),)))

    def _observe(self, changes: tuple[CommittedChange, ...]) -> None:
        for change in changes:
            for violation in self._monitors.saw(change, self._writer, self.now):
                self.found.violations.append(str(violation))
