"""Metrics in Prometheus' text form: every one with its sentence, labels in order, histograms that add up."""

from __future__ import annotations

import re

import pytest

from fairlead.runtime.metrics.catalog import AGENT, CATALOG, CONTROL, SERVER
from fairlead.runtime.metrics.contract import Metric, exposition

NAME = re.compile(r"[a-z][a-z0-9_]*")
PODS = Metric("pods", "Pods \\ of\nnodes.", ("node", "zone"))
WAITED = Metric("waited_seconds", "How long.", ("queue",), is_histogram=True)


def lines(*samples: object) -> list[str]:
    return exposition(samples).decode().splitlines()  # type: ignore[arg-type]


def test_a_metric_is_announced_once_with_its_sentence_and_its_type() -> None:
    done = Metric("done_total", "Done.")
    assert lines(done.sample(3), PODS.sample(1, "a", "x"), PODS.sample(2.5, "b", "x")) == [
        "# HELP done_total Done.",
        "# TYPE done_total counter",
        "done_total 3",
        "# HELP pods Pods \\\\ of\\nnodes.",
        "# TYPE pods gauge",
        'pods{node="a",zone="x"} 1',
        'pods{node="b",zone="x"} 2.5',
    ]


def test_values_of_labels_cannot_break_out_of_their_quotes() -> None:
    assert lines(PODS.sample(1, 'a"b', "c\\d\n"))[-1] == 'pods{node="a\\"b",zone="c\\\\d\\n"} 1'


def test_a_sample_with_too_few_labels_is_a_fault_of_the_program() -> None:
    with pytest.raises(ValueError, match="shorter"):
        exposition([PODS.sample(1, "a")])


def test_buckets_add_up_and_what_is_below_all_bounds_is_in_each() -> None:
    assert lines(*WAITED.histogram((0.1, 1.0), (2, 0, 1), 3.25, "q", below=4))[1:] == [
        "# TYPE waited_seconds histogram",
        'waited_seconds_bucket{queue="q",le="0.1"} 6',
        'waited_seconds_bucket{queue="q",le="1"} 6',
        'waited_seconds_bucket{queue="q",le="+Inf"} 7',
        'waited_seconds_sum{queue="q"} 3.25',
        'waited_seconds_count{queue="q"} 7',
    ]


@pytest.mark.parametrize("listed", CATALOG, ids=lambda each: each.metric.name)
def test_every_metric_has_a_sentence_of_one_line_and_a_name_that_fits_its_type(listed: object) -> None:
    metric = listed.metric  # type: ignore[attr-defined]
    assert NAME.fullmatch(metric.name)
    assert metric.told.endswith(".")
    assert "\n" not in metric.told
    assert "|" not in metric.told, "it stands in a table"
    assert not (metric.is_histogram and metric.name.endswith("_total"))


def test_no_name_stands_for_two_metrics() -> None:
    names = [each.metric.name for each in CATALOG]
    assert len(names) == len(set(names))
    assert {who for each in CATALOG for who in each.told_by} == {SERVER, CONTROL, AGENT}
