"""How far a mirror is behind: by what was published of its resource and has not reached it."""

from __future__ import annotations

from fairlead.cache.lag import Arrivals, MirrorLag


def test_nothing_is_behind_while_all_that_was_published_was_delivered() -> None:
    arrivals = Arrivals()
    arrivals.published(7, 1.0)
    assert arrivals.lag(7, 100.0) == MirrorLag()
    assert arrivals.lag(9, 100.0) == MirrorLag(), "a bookmark took the mirror further than any change"


def test_the_oldest_change_that_is_lacking_says_for_how_long() -> None:
    arrivals = Arrivals()
    for revision, at in ((5, 10.0), (8, 12.0), (9, 13.0)):
        arrivals.published(revision, at)
    assert arrivals.lag(4, 20.0) == MirrorLag(5, 10.0)
    arrivals.delivered(5)
    assert arrivals.lag(5, 20.0) == MirrorLag(4, 8.0)
    assert arrivals.lag(8, 20.0) == MirrorLag(1, 7.0)


def test_what_is_remembered_is_bounded_and_never_makes_a_mirror_seem_less_behind() -> None:
    arrivals = Arrivals()
    for revision in range(1, 1001):
        arrivals.published(revision, float(revision))
    assert len(arrivals._marks) <= 64
    assert arrivals.lag(0, 1000.0) == MirrorLag(1000, 999.0)
    behind = arrivals.lag(900, 1000.0)
    assert behind.revisions == 100
    assert behind.seconds >= 99.0
    assert arrivals.lag(1000, 1000.0) == MirrorLag()
