"""Samples of metrics as a dictionary, for tests: by full name and by labels, each a pair."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.runtime.metrics.contract import MetricSample

Labels = tuple[tuple[str, str], ...]


def named(samples: Iterable[MetricSample]) -> dict[tuple[str, Labels], float]:
    found: dict[tuple[str, Labels], float] = {}
    for each in samples:
        labels: Labels = tuple(zip(each.metric.labels, each.labels, strict=True))
        if each.at_most:
            labels = (*labels, ("le", each.at_most))
        found[each.metric.name + each.suffix, labels] = each.value
    return found
