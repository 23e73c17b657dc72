"""Whether a blocked decision is blocked for good: on what it had read, or also on what there is by now.

For each input: the revision at which it was read, the newest of its own kind (revisions count the changes of all kinds,
so another's changes make nothing stale), how many of its own changes lie between, and how far the decider has heard by
now. Then the same decision is run again on the newest of everything, by the scheduler's own code:

    durable shortage   on the newest state it comes to the same: waiting, or retrying, will not help
    stale input        on the newest state it would go on: what it read, or what it had assumed, is overtaken

One function, for one kind of decision so far: a pod that fits nowhere. Asked by `explaining.py` for pods that wait.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from fairlead.explain import again
from fairlead.explain.asking import Asking
from fairlead.explain.sources import Sources
from fairlead.model.key import Key
from fairlead.model.views import PODS, Pod
from fairlead.schedule.contract import SchedulingAttempt
from fairlead.schedule.policy import Policy
from fairlead.schedule.snapshot import Snapshot
from fairlead.store.contract import Compacted, Entry, Reader

Json = dict[str, Any]
DURABLE, STALE = "durable shortage", "stale input"
#: bound: plane | changes of an input since it was read that a verdict counts | not counted further
CHANGES_COUNTED_MAX = 1000


class InputAge(NamedTuple):
    """`newest`: of its own kind. `behind`: changes of its own since it was read; None: history does not tell.
    `heard`: how far the one who decides is by now; 0: unknown."""

    resource: str
    read: int
    newest: int
    behind: int | None
    heard: int

    @property
    def unheard(self) -> bool:
        return 0 < self.heard < self.newest


class Verdict(NamedTuple):
    verdict: str
    why: str
    inputs: tuple[InputAge, ...]
    node: str = ""  # where it would go on the newest state

    def as_json(self) -> Json:
        return {
            "verdict": self.verdict,
            "why": self.why,
            "node": self.node,
            "inputs": [{**each._asdict(), "unheard": each.unheard} for each in self.inputs],
        }


def verdict_of(sources: Sources, pod: Pod, record: Json, policy: Policy) -> Asking[Verdict]:
    """Of the attempt that this record tells of, for a pod that still has no node."""
    ages, heard = [], sources.told.heard
    for resource, (used, _) in sorted(record.get("reads", {}).items()):
        ages.append(age_of(sources.reader, resource, used, heard.get(resource, 0)))
        yield None
    newest = _newest(sources, pod)
    if newest is None:
        return Verdict(STALE, "the pod itself is gone", tuple(ages))
    found: again.RerunAttempt = yield lambda: again.run_again(newest, policy)
    return judge(ages, found.attempt)


def age_of(reader: Reader, resource: str, read: int, heard: int) -> InputAge:
    """How old what was read of one resource is by now."""
    try:
        later = reader.changes_after(read, resource, CHANGES_COUNTED_MAX)
    except Compacted:
        latest = max((entry.revision for entry in reader.list(resource)), default=read)
        return InputAge(resource, read, max(read, latest), None, heard)
    if later:
        return InputAge(resource, read, later[-1].entry.revision, len(later), heard)
    latest = max((entry.revision for entry in reader.list(resource)), default=0)
    return InputAge(resource, read, latest, 0, heard)


def judge(ages: Iterable[InputAge], attempt: SchedulingAttempt) -> Verdict:
    """`attempt`: the same decision, on the newest of everything."""
    inputs = tuple(ages)
    node = attempt.node or attempt.nominated
    if not node:
        return Verdict(DURABLE, f"on what there is now it comes to the same: {attempt.message}", inputs)
    overtaken = [each for each in inputs if each.behind]
    told = ", ".join(
        f"{each.resource} was read at {each.read}, its newest is {each.newest}" for each in overtaken
    )
    unheard = [each.resource for each in inputs if each.unheard]
    if unheard:
        why = f"on what there is now it goes to {node}; the scheduler has not heard of {', '.join(unheard)} yet: {told}"
    elif overtaken:
        why = f"on what there is now it goes to {node}, and the scheduler has heard of it: {told}"
    else:
        why = (
            f"on what there is now it goes to {node}: what had been assumed when it was tried holds no longer"
        )
    return Verdict(STALE, why, inputs, node)


def _newest(sources: Sources, pod: Pod) -> again.Inputs | None:
    reader, meta = sources.reader, pod.metadata
    key = Key(PODS.name, meta.namespace, meta.name)
    entry: Entry | None = reader.get(key)
    if entry is None:
        return None
    own = f"{meta.namespace}/{meta.name}@"
    assumed = tuple(each for each in sources.told.assumed if not each.startswith(own))
    entries = {each.name: reader.list(each.name) for each in Snapshot.reads}
    return again.Inputs(entries, (entry,), assumed)
