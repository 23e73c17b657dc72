"""The moments of an incident that a reader of its report wants to see, in the order of time.

    who leads from when on; what people changed; machines that came and went; what began to be blocked and when that was
    over; decisions that were refused or whose fate was unknown

What is alike is told once with how often. Made from an artifact alone (`replay/artifact.py`); called by `report.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from fairlead.control.instructions import DECISIONS, TURNS
from fairlead.core import codec
from fairlead.core.times import parse_time
from fairlead.explain.timeline.values import told_changes
from fairlead.model.key import Key
from fairlead.replay.artifact import Artifact
from fairlead.replay.capture import AUDIT
from fairlead.replay.stored import CapturedHistory
from fairlead.store.contract import DELETED

Json = dict[str, Any]
_PLANE, _NODE = "system:fairlead", "system:node"
_QUIET_OUTCOMES = frozenset({"conflict"})  # it is decided again at once
_QUIET_RESOURCES = frozenset({"events", "leases.coordination.k8s.io", "endpointslices.discovery.k8s.io"})
_BLOCKED = ("Waiting", "Stuck", "Unschedulable")
# On its way by itself: no news.
_ITS_OWN = frozenset(
    {
        "PodsUnavailable", "MissingPods", "SurplusPods", "RollingOut", "Scaling", "ToldAMomentAgo",
        "PodsInTransition", "Rescaling", "DependentsRemain", "OwnersGone", "ContentsRemain",
        "Evicting", "NotDue", "PodsRunning",
    }
)  # fmt: skip


class IncidentMoment(NamedTuple):
    at: float
    who: str
    kind: str
    about: str
    what: str
    decision: str = ""
    times: int = 1
    last: float = 0.0


class BlockedSpan(NamedTuple):
    """One object that one controller could not go on with, for one reason, from its first to its last record of it.
    `lifted`: the record with which that was over; None: it was not, within the capture."""

    controller: str
    about: str
    reason: str
    message: str
    first: Json
    last: Json
    times: int
    lifted: Json | None


def records_of(artifact: Artifact, stream: str = DECISIONS) -> Iterator[Json]:
    for line in artifact.lines:
        if line.stream == stream:
            yield codec.decode(bytes(line.body))


def moments_of(artifact: Artifact, spans: Iterable[BlockedSpan]) -> list[IncidentMoment]:
    found = [*_written(artifact), *_decided(artifact)]
    for span in spans:
        until = (
            f" until {span.lifted['time'][11:19]}"
            if span.lifted is not None
            else " and still does at the end"
        )
        times = f", {span.times} decisions" if span.times > 1 else ""
        what = f"waits{until}: {span.reason}: {span.message}{times}"
        found.append(
            IncidentMoment(
                parse_time(span.first["time"]),
                span.controller,
                "waits",
                span.about,
                what,
                span.first.get("id", ""),
            )
        )
    found.sort(key=lambda each: each.at)
    return merged(found)


def merged(moments: Iterable[IncidentMoment]) -> list[IncidentMoment]:
    """What one does to many objects alike, one right after the other, is told once."""
    told: list[IncidentMoment] = []
    for each in moments:
        before = told[-1] if told else None
        if before is not None and _said(before) == _said(each):
            told[-1] = before._replace(times=before.times + 1, last=each.at)
        else:
            told.append(each._replace(last=each.at))
    return told


def _said(moment: IncidentMoment) -> object:
    return moment.who, moment.kind, moment.about.partition("/")[0], moment.what


def blocked_spans(artifact: Artifact) -> list[BlockedSpan]:
    """The longest first."""
    refused = {record["of"] for record in records_of(artifact) if record.get("outcome") == "refused"}
    # A turn that found all as it should be ends what was waited for, though nothing was done.
    settled = [record for record in records_of(artifact, TURNS) if record.get("verdict") == "Settled"]
    open_spans: dict[tuple[str, str], BlockedSpan] = {}
    done: list[BlockedSpan] = []
    for record in sorted((*records_of(artifact), *settled), key=_order):
        if "object" not in record or "of" in record or "id" not in record:
            continue
        place = (record["controller"], record["object"])
        reason = _reason(record)
        before = open_spans.get(place)
        if before is not None and record["id"] in refused:
            continue  # one more attempt that came to nothing
        if before is not None and reason != before.reason:
            done.append(before._replace(lifted=record))
            del open_spans[place]
            before = None
        if not reason or reason in _ITS_OWN:
            continue
        count = record["attempts"][1] - record["attempts"][0] + 1 if record.get("attempts") else 1
        if before is None:
            open_spans[place] = BlockedSpan(
                *place, reason, record.get("message") or record.get("reason", ""), record, record, count, None
            )
        else:
            open_spans[place] = before._replace(last=record, times=before.times + count)
    done += open_spans.values()
    return sorted(done, key=lambda each: (-(_end(each) - parse_time(each.first["time"])), each.about))


def _order(record: Json) -> tuple[str, int]:
    """Of decisions of one instant the one with the lower number came first."""
    number = str(record.get("id", "")).rpartition("-")[2].partition(".")[0]
    return record["time"], int(number or 0)


def _end(span: BlockedSpan) -> float:
    return parse_time((span.lifted or span.last)["time"])


def _reason(record: Json) -> str:
    acts = record.get("effects") and "held" not in record  # what is held back reports meanwhile
    if record["verdict"] not in _BLOCKED or acts or record.get("node"):
        return ""
    if record["verdict"] == "Unschedulable":
        return "Unschedulable"
    return str(record.get("reason", ""))


def _decided(artifact: Artifact) -> Iterator[IncidentMoment]:
    for record in records_of(artifact):
        at = parse_time(record["time"])
        if "term" in record:
            what = f"leads from here on, fairlead {record.get('version', '')}".rstrip()
            yield IncidentMoment(at, str(record.get("identity", "plane")), "leads", "", what)
        elif record.get("outcome", "conflict") not in _QUIET_OUTCOMES:
            why = record.get("trouble") or record.get("message") or ""
            what = f"{record['outcome']}: {why}" if why else str(record["outcome"])
            yield IncidentMoment(
                at, record["controller"], record["outcome"], record.get("object", ""), what, record["of"]
            )


def _written(artifact: Artifact) -> Iterator[IncidentMoment]:
    """What people, machines and other programs wrote."""
    history = CapturedHistory(artifact)
    for line in records_of(artifact, AUDIT):
        about, user = line.get("object") or {}, str(line.get("user", ""))
        group = about.get("group", "")
        resource = f"{about.get('resource', '')}.{group}" if group else about.get("resource", "")
        is_machine = resource == "nodes" and line["verb"] in ("create", "delete")
        if resource in _QUIET_RESOURCES or (user.startswith((_PLANE, _NODE)) and not is_machine):
            continue
        key = Key(resource, about.get("namespace", ""), about.get("name", ""))
        sub = f"/{about['subresource']}" if about.get("subresource") else ""
        code = line.get("code", 0)
        what = f"{line['verb']}{sub}"
        if code >= 400:
            what += f" is refused ({code}) {line.get('message', '')}".rstrip()
        elif told := _change(history, key, line):
            what += f": {told}"
        text = "/".join(part for part in key if part)
        yield IncidentMoment(parse_time(line["time"]), user, "asks", text, what, line.get("decision", ""))


def _change(history: CapturedHistory, key: Key, line: Json) -> str:
    if line["verb"] not in ("patch", "update") or not line.get("revision"):
        return ""
    before = history.version(key, line.get("revisionBefore", 0))
    after = history.version(key, line["revision"])
    if before is None or after is None or after.change_type == DELETED:
        return ", ".join(line.get("changed") or ())
    old, new = codec.decode(before.entry.data), codec.decode(after.entry.data)
    return told_changes(key.resource, old, new, "spec", "data") or ", ".join(line.get("changed") or ())
