"""The trail of a run of the world `recovery`, told as a table: what concerns the Reservations of one intent and the
replica that uses them. They are called res-a, res-b and so on in the order in which they are first asked for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fairlead.sim.trail import TrailStep
from tests.transcript.telling import Telling

Json = dict[str, Any]

_FENCE = "fairlead-plane-fence"
_CAPACITY = "override-capacity"
_TOLD = (_CAPACITY, "reservation", "scheduler")
_REPLICA = "the replica"


class ReservationTelling(Telling):
    def __init__(self, trail: Sequence[TrailStep], intent: str) -> None:
        self._intent = intent
        self._replica = _user_of(trail, intent)
        self._latest_pod: Json = {}
        self._called: dict[str, str] = {}  # name of a Reservation -> what it is called here
        self._phases: dict[str, str] = {}
        self._made_at: dict[int, str] = {}  # revision of its making -> its name
        self._heard: set[tuple[str, str]] = set()
        super().__init__(trail)

    def _alias(self, name: str) -> str:
        return self._called.setdefault(name, f"res-{'abcdefgh'[len(self._called)]}")

    def _plainly(self, text: str) -> str:
        for name, alias in self._called.items():
            text = text.replace(name, alias)
        return text

    # One line of the trail each

    def _commit(self, rest: str) -> None:
        change, _, body = rest.partition(" ")
        obj = json.loads(body)
        name = obj["metadata"]["name"]
        if obj["kind"] == "Pod" and name == self._replica:
            self._replica_changed(change, obj)
        elif obj["kind"] == "Reservation" and obj["spec"]["intent"] == self._intent:
            self._reservation_changed(change, name, obj)
        elif name == _FENCE:
            self._add(f"({_plane(obj['spec']['holderIdentity'])} leads)")

    def _replica_changed(self, change: str, pod: Json) -> None:
        was = self._latest_pod
        self._latest_pod = {} if change == "DELETED" else pod
        if change == "ADDED":
            self._add(f"({_REPLICA} is asked for)")
        elif change == "DELETED":
            self._add(f"({_REPLICA} is gone)")
        elif "deletionTimestamp" in pod["metadata"] and "deletionTimestamp" not in was["metadata"]:
            self._add(f"({_REPLICA} is deleted)")

    def _reservation_changed(self, change: str, name: str, obj: Json) -> None:
        if change == "DELETED":
            self._phases.pop(name)
        else:
            self._phases[name] = obj.get("status", {}).get("phase", "Pending")
        if change == "ADDED":
            self._made_at[int(obj["metadata"]["resourceVersion"])] = name

    def _told(self, rest: str) -> None:
        slot, resource, _, revisions = rest.split(" ", 3)
        if resource != "reservations.fairlead.dev":
            return
        for revision in json.loads(revisions):
            name = self._made_at.get(revision)
            if name is not None and (slot, name) not in self._heard:
                self._heard.add((slot, name))
                self._add(f"(plane {slot} hears of {self._alias(name)})")

    def _call(self, rest: str) -> None:
        slot, call, controller, verb, resource, address, *body = rest.split(" ", 6)
        if controller not in _TOLD:
            return
        _, name, subresource = address.split("/")
        sent = json.loads(body[0]) if body and body[0] else {}
        if verb == "create" and resource == "reservations":
            if sent["spec"]["intent"] != self._intent:
                return
        elif name != self._replica and name not in self._called:
            return
        row = self._add(self._effect(verb, resource, name, subresource, sent))
        row[0], row[2] = self._decided.get(controller, ("", ""))
        if verb == "get":
            row[0] = ""
        self._row_of[f"{slot} {call}"] = row

    def _effect(self, verb: str, resource: str, name: str, subresource: str, sent: Json) -> str:
        if verb == "get":
            return f"look at {self._called.get(name, _REPLICA)}"
        if subresource == "binding":
            used = sent["metadata"].get("annotations", {}).get("fairlead.dev/reservation", "")
            return f"bind {_REPLICA} to {sent['target']['name']}, using {self._called.get(used, 'nothing')}"
        if resource == "pods":
            return f"mark {_REPLICA} unschedulable"
        if verb == "create":
            return f"create {self._alias(sent['metadata']['name'])}"
        if subresource == "status":
            node = sent["status"].get("nodeName")
            return f"mark {self._alias(name)} {sent['status']['phase']}" + (f", {node}" if node else "")
        return f"{verb} {self._alias(name)}"

    def _seen(self, copy: str) -> str:
        name = next((name for name, alias in self._called.items() if alias == copy), "")
        return "is there" if name in self._phases or not name else "not there"

    def _record(self, rest: str) -> None:
        record = json.loads(rest.partition(" ")[2])
        controller = record["controller"]
        about = record.get("object", "")
        if controller not in _TOLD or "verdict" not in record or ("of" in record and "reason" not in record):
            return
        if controller == "scheduler" and about != f"pods/default/{self._replica}":
            return
        second = f"{float(record['time'][14:16]) * 60 + float(record['time'][17:-1]):.0f}"
        told = record.get("message") or record.get("reason") or record["verdict"].lower()
        if record.get("node"):
            told = f"placed on {record['node']}"
        self._decided[controller] = (second, f"{controller}: {self._plainly(told)}")

    def _violation(self, rest: str) -> None:
        self._add(f"(VIOLATION {self._plainly(rest)})")

    def _start(self, rest: str) -> None:
        if not rest.endswith("-1"):
            self._add(f"({_plane(rest)} comes back)")

    def _state(self) -> str:
        held = ", ".join(f"{self._alias(name)} {phase}" for name, phase in self._phases.items())
        return f"{self._condition(self._latest_pod)}; {held or 'nothing reserved'}"

    def _condition(self, pod: Json) -> str:
        if not pod:
            return "no replica"
        if "deletionTimestamp" in pod["metadata"]:
            return "deleted"
        node = pod["spec"].get("nodeName")
        return f"on {node}" if node else "waiting"


def _plane(identity: str) -> str:
    return "plane " + identity.split("-")[1]


def _user_of(trail: Sequence[TrailStep], intent: str) -> str:
    """The pod that is bound with a Reservation of this intent; "": none is."""
    for step in trail:
        if step.kind == "commit":
            obj = json.loads(step.data)
            used = obj.get("status", {}).get("allocatedTo")
            if obj["kind"] == "Reservation" and obj["spec"]["intent"] == intent and used:
                return str(used["name"])
    return ""
