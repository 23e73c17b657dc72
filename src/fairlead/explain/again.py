"""Runs a recorded attempt again: the same function on the store's history, and says whether it agrees (law 9).

A batch's record names the revision of every resource that was read, what was assumed besides, and the pods in order.
From those the snapshot is built that the scheduler had, by the scheduler's own code; pods before the one asked about
are placed as they were then.
If history has been compacted, or the policy is no longer known, there is only the record: then it is said why.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from fairlead.core import codec
from fairlead.explain.worlds import snapshot_of
from fairlead.model.key import Key
from fairlead.model.views import PODS, Pod, Resource, View
from fairlead.schedule.contract import Attempt
from fairlead.schedule.cycle import Cycle
from fairlead.schedule.facts import Facts
from fairlead.schedule.policy import Policy
from fairlead.schedule.snapshot import Snapshot
from fairlead.store.contract import Compacted, FutureRevision, Reader

Json = dict[str, Any]
_COMPARED = ("node", "nominated", "waterfall", "refusals", "best", "victims", "reason")


class Difference(NamedTuple):
    field: str
    recorded: Any
    again: Any


class Again(NamedTuple):
    """An attempt that was run again, with the world it was run on, the pod itself not yet placed."""

    attempt: Attempt
    snapshot: Snapshot
    facts: Facts


def run_again(reader: Reader, batch: Json, position: int, policy: Policy) -> Again | str:
    """Or why that cannot be done."""
    try:
        snapshot, pods = _world(reader, batch["reads"])
        names = batch["pods"]
        wanted = [_pod(reader, pods, text) for text in names[: position + 1]]
    except Compacted as error:
        return f"its inputs are compacted: revision {error.asked} is older than the history kept"
    except FutureRevision:
        return "its inputs are not in this store: the record names a revision that is still to come"
    _assume(snapshot, pods, batch["assumed"])
    missing = [name for name, pod in zip(names, wanted, strict=False) if pod is None]
    if missing:
        return f"its inputs are incomplete: {missing[0]} cannot be found in the history"
    cycle = Cycle(snapshot, policy)
    *before, last = [pod for pod in wanted if pod is not None]
    for pod in before:
        cycle.place(pod)
    attempt = cycle.place(last, assume=False)
    snapshot.release(attempt.key)  # its own claim is in nobody's way but its own
    return Again(attempt, snapshot, snapshot.facts_of(last))


def differences(record: Json, attempt: Attempt) -> tuple[Difference, ...]:
    """What was recorded against what comes out now; nothing: they agree."""
    now = codec.decode(codec.encode(msgspec.to_builtins(attempt)))
    now["reason"] = now.pop("message", "")
    found = []
    for name in _COMPARED:
        then, again = record.get(name) or None, now.get(name) or None
        if then != again:
            found.append(Difference(name, then, again))
    return tuple(found)


def _world(reader: Reader, reads: dict[str, list[int]]) -> tuple[Snapshot, dict[str, Pod]]:
    pods: dict[str, Pod] = {}

    def at_then(resource: Resource[Any]) -> Iterable[View]:
        if resource.name not in reads:
            return
        decode = msgspec.json.Decoder(resource.type).decode
        for entry in reader.list_at(resource.name, "", reads[resource.name][0]):
            try:
                view = decode(entry.data)
            except msgspec.ValidationError:
                continue  # nor did the mirror show it
            if isinstance(view, Pod):
                pods[f"{view.metadata.namespace}/{view.metadata.name}"] = view
            yield view

    return snapshot_of(at_then), pods


def _assume(snapshot: Snapshot, pods: dict[str, Pod], assumed: Iterable[str]) -> None:
    for text in assumed:
        name, _, node = text.partition("@")
        pod = pods.get(name)
        if pod is not None:
            snapshot.assume(pod, node.removesuffix("?"), node.endswith("?"))


def _pod(reader: Reader, pods: dict[str, Pod], text: str) -> Pod | None:
    """The version that was tried: mostly the one that was there at the revision read."""
    full, _, version = text.partition("@")
    pod = pods.get(full)
    if pod is not None and pod.metadata.resource_version == version:
        return pod
    namespace, _, name = full.partition("/")
    entry = reader.get_at(Key(PODS.name, namespace, name), int(version))
    return None if entry is None else msgspec.json.decode(entry.data, type=Pod)
