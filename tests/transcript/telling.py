"""The trail of a simulated run, told as a table: what the state was, what was decided on it, what was asked for, and
what came of it. Only what concerns one ReplicaSet is told; its pods are numbered as copies in the order of their making,
so that the table does not change with anything else that the plane does."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from fairlead.sim.processes.server import SERVER
from fairlead.sim.trail import TrailStep

Json = dict[str, Any]

HEADER = ("SECOND", "STATE", "DECISION", "EFFECT", "OUTCOME")
_TOLD = ("replicaset", "scheduler")  # the nodes' own doing shows in the state
_OUTCOMES = {"Done": "done", "Unknown": "unknown", "Conflict": "conflict", "Refused": "refused"}


class Telling:
    def __init__(self, steps: Sequence[TrailStep]) -> None:
        self.rows: list[list[str]] = []
        self._wanted = 0
        self._pods: dict[str, Json] = {}
        self._nodes: dict[str, Json] = {}
        self._copies: dict[str, str] = {}
        self._decided: dict[str, tuple[str, str]] = {}  # controller -> (second, what it decided)
        self._row_of: dict[str, list[str]] = {}  # "slot call" -> its row
        trail = [told_line(step) for step in steps if step.kind not in _ASIDE and not _by_the_server(step)]
        for line in trail:
            kind, _, rest = line.partition(" ")
            tell = getattr(self, f"_{kind}", None)
            if tell is not None:
                tell(rest)

    def text(self, unlike: Telling | None = None) -> str:
        """All of it, or from where it is not as another one was."""
        first = 0
        while unlike is not None and self.rows[first] == unlike.rows[first]:
            first += 1
        rows = [list(HEADER), *self.rows[first:]]
        widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
        lines = (
            "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
        )
        return "".join(line.rstrip() + "\n" for line in lines)

    # One line of the trail each

    def _commit(self, rest: str) -> None:
        change, _, body = rest.partition(" ")
        obj = json.loads(body)
        if obj["kind"] == "Node":
            self._node(change, obj)
        elif obj["kind"] == "Pod":
            self._pod(change, obj)
        elif obj["kind"] == "ReplicaSet":
            self._wanted = obj["spec"]["replicas"]

    def _node(self, change: str, node: Json) -> None:
        name = node["metadata"]["name"]
        before = self._nodes.pop(name, None)
        if change != "DELETED":
            self._nodes[name] = node
        if change == "ADDED":
            told = f"{name} joins"
        elif change == "DELETED":
            told = f"{name} is gone"
        elif before is not None and _ready(node) != _ready(before):
            told = f"{name} is not heard of"
        elif node.get("spec", {}).get("unschedulable"):
            told = f"{name} is closed"
        else:
            return
        self._add(f"({told})")

    def _pod(self, change: str, pod: Json) -> None:
        name = pod["metadata"]["name"]
        self._copies.setdefault(name, f"copy {len(self._copies) + 1}")
        before = self._pods.pop(name, None)
        if change != "DELETED":
            self._pods[name] = pod
        marked = "deletionTimestamp" in pod["metadata"]
        if change == "DELETED":
            self._add(f"({self._copies[name]} is gone)")
        elif marked and before is not None and "deletionTimestamp" not in before["metadata"]:
            self._add(f"({self._copies[name]} is released)")

    def _call(self, rest: str) -> None:
        slot, call, controller, verb, resource, address, *body = rest.split(" ", 6)
        if controller not in _TOLD:
            return
        _, name, subresource = address.split("/")
        sent = json.loads(body[0]) if body and body[0] else {}
        row = self._add(self._effect(verb, resource, name, subresource, sent))
        row[0], row[2] = self._decided.get(controller, ("", ""))
        if verb == "get":
            row[0] = ""  # it comes when the answer has been waited for
        self._row_of[f"{slot} {call}"] = row

    def _effect(self, verb: str, resource: str, name: str, subresource: str, sent: Json) -> str:
        copy = self._copies.get(name, name)
        if verb == "get":
            return f"look at {copy}"
        if subresource == "binding":
            return f"bind {copy} to {sent['target']['name']}"
        if verb == "create":
            made = sent["metadata"]["name"]
            return f"create {self._copies.setdefault(made, f'copy {len(self._copies) + 1}')}"
        if subresource == "status" and resource == "replicasets":
            status = sent["status"]
            told = [f"{status[field]} {word}" for field, word in _REPORTED.items() if field in status]
            return "report " + ", ".join(told)
        return f"{verb} {copy}"

    def _replied(self, rest: str) -> None:
        slot, call, outcome = rest.split(" ")
        row = self._row_of.pop(f"{slot} {call}", None)
        if row is None:
            return
        row[4] = _OUTCOMES[outcome]
        if row[3].startswith("look at "):
            row[4] = self._seen(row[3].removeprefix("look at ")) if outcome == "Done" else "not there"

    def _seen(self, copy: str) -> str:
        name = next(name for name, known in self._copies.items() if known == copy)
        pod = self._pods.get(name)
        node = pod["spec"].get("nodeName") if pod else ""
        return f"is on {node}" if node else "is there, not bound"

    def _record(self, rest: str) -> None:
        record = json.loads(rest.partition(" ")[2])
        controller = record["controller"]
        if controller not in _TOLD or "verdict" not in record or ("of" in record and "reason" not in record):
            return  # a batch, or what became of a decision, tells nothing that the decisions do not
        second = f"{float(record['time'][14:16]) * 60 + float(record['time'][17:-1]):.0f}"
        told = record.get("message") or record.get("reason") or record["verdict"].lower()
        if record.get("node"):
            told = f"{record['nodes']} nodes, {record['waterfall'][-1]['left']} with room"
        self._decided[controller] = (second, f"{controller}: {told}")

    def _crash(self, rest: str) -> None:
        self._decided.clear()
        for row in self._row_of.values():
            row[4] = "nobody knows"
        self._row_of.clear()
        self._add(f"({_plane(rest)} dies)")

    def _start(self, rest: str) -> None:
        if not rest.endswith("-1"):
            self._add(f"({_plane(rest)} comes back)")

    # Rows

    def _add(self, effect: str) -> list[str]:
        row = ["", self._state(), "", effect, ""]
        self.rows.append(row)
        return row

    def _state(self) -> str:
        counts = Counter(map(self._condition, self._pods.values()))
        told = [f"{counts[word]} {word}" for word in _CONDITIONS if counts[word]]
        if not self._wanted:
            return "none wanted"
        return f"{self._wanted} wanted: " + (", ".join(told) or "0 there")

    def _condition(self, pod: Json) -> str:
        if "deletionTimestamp" in pod["metadata"]:
            return "released"
        node = pod["spec"].get("nodeName")
        if not node:
            return "waiting"
        if _ready(self._nodes.get(node, {})) != "True":
            return "unknown"
        return "running" if _ready(pod) == "True" else "bound"


_CONDITIONS = ("running", "bound", "waiting", "unknown", "released")
_ASIDE = ("asks", "committed", "fault", "calm", "rests")  # told beside what happened
_OF_PLANES = ("call", "record", "replied", "told", "woke")
_REPORTED = {"replicas": "live", "readyReplicas": "ready"}


def told_line(step: TrailStep) -> str:
    """Kind first; then, of what planes do, the plane's number."""
    number = step.actor.removeprefix("plane-") if step.kind in _OF_PLANES else ""
    return " ".join(filter(None, (step.kind, number, step.text, step.data)))


def _by_the_server(step: TrailStep) -> bool:
    return step.kind == "crash" and step.actor == SERVER


def _ready(obj: Json) -> str:
    conditions = obj.get("status", {}).get("conditions", ())
    return next((each["status"] for each in conditions if each["type"] == "Ready"), "")


def _plane(identity: str) -> str:
    return "plane " + identity.split("-")[1]
