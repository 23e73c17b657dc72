"""Events about the objects of a timeline. Those that only repeat what a decision here says are left out.

Called by `telling.py`. An Event names its decision, by whose instant it is put in order: its own has only seconds.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

import msgspec

from fairlead.core.times import parse_time
from fairlead.explain.timeline.ages import Ages
from fairlead.explain.timeline.lines import Line
from fairlead.explain.timeline.moment import EVENT, Moment
from fairlead.model.catalog import CATALOG
from fairlead.model.key import Key
from fairlead.store.contract import Reader

_DECISION = "fairlead.dev/decision"
_EVENTS = "events"


class _Involved(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    name: str = ""
    namespace: str = ""
    api_version: str = ""


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    annotations: dict[str, str] | None = None
    resource_version: str = "0"
    creation_timestamp: str = ""


class _Source(msgspec.Struct, frozen=True, rename="camel"):
    component: str = ""


class _Event(msgspec.Struct, frozen=True, rename="camel"):
    metadata: _Meta = _Meta()
    involved_object: _Involved = _Involved()
    reason: str = ""
    message: str = ""
    type: str = ""
    count: int | None = None
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    reporting_component: str = ""
    source: _Source | None = None


_decode = msgspec.json.Decoder(_Event).decode


def events_about(
    reader: Reader, namespace: str, own: Container[str], decided: Sequence[Line], ages: Ages, since: float
) -> Iterator[Moment]:
    """`decided`: the decisions that are told here, and what became of them."""
    known = {line.record["id"]: line for line in decided if "id" in line.record}
    refused: dict[str, list[float]] = {}  # when, by object
    for line in decided:
        if "of" in line.record or line.record.get("refusals"):
            refused.setdefault(line.objects[0], []).append(line.at)
    for entry in reader.list(_EVENTS, namespace):
        try:
            event = _decode(entry.data)
        except msgspec.MsgspecError:
            continue  # what is no Event tells nothing
        about = _about(event.involved_object)
        decision = (event.metadata.annotations or {}).get(_DECISION, "")
        if about not in own or (event.type == "Normal" and decision in known):
            continue
        first = parse_time(event.first_timestamp or event.metadata.creation_timestamp)
        last = parse_time(event.last_timestamp) if event.last_timestamp else first
        if last + 1.0 < since:
            continue
        count = event.count or 1
        made = [at for at in refused.get(about, ()) if first <= at < first + 1.0]
        at = known[decision].at if count == 1 and decision in known else min(made, default=0.0)
        at = at or (ages.written_at(entry.revision) if count == 1 else 0.0) or first
        who = event.reporting_component or (event.source.component if event.source is not None else "")
        again = f" ({count} times, last at {event.last_timestamp})" if count > 1 else ""
        yield Moment(
            at,
            who.removesuffix("-controller"),
            EVENT,
            about,
            f"{event.reason}: {event.message}{again}",
            decision,
        )


def _about(involved: _Involved) -> str:
    group, _, version = involved.api_version.rpartition("/")
    kind = CATALOG.find_kind(group, version or "v1", involved.kind)
    if kind is None:
        return ""
    return "/".join([part for part in Key(kind.resource, involved.namespace, involved.name) if part])
