"""Chance is drawn by name, can be replayed and edited name by name, and the timeline asks it which due event runs next."""

from __future__ import annotations

from fairlead.sim.chance import Chance, FaultPlace
from fairlead.sim.time import Timeline


def drawn(chance: Chance) -> list[object]:
    return [
        chance.stream("a", "x").choose(7),
        chance.stream("b").unit(),
        chance.faults("c").happens(0.5),
        chance.faults("d", "y").pick((("lost", 0.3), ("late", 0.3))),
        chance.order(5, 4),
        chance.stream("a", "x").choose(1000),
    ]


def test_the_same_seed_draws_the_same() -> None:
    assert drawn(Chance(5)) == drawn(Chance(5))
    assert drawn(Chance(5)) != drawn(Chance(6))


def test_replayed_choices_are_the_same_with_the_same_counts() -> None:
    first = Chance(11)
    wanted = [drawn(first) for _ in range(20)]
    again = Chance.replay(first.choices)
    assert [drawn(again) for _ in range(20)] == wanted
    assert [each[:3] + each[4:] for each in again.choices if each[4]] == [
        each[:3] + each[4:] for each in first.choices if each[4]
    ]
    assert again.fired == first.fired


def test_a_choice_that_is_taken_away_leaves_the_others_as_they_were() -> None:
    whole = Chance(3)
    before = [whole.stream("delay", "a").choose(1000), whole.stream("delay", "b").choose(1000)]
    other = Chance(3)
    assert other.stream("delay", "b").choose(1000) == before[1]  # whether a was asked or not
    edited = Chance.replay([each for each in whole.choices if each[1] != "a"])
    assert [edited.stream("delay", "a").choose(1000), edited.stream("delay", "b").choose(1000)] == [
        0,
        before[1],
    ]


def test_what_is_not_recorded_or_does_not_fit_is_calm() -> None:
    chance = Chance.replay([("a", "", 0, 10, 9, False)])
    assert chance.stream("a").choose(5) == 0
    assert chance.stream("b").choose(5) == 0
    assert not chance.faults("fault").happens(0.9)


def test_a_forced_fault_fires_whatever_its_probability() -> None:
    chance = Chance(0, {("loss", "x", 1): 1, ("fate", "", 0): 2}, calm=True)
    loss = chance.faults("loss", "x")
    assert [loss.happens(0.0), loss.happens(0.0), loss.happens(0.0)] == [False, True, False]
    assert chance.faults("fate").pick((("lost", 0.0), ("late", 0.0))) == "late"
    assert chance.fired == {"loss": 1, "late": 1}


def test_faults_fire_about_as_often_as_asked_and_are_counted() -> None:
    chance = Chance(1)
    fired = sum(chance.faults("loss").happens(0.1) for _ in range(5000))
    assert 400 < fired < 600
    picked = [chance.faults("fate").pick((("lost", 0.1), ("late", 0.3))) for _ in range(5000)]
    assert 400 < picked.count("lost") < 600
    assert 1350 < picked.count("late") < 1650
    assert chance.fired == {"loss": fired, "lost": picked.count("lost"), "late": picked.count("late")}


def test_a_fault_that_cannot_happen_draws_nothing_but_has_its_place() -> None:
    chance = Chance(1)
    loss = chance.faults("loss")
    assert not loss.happens(0.0)
    assert chance.choices == []
    loss.happens(0.5)
    assert chance.choices[0][:3] == ("loss", "", 1)


def test_when_faults_are_over_none_fires_forced_or_not() -> None:
    chance = Chance(1, {("loss", "", 0): 1, ("loss", "", 1): 1})
    assert chance.faults("loss").happens(0.0)
    chance.end_faults()
    assert not any(chance.faults("loss").happens(0.9) for _ in range(50))


def test_where_a_fault_could_be_put_is_noted_when_asked() -> None:
    chance = Chance(1, notes_places=True)
    chance.faults("loss", "x").happens(0.0)  # not in this world
    assert not chance.faults("loss", "x").happens(1e-12)
    chance.faults("fate", "x").pick((("lost", 0.0), ("late", 1e-12)))
    assert chance.places == [FaultPlace("loss", "x", 1, (1,), -1), FaultPlace("fate", "x", 0, (2,), -1)]


def test_what_is_unlikely_enough_never_happens() -> None:
    stream = Chance(1).faults("loss")
    assert not any(stream.happens(1e-12) for _ in range(10_000))


def test_a_search_bends_delays_and_orders_but_no_faults() -> None:
    chance = Chance(7, bend=lambda label, actor, nth, n, drawn: n - 1)
    assert chance.stream("delay").choose(16) == 15
    assert chance.order(3, 4) == 3
    assert sum(chance.faults("loss").happens(0.01) for _ in range(100)) < 20


def test_events_run_in_the_order_of_time_and_time_stops_where_asked() -> None:
    timeline = Timeline(Chance(0))
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
        timeline = Timeline(Chance(seed))
        ran: list[str] = []
        for name in "abc":
            timeline.at(5, ran.append, name)
        timeline.run_until(10)
        orders.add("".join(ran))
    assert len(orders) == 6


def test_what_is_asked_for_now_runs_at_this_instant() -> None:
    timeline = Timeline(Chance(0))
    ran: list[int] = []
    timeline.at(5, lambda: timeline.after(0, lambda: ran.append(timeline.ms)))
    timeline.run_until(10)
    assert ran == [5]


def test_an_event_knows_the_step_that_put_it_on_the_timeline() -> None:
    timeline = Timeline(Chance(0))
    causes: list[int] = []

    def first() -> None:
        timeline.cause = 7
        timeline.after(10, lambda: causes.append(timeline.cause))

    timeline.at(5, first)
    timeline.at(8, lambda: causes.append(timeline.cause))
    timeline.run_until(100)
    assert causes == [-1, 7]


def test_what_is_drawn_follows_from_the_name_alone() -> None:
    """A choice that is forced, or a fault that cannot happen, takes nothing from those behind it."""
    free, forced = Chance(9), Chance(9, {("delay", "a", 1): 5})
    drawn_free = [free.stream("delay", "a").choose(1000) for _ in range(4)]
    drawn_forced = [forced.stream("delay", "a").choose(1000) for _ in range(4)]
    assert drawn_forced == [drawn_free[0], 5, *drawn_free[2:]]
    calm_first = [Chance(9).faults("loss") for _ in range(2)]
    calm_first[1].happens(0.0)
    assert [calm_first[0].happens(0.5) for _ in range(60)][1:] == [
        calm_first[1].happens(0.5) for _ in range(59)
    ]


def lags(chance: Chance) -> list[int]:
    """How long each of a few lags takes; -1 where none fires."""
    faults = chance.faults("lag", "x")
    return [chance.details("lag.ms", faults).choose(9_000) if faults.happens(0.5) else -1 for _ in range(12)]


def test_a_detail_of_a_fault_has_the_number_of_the_fault() -> None:
    whole = Chance(4)
    before = lags(whole)
    fired = [nth for nth, value in enumerate(before) if value >= 0]
    assert [each[2] for each in whole.choices if each[0] == "lag.ms"] == fired
    assert len(fired) > 2
    gone = ("lag", "x", fired[0])
    edited = lags(Chance.replay([each for each in whole.choices if each[:3] != gone]))
    assert edited == [-1 if nth == fired[0] else value for nth, value in enumerate(before)]


def test_details_of_faults_are_not_bent() -> None:
    assert lags(Chance(4, bend=lambda *_: 0)) == lags(Chance(4))
