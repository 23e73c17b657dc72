"""What is not there is named in the singular, wherever it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairlead.core.errors import NotFound
from fairlead.explain.asking import Asking, answered
from fairlead.explain.debugging import debug
from fairlead.explain.decided.answer import Question, explain_decisions
from fairlead.explain.explaining import explain
from fairlead.explain.sources import Sources
from fairlead.explain.timeline.telling import TimelineQuestion, timeline
from fairlead.model.key import Key
from tests.unit.explain.asking import Asked as World

ASKED: dict[str, Callable[[Sources, Key], Asking[Any]]] = {
    "timeline": lambda sources, key: timeline(sources, TimelineQuestion(key)),
    "debug": debug,
    "decided": lambda sources, key: explain_decisions(sources, Question(key)),
}


@pytest.mark.parametrize("verb", ASKED)
@pytest.mark.parametrize(
    ("key", "said"),
    [
        (Key("nodes", "", "x"), 'there is no node "x"'),
        (Key("placementquotas.fairlead.dev", "shop", "x"), 'no placementquota "x" in namespace "shop"'),
        (Key("tutors.example.com", "shop", "x"), 'no object of tutors.example.com "x" in namespace "shop"'),
    ],
)
def test_what_is_not_there_is_named_in_the_singular(verb: str, key: Key, said: str) -> None:
    with pytest.raises(NotFound) as refused:
        answered(ASKED[verb](World().sources, key))
    assert said in str(refused.value)
    assert "there is no nodes" not in str(refused.value)


def test_a_pod_too() -> None:
    with pytest.raises(NotFound, match='there is no pod "x" in namespace "shop", and no attempt'):
        answered(explain(World().sources, "shop", "x"))
