"""Runs a batch of the scheduler again on what it read then, and compares each attempt with its record (laws.md 9).

    place_again(mirrors, batch, policy) -> the attempts, in the order of the batch
    differences(record, attempt)        what was recorded against what comes out now

The snapshot that the scheduler had is built by the scheduler's own code from the mirrors at the revisions read and what
the batch assumed besides; each pod is then placed after those before it. Used by `replaying.py`, and by `explain/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from fairlead.control.complaints import try_call
from fairlead.control.record import DETAIL
from fairlead.core import codec
from fairlead.core.times import parse_time
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.policy import plane_knobs
from fairlead.model.policy.in_use import policy_in_use
from fairlead.model.views import PLANE_SETTINGS, PODS, SCHEDULING_POLICIES, Pod, Resource, View
from fairlead.replay.past import HistoryMirrors, NotKept
from fairlead.schedule.contract import SchedulingAttempt
from fairlead.schedule.cycle import Cycle
from fairlead.schedule.policy import Policy
from fairlead.schedule.registry import default_policy, policy_for
from fairlead.schedule.snapshot import Snapshot

_COMPARED = ("node", "nominated", "waterfall", "refusals", "best", "victims", "reason")
_OUTCOME = ("node", "nominated", "victims", "reason")  # what a record in less detail has


class Discrepancy(NamedTuple):
    field: str
    recorded: Any
    again: Any


def differences(record: Json, attempt: SchedulingAttempt) -> tuple[Discrepancy, ...]:
    """What was recorded against what comes out now; nothing: they agree."""
    now = codec.decode(codec.encode(msgspec.to_builtins(attempt)))
    now["reason"] = now.pop("message", "")
    found = []
    for name in _COMPARED if record.get(DETAIL) is None else _OUTCOME:
        then, again = record.get(name) or None, now.get(name) or None
        if then != again:
            found.append(Discrepancy(name, then, again))
    return tuple(found)


def snapshot_of(views: Callable[[Resource[Any]], Iterable[View]], now: float = 0.0) -> Snapshot:
    """A snapshot from scratch, at an instant; without one, of overrides that are known to hold. An object that the
    scheduler cannot take in is left out, as the scheduler does."""
    snapshot = Snapshot()
    for resource in Snapshot.reads:
        for view in views(resource):
            try_call(snapshot.observe, resource.name, None, view)
    snapshot.expire(now)
    return snapshot


def assume(snapshot: Snapshot, pods: Callable[[str], Pod | None], assumed: Iterable[str]) -> None:
    """What the scheduler had placed and did not see there yet: `namespace/name@node`, and ? if it only waits for it."""
    for text in assumed:
        name, _, node = text.partition("@")
        pod = pods(name)
        if pod is not None:
            snapshot.assume(pod, node.removesuffix("?"), node.endswith("?"))


def place_again(past: HistoryMirrors, batch: Json, policy: Policy) -> list[SchedulingAttempt]:
    """NotKept, in words, if something of it is not at hand."""
    mirrors = {name: past.at(name, used) for name, (used, _) in batch["reads"].items()}
    snapshot = snapshot_of(lambda resource: mirrors[resource.name].index.all(), parse_time(batch["time"]))
    pods = mirrors[PODS.name].index

    def shown(name: str) -> Pod | None:
        found = pods.get((PODS.name, *name.split("/", 1)))  # type: ignore[arg-type]
        return found if isinstance(found, Pod) else None

    assume(snapshot, shown, batch["assumed"])
    cycle = Cycle(snapshot, policy)
    return [cycle.place(_tried(past, shown, text)) for text in batch["pods"]]


def _tried(past: HistoryMirrors, shown: Callable[[str], Pod | None], text: str) -> Pod:
    """The version that was tried: mostly the one that was there at the revision read."""
    name, _, version = text.rpartition("@")
    found = shown(name)
    if found is not None and found.metadata.resource_version == version:
        return found
    data = past.version(Key(PODS.name, *name.split("/", 1)), int(version))
    if data is None:
        raise NotKept(f"pod {text} cannot be found in the history")
    return msgspec.json.decode(data, type=Pod)


def policy_then(past: HistoryMirrors, reads: Mapping[str, Any], wanted: tuple[str, int]) -> Policy:
    """The policy that a batch was placed under, from the objects as they were then."""
    built_in = default_policy()
    if wanted == (built_in.name, built_in.revision):
        return built_in
    settings = past.at(PLANE_SETTINGS.name, reads[PLANE_SETTINGS.name][0]).index
    policies = past.at(SCHEDULING_POLICIES.name, reads[SCHEDULING_POLICIES.name][0]).index
    found = policy_for(
        policy_in_use(
            settings.get((PLANE_SETTINGS.name, "", plane_knobs.NAME)),
            lambda name: policies.get((SCHEDULING_POLICIES.name, "", name)),
        )
    )
    if (found.name, found.revision) != wanted:
        raise NotKept(f"its policy {wanted[0]}@{wanted[1]} is no longer known")
    return found
