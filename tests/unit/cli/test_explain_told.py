"""What `fairlead explain` prints of attempts of which the log has dropped a part."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.cli.explain import _print_attempts, _print_one

ATTEMPT: dict[str, Any] = {
    "number": 7, "time": "2027-01-15T08:00:00Z", "attempt": 1, "cause": "PodAdded", "waited": 0.5, "outcome": "Placed",
    "nodes": 3,
}  # fmt: skip


def test_attempts_whose_batch_the_log_no_longer_has_are_listed_without_a_policy(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _print_attempts([{**ATTEMPT, "policy": ["default", 3]}, ATTEMPT])
    _, with_policy, without = capsys.readouterr().out.splitlines()
    assert "default@3" in with_policy
    assert without.split() == ["7", "2027-01-15T08:00:00Z", "1", "PodAdded", "0.500s", "<none>", "Placed"]


def test_one_whose_batch_the_log_no_longer_has_says_that_its_policy_is_unknown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    again = {"agrees": None, "why": "the record of its batch is no longer kept"}
    answer = {
        "name": "web", "namespace": "default", "exists": True, "outcome": "it runs", "attempt": ATTEMPT,
        "number": 7, "reads": [], "again": again, "waterfall": [], "remedies": [], "remarks": [],
    }  # fmt: skip
    _print_one(answer)
    assert "policy unknown" in capsys.readouterr().out
