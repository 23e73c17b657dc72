"""The line at the end of `make test` counts what was compared, once."""

from __future__ import annotations

from types import SimpleNamespace

from tests.oracle.quota import AGREED, MUTATION, quota_line


def test_nothing_compared_nothing_said() -> None:
    assert quota_line([SimpleNamespace(), SimpleNamespace(when="call", user_properties=[])]) == ""


def test_portions_are_added_up_and_counted_once() -> None:
    portion = {"clusters": 600, "pods": 2000, "disagreements": 1}
    reports = [
        SimpleNamespace(when=when, user_properties=[(AGREED, portion), (MUTATION, f"mutation {number}")])
        for number in (1, 2)
        for when in ("call", "teardown")
    ]
    assert quota_line(reports) == (
        "oracle: 1,200 clusters, 4,000 pods placed or refused, 2 disagreements, 2 mutations found"
    )
