"""A captured incident as a world of the simulator: its objects at the beginning, and what people did meanwhile.

    state_of(artifact)      the objects, as `preview/` starts from them
    runner_of(artifact)     seeds of it, or of a neighbour (`neighbours.py`), with faults, judged by every checker

What the plane and its nodes did is not replayed: they decide anew, under faults. What everybody else wrote (the audit
log says who) is asked for again, at the same time after the beginning: objects that were created, fields that were
changed, objects that were deleted. All nodes are played by hollow ones. Times in objects are moved, so that the
incident begins when virtual time does. Called by `fairlead sim from` with a file of `fairlead incident capture`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from fairlead.control.roster import default_deciders
from fairlead.core import codec
from fairlead.core.times import parse_time, timestamp
from fairlead.model.catalog import CATALOG
from fairlead.model.key import Key
from fairlead.model.kind import Kind
from fairlead.model.patch.merge import patch_between
from fairlead.model.views import NODES
from fairlead.port.request import Request
from fairlead.replay.artifact import Artifact, RecordedChange
from fairlead.replay.capture import AUDIT
from fairlead.sim.faults import Faults
from fairlead.sim.neighbours import Objects, neighbour
from fairlead.sim.preview.state import LEFT_OUT, LiveState, backup_of_state, live_state
from fairlead.sim.run import Runner
from fairlead.sim.scenario import Scenario, ScenarioStep, create, patch
from fairlead.sim.time import EPOCH
from fairlead.sim.worlds.small import FAULTS
from fairlead.store.contract import DELETED, OPERATIONS_MAX

Json = dict[str, Any]
NAME = "incident"
_OWN = ("system:fairlead:", "system:node")  # who decides anew
_GIVEN = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "deletionTimestamp")
_GONE_WITH = ("ownerReferences", "deletionGracePeriodSeconds", "selfLink")
_TIME = re.compile(rb'"(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.\d+)?Z"')
_AFTER_SECONDS = 60.0  # faults go on for so long after the last thing that people did
_SETTLE_SECONDS = 1_200.0
_TRIES = 20


def began(artifact: Artifact) -> float:
    """When its time begins; not before there was anything."""
    times = (codec.decode(bytes(each.body))["time"] for each in artifact.lines)
    return max(parse_time(artifact.head.since), min(map(parse_time, times), default=0.0))


def state_of(artifact: Artifact) -> LiveState:
    """The objects of the beginning. Each resource is captured from the oldest revision that was read of it: what
    changed of it before the time began has happened already."""
    start = _start(artifact)
    objects = {Key(*each.key): bytes(each.value) for each in artifact.objects}
    for change in artifact.changes:
        if change.revision > start:
            break
        if change.change_type == DELETED:
            objects.pop(Key(*change.key), None)
        else:
            objects[Key(*change.key)] = bytes(change.value)
    return live_state(((key.resource, data) for key, data in objects.items()), began(artifact), start)


def _start(artifact: Artifact) -> int:
    """The newest revision before the first write of the time."""
    first = [line["revision"] for line in audit_lines(artifact) if line.get("revision")]
    return min(first, default=1) - 1 if first else max(artifact.head.starts.values(), default=0)


def audit_lines(artifact: Artifact) -> Iterator[Json]:
    for line in artifact.lines:
        if line.stream == AUDIT:
            yield codec.decode(bytes(line.body))


def scenario_of_incident(steps: tuple[ScenarioStep, ...]) -> Scenario:
    last = steps[-1].at_seconds if steps else 0.0
    return Scenario(
        name=NAME,
        steps=steps,
        hollow_prefix="",
        planes=2,
        faults_until_seconds=last + _AFTER_SECONDS,
        seconds_min=last + _AFTER_SECONDS,
        seconds_max=last + _AFTER_SECONDS + _SETTLE_SECONDS,
        quiet_seconds=30.0,
        deciders=default_deciders,
        looks_ahead=True,
        contends=True,  # who takes what room depends on the faults
    )


def runner_of(artifact: Artifact, plant: str = "", faults: Faults = FAULTS, number: int = 0) -> Runner:
    """`number`: of the neighbour; 0 is the incident itself."""
    state = state_of(artifact)
    moved = EPOCH - began(artifact)
    objects: Objects = tuple((key, shifted(data, moved)) for key, data in state.objects)
    steps = tuple(people_did(artifact))
    if number:
        objects, steps = neighbour(objects, steps, number)
    backup = backup_of_state(replace(state, now=float(EPOCH), objects=tuple(objects)))
    return Runner(scenario_of_incident(steps), faults, plant, backup=backup)


def shifted(data: bytes, seconds: float) -> bytes:
    """With all its times moved."""
    return _TIME.sub(
        lambda found: b'"%s"' % timestamp(parse_time(f"{found[1].decode()}Z") + seconds).encode(), data
    )


def people_did(artifact: Artifact) -> Iterator[ScenarioStep]:
    """What neither the plane nor its nodes wrote, in the order of time."""
    start = began(artifact)
    moved = EPOCH - start
    versions: dict[Key, bytes] = {Key(*each.key): bytes(each.value) for each in artifact.objects}
    audit = _Audit(artifact)
    for change in artifact.changes:
        key = Key(*change.key)
        before, after = versions.get(key), bytes(change.value)
        versions[key] = after
        if change.change_type == DELETED:
            del versions[key]
        line = audit.of(change)
        if line is None or key.resource in LEFT_OUT or _decides_anew(line, change, before is None):
            continue
        kind = CATALOG.of_resource(key.resource)
        if kind is None:  # of a custom kind: nobody here knows its definition's versions
            continue
        at = max(0.0, parse_time(line["time"]) - start)
        step = _step(at, kind, key, change, before, shifted(after, moved))
        if step is not None:
            yield replace(step, tries=_TRIES, action=f"{line['verb']} {key.resource}")


def _decides_anew(line: Json, change: RecordedChange, is_new: bool) -> bool:
    """Whether it was the plane's own doing, or a node's. A machine that comes or goes is nobody's decision."""
    if change.key[0] == NODES.name and (is_new or change.change_type == DELETED):
        return False
    return "decision" in line or str(line.get("user", "")).startswith(_OWN)


class _Audit:
    """Finds the line of a change: it names the object, and the last revision of its transaction."""

    def __init__(self, artifact: Artifact) -> None:
        self._lines: dict[Key, list[tuple[int, Json]]] = {}
        for line in audit_lines(artifact):
            if line.get("revision"):
                about = line["object"]
                group = about.get("group", "")
                resource = f"{about['resource']}.{group}" if group else about["resource"]
                key = Key(resource, about.get("namespace", ""), about.get("name", ""))
                self._lines.setdefault(key, []).append((line["revision"], line))

    def of(self, change: RecordedChange) -> Json | None:
        lines = self._lines.get(Key(*change.key), [])
        place = bisect_left(lines, change.revision, key=lambda each: each[0])
        if place == len(lines) or lines[place][0] >= change.revision + OPERATIONS_MAX:
            return None
        found = lines[place][1]
        return found if found.get("revisionBefore", 0) < change.revision else None


def _step(
    at: float, kind: Kind, key: Key, change: RecordedChange, before: bytes | None, after: bytes
) -> ScenarioStep | None:
    now: Json = codec.decode(after)
    if change.change_type == DELETED or "deletionTimestamp" in now["metadata"]:
        if before is not None and "deletionTimestamp" in codec.decode(before)["metadata"]:
            return None  # it had been asked for before
        return ScenarioStep(
            at, Request("delete", kind.group, kind.version, kind.plural, key.namespace, key.name)
        )
    if before is None:
        return create(at, kind.api_version, kind.plural, _wanted(now), key.namespace)
    was = codec.decode(before)
    changed = patch_between(_wanted(was), _wanted(now))
    if changed:
        return patch(at, kind.api_version, kind.plural, key.name, changed, key.namespace)
    status = patch_between(was.get("status") or {}, now.get("status") or {})
    if not status:
        return None
    return patch(at, kind.api_version, kind.plural, key.name, {"status": status}, key.namespace, "status")


def _wanted(found: Json) -> Json:
    """An object as one asks for it."""
    metadata = {
        name: value for name, value in found["metadata"].items() if name not in (*_GIVEN, *_GONE_WITH)
    }
    return {name: value for name, value in found.items() if name not in ("status", "metadata")} | {
        "metadata": metadata
    }
