"""From measured values to a number of replicas: Kubernetes' arithmetic, with pods that are not ready or not measured.

Called by `measuring.py`. Amounts are whole thousandths, as Kubernetes reckons. Pods that are just starting do not tell
what a ready one uses: on the way up they count as using nothing, so that what is on its way is not asked for twice.
Those of which nothing is known count against any change: as using nothing on the way up, and what they may on the way
down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from fairlead.core.times import parse_time
from fairlead.model.policy.plane_knobs import Numbers
from fairlead.model.views import Condition, Pod
from fairlead.reconcile.autoscaling.pace import Behavior


class MeasuredValue(NamedTuple):
    """Of one pod: in thousandths, over `window` seconds that ended at `at`."""

    milli: int
    at: float
    window: float = 0.0


class PodGroups(NamedTuple):
    """Names of pods: those that count, those that are not ready, those not measured, those that are over."""

    ready: tuple[str, ...]
    unready: tuple[str, ...]
    missing: tuple[str, ...]
    ignored: tuple[str, ...]


class Ratio(NamedTuple):
    """How much is used of what should be; `current` is what is told of it, in the unit of the target."""

    share: Fraction
    current: int


Rating = Callable[[Mapping[str, int]], Ratio]


def group_pods(
    pods: Sequence[Pod], values: Mapping[str, MeasuredValue], is_cpu: bool, knobs: Numbers, now: float
) -> PodGroups:
    ready, unready, missing, ignored = [], [], [], []
    for pod in pods:
        name = pod.metadata.name
        if pod.metadata.deletion_timestamp or pod.status.phase == "Failed" or pod.released:
            ignored.append(name)
        elif pod.status.phase == "Pending":
            unready.append(name)
        elif name not in values:
            missing.append(name)
        elif is_cpu and _is_starting(pod, values[name], knobs, now):
            unready.append(name)
        else:
            ready.append(name)
    return PodGroups(tuple(ready), tuple(unready), tuple(missing), tuple(ignored))


def _is_starting(pod: Pod, value: MeasuredValue, knobs: Numbers, now: float) -> bool:
    """Whether the CPU it uses is that of its start."""
    condition = _readiness(pod)
    if condition is None or not pod.status.start_time:
        return True
    started = parse_time(pod.status.start_time)
    turned = parse_time(condition.last_transition_time) if condition.last_transition_time else started
    if started + knobs["cpuInitializationSeconds"] > now:
        return condition.status == "False" or value.at < turned + value.window
    return condition.status == "False" and started + knobs["initialReadinessDelaySeconds"] > turned


def _readiness(pod: Pod) -> Condition | None:
    return next((each for each in pod.status.conditions if each.type == "Ready"), None)


def replicas_of_pods(
    current: int,
    groups: PodGroups,
    values: Mapping[str, MeasuredValue],
    rate: Rating,
    fallback: Callable[[str], int],
    rules: Behavior,
) -> tuple[int, Ratio]:
    """`fallback`: what a pod that was not measured is taken to use when others use too little. ValueError, with
    Kubernetes' words, where no pod tells anything."""
    used = {name: values[name].milli for name in groups.ready}
    if not used:
        raise ValueError("did not receive metrics for targeted pods (pods might be unready)")
    found = rate(used)
    counts_unready = bool(groups.unready) and found.share > 1
    if not counts_unready and not groups.missing:
        if is_near(found.share, rules):
            return current, found
        return ceil(found.share * len(groups.ready)), found
    if groups.missing and found.share < 1:
        used.update((name, fallback(name)) for name in groups.missing)
    elif groups.missing and found.share > 1:
        used.update(dict.fromkeys(groups.missing, 0))
    if counts_unready:
        used.update(dict.fromkeys(groups.unready, 0))
    careful = rate(used).share
    turned = (found.share < 1 < careful) or (careful < 1 < found.share)
    if turned or is_near(careful, rules):
        return current, found
    wanted = ceil(careful * len(used))
    if (careful < 1 and wanted > current) or (careful > 1 and wanted < current):
        return current, found
    return wanted, found


def is_near(share: Fraction, rules: Behavior) -> bool:
    """Whether it is off by no more than is tolerated."""
    return 1 - Fraction(rules.down.tolerance) <= share <= 1 + Fraction(rules.up.tolerance)


def rate_average(target: int) -> Rating:
    """The average of the pods, against one that is wanted."""

    def rate(used: Mapping[str, int]) -> Ratio:
        average = sum(used.values()) // len(used)
        return Ratio(Fraction(average, target), average)

    return rate


def rate_utilization(requests: Mapping[str, int], percent: int) -> Rating:
    """What the pods use of what they request, in percent, against what is wanted."""

    def rate(used: Mapping[str, int]) -> Ratio:
        asked = sum(requests[name] for name in used)
        told = sum(used.values()) * 100 // asked if asked else 0
        return Ratio(Fraction(told, percent), told)

    return rate
