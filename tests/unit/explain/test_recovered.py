"""A record that was completed after a kill is read like any other, by every view that meets it."""

from __future__ import annotations

from fairlead.control.blocked_counts import Counted, recovered
from fairlead.control.instructions import DECISIONS
from fairlead.core import codec
from fairlead.core.times import microtime
from fairlead.explain.asking import answered
from fairlead.explain.debugging import debug
from fairlead.explain.decided.answer import Question, explain_decisions
from fairlead.explain.explaining import explain, history
from fairlead.explain.records import attempts_of
from fairlead.explain.timeline.telling import TimelineQuestion, timeline
from fairlead.model.key import Key
from fairlead.store.contract import Batch, Note
from tests.unit.explain.test_elsewhere import WEB, blocked, waiting_pod


def test_views_tell_of_attempts_that_were_counted_before_a_kill() -> None:
    world = blocked()
    sources, pod = world.sources, waiting_pod(world)
    [last] = answered(attempts_of(sources.journal, sources.index, "default", pod))
    before = answered(explain(sources, "default", pod))
    counted = Counted(last.record["id"], 5, 7)
    body = recovered(last.record, microtime(world.driver.now), counted)
    sources.journal.append(Batch((), (Note(DECISIONS, body),), world.driver.now))
    told = answered(timeline(sources, TimelineQuestion(Key("pods", "default", pod))))
    whats = [each["what"] for each in codec.decode(codec.encode(told["moments"]))]
    assert any(
        "attempts 5 to 7 came to the same, counted before the plane was killed" in each for each in whats
    )
    assert answered(explain(sources, "default", pod)) == before, "what can be run again is"
    assert answered(history(sources, "default", pod))["attempts"]
    assert answered(debug(sources, WEB))["pending"] == [pod]
    asked = Question(Key("pods", "default", pod), 0.0, "", "", True, "")
    decided = answered(explain_decisions(sources, asked))
    assert "recovered" not in str(codec.encode(decided))
