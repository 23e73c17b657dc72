"""What an autoscaler remembers, against a model that keeps everything."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fairlead.reconcile.autoscaling.memory import (
    REMEMBERED_MAX,
    Rescaling,
    ScalingMemory,
    carried_out,
    highest_since,
    lowest_since,
    read_memory,
    recommend,
    remember_rescaling,
    write_memory,
)

LOOKS = st.lists(st.tuples(st.integers(1, 60), st.integers(0, 9)), min_size=1, max_size=40)
WINDOWS = st.integers(1, 300)


@given(LOOKS, WINDOWS, WINDOWS)
def test_what_is_kept_answers_as_if_all_were_kept(looks: list[tuple[int, int]], down: int, up: int) -> None:
    """A recommendation holds until another takes its place."""
    memory, now = ScalingMemory(), 1_000_000
    runs: list[list[int]] = []  # number, end
    for seconds, replicas in looks:
        now += seconds
        memory = read_memory(write_memory(recommend(memory, replicas, now, down, up)))
        if runs and runs[-1][0] != replicas:
            runs[-1][1] = now
        if not runs or runs[-1][0] != replicas:
            runs.append([replicas, 2**62])
        high = max(number for number, until in runs if until > now - down)
        low = min(number for number, until in runs if until > now - up)
        assert highest_since(memory, now - down, replicas) == high
        assert lowest_since(memory, now - up, replicas) == low


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=200))
def test_it_is_bounded_and_errs_to_the_careful_side(recommended: list[int]) -> None:
    memory = ScalingMemory()
    for at, replicas in enumerate(recommended):
        memory = recommend(memory, replicas, float(at), 10_000, 10_000)
    assert len(memory.highest) <= REMEMBERED_MAX
    assert len(memory.lowest) <= REMEMBERED_MAX
    assert highest_since(memory, -1.0, 0) == max(recommended)
    assert lowest_since(memory, -1.0, 0) == min(recommended)


def test_more_than_can_be_kept_becomes_one() -> None:
    memory = ScalingMemory()
    for number in range(200):
        memory = recommend(memory, 1000 - number, float(number), 10_000, 0)
        memory = remember_rescaling(memory, Rescaling(float(number), number, number + 1), 10_000)
    assert (len(memory.highest), len(memory.rescalings)) == (REMEMBERED_MAX, REMEMBERED_MAX)
    assert memory.highest[0].replicas == 1000
    assert memory.rescalings[0].before == 0  # nothing that was added is forgotten
    assert sum(each.after - each.before for each in memory.rescalings) == 200


def test_without_a_window_nothing_is_kept_and_nothing_is_written_twice() -> None:
    assert recommend(ScalingMemory(), 5, 1.0, 0, 0) == ScalingMemory()
    once = recommend(ScalingMemory(), 5, 1.0, 60, 0)
    assert recommend(once, 5, 50.0, 60, 0) == once


def test_a_change_that_was_not_made_counts_for_nothing() -> None:
    memory = remember_rescaling(ScalingMemory(), Rescaling(10.0, 3, 5), 60)
    assert carried_out(memory, 3).rescalings == ()
    assert carried_out(memory, 5) == memory


def test_what_cannot_be_read_is_forgotten() -> None:
    for text in ("", "no", "[]", '{"high":[["a",1]]}', '{"scaled":[[1]]}'):
        assert read_memory(text) == ScalingMemory()
    assert read_memory('{"high":[[3,null]]}').highest[0].replicas == 3
