"""The trail of a run of the world `risk-api`, told as a table: a binding, what becomes of it, and what is said of it.

Told are the scheduler, what the node's marks say, and the progress that the Deployment publishes. Replicas are numbered
in the order of their making.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fairlead.sim.trail import TrailStep
from tests.transcript.telling import Telling

Json = dict[str, Any]

_SUSPECT, _UNREACHABLE = "fairlead.dev/suspect", "node.kubernetes.io/unreachable"
_TOLD = ("scheduler", "progress")
_WAY = ("bound", "starting", "ready", "serving")


class NodeFailureTelling(Telling):
    def __init__(self, trail: Sequence[TrailStep]) -> None:
        self._marked: dict[str, str] = {}
        self._said: dict[str, str] = {}
        super().__init__(trail)

    # One line of the trail each

    def _node(self, change: str, node: Json) -> None:
        name = node["metadata"]["name"]
        self._nodes[name] = node
        taints = {each["key"] for each in node.get("spec", {}).get("taints", ())}
        mark = "unreachable" if _UNREACHABLE in taints else "suspect" if _SUSPECT in taints else ""
        before = self._marked.get(name, "")
        self._marked[name] = mark
        if change == "ADDED":
            self._add(f"({name} joins)")
        elif mark != before:
            closed = {"suspect": "is suspect: nothing new is placed there", "": "is heard again"}
            self._add(f"({name} {closed.get(mark, 'is unreachable: a grace begins')})")

    def _pod(self, change: str, pod: Json) -> None:
        name = pod["metadata"]["name"]
        self._copies.setdefault(name, f"replica {len(self._copies) + 1}")
        before = self._pods.get(name, {})
        super()._pod(change, pod)
        node = pod["spec"].get("nodeName")
        if node and not before.get("spec", {}).get("nodeName"):
            condition = next(each for each in pod["status"]["conditions"] if each["type"] == "PodScheduled")
            self._add(f"({self._copies[name]} says PodScheduled={condition['status']}, on {node})")

    def _process(self, rest: str) -> None:
        """What really runs."""
        what, name, *more = rest.split(" ")
        if what == "begins" and name in self._copies:
            self._add(f"(a process of {self._copies[name]} begins on {more[-1]})")

    def _call(self, rest: str) -> None:
        slot, call, controller, verb, resource, address, *body = rest.split(" ", 6)
        if controller not in _TOLD:
            return
        _, name, subresource = address.split("/")
        sent = json.loads(body[0]) if body and body[0] else {}
        if controller == "progress":
            told = _progress(sent["status"]["progress"])
            if told == self._said.get(name):
                return
            self._said[name] = told
            self._add(f"publish progress: {told}")
            return
        if verb == "patch":
            return  # events of what is told here anyway
        row = self._add(self._effect(verb, resource, name, subresource, sent))
        row[0], row[2] = self._decided.get(controller, ("", ""))
        if verb == "get":
            row[0] = ""
        self._row_of[f"{slot} {call}"] = row

    def _condition(self, pod: Json) -> str:
        if "deletionTimestamp" in pod["metadata"]:
            return "released"
        if not pod["spec"].get("nodeName"):
            return "waiting"
        ready = [
            each["status"] for each in pod.get("status", {}).get("conditions", ()) if each["type"] == "Ready"
        ]
        return "running" if ready == ["True"] else "bound"


def _progress(told: Json) -> str:
    """How far all of them have come, and whose turn it is."""
    count = ", ".join(f"{told.get(stage, 0)} {stage}" for stage in _WAY if told.get(stage))
    limit = told.get("limit") or {}
    held = f"; next: {limit['owner']}" if limit.get("owner") else ""
    return f"{told.get('desired', 0)} wanted, {count or 'none bound'}{held}"
