"""The agent's own Node: registered once, its labels, annotations and status kept as they should be.

A machine beside the others of `machine.py`, level-based: it compares the Node in the mirror with what it should say,
and writes what differs, one write at a time, bound to the uid and revision it compared with. So a write whose outcome
is unknown may be sent again: if it did happen, the revision has moved and the repetition conflicts.

As kubelet: a Node that exists is kept, with what others put on it (labels, taints, podCIDR, conditions); one that is
deleted while the agent runs is not made again before the agent starts anew. Who contradicts what was said (a plane that
has not heard of this node for a while) is answered once for each renewal of the lease: before it hears of one it would
only say the same again.

| the mirror says         | then                                                    |
| ----------------------- | ------------------------------------------------------- |
| not synced              | wait                                                    |
| absent, never seen      | create, with status                                     |
| absent, seen before     | say so in the log; nothing                              |
| labels or notes differ  | patch metadata                                          |
| status differs          | patch status; what was said already, after a renewal    |
| as it should be         | patch the status every `node_status_seconds`            |
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from fairlead.agent.calls import MANAGER, Calls, Purpose
from fairlead.agent.contract import Ask, Log, NodeSettings
from fairlead.agent.pace import Pace, Retry
from fairlead.agent.views import OwnNode
from fairlead.core import codec, quantity
from fairlead.core.times import timestamp
from fairlead.model.marks import FENCES_AFTER, HOSTNAME, NODE_ENDPOINT
from fairlead.model.views import Json
from fairlead.port.outcome import Conflict, Done, Outcome
from fairlead.port.request import JSON, MERGE_PATCH, Request

PART = "node"
_LOOPBACK = "127.0.0.1"
_MEMORY = ("MemoryPressure", "False", "KubeletHasSufficientMemory", "not watched: limits hold each container")
_DISK = ("DiskPressure", "False", "KubeletHasNoDiskPressure", "the agent has no disk pressure")
_PID = ("PIDPressure", "False", "KubeletHasSufficientPID", "not watched")


class _Said(NamedTuple):
    """What a status said, and after how many renewals of the lease."""

    ready: tuple[bool, str]
    disk: str
    renewals: int


class Registration:
    def __init__(self, settings: NodeSettings, pace: Pace, calls: Calls) -> None:
        self._settings, self._pace, self._calls = settings, pace, calls
        self._seen = self._told_deleted = False
        self._in_flight = False
        self._sent_at = 0.0
        self._awaited = (
            0  # of the newest own write, or of what won over one: what the mirror must have passed
        )
        self._status_at = 0.0
        self._retry = Retry()
        self._sent_at_revision = self._conflicted = ""  # of the Node that the last write was bound to
        self.next_at = 0.0
        self.address = _address(settings)
        self.disk = ""  # what is wrong with the disk
        self._saying = self._said = _Said((False, ""), "", -1)

    def step(
        self, node: OwnNode | None, revision: int, ready: tuple[bool, str], renewals: int, now: float
    ) -> tuple[Ask | Log, ...]:
        """`revision` is the mirror's; `ready`: whether the node is, and why not; `renewals`: of the lease, so far."""
        self._seen = self._seen or node is not None
        if self._in_flight or revision < self._awaited:
            self.next_at = 0.0
            return ()
        moved = node is not None and self._conflicted not in ("", node.metadata.resource_version)
        if self._retry.waits(now) and not moved:
            self.next_at = self._retry.at
            return ()
        self.next_at = 0.0
        if node is None:
            return self._absent(ready, now)
        patch = self._metadata_patch(node)
        if patch:
            return (self._ask(now, "patch", self._bound(node, patch), ""),)
        changed = self._status_patch(node, ready, now)
        due = self._status_at + self._pace.node_status_seconds
        saying = _Said(ready, self.disk, renewals)
        if now >= due or (changed and saying != self._said):
            self._saying = saying
            status = changed or {"conditions": self._conditions(node.status, ready, now)}
            return (self._ask(now, "patch", {**self._bound(node, {}), "status": status}, "status"),)
        self.next_at = due
        return ()

    def answered(self, outcome: Outcome, now: float, chance: float) -> None:
        self._in_flight = False
        if isinstance(outcome, Done):
            self._seen = True
            self._awaited = max(self._awaited, outcome.revision)
            self._status_at = self._sent_at
            self._said = self._saying
            self._retry.succeeded()
            self._conflicted = ""
        else:
            # After a conflict the mirror will show what moved: then at once. Where nothing tells which version that is,
            # after the back-off in any case.
            self._conflicted = self._sent_at_revision if isinstance(outcome, Conflict) else ""
            if isinstance(outcome, Conflict) and not outcome.premise:
                self._awaited = max(self._awaited, outcome.revision)
            self._retry.failed(now, self._pace, chance)

    # What it should say

    def _absent(self, ready: tuple[bool, str], now: float) -> tuple[Ask | Log, ...]:
        settings = self._settings
        if self._seen:
            if self._told_deleted:
                return ()
            self._told_deleted = True
            return (Log(f"Node {settings.name} was deleted; restart the agent to register it again"),)
        body = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": settings.name, "labels": self._labels(), "annotations": self._annotations()},
            "spec": {},
            "status": {**self._fixed_status(), "conditions": self._conditions({}, ready, now)},
        }
        return (self._ask(now, "create", body, ""),)

    def _labels(self) -> dict[str, str]:
        return {HOSTNAME: self._settings.name, **self._settings.labels}

    def _annotations(self) -> dict[str, str]:
        return dict(self._settings.annotations)

    def _metadata_patch(self, node: OwnNode) -> Json:
        meta = node.metadata
        patch: Json = {}
        for field, wanted, now_there in (
            ("labels", self._labels(), meta.labels),
            ("annotations", self._annotations(), meta.annotations),
        ):
            differs = {key: value for key, value in wanted.items() if now_there.get(key) != value}
            if differs:
                patch[field] = differs
        if FENCES_AFTER in meta.annotations:
            patch["annotations"] = {**patch.get("annotations", {}), FENCES_AFTER: None}
        return patch

    def _fixed_status(self) -> Json:
        settings = self._settings
        return {
            "capacity": _spelt(settings.capacity),
            "allocatable": _spelt(settings.allocatable),
            "addresses": [
                {"type": "InternalIP", "address": self.address},
                {"type": "Hostname", "address": settings.name},
            ],
            "nodeInfo": dict(settings.info),
        }

    def _status_patch(self, node: OwnNode, ready: tuple[bool, str], now: float) -> Json:
        """What of the status a reader would miss: whatever differs, heartbeat times aside."""
        there = node.status
        patch: Json = {}
        for field, wanted in self._fixed_status().items():
            held = there.get(field) or {}
            if field == "nodeInfo":
                same = wanted.items() <= held.items()
            else:
                same = wanted == held
            if not same:
                patch[field] = wanted
        conditions = self._conditions(there, ready, now)
        told = {each.get("type"): _lasting(each) for each in there.get("conditions") or ()}
        if patch or any(told.get(each["type"]) != _lasting(each) for each in conditions):
            patch["conditions"] = conditions
        return patch

    def _conditions(self, status: Json, ready: tuple[bool, str], now: float) -> list[Json]:
        """Ours, after those that others gave."""
        good, why = ready
        disk = ("DiskPressure", "True", "KubeletHasDiskPressure", self.disk) if self.disk else _DISK
        wanted = [_MEMORY, disk, _PID]
        if good:
            wanted.append(("Ready", "True", "KubeletReady", "the agent is ready"))
        else:
            wanted.append(("Ready", "False", "KubeletNotReady", why))
        before = {each.get("type"): each for each in status.get("conditions") or ()}
        ours = {kind for kind, *_ in wanted}
        conditions = [each for kind, each in before.items() if kind not in ours]
        at = timestamp(now)
        for kind, state, reason, message in wanted:
            known = before.get(kind) or {}
            since = known.get("lastTransitionTime") if known.get("status") == state else None
            conditions.append(
                {
                    "type": kind,
                    "status": state,
                    "lastHeartbeatTime": at,
                    "lastTransitionTime": since or at,
                    "reason": reason,
                    "message": message,
                }
            )
        return conditions

    def _bound(self, node: OwnNode, metadata: Json) -> Json:
        meta = node.metadata
        self._sent_at_revision = meta.resource_version
        return {"metadata": {**metadata, "uid": meta.uid, "resourceVersion": meta.resource_version}}

    def _ask(self, now: float, verb: str, body: Json, subresource: str) -> Ask:
        self._in_flight, self._sent_at = True, now
        name = "" if verb == "create" else self._settings.name
        kind = JSON if verb == "create" else MERGE_PATCH
        request = Request(
            verb=verb, group="", version="v1", plural="nodes", namespace="", name=name,
            subresource=subresource, body=codec.encode(body), content_type=kind, manager=MANAGER,
        )  # fmt: skip
        return self._calls.ask(Purpose(PART), request)


def _lasting(condition: Json) -> tuple[str, str, str]:
    return condition.get("status", ""), condition.get("reason", ""), condition.get("message", "")


def _spelt(amounts: dict[str, str]) -> dict[str, str]:
    """As the API stores them, so that they compare equal."""
    return {name: quantity.canonical(text) for name, text in amounts.items()}


def _address(settings: NodeSettings) -> str:
    """Where the node says it is: the host of its endpoint."""
    endpoint = settings.annotations.get(NODE_ENDPOINT, "")
    return (urlsplit(endpoint).hostname if endpoint else None) or _LOOPBACK
