"""What was done because of one override, and what it cost: audit lines joined with the records of decisions. Pure.

A record belongs to an override if it is about it, names it (`NAMESPACE/NAME`), or has effects whose names carry its
uid; an audit line belongs to it if its `decision` is such a record. Besides, all writes to its target count: for a
workload those to objects of its name, for a place those to its nodes, to pods that were there when the override was
made, and to pods that were placed there since.

What people wrote by hand past it is among them: edits of what it holds (`ledger/held_fields.py`), and those that the
server marked as past a controller. Called by `fairlead override report` (`report.py`), and for these edits by
`fairlead overrides --object`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from fairlead.ledger.held_fields import edited, rows_of
from fairlead.model.kinds.scheduleroverride import CLUSTER, NAMESPACE, WORKLOADS, split
from fairlead.model.reasons import UNSCHEDULABLE
from fairlead.model.views import OVERRIDES

Json = dict[str, Any]
_READS = ("get", "list", "watch")
_DRAIN = "override-drain"
_CONTROLLER = "system:fairlead:"  # before the name of a controller, as whom it writes
_MACHINE = "system:"  # what the names of all begin with that are no people
_PAST = "fairlead.dev/past"  # as `api/admission/fights.py` marks what people wrote past a controller


class PlaceContents(NamedTuple):
    """What a place target is made of. Empty for any other target."""

    nodes: frozenset[str] = frozenset()
    pods: frozenset[tuple[str, str]] = frozenset()  # there when the override was made: namespace and name


class Cost(NamedTuple):
    """Each a list of `pods/NAMESPACE/NAME` or another object, in the order in which it was met."""

    evicted: tuple[str, ...]  # had to leave its place
    displaced: tuple[str, ...]  # pushed out by the priority that it gave
    refused: tuple[str, ...]  # what was tried for it and not taken: a budget that kept a pod
    pending: tuple[str, ...]  # pods that have no node, by the last attempt, because it closes nodes
    held: tuple[str, ...]  # waited because of it: a rollout, a growth, a repair, an autoscaler

    def as_json(self, override: Json) -> Json:
        return {
            field: [{"object": each, "own": is_own(override, each)} for each in found]
            for field, found in self._asdict().items()
        }


class Deeds:
    """`lines`: of the audit log; `records`: of decisions; both oldest first. `ended`: when it ended, or will."""

    def __init__(
        self, override: Json, ended: str, lines: Iterable[Json], records: Iterable[Json], place: PlaceContents
    ) -> None:
        meta = override["metadata"]
        self._override, self._place, self._ended = override, place, f"{ended[:19]}Z"
        self._begun = meta["creationTimestamp"]
        self._path = f"{OVERRIDES.name}/{meta['namespace']}/{meta['name']}"
        self._mark = re.compile(
            rf"(?<![\w./-]){re.escape(meta['namespace'] + '/' + meta['name'])}(?![\w/-]|\.\w)"
        )
        known = list(records)
        self._kept = {each["id"] for each in known if "id" in each}
        self._records = [each for each in known if self._is_meanwhile(each)]
        self._because = {each["id"]: each for each in self._records if "id" in each and self._names(each)}
        self._there = {
            each["id"] for each in self._records if each.get("node") in place.nodes and "id" in each
        }
        self._lines = [each for each in lines if each.get("verb") not in _READS and self._is_meanwhile(each)]

        self._made = {
            _path(each)
            for each in self._lines
            if each["verb"] == "create" and each.get("decision") in self._because
        }

    def writes(self) -> list[Json]:
        """Reports of status left out: what became of things, not what was done. An approval is a deed."""
        return [
            _row(each)
            for each in self._lines
            if self._concerns(each)
            and not ((each.get("object") or {}).get("subresource") == "status" and _is_machine(each))
        ]

    def edits(self, path: str = "") -> list[Json]:
        """What people wrote by hand of what it holds, or past a controller of its target; `path`: only to that."""
        found = []
        for each in self._lines:
            wanted = _path(each) == path if path else self._concerns(each)
            if _is_machine(each) or not is_taken(each) or not wanted:
                continue
            about = each.get("object") or {}
            rows = rows_of(changes_of(self._override), _resource(about))
            removed = each["verb"] in ("delete", "deletecollection") or about.get("subresource") == "eviction"
            met = edited(rows, each.get("changed") or (), removed=removed)
            past = (each.get("annotations") or {}).get(_PAST) or ""
            if met or past:
                held = list(dict.fromkeys(f"{row.field or 'the object'} ({row.change})" for row in met))
                found.append(
                    {**_row(each), "override": self._path.partition("/")[2], "held": held, "past": past}
                )
        return found

    def cost(self) -> Cost:
        done = [each for each in self._lines if each.get("decision") in self._because and is_taken(each)]
        evicted = [
            _path(each)
            for each in done
            if _path(each).startswith("pods/")
            and (each["object"].get("subresource") == "eviction" or each["verb"] == "delete")
        ]
        refused = [
            self._because[each["of"]]["object"]
            for each in self._records
            if each.get("outcome") == "refused" and each.get("of") in self._because
        ]
        return Cost(
            evicted=_once(evicted),
            displaced=_once(self._displaced()),
            refused=_once(each for each in refused if each not in evicted),
            pending=_once(self._pending()),
            held=_once(self._held()),
        )

    def unexplained(self) -> list[Json]:
        """Writes that may have been made because of it: of controllers which it concerns, by decisions that are not
        kept any more, or never were, as on a full disk."""
        heeding = (self._override.get("status") or {}).get("affectedControllers") or ()
        users = {f"{_CONTROLLER}{each}" for each in heeding}
        return [
            _row(each)
            for each in self._lines
            if each.get("user") in users
            and each.get("decision")
            and each["decision"] not in self._kept
            and is_taken(each)
            and (each.get("object") or {}).get("subresource") != "status"
        ]

    def _is_meanwhile(self, line: Json) -> bool:
        return bool(self._begun <= line.get("time", "")[:19] + "Z" <= self._ended)

    def _names(self, record: Json) -> bool:
        if self._path in (record.get("object"), *record.get("about", ())):
            return True
        uid = self._override["metadata"]["uid"]
        if any(uid in effect for effect in record.get("effects", ())):
            return True
        told = (record.get("message") or "", record.get("reason") or "", *_refusals(record))
        return any(self._mark.search(each) for each in told)

    def _concerns(self, line: Json) -> bool:
        about = line.get("object") or {}
        name, space = about.get("name") or "", about.get("namespace") or ""
        if line.get("decision") in self._because or line.get("decision") in self._there:
            return True
        if about.get("resource") == "nodes":
            return name in self._place.nodes
        if about.get("resource") == "pods" and (space, name) in self._place.pods:
            return True
        path = _path(line)
        return path == self._path or path in self._made or is_own(self._override, path)

    def _displaced(self) -> Iterable[str]:
        value = (self._override["spec"].get("priority") or {}).get("value")
        for each in self._records if value is not None else ():
            if is_own(self._override, each.get("object", "")):
                for victim in each.get("victims", ()):
                    if victim["priority"] < value and not victim.get("leaving"):
                        yield "/".join(victim["key"])

    def _pending(self) -> Iterable[str]:
        last = {each["object"]: each for each in self._records if "attempt" in each and "object" in each}
        return (
            pod
            for pod, each in last.items()
            if each.get("verdict") == UNSCHEDULABLE and each["id"] in self._because
        )

    def _held(self) -> Iterable[str]:
        """Controllers that say so themselves; what they write meanwhile is how they say it."""
        return (
            each["object"]
            for each in self._because.values()
            if self._mark.search(each.get("message") or "")
            and each["controller"] != _DRAIN
            and each["object"] != self._path
        )


def is_own(override: Json, path: str) -> bool:
    """Whether an object is the override's target, or of the target by its name or namespace. A place owns nothing."""
    _, _, rest = path.partition("/")
    space, _, name = rest.rpartition("/")
    sort, target = split(override["spec"]["target"])
    own = override["metadata"]["namespace"]
    if sort == CLUSTER:
        return bool(space)
    if sort == NAMESPACE:
        return bool(space) and space == (target or own)
    return sort in WORKLOADS and space == own and (name == target or name.startswith(f"{target}-"))


def _is_machine(line: Json) -> bool:
    return str(line.get("user", "")).startswith(_MACHINE)


def is_taken(line: Json) -> bool:
    return int(line.get("code") or 0) < 400


def _refusals(record: Json) -> list[str]:
    return [each.get("reason") or "" for each in record.get("refusals", ())]


def changes_of(override: Json) -> list[str]:
    return [field for field, value in override["spec"]["changes"].items() if value]


def _resource(about: Json) -> str:
    return f"{about['resource']}.{about['group']}" if about.get("group") else str(about.get("resource"))


def _path(line: Json) -> str:
    about = line.get("object") or {}
    return "/".join(part for part in (_resource(about), about.get("namespace"), about.get("name")) if part)


def _row(line: Json) -> Json:
    about = line.get("object") or {}
    parts = (about.get("resource"), about.get("name"), about.get("subresource"))
    return {
        "time": line.get("time"),
        "user": line.get("user"),
        "verb": line.get("verb"),
        "namespace": about.get("namespace") or "",
        "object": "/".join(part for part in parts if part),
        "changed": ",".join((line.get("changed") or [])[:3]) or line.get("reason") or "",
        "code": line.get("code"),
        "decision": line.get("decision") or "",
    }


def _once(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))
