"""Pages of runbooks that name what is gone, and those that come with Fairlead, which do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.cli.runbook.check import Known, find_gone, help_of

ROOT = Path(__file__).parents[3]
KNOWN = Known(
    help_of,
    lambda word: word in ("pods", "resourcequota", "node", "reservations"),
    frozenset({"fairlead_up"}),
)


def gone(text: str) -> list[str]:
    return list(find_gone({"page": text}, KNOWN))


@pytest.mark.parametrize(
    "text",
    [
        "LOOK   fairlead explain pod/NAME   why",
        "fairlead repair --ambiguous          what only people can judge",
        'fairlead runbook abort RUN --reason "..." ends it',
        "as fairlead explain says (fairlead overrides --ended).",
        "kubectl get pods; kubectl describe resourcequota. fairlead_up is 1",
        "a page of Fairlead, in ~/.fairlead or fairlead.dev/v1",
    ],
)
def test_what_is_there_may_be_named(text: str) -> None:
    assert gone(text) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("try fairlead defrag now", "spec.page: there is no command fairlead defrag"),
        ("fairlead runbook cancel RUN", "spec.page: fairlead runbook has no cancel"),
        ("fairlead repair --doubtful", "spec.page: fairlead repair has no option --doubtful"),
        ("fairlead runbook abort RUN --why x", "spec.page: fairlead runbook abort has no option --why"),
        ("kubectl get podz -A", "spec.page: kubectl knows no podz here"),
        ("watch fairlead_gone_total rise", "spec.page: there is no metric fairlead_gone_total"),
    ],
)
def test_what_is_gone_is_told_with_where_it_stands(text: str, why: str) -> None:
    (found,) = gone(text)
    assert found.startswith(why)


def test_a_server_that_tells_no_metrics_is_not_taken_to_have_none() -> None:
    assert list(find_gone({"page": "fairlead_gone_total"}, KNOWN._replace(metrics=None))) == []


def test_the_texts_of_steps_are_read_too() -> None:
    spec: dict[str, Any] = {"steps": [{"ask": {"question": "did fairlead defrag help?"}}]}
    (found,) = find_gone(spec, KNOWN)
    assert found.startswith("spec.steps[0].ask.question: there is no command")


@pytest.mark.parametrize("path", sorted((ROOT / "runbooks").glob("*.yaml")), ids=lambda path: path.stem)
def test_those_that_come_with_fairlead_name_nothing_that_is_gone(path: Path) -> None:
    assert list(find_gone(yaml.safe_load(path.read_text())["spec"], KNOWN)) == []
