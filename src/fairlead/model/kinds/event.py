"""Event (v1): something that happened to an object, for people to read.

Written by controllers and the scheduler in great number. Two generations of the format meet here: the
older counts repeats in `count`, the newer sets `eventTime` and must say who reports.
"""

from __future__ import annotations

from collections.abc import Callable

from fairlead.core.problems import Problems
from fairlead.model.cells import UNKNOWN, since
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.model.marks import DECISION
from fairlead.model.names import label_key_problems

_SHORT_MAX = 128
#: bound: objects | message of an Event | 422; what the server itself tells is cut
MESSAGE_MAX = 1024


def _validate(event: Json, problems: Problems) -> None:
    namespace = (event.get("metadata") or {}).get("namespace") or ""
    involved = (event.get("involvedObject") or {}).get("namespace") or ""
    if event.get("eventTime"):
        homeless = ("default", "kube-system")
        _validate_report(event, problems)
    else:
        homeless = ("default", "")
    agrees = namespace == involved if involved else namespace in homeless
    if not agrees:
        problems.invalid("involvedObject.namespace", involved, "does not match event.namespace")


def _validate_report(event: Json, problems: Problems) -> None:
    """What the newer format asks for."""
    reporter = event.get("reportingComponent") or ""
    if not reporter:
        problems.required("reportingComponent")
    else:
        for text in label_key_problems(reporter):
            problems.invalid("reportingComponent", reporter, text)
    for field in ("reportingInstance", "action", "reason"):
        value = event.get(field) or ""
        if not value:
            problems.required(field)
        elif len(value) > _SHORT_MAX:
            problems.invalid(field, value, f"can have at most {_SHORT_MAX} characters")
    message = event.get("message") or ""
    if len(message) > MESSAGE_MAX:
        problems.invalid("message", message, f"can have at most {MESSAGE_MAX} characters")


def _first_seen(event: Json, now: float) -> Cell:
    return since(event.get("firstTimestamp") or event.get("eventTime"), now)


def _last_seen(event: Json, now: float) -> Cell:
    series = event.get("series")
    if series:
        return since(series.get("lastObservedTime"), now)
    if event.get("lastTimestamp"):
        return since(event["lastTimestamp"], now)
    return _first_seen(event, now)


def _count(event: Json, now: float) -> Cell:
    series = event.get("series")
    if series:
        return series.get("count") or 0
    return event.get("count") or 1


def _object(event: Json, now: float) -> Cell:
    involved: Json = event.get("involvedObject") or {}
    kind, name = (involved.get("kind") or "").lower(), involved.get("name")
    return f"{kind}/{name}" if name else kind


def _reporter(event: Json) -> str:
    return (event.get("source") or {}).get("component") or event.get("reportingComponent") or ""


def _source(event: Json, now: float) -> Cell:
    host = (event.get("source") or {}).get("host") or event.get("reportingInstance") or ""
    return ", ".join(part for part in (_reporter(event), host) if part)


def _text(field: str, missing: str = "") -> Callable[[Json, float], Cell]:
    return lambda event, now: (event.get(field) or missing).strip()


def _involved(field: str) -> Callable[[Json], str]:
    return lambda event: (event.get("involvedObject") or {}).get(field) or ""


KIND = Kind(
    group="",
    version="v1",
    kind="Event",
    plural="events",
    namespaced=True,
    schema="Event",
    short_names=("ev",),
    columns=(
        Column("Last Seen", _last_seen, description="Time since it last happened."),
        Column("Type", _text("type"), description="Normal or Warning."),
        Column("Reason", _text("reason"), description="One word for the cause."),
        Column("Object", _object, description="What it happened to."),
        Column(
            "Subobject",
            lambda event, now: _involved("fieldPath")(event),
            priority=1,
            description="Part of the object that it happened to.",
        ),
        Column("Source", _source, priority=1, description="Who reported it."),
        Column("Message", _text("message"), description="What happened, in a sentence."),
        Column("First Seen", _first_seen, priority=1, description="Time since it first happened."),
        Column("Count", _count, type="integer", priority=1, description="How often it happened."),
        Column(
            "Name",
            lambda event, now: (event.get("metadata") or {}).get("name") or UNKNOWN,
            format="name",
            priority=1,
            description="Name of the event.",
        ),
    ),
    generation=False,
    validate=_validate,
    free_texts=(
        ("involvedObject", "name"),
        ("involvedObject", "uid"),
        ("metadata", "annotations", DECISION),
        ("message",),
    ),
    free_times=(("firstTimestamp",), ("lastTimestamp",)),
    selectable={
        "involvedObject.kind": _involved("kind"),
        "involvedObject.namespace": _involved("namespace"),
        "involvedObject.name": _involved("name"),
        "involvedObject.uid": _involved("uid"),
        "involvedObject.apiVersion": _involved("apiVersion"),
        "involvedObject.resourceVersion": _involved("resourceVersion"),
        "involvedObject.fieldPath": _involved("fieldPath"),
        "reason": lambda event: event.get("reason") or "",
        "reportingComponent": lambda event: event.get("reportingComponent") or "",
        "source": _reporter,
        "type": lambda event: event.get("type") or "",
    },
)
