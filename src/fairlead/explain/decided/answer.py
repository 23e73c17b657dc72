"""`fairlead explain KIND/NAME --at TIME`: the decision of each controller about an object at a moment, run again on the
store's history, and what made it another than the one before (`--diff`).

Called by `runtime/server/decided.py`. What is read of the store is read in pieces; what is computed on it may be
computed elsewhere. Tenants are told of decisions about what they may get.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fairlead.api.access.sight import EVERYTHING, Sight
from fairlead.control.attempts import SCHEDULER
from fairlead.core import codec
from fairlead.core.errors import NotFound
from fairlead.core.times import microtime, parse_time
from fairlead.explain import records
from fairlead.explain.asking import Asking
from fairlead.explain.decided.diffing import TOLD, diff
from fairlead.explain.decided.finding import Decided, FoundDecisions, decisions_about
from fairlead.explain.decided.inputs import cast_of, inputs_of
from fairlead.explain.decided.sighted import seen_decision
from fairlead.explain.sources import Sources, no_such, singular
from fairlead.explain.timeline.ages import Ages
from fairlead.explain.timeline.moment import key_text
from fairlead.model.key import Key
from fairlead.replay.difference import (
    MomentHistory,
)
from fairlead.replay.past import HistoryMirrors, NotKept
from fairlead.replay.placement import differences, place_again, policy_then
from fairlead.replay.replaying import told_decision
from fairlead.replay.rerun import Rerunner

Json = dict[str, Any]
#: bound: plane | controllers whose decisions about an object one answer explains | name one with --controller
CONTROLLERS_EXPLAINED_MAX = 8


class Question(NamedTuple):
    """`decision`: this one, by its id; "": the latest of each controller, or of one, by then. `diff`: against the one
    before, or against that one."""

    key: Key
    at: float = 0.0
    decision: str = ""
    controller: str = ""
    diff: bool = False
    against: str = ""


def explain_decisions(sources: Sources, asked: Question, sight: Sight = EVERYTHING) -> Asking[Json]:
    until = asked.at or sources.clock()
    found = yield from decisions_about(sources, asked.key, until)
    chosen = _chosen(found.decisions, asked)
    if not chosen:
        raise _nothing(sources, found, asked)
    answer: Json = {
        "object": key_text(asked.key),
        "at": microtime(until),
        "decisions": [],
        "others": sorted(
            {each.controller for each in found.decisions} - {each.controller for each in chosen}
        ),
    }
    ages = Ages(sources.reader, sources.journal)
    for _ in ages.learn(each.record for each in chosen):
        yield None
    for each in chosen:
        told: Json = {name: each.record[name] for name in TOLD if name in each.record}
        told["reads"] = [age.as_json() for age in ages.of(each.record.get("reads") or {}, _instant(each))]
        told["outcomes"] = [_outcome(line) for line in found.outcomes.get(each.id, ())]
        told["again"] = yield from _again(sources, each)
        if asked.diff:
            earlier = _earlier(found.decisions, each, asked.against)
            told["diff"] = (yield from diff(sources, earlier, each, sight)) if earlier is not None else None
        answer["decisions"].append(seen_decision(told, sight))
    return answer


def _chosen(decisions: list[Decided], asked: Question) -> list[Decided]:
    if asked.decision:
        return [each for each in decisions if each.id == asked.decision]
    latest: dict[str, Decided] = {}
    for each in decisions:
        if asked.controller in ("", each.controller):
            latest.setdefault(each.controller, each)
    return list(latest.values())[:CONTROLLERS_EXPLAINED_MAX]


def _nothing(sources: Sources, found: FoundDecisions, asked: Question) -> NotFound:
    if asked.decision:
        told = f"there is no decision {asked.decision} about it in the log"
    elif asked.controller and found.decisions:
        known = ", ".join(sorted({each.controller for each in found.decisions}))
        told = f"there is no decision of {asked.controller} about it by then; there are some of: {known}"
    elif sources.reader.get(asked.key) is None:
        return no_such(asked.key, ", and no decision about one is kept")
    else:
        what = singular(asked.key)
        told = f"there is no decision about {what} by then: nobody looks after it, or the log dropped it"
    return NotFound(told, kind=asked.key.resource, name=asked.key.name)


def _earlier(decisions: list[Decided], later: Decided, against: str) -> Decided | None:
    """The one before it that another one of its own, or any that is named, is compared with."""
    for each in decisions:
        is_named = (
            each.id == against if against else (each.time, each.sequence) < (later.time, later.sequence)
        )
        same = each.controller == later.controller and each.record["object"] == later.record["object"]
        if same and is_named and each.id != later.id:
            return each
    return None


def _instant(decided: Decided) -> float:
    return parse_time(decided.time)


def _outcome(line: Json) -> Json:
    names = ("time", "outcome", "verdict", "reason", "message", "trouble")
    return {name: line[name] for name in names if name in line}


def _again(sources: Sources, decided: Decided) -> Asking[Json]:
    """Whether the same function comes to the same on what was read then, and what it comes to."""
    if decided.controller == SCHEDULER:
        return (yield from _placed_again(sources, decided))
    inputs = yield from inputs_of(sources, decided.record)
    if isinstance(inputs, str):
        return {"agrees": None, "why": inputs}
    cast = cast_of(sources)

    def run() -> Json:
        found = Rerunner(MomentHistory(inputs), cast).run(decided.record)
        if isinstance(found, str):
            return {"agrees": None, "why": found}
        told: Json = {"agrees": found.digest == decided.record.get("digest"), "why": found.why}
        if found.decision is not None:
            told["decision"] = told_decision(found.decision)
            told["effects"] = [codec.decode(codec.encode(each)) for each in found.decision.effects]
        return told

    answer: Json = yield run
    return answer


def _placed_again(sources: Sources, decided: Decided) -> Asking[Json]:
    batch = records.batch_of(sources.journal, records.NumberedRecord(decided.sequence, decided.record))
    if batch is None:
        return {"agrees": None, "why": "the record of its batch is no longer kept"}
    inputs = yield from inputs_of(sources, batch)
    if isinstance(inputs, str):
        return {"agrees": None, "why": inputs}
    resources = cast_of(sources).resources
    batch = {**batch, "pods": batch["pods"][: decided.record["position"] + 1]}

    def run() -> Json:
        past = HistoryMirrors(MomentHistory(inputs), resources)
        try:
            policy = policy_then(past, batch["reads"], tuple(batch["policy"]))
            attempt = place_again(past, batch, policy)[-1]
        except NotKept as missing:
            return {"agrees": None, "why": str(missing)}
        found = differences(decided.record, attempt)
        return {"agrees": not found, "why": ", ".join(each.field for each in found)}

    answer: Json = yield run
    return answer
