"""What expressions of a runbook see that is no object: metrics of the plane, and decisions about an object.

`check_measures` is called by `procedure.py` when a Runbook is written: a metric, a label or a kind that there is not is
told by its path. The values are taken by the server (`runtime/server/run_meter.py`) and written into the run's status,
where the controller of runs finds them: so its history has them, and a decision that rests on them can be run again. A
dry run takes them through the API (`cli/runbook/readings.py`). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fairlead.core.problems import Problems
from fairlead.core.times import parse_time
from fairlead.model.cel.static import DYN, INT, STRING, Fields, StaticType
from fairlead.model.kind import Json, Kind

# The labels of each series that a server tells, by its name in /metrics.
SeriesLabels = Mapping[str, Sequence[str]]

#: bound: objects | metrics, and objects whose decisions, that expressions of a runbook see, each | 422
MEASURES_MAX = 16
#: bound: objects | time over which a runbook counts decisions | 422
WITHIN_SECONDS_MAX = 86400
#: bound: plane | records of an object that a runbook's count looks at | more are not counted
RECORDS_COUNTED_MAX = 200
#: bound: objects | time over which a runbook counts decisions, unless set | -
WITHIN_SECONDS = 600
METRIC: StaticType = DYN  # a double, or null
_TOLD = ("controller", "verdict", "reason", "message", "id")
DECISIONS: StaticType = Fields(
    {
        "recorded": INT,
        "attempts": INT,
        "since": STRING,
        "last": Fields(dict.fromkeys((*_TOLD, "outcome", "at"), STRING)),
    }
)


class MetricRead(NamedTuple):
    """A variable that is the sum of the series with these labels; null where there is none."""

    name: str
    metric: str
    labels: Mapping[str, str]


class DecisionsRead(NamedTuple):
    """A variable with what was decided about one object, of all controllers ("") or of one."""

    name: str
    kind: Kind
    namespace: str  # "": the run's
    object_name: str
    controller: str
    within_seconds: int


def check_metric(given: Json, path: str, known: SeriesLabels | None, problems: Problems) -> None:
    """`known`: None where it was checked before."""
    metric, labels = str(given.get("metric") or ""), given.get("labels") or {}
    if not metric:
        problems.required(
            f"{path}.metric", "the name of a metric; docs/reference/metrics.md has those there are"
        )
    elif known is not None and metric not in known:
        told = "this server tells no such metric; docs/reference/metrics.md has those there are"
        if f"{metric}_count" in known:
            told = f"is a histogram: name {metric}_count or {metric}_sum"
        problems.invalid(f"{path}.metric", metric, told)
    elif known is not None:
        for name, value in labels.items():
            if name not in known[metric]:
                there = ", ".join(known[metric]) or "none"
                problems.invalid(
                    f"{path}.labels.{name}", value, f"{metric} has no such label; it has: {there}"
                )


def value_of(labels: Mapping[str, str], series: Iterable[tuple[Mapping[str, str], float]]) -> float | None:
    """`labels`: those of the variable, filled in. `series`: all of that metric."""
    found = [value for given, value in series if labels.items() <= given.items()]
    return float(sum(found)) if found else None


def summary_of(records: Iterable[Json], about: str, controller: str, since: float) -> Json:
    """What a variable holds. `records`: the newest first, as the log has them; `about`: the object as it is there."""
    recorded, last, outcomes = 0, dict[str, str](), dict[str, str]()
    streak: _Streak | None = None
    for each in records:
        if each.get("object") != about or (controller and each.get("controller") != controller):
            continue
        if "of" in each:  # what became of a decision
            outcomes.setdefault(str(each["of"]), str(each.get("outcome") or ""))
            continue
        if streak is None:
            streak, last = _Streak(each), _told(each)
            last["outcome"] = outcomes.get(last["id"], "committed" if _does_something(each) else "")
        else:
            streak.go_back(each)
        is_within = parse_time(str(each["time"])) >= since
        if not is_within and streak.is_whole:
            break
        recorded += is_within
    if streak is None:
        none = dict.fromkeys((*_TOLD, "outcome", "at"), "")
        return {"recorded": 0, "attempts": 0, "since": "", "last": none}
    return {"recorded": recorded, "attempts": streak.attempts, "since": streak.since, "last": last}


def _told(record: Json) -> dict[str, str]:
    told = {name: str(record.get(name) or "") for name in _TOLD}
    if "batch" in record:  # of the scheduler, whose reason is a sentence
        told["message"], told["reason"] = told["reason"], "" if record.get("node") else told["verdict"]
    return {**told, "at": str(record.get("time") or "")}


def _does_something(record: Json) -> bool:
    return any(record.get(name) for name in ("effects", "node", "nominated", "victims"))


class _Streak:
    """How often the newest decision was made in a row, by its record, and since when. A blocked one that says the same
    again is recorded only when the number of them has doubled (`control/merging.py`): the one before such a record ends
    where that begins."""

    def __init__(self, newest: Json) -> None:
        self._controller, self._before = newest.get("controller"), 0
        self.attempts = _numbers(newest)[1]
        self.is_whole = False
        self._take(newest)

    def go_back(self, record: Json) -> None:
        if self.is_whole or record.get("controller") != self._controller:
            return
        if _numbers(record)[1] == self._before:
            self._take(record)
        else:
            self.is_whole = True  # what was between is gone from the log

    def _take(self, record: Json) -> None:
        self.since = str(record.get("time") or "")
        self._before = _numbers(record)[0] - 1
        self.is_whole = not record.get("attempts")


def _numbers(record: Json) -> tuple[int, int]:
    """Of the first and the last decision that it stands for. Attempts to place a pod are numbered from its first on."""
    number = int(record.get("attempt") or 1)
    first, last = record.get("attempts") or (number, number)
    return first, last
