"""The report on a captured incident, for the post-mortem: one page that is made from the file alone.

    report_of(artifact, what_ifs) -> IncidentReport        the parts, as data
    lines_of(report)                                       the same as text
    steps_of(report)                                       its moments as steps of a page with lanes (`replay/page.py`)

Timeline, what held things up and what lifted it, inputs that were read too old, whether every decision comes out the
same again, and what would have been different without each override, or under another policy. Pure; takes as long as it
takes. Shown by `cli/incident/report.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fairlead.core.times import microtime, parse_time
from fairlead.explain.incident.causes import Lifted, StaleReads, stale_reads, what_lifted, written_at
from fairlead.explain.incident.moments import (
    BlockedSpan,
    IncidentMoment,
    blocked_spans,
    moments_of,
    records_of,
)
from fairlead.model.views import OVERRIDES
from fairlead.replay.artifact import Artifact, RecordedStep
from fairlead.replay.replaying import DifferentDecision, Replay, WhatIf, cast_of, replay
from fairlead.replay.stored import CapturedHistory

#: bound: plane | moments that the text of an incident's report tells | the first and the last; a page has all
MOMENTS_TOLD_MAX = 80
#: bound: plane | overrides without which an incident is decided again for its report | name one with --without-override
OVERRIDES_TRIED_MAX = 8
_SHOWN = 10
_NAMED = 3


class WhatIfTold(NamedTuple):
    called: str
    found: Replay


class IncidentReport(NamedTuple):
    since: str
    until: str
    version: str
    namespace: str
    objects: int
    changes: int
    controllers: dict[str, int]  # how many decisions of each were run again
    leaders: tuple[str, ...]
    moments: list[IncidentMoment]
    blocked: list[BlockedSpan]
    lifted: list[Lifted]
    stale: list[StaleReads]
    again: Replay
    what_ifs: tuple[WhatIfTold, ...]


def report_of(artifact: Artifact, asked: Sequence[tuple[str, WhatIf]] = ()) -> IncidentReport:
    """`asked`: what-ifs by what they are called, besides those without each override."""
    history = CapturedHistory(artifact)
    overrides = history.keys(OVERRIDES.name)[:OVERRIDES_TRIED_MAX]
    names = [f"{key.namespace}/{key.name}" for key in overrides]
    what_ifs = [*((f"without override {name}", WhatIf(without_override=name)) for name in names), *asked]
    spans = blocked_spans(artifact)
    again, written = replay(artifact), written_at(artifact)
    cast = cast_of(artifact)
    return IncidentReport(
        since=artifact.head.since,
        until=artifact.head.until,
        version=artifact.head.fairlead,
        namespace=artifact.head.namespace,
        objects=len(artifact.objects),
        changes=len(artifact.changes),
        controllers=again.controllers,
        leaders=tuple(
            dict.fromkeys(str(each["identity"]) for each in records_of(artifact) if "term" in each)
        ),
        moments=moments_of(artifact, spans),
        blocked=spans,
        lifted=what_lifted(artifact, history, cast, spans, written),
        stale=stale_reads(artifact, written),
        again=again,
        what_ifs=tuple(WhatIfTold(name, replay(artifact, what_if)) for name, what_if in what_ifs),
    )


def lines_of(report: IncidentReport) -> Iterator[str]:
    yield f"Incident, {report.since} to {report.until}"
    only = f", namespace {report.namespace}" if report.namespace else ""
    led = f"; led by {', '.join(report.leaders)}" if report.leaders else ""
    yield f"fairlead {report.version}{led}{only}; {report.objects} objects at the start, {report.changes} changes"
    yield ""
    yield "TIMELINE (UTC)"
    yield from _timeline(report.moments)
    yield ""
    yield "WHAT HELD THINGS UP"
    yield from _blocked(report.blocked)
    yield ""
    yield "WHAT LIFTED IT"
    yield from _lifted(report.lifted)
    yield ""
    yield "INPUTS THAT WERE READ TOO OLD"
    for each in report.stale[:_SHOWN]:
        yield (
            f"  {each.controller} decided {each.decisions} times on {each.resource} that lacked up to"
            f" {each.behind_max} changes ({each.example})"
        )
    if not report.stale:
        yield "  none: every decision had been told of what it read"
    yield ""
    yield "RUN AGAIN"
    yield from _again(report.again)
    yield ""
    yield "WHAT WOULD HAVE BEEN DIFFERENT"
    for name, found in report.what_ifs:
        yield f"  {name}: {found.different or 'none'} of {found.decisions} decisions"
        yield from (f"    {_differs(each)}" for each in found.differences[:_NAMED])
    if not report.what_ifs:
        yield "  nothing was tried: there was no override; name a policy with --policy"


def _timeline(moments: list[IncidentMoment]) -> Iterator[str]:
    half = MOMENTS_TOLD_MAX // 2
    shown = moments if len(moments) <= MOMENTS_TOLD_MAX else [*moments[:half], *moments[-half:]]
    for place, each in enumerate(shown):
        if len(shown) < len(moments) and place == half:
            yield f"  ... {len(moments) - len(shown)} more"
        again = f" (and {each.times - 1} more until {microtime(each.last)[11:19]})" if each.times > 1 else ""
        about = f"{each.about} " if each.about else ""
        id_ = f" [{each.decision}]" if each.decision else ""
        yield f"  {microtime(each.at)[11:23]}  {each.who}  {about}{each.what}{again}{id_}"
    if not moments:
        yield "  nothing that people or machines did, and nothing that waited"


def _blocked(spans: list[BlockedSpan]) -> Iterator[str]:
    by_reason: dict[tuple[str, str], list[BlockedSpan]] = {}
    for span in spans:
        by_reason.setdefault((span.controller, span.reason), []).append(span)
    for (controller, reason), several in sorted(by_reason.items(), key=lambda each: -_seconds(each[1])):
        names = list(dict.fromkeys(each.about for each in several))
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        ended = sum(each.lifted is None for each in several)
        still = f"; {ended} to the end" if ended else ""
        yield f"  {controller}: {reason}, {_seconds(several):.1f} s in all{still}: {', '.join(names[:_NAMED])}{more}"
        yield f"    {several[0].message}"
    if not spans:
        yield "  nothing waited for anything but itself"


def _seconds(spans: Sequence[BlockedSpan]) -> float:
    return sum(
        parse_time((each.lifted or each.last)["time"]) - parse_time(each.first["time"]) for each in spans
    )


def _lifted(found: list[Lifted]) -> Iterator[str]:
    for each in found:
        span = each.span
        assert span.lifted is not None
        by = "; ".join(each.by) or each.unread or "several inputs together"
        yield f"  {span.controller} on {span.about}, {span.lifted['time'][11:23]} ({span.lifted.get('id', '')}): {by}"
    if not found:
        yield "  nothing that was held up went on"


def _again(found: Replay) -> Iterator[str]:
    told = "all equal" if not found.different else f"{found.equal} equal, {found.different} different"
    yield f"  {found.decisions} decisions: {told}"
    if first := found.first_divergence:
        yield f"  the first that differs: {_differs(first)}"
    for why, count in Counter(found.skipped).most_common():
        yield f"  {count} not run again: {why}"


def _differs(each: DifferentDecision) -> str:
    then, now = (told.get("verdict") or told.get("node") or "nothing" for told in (each.recorded, each.again))
    effects = len(each.again.get("effects") or ())
    does = f" with {effects} effects" if effects else ""
    return f"{each.time[11:23]} {each.controller} on {each.object}: {then}, then {now}{does} ({each.id})"


def steps_of(report: IncidentReport) -> list[RecordedStep]:
    """For the page: a lane for everybody who acted."""
    start = report.moments[0].at if report.moments else 0.0
    return [
        (
            round((each.at - start) * 1000),
            each.who,
            each.kind,
            f"{each.about} {each.what}".strip(),
            each.decision,
            -1,
        )
        for each in report.moments
    ]
