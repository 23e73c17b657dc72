"""Whose turn it is, against a reference that is plain and slow: any requests, in any order, in any level.

The reference knows nothing of heaps: it keeps everybody who waits in one list and looks through it. For every turn it
says who may be next; the machine must choose one of them, and somebody if there is one.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fairlead.api.flow.events import CONCURRENCY_LIMIT, QUEUE_FULL
from fairlead.api.flow.levels import PriorityLevel, deal_seats
from tests.unit.api.flow.levels_of_tests import EXEMPT, Driven, queueing, rejecting

LEVELS = (
    queueing("low", 5, lendable_percent=80, queues=8, hand_size=3, queue_length=3),
    queueing("high", 3, lendable_percent=50, queues=4, hand_size=2, queue_length=4, borrowing_percent=50),
    queueing("leases", 1, queues=4, hand_size=2, queue_length=4),
    rejecting("last", 1),
    EXEMPT,
)
SEATS = 12

arrivals = st.tuples(
    st.just("arrive"),
    st.sampled_from([level.name for level in LEVELS]),
    st.sampled_from("abcdef"),
    st.integers(1, 6),
    st.booleans(),
    st.booleans(),
)
steps = st.lists(
    st.one_of(
        arrivals,
        arrivals,
        st.tuples(st.just("turn")),
        st.tuples(st.just("end"), st.integers(0, 30)),
        st.tuples(st.just("leave"), st.integers(0, 30)),
    ),
    max_size=120,
)


class Reference:
    """Who waits and who is under way, as lists."""

    def __init__(self) -> None:
        self.driven = Driven(*LEVELS, seats=SEATS)
        self.seats = deal_seats(LEVELS, SEATS)
        self.waiting: dict[str, tuple[str, str, int, bool]] = {}  # ticket -> level, user, width, in turn
        self.under_way: dict[str, tuple[str, int]] = {}
        self.number = 0

    def step(self, step: tuple[object, ...]) -> None:
        driven = self.driven
        driven.now += 0.001
        begun = len(driven.begun)
        match step:
            case ("arrive", str(level), str(user), int(width), bool(in_turn), bool(room)):
                self.number += 1
                ticket = f"{level}-{user}-{self.number}"
                seats = self.seats[level]
                most = max(1, seats.nominal + seats.borrowable)
                self.waiting[ticket] = (level, user, min(width, most), in_turn)
                refused = len(driven.refused)
                driven.arrive(ticket, level, user, width=width, in_turn=in_turn, room=room)
                if len(driven.refused) > refused:
                    self.check_refused(ticket)
                    del self.waiting[ticket]
            case ("turn",):
                could = self.eligible()
                chosen = driven.one_turn()
                assert (chosen is None) == (not could), (chosen, could)
                assert chosen is None or chosen in could
            case ("end", int(index)) if self.under_way:
                ticket = list(self.under_way)[index % len(self.under_way)]
                del self.under_way[ticket]
                driven.end(ticket)
            case ("leave", int(index)) if self.waiting:
                ticket = list(self.waiting)[index % len(self.waiting)]
                del self.waiting[ticket]
                driven.end(ticket)
        for ticket in driven.begun[begun:]:
            level, _, width, _ = self.waiting.pop(ticket)
            self.under_way[ticket] = (level, width)
        self.check_books()

    def held(self, level: str) -> int:
        return sum(width for name, width in self.under_way.values() if name == level)

    def has_seat(self, level: str, width: int) -> bool:
        if level == EXEMPT.name:
            return True
        seats, held = self.seats[level], self.held(level)
        if held + width <= seats.nominal or (not held and seats.nominal):
            return True
        if held + width > seats.nominal + seats.borrowable:
            return False
        borrowed = lent = 0
        for other in LEVELS:
            theirs = self.seats[other.name]
            over = self.held(other.name) - theirs.nominal
            if over > 0 and not other.exempt:
                borrowed += over
            if over <= 0 and other.name != level:
                lent += min(theirs.lendable, -over)
        return borrowed + held + width - max(held, seats.nominal) <= lent

    def eligible(self) -> set[str]:
        """The oldest of each flow that could begin, or one that waits in a shared queue before it."""
        return {
            ticket
            for ticket, (level, _, width, in_turn) in self.waiting.items()
            if in_turn or self.has_seat(level, width)
        } & self.possible_heads()

    def possible_heads(self) -> set[str]:
        """Those before whom nobody waits in their queue, as the machine has queued them."""
        heads = set()
        for state in self.driven.machine._levels.values():
            for queue in state.queues._queues.values():
                if queue.waiting:
                    heads.add(queue.waiting[0].ticket)
        seated: dict[str, list[str]] = {}
        for ticket in heads:
            level, _, _, in_turn = self.waiting[ticket]
            if not in_turn:
                seated.setdefault(level, []).append(ticket)
        # Of those that need a seat only the first of a level counts: behind it the others wait, so that it gets its seats.
        for level, tickets in seated.items():
            found = self.driven.machine._levels[level].queues.head(in_turn=False)
            assert found is not None
            heads -= set(tickets) - {found[1].ticket}
        return heads

    def check_refused(self, ticket: str) -> None:
        level, user, width, _ = self.waiting[ticket]
        known = self.driven.levels[level]
        reason = self.driven.refused[ticket]
        assert not known.exempt
        if known.queues:
            assert reason == QUEUE_FULL
            hand = self.driven.flow(level, user).hand
            lengths = [self.driven.machine._levels[level].queues.length(index) for index in hand]
            assert min(lengths) >= known.queue_length, "there was room in a queue of its hand"
        else:
            assert reason == CONCURRENCY_LIMIT
            waits = sum(each[2] for name, each in self.waiting.items() if each[0] == level and name != ticket)
            assert self.held(level) + waits + width > self.seats[level].nominal

    def check_books(self) -> None:
        machine = self.driven.machine
        assert machine.waiting == len(self.waiting)
        for level in LEVELS:
            assert machine.seats_held(level.name) == self.held(level.name)
            longest = max(
                (len(q.waiting) for q in machine._levels[level.name].queues._queues.values()), default=0
            )
            assert not level.queues or longest <= level.queue_length
        if self.eligible():
            assert self.driven.turn_due, "somebody could begin, and no turn is due"


@given(steps)
def test_the_machine_chooses_whom_the_reference_allows_and_keeps_its_books(
    given_steps: list[tuple[object, ...]],
) -> None:
    reference = Reference()
    for step in given_steps:
        reference.step(step)


@given(steps)
def test_nobody_starves_everybody_who_waits_is_served_once_others_end(
    given_steps: list[tuple[object, ...]],
) -> None:
    reference = Reference()
    for step in given_steps:
        reference.step(step)
    for _ in range(10 * len(given_steps) + 10):
        if not reference.waiting and not reference.under_way:
            break
        reference.step(("turn",))
        reference.step(("end", 0))
    assert not reference.waiting


@given(st.lists(st.tuples(st.integers(1, 8), st.integers(1, 40)), min_size=2, max_size=6))
def test_flows_that_always_want_something_get_the_same(flows: list[tuple[int, int]]) -> None:
    """Each flow has a width; what each has taken differs by no more than the widest two requests."""
    level = PriorityLevel("low", shares=1, queues=len(flows), hand_size=1, queue_length=10_000)
    driven = Driven(level, seats=8)
    widths = {}
    for number, (width, _) in enumerate(flows):
        user = f"u{number}"
        flow = driven.flow("low", user)
        driven._flows["low", user] = type(flow)(flow.schema, "low", (number,), b"")  # a queue of its own
        for each in range(120):
            driven.arrive(f"{user}/{each}", "low", user, width=width)
        widths[user] = width
    taken = dict.fromkeys(widths, 0)
    for _ in range(100):
        begun = driven.one_turn()
        assert begun is not None
        user = begun.partition("/")[0]
        taken[user] += widths[user]
        driven.end(begun)
        assert max(taken.values()) - min(taken.values()) <= 2 * max(widths.values())
