"""What variables of metrics and decisions hold."""

from __future__ import annotations

from typing import Any

from fairlead.cli.runbook.readings import series_of
from fairlead.control.merging import Merging
from fairlead.core import codec
from fairlead.core.times import parse_time, timestamp
from fairlead.model.key import Key
from fairlead.model.runbooks.measures import summary_of, value_of

Json = dict[str, Any]
ABOUT = "deployments.apps/default/web"
TEXT = """# HELP depth How many.
# TYPE depth gauge
depth{controller="job",zone="a\\"b"} 3
depth{controller="node",zone="a"} 1.5
other 7
"""


def _line(minute: int, **given: Any) -> Json:
    line = {"id": f"t-{minute}", "time": f"2026-01-01T00:{minute:02}:00Z", "controller": "deployment"}
    return {**line, "object": ABOUT, "verdict": "Waiting", "reason": "PodsUnavailable", **given}


def test_a_metric_is_the_sum_of_its_series_with_the_labels_and_null_without_any() -> None:
    series = series_of(TEXT, {"depth"})
    assert list(series) == ["depth"]
    assert value_of({}, series["depth"]) == 4.5
    assert value_of({"controller": "job", "zone": 'a"b'}, series["depth"]) == 3
    assert value_of({"controller": "scheduler"}, series["depth"]) is None


def test_records_are_counted_within_their_time_each_once() -> None:
    lines = [
        _line(9, attempts=[2, 8]),
        _line(8, controller="runbook"),
        _line(7, object="pods/a/b"),
        _line(6),
        _line(1),
    ]
    since = parse_time("2026-01-01T00:05:00Z")
    assert summary_of(lines, ABOUT, "deployment", since)["recorded"] == 2
    assert summary_of(lines, ABOUT, "", since)["recorded"] == 3


def test_what_is_blocked_for_long_says_since_when_and_how_often_by_its_record() -> None:
    """By lines as a plane writes them, of a turn each minute."""
    merging, lines, began = Merging(), list[Json](), 1_800_000_000.0
    for minute in range(101):
        now = began + 60 * minute
        base = {**_line(0), "id": f"i{minute}", "time": timestamp(now)}

        def encode(attempts: tuple[int, int] | None, base: Json = base) -> bytes:
            return codec.encode({**base, "attempts": attempts} if attempts else base)

        key = Key("deployments.apps", "default", "web")
        told = merging.blocked("deployment", key, "the same", f"i{minute}", encode)
        lines += map(codec.decode, told.lines)
        found = summary_of(reversed(lines), ABOUT, "", now - 600)
        assert found["since"] == timestamp(began)
        assert (minute + 1) / 2 < found["attempts"] <= minute + 1
    assert (found["recorded"], found["attempts"], len(lines)) == (0, 64, 7)
    # Something else, then the first again: a streak of its own.
    lines += [_line(0, time=timestamp(now + 1), reason="Else"), _line(0, time=timestamp(now + 2))]
    assert summary_of(reversed(lines), ABOUT, "", 0.0)["since"] == timestamp(now + 2)


def test_where_records_are_gone_it_began_with_the_oldest_that_is_there() -> None:
    lines = [
        _line(9, attempts=[9, 16]),
        _line(8, controller="job"),
        _line(5, attempts=[5, 8]),
        _line(1, attempts=[2, 2]),
    ]
    found = summary_of(lines, ABOUT, "", 0.0)
    assert (found["attempts"], found["since"]) == (16, "2026-01-01T00:05:00Z")


def test_attempts_to_place_a_pod_go_by_their_own_numbers_and_words() -> None:
    def tried(minute: int, number: int, **given: Any) -> Json:
        line = _line(
            minute, controller="scheduler", verdict="Unschedulable", reason="0/3 nodes are available"
        )
        return {**line, "batch": 1, "attempt": number, "node": "", **given}

    lines = [tried(9, 8, attempts=[7, 8]), tried(5, 6, attempts=[6, 6]), tried(3, 5), tried(1, 4)]
    found = summary_of(lines, ABOUT, "", 0.0)
    assert (found["attempts"], found["since"]) == (8, "2026-01-01T00:03:00Z")
    last = found["last"]
    assert (last["reason"], last["message"], last["outcome"]) == (
        "Unschedulable",
        "0/3 nodes are available",
        "",
    )
    placed = tried(10, 9, verdict="Placed", node="n", reason="")
    last = summary_of([placed, *lines], ABOUT, "", 0.0)["last"]
    assert (last["verdict"], last["reason"], last["outcome"]) == ("Placed", "", "committed")
    refused = {"of": placed["id"], "outcome": "refused", "object": ABOUT, "controller": "scheduler"}
    assert summary_of([refused, placed], ABOUT, "", 0.0)["last"]["outcome"] == "refused"


def test_the_last_is_told_with_what_became_of_it() -> None:
    refused = {"of": "t-4", "outcome": "refused", "time": "2026-01-01T00:04:01Z", "controller": "deployment"}
    lines = [{**refused, "object": ABOUT}, _line(4, effects=["Create x"], message="why"), _line(3)]
    last = summary_of(lines, ABOUT, "", 0.0)["last"]
    assert last == {
        "controller": "deployment", "verdict": "Waiting", "reason": "PodsUnavailable", "message": "why",
        "outcome": "refused", "at": "2026-01-01T00:04:00Z", "id": "t-4",
    }  # fmt: skip
    assert summary_of(lines[1:], ABOUT, "", 0.0)["last"]["outcome"] == "committed"
    none = {"recorded": 0, "attempts": 0, "since": "", "last": dict.fromkeys(last, "")}
    assert summary_of((), ABOUT, "", 0.0) == none
    old = summary_of(lines, ABOUT, "", parse_time("2026-01-01T01:00:00Z"))
    assert (old["recorded"], old["last"]["id"]) == (0, "t-4")
