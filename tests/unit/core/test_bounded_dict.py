"""What is remembered stays within its bound, and the oldest goes."""

from __future__ import annotations

from fairlead.core.bounded_dict import BoundedDict


def test_the_one_that_came_first_goes_first_and_a_value_may_change() -> None:
    kept: BoundedDict[str, int] = BoundedDict(2)
    assert [kept.keep("a", 1), kept.keep("b", 2), kept.keep("a", 3)] == [1, 2, 3]
    kept.keep("c", 4)
    assert dict(kept) == {"b": 2, "c": 4}


def test_whoever_takes_out_and_keeps_again_keeps_those_used_last() -> None:
    kept: BoundedDict[str, int] = BoundedDict(2)
    kept.keep("a", 1)
    kept.keep("b", 2)
    kept.keep("a", kept.pop("a"))
    kept.keep("c", 3)
    assert dict(kept) == {"a": 1, "c": 3}
