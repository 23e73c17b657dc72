"""The digest of a decision tells what would be carried out apart from what would not."""

from __future__ import annotations

from msgspec import structs

from fairlead.decision.contract import NOTHING, Decision, EventNote, Regarding, Settled, Waiting
from fairlead.decision.digest import digest_of
from fairlead.decision.effects import Create

CREATE = Create("c/u/create", "pods", "v1", "pods", "default", "web", {"spec": {"nodeName": ""}})
WAITING = Decision(Waiting("RollingOut", "1 of 3"), (CREATE,), 12.5)


def test_it_is_short_and_the_same_each_time() -> None:
    assert len(digest_of(WAITING)) == 16
    assert digest_of(WAITING) == digest_of(structs.replace(WAITING))
    assert digest_of(NOTHING) == digest_of(Decision(Settled()))


def test_verdict_effects_and_time_are_in_it() -> None:
    others = (
        structs.replace(WAITING, verdict=Waiting("RollingOut", "2 of 3")),
        structs.replace(WAITING, effects=()),
        structs.replace(WAITING, effects=(structs.replace(CREATE, body={"spec": {"nodeName": "n"}}),)),
        structs.replace(WAITING, again_at=12.500001),
        NOTHING,
    )
    assert len({digest_of(each) for each in (WAITING, *others)}) == len(others) + 1


def test_what_is_only_told_is_not_in_it() -> None:
    note = EventNote(Regarding("v1", "Pod", "default", "web", "u"), "Normal", "Created", "made")
    told = structs.replace(
        WAITING, events=(note,), inputs=({"metric": "cpu"},), rest_until=99.0, is_final=True
    )
    assert digest_of(told) == digest_of(WAITING)


def test_what_cannot_be_put_into_words_has_none() -> None:
    assert (
        digest_of(structs.replace(WAITING, effects=(structs.replace(CREATE, body={"odd": object()}),))) == ""
    )
