"""Why a pod must end, by when, and which of its containers are told to stop now.

    gone       its object is no more, or another has its name
    deleted    its object says so: within the grace that it names
    leaving    the agent ends all it runs
    finished   its status says that it has ended, whoever wrote that
    deadline   activeDeadlineSeconds have passed

Called by `worker.py`. An ending stays; a stronger cause or a shorter grace replaces the one before. Sidecars stop last,
in the reverse of the order in which they were started, all within the one grace.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.agent.contract import Stop
from fairlead.agent.pod.container import Runs
from fairlead.agent.pod.launch import stop_command
from fairlead.agent.pod.shared_by_pods import Means
from fairlead.agent.views import BoundContainer, BoundPod
from fairlead.core.times import parse_time

GONE, DELETED, LEAVING, FINISHED, DEADLINE = "gone", "deleted", "leaving", "finished", "deadline"
_STRENGTH = (GONE, DELETED, LEAVING, FINISHED, DEADLINE)
_SLACK = 0.5  # seconds by which a grace must have become shorter to be worth telling


class Termination:
    __slots__ = ("cause", "since", "stop_by", "whole_asked_by")

    def __init__(self, cause: str, since: float, stop_by: float) -> None:
        self.cause, self.since, self.stop_by = cause, since, stop_by
        self.whole_asked_by = 0.0  # a pod of which no object is known was told to stop by then

    @property
    def for_good(self) -> bool:
        """Nothing of it will run again, here or under another agent of this node."""
        return self.cause != LEAVING


def deadline_at(pod: BoundPod) -> float:
    """When activeDeadlineSeconds have passed; 0: never."""
    limit, since = pod.spec.active_deadline_seconds, pod.status.get("startTime")
    return parse_time(since) + limit if limit and since else 0.0


def decide_termination(
    before: Termination | None, pod: BoundPod | None, gone: bool, means: Means, now: float
) -> Termination | None:
    cause = _cause(pod, gone, means, now)
    if before is not None and (not cause or _STRENGTH.index(before.cause) < _STRENGTH.index(cause)):
        cause = before.cause
    if not cause:
        return None
    if before is None:
        return Termination(cause, now, now + _grace(cause, pod, means))
    if cause != before.cause:
        before.cause, before.since = cause, now
    before.stop_by = min(before.stop_by, before.since + _grace(cause, pod, means))
    return before


def _cause(pod: BoundPod | None, gone: bool, means: Means, now: float) -> str:
    if gone or pod is None:
        return GONE
    if pod.deleted:
        return DELETED
    if means.leaving:
        return LEAVING
    if pod.finished:
        return FINISHED
    at = deadline_at(pod)
    return DEADLINE if at and at <= now else ""


def _grace(cause: str, pod: BoundPod | None, means: Means) -> float:
    if pod is None:
        return float(means.pace.orphan_grace_seconds)
    grace = pod.spec.termination_grace_period_seconds
    if cause in (GONE, DELETED) and pod.deleted:
        grace = pod.metadata.deletion_grace_period_seconds or 0
    return max(float(grace), means.pace.grace_min_seconds)


def plan_stops(
    uid: str, pod: BoundPod | None, runs: Mapping[str, Runs], end: Termination, means: Means, now: float
) -> tuple[list[Stop], float]:
    """What is to be told now, and when to look again."""
    grace = max(end.stop_by - now, means.pace.grace_min_seconds)
    again = means.pace.ask_again_seconds
    if pod is None or not any(each.may_run for each in runs.values()):
        if end.whole_asked_by and now < end.whole_asked_by + again:
            return [], end.whole_asked_by + again
        end.whole_asked_by = now + grace
        return [Stop(uid, "", grace)], now + grace + again
    told = []
    for container in _to_stop(pod, runs):
        stop = stop_run(uid, container, runs[container.name], grace, means, now)
        if stop is not None:
            told.append(stop)
    return told, max(end.stop_by, now) + again


def stop_run(
    uid: str, container: BoundContainer, own: Runs, grace: float, means: Means, now: float
) -> Stop | None:
    """Tell this run to stop, unless it was told so already."""
    overdue = now >= own.stop_by + means.pace.ask_again_seconds
    if own.stop_by and not overdue and own.stop_by - _SLACK <= now + grace:
        return None
    own.stop_by = now + grace
    return Stop(uid, container.name, grace, stop_command(container))


def _to_stop(pod: BoundPod, runs: Mapping[str, Runs]) -> list[BoundContainer]:
    first = [each for each in pod.all_containers if not each.sidecar and runs[each.name].may_run]
    if first:
        return first
    for each in reversed(pod.spec.init_containers):
        if runs[each.name].may_run:
            return [each]
    return []
