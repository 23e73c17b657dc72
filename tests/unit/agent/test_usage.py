"""Rates of CPU from samples of totals."""

from __future__ import annotations

import pytest

from fairlead.agent.usage import SAMPLES_KEPT_MAX, UsageHistory, UsageReading, UsageSample


def sample(at: float, **cpu_seconds: float) -> UsageSample:
    """One pod; the agent has used 0.1 s every second."""
    pods = {"uid": {name: UsageReading(used, 1000) for name, used in cpu_seconds.items()}}
    return UsageSample(at, pods, UsageReading(at / 10, 500))


def rates(*samples: UsageSample) -> tuple[float, dict[str, float]]:
    """Window and cores by container, of the pod."""
    history = UsageHistory()
    for each in samples:
        history.add(each)
    told = history.latest()
    assert told is not None
    if not told.pods:
        return 0.0, {}
    (pod,) = told.pods
    return pod.window, {each.name: each.usage.cpu_nanos / 1e9 for each in pod.containers}


@pytest.mark.parametrize(
    ("samples", "window", "cores"),
    [
        ([sample(100, c=5), sample(110, c=10)], 10, {"c": 0.5}),
        ([sample(100, c=0), sample(110, c=5), sample(120, c=15)], 10, {"c": 1.0}),
        ([sample(100, c=0), sample(110, c=5), sample(112, c=6)], 12, {"c": 0.5}),
        ([sample(100, c=1), sample(102, c=2)], 2, {"c": 0.5}),
        ([sample(100, c=9), sample(110, c=2)], 10, {"c": 0.2}),  # started anew
        ([sample(100, c=5), sample(110, c=10, new=7)], 10, {"c": 0.5}),
        ([sample(100), sample(110, new=7)], 0, {}),
        ([sample(100, c=5, gone=1), sample(110, c=5)], 10, {"c": 0.0}),
    ],
)
def test_cpu_is_a_rate_over_the_window(
    samples: list[UsageSample], window: float, cores: dict[str, float]
) -> None:
    found_window, found_cores = rates(*samples)
    assert (found_window, found_cores == pytest.approx(cores)) == (window, True), found_cores


def test_one_sample_says_nothing() -> None:
    history = UsageHistory()
    assert history.latest() is None
    history.add(sample(100, c=5))
    assert history.latest() is None
    history.add(sample(100.5, c=6))
    assert history.latest() is None, "half a second is noise"


def test_the_node_is_its_pods_and_its_agent() -> None:
    history = UsageHistory()
    history.add(sample(100, a=1, b=1))
    history.add(sample(110, a=2, b=3))
    told = history.latest()
    assert told is not None
    assert (told.at, told.window) == (110, 10)
    assert told.usage.cpu_nanos == pytest.approx(0.4e9)
    assert told.usage.memory_bytes == 2500


def test_many_questions_do_not_push_out_where_the_window_begins() -> None:
    history = UsageHistory()
    history.add(sample(100, c=0))
    for tick in range(1, 200):
        history.add(sample(100 + tick / 10, c=tick / 20))
    told = history.latest()
    assert told is not None
    assert 10 <= told.window <= 10 + 5
    assert told.pods[0].containers[0].usage.cpu_nanos == pytest.approx(0.5e9)
    assert len(history._samples) <= SAMPLES_KEPT_MAX
