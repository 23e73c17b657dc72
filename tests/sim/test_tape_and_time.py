"""The tape is the only source of chance, and the timeline asks it which due event runs next."""

from __future__ import annotations

from fairlead.sim.tape import Tape
from fairlead.sim.time import Timeline


def drawn(tape: Tape) -> list[object]:
    return [tape.choose("a", 7), tape.chance("b"), tape.happens("c", 0.5), tape.choose("d", 1000)]


def test_the_same_seed_draws_the_same() -> None:
    assert drawn(Tape(5)) == drawn(Tape(5))
    assert drawn(Tape(5)) != drawn(Tape(6))


def test_a_replayed_tape_gives_the_same_choices_and_counts() -> None:
    first = Tape(11)
    wanted = [drawn(first) for _ in range(20)]
    again = Tape.replay(first.choices)
    assert [drawn(again) for _ in range(20)] == wanted
    assert again.choices == first.choices
    assert again.fired == first.fired


def test_a_tape_that_is_over_or_does_not_fit_answers_calmly() -> None:
    tape = Tape.replay([("a", 10, 9)])
    assert tape.choose("a", 5) == 0
    assert tape.choose("b", 5) == 0
    assert not tape.happens("fault", 0.9)


def test_faults_fire_about_as_often_as_asked_and_are_counted() -> None:
    tape = Tape(1)
    fired = sum(tape.happens("loss", 0.1) for _ in range(5000))
    assert 400 < fired < 600
    assert tape.fired == {"loss": fired}


def test_a_fault_that_cannot_happen_draws_nothing() -> None:
    tape = Tape(1)
    assert not tape.happens("loss", 0.0)
    assert tape.choices == []


def test_events_run_in_the_order_of_time_and_time_stops_where_asked() -> None:
    timeline = Timeline(Tape(0))
    ran: list[tuple[str, int]] = []
    timeline.at(30, lambda: ran.append(("late", timeline.ms)))
    timeline.at(10, lambda: ran.append(("early", timeline.ms)))
    timeline.run_until(20)
    assert (ran, timeline.ms) == ([("early", 10)], 20)
    timeline.run_until(100)
    assert (ran[-1], timeline.ms) == (("late", 30), 100)


def test_which_of_several_due_events_runs_next_is_a_choice() -> None:
    orders = set()
    for seed in range(40):
        timeline = Timeline(Tape(seed))
        ran: list[str] = []
        for name in "abc":
            timeline.at(5, ran.append, name)
        timeline.run_until(10)
        orders.add("".join(ran))
    assert len(orders) == 6


def test_what_is_asked_for_now_runs_at_this_instant() -> None:
    timeline = Timeline(Tape(0))
    ran: list[int] = []
    timeline.at(5, lambda: timeline.after(0, lambda: ran.append(timeline.ms)))
    timeline.run_until(10)
    assert ran == [5]
