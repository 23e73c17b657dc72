"""Runs a recorded attempt again: the same function on the store's history, and says whether it agrees (laws.md 9).

A batch's record names the revision of every resource that was read, what was assumed besides, and the pods in order.
The snapshot that the scheduler had is built from those, by the scheduler's own code; pods before the one asked about
are placed as they were then. The inputs are collected first (`inputs_of`), then the attempt is run on them, which may
be done elsewhere. If history has been compacted, or the policy is no longer known, there is only the record: then it is
said why.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from fairlead.core.times import parse_time
from fairlead.explain.asking import Asking
from fairlead.model.key import Key
from fairlead.model.views import PODS, Pod, Resource, View
from fairlead.replay.placement import assume, snapshot_of
from fairlead.schedule.contract import SchedulingAttempt
from fairlead.schedule.cycle import Cycle
from fairlead.schedule.facts import Facts
from fairlead.schedule.policy import Policy
from fairlead.schedule.snapshot import Snapshot
from fairlead.store.contract import Compacted, Entry, FutureRevision, Reader

Json = dict[str, Any]


class RerunAttempt(NamedTuple):
    """An attempt that was run again, with the world it was run on, the pod itself not yet placed."""

    attempt: SchedulingAttempt
    snapshot: Snapshot
    facts: Facts


class Inputs(NamedTuple):
    """What an attempt was made on, as the store has it: entries never change."""

    entries: dict[str, Sequence[Entry]]  # by resource
    pods: tuple[Entry, ...]  # those before the one asked about, and that one
    assumed: tuple[str, ...]
    at: float = 0.0  # when it was made, in seconds since the epoch


def inputs_of(reader: Reader, batch: Json, position: int) -> Asking[Inputs | str]:
    """Or why they cannot be had."""
    reads, names = batch["reads"], batch["pods"][: position + 1]
    entries: dict[str, Sequence[Entry]] = {}
    try:
        for resource, (used, _) in reads.items():
            entries[resource] = reader.list_at(resource, "", used)
            yield None
        wanted = {_key(text): int(text.rpartition("@")[2]) for text in names}
        there = {entry.key: entry for entry in entries[PODS.name] if entry.key in wanted}
        found = [_version(reader, there.get(key), key, version) for key, version in wanted.items()]
    except Compacted as error:
        return f"its inputs are compacted: revision {error.asked} is older than the history kept"
    except FutureRevision:
        return "its inputs are not in this store: the record names a revision that is still to come"
    missing = [name for name, entry in zip(names, found, strict=True) if entry is None]
    if missing:
        return f"its inputs are incomplete: {missing[0]} cannot be found in the history"
    pods = tuple(each for each in found if each is not None)
    return Inputs(entries, pods, tuple(batch["assumed"]), parse_time(batch["time"]))


def run_again(inputs: Inputs, policy: Policy) -> RerunAttempt:
    """Takes as long as it takes; touches nothing but what it is given."""
    snapshot, pods = _world(inputs)
    assume(snapshot, pods.get, inputs.assumed)
    cycle = Cycle(snapshot, policy)
    *before, last = [msgspec.json.decode(entry.data, type=Pod) for entry in inputs.pods]
    for pod in before:
        cycle.place(pod)
    attempt = cycle.place(last, assume=False)
    snapshot.release(attempt.key)  # its own claim is in nobody's way but its own
    return RerunAttempt(attempt, snapshot, snapshot.facts_for(last))


def _world(inputs: Inputs) -> tuple[Snapshot, dict[str, Pod]]:
    pods: dict[str, Pod] = {}

    def at_then(resource: Resource[Any]) -> Iterable[View]:
        decode = msgspec.json.Decoder(resource.type).decode
        for entry in inputs.entries.get(resource.name, ()):
            try:
                view = decode(entry.data)
            except msgspec.ValidationError:
                continue  # nor did the mirror show it
            if isinstance(view, Pod):
                pods[f"{view.metadata.namespace}/{view.metadata.name}"] = view
            yield view

    return snapshot_of(at_then, inputs.at), pods


def _key(text: str) -> Key:
    namespace, _, name = text.rpartition("@")[0].partition("/")
    return Key(PODS.name, namespace, name)


def _version(reader: Reader, there: Entry | None, key: Key, version: int) -> Entry | None:
    """The version that was tried: mostly the one that was there at the revision read."""
    return there if there is not None and there.revision == version else reader.get_at(key, version)
