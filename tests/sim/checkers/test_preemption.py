"""Checkers of preemption."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sim.checkers.story import GOING, SCHEDULER, Story, leads, needs, node, quota, told_by


def evicts(story: Story, name: str, at: str, origin: str = SCHEDULER) -> None:
    story.commit("pods", needs(name, "2", at, deletionTimestamp=GOING), origin=origin)


def crowd(story: Story) -> None:
    leads(story, "plane-0-1")
    for name in ("one", "two"):
        story.commit("nodes", node(name))
        for number in (1, 2):
            story.commit("pods", needs(f"{name}-{number}", "2", name))


def an_eviction_for_nobody(story: Story) -> None:
    crowd(story)
    story.commit("pods", needs("urgent", "4", priority=9))
    evicts(story, "one-1", "one")


def an_eviction_for_one_who_is_no_more_important(story: Story) -> None:
    crowd(story)
    story.commit("pods", needs("equal", "4", claims="one"))
    evicts(story, "one-1", "one", "late " + SCHEDULER)


def a_second_choice_before_the_first_has_left(story: Story) -> None:
    crowd(story)
    story.commit("pods", needs("urgent", "4", claims="one", priority=9))
    evicts(story, "one-1", "one")
    story.commit("pods", needs("urgent", "4", claims="two", priority=9))
    evicts(story, "two-1", "two")


def evictions_without_end(story: Story) -> None:
    leads(story, "plane-0-1")
    story.commit("nodes", node("one", "64"))
    story.commit("pods", needs("urgent", "4", claims="one", priority=9))
    for number in range(20):
        story.commit("pods", needs(f"low-{number}", "2", "one"))
        evicts(story, f"low-{number}", "one")
        story.commit("pods", needs(f"low-{number}", "2", "one"), gone=True)


def a_victim_that_does_not_go(story: Story) -> None:
    crowd(story)
    story.commit("pods", needs("urgent", "4", claims="one", priority=9))
    evicts(story, "one-1", "one")
    story.rest()


def test_a_story_of_preemption_breaks_nothing() -> None:
    story = Story()
    crowd(story)
    story.commit("placementquotas.fairlead.dev", quota("3"))  # of nodes that there are none of
    story.commit("pods", needs("urgent", "4", priority=9))
    story.commit("pods", needs("urgent", "4", claims="one", priority=9))
    for number in (1, 2):
        evicts(story, f"one-{number}", "one")
    for number in (1, 2):
        story.commit("pods", needs(f"one-{number}", "2", "one"), gone=True)
    story.commit("pods", needs("urgent", "4", "one", claims="one", priority=9))
    story.commit("pods", needs("low", "2"))  # fits nowhere
    story.rest()


VIOLATIONS = [
    ("preemption-ends", an_eviction_for_nobody),
    ("preemption-ends", an_eviction_for_one_who_is_no_more_important),
    ("preemption-ends", a_second_choice_before_the_first_has_left),
    ("preemption-ends", evictions_without_end),
    ("preemption-ends", a_victim_that_does_not_go),
]


@pytest.mark.parametrize(("invariant", "tell"), VIOLATIONS)
def test_a_fabricated_violation_is_told(invariant: str, tell: Callable[[Story], None]) -> None:
    assert told_by(tell) == invariant
