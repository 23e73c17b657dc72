"""A metric, its sentence and its labels in one place; one number of it; and all numbers in Prometheus' text form.

Every module here declares the metrics that it reads off. `catalog.py` lists them all, the documentation's table is made
of that list, and HELP lines are the same sentences. A name that ends in _total is a counter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

GAUGE, COUNTER, HISTOGRAM = "gauge", "counter", "histogram"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
_ESCAPED_HELP = str.maketrans({"\\": "\\\\", "\n": "\\n"})


class Metric(NamedTuple):
    """`told`: what it is, in one line of plain text. `labels`: their names, in the order of a sample's values."""

    name: str
    told: str
    labels: tuple[str, ...] = ()
    is_histogram: bool = False

    @property
    def type(self) -> str:
        if self.is_histogram:
            return HISTOGRAM
        return COUNTER if self.name.endswith("_total") else GAUGE

    def sample(self, value: float, *labels: str) -> MetricSample:
        return MetricSample(self, value, labels)

    def histogram(
        self, bounds: Sequence[float], counts: Sequence[int], total: float, *labels: str, below: int = 0
    ) -> Iterator[MetricSample]:
        """`counts[i]` values were at most `bounds[i]` and more than the bound before; the last had no bound. `below`:
        how many were less than all bounds and are in no count."""
        for bound, number in zip((*bounds, None), counts, strict=True):
            below += number
            yield MetricSample(self, below, labels, "_bucket", "+Inf" if bound is None else f"{bound:g}")
        yield MetricSample(self, round(total, 6), labels, "_sum")
        yield MetricSample(self, below, labels, "_count")


class MetricSample(NamedTuple):
    """One number; those of a histogram have a `suffix`, and its buckets a bound (`at_most`)."""

    metric: Metric
    value: float
    labels: tuple[str, ...] = ()
    suffix: str = ""
    at_most: str = ""


def exposition(samples: Iterable[MetricSample]) -> bytes:
    """The text form; samples of one metric must come together."""
    lines: list[str] = []
    announced: Metric | None = None
    for metric, value, labels, suffix, at_most in samples:
        if metric is not announced:
            announced = metric
            lines.append(f"# HELP {metric.name} {metric.told.translate(_ESCAPED_HELP)}")
            lines.append(f"# TYPE {metric.name} {metric.type}")
        told = [
            f'{name}="{text.translate(_ESCAPED)}"' for name, text in zip(metric.labels, labels, strict=True)
        ]
        if at_most:
            told.append(f'le="{at_most}"')
        number = int(value) if value == int(value) else value  # whole numbers with every digit
        shown = f"{{{','.join(told)}}}" if told else ""
        lines.append(f"{metric.name}{suffix}{shown} {number}")
    return "\n".join(lines).encode() + b"\n"
