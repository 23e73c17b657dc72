"""`fairlead incident report`: one page on a captured incident, for the post-mortem; text, HTML or JSON."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlead.cli import options as shared
from fairlead.cli.output import print_json
from fairlead.core.errors import UsageError

if TYPE_CHECKING:
    from fairlead.explain.incident.moments import BlockedSpan
    from fairlead.explain.incident.report import IncidentReport
    from fairlead.replay.replaying import Replay


def configure_report(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = actions.add_parser("report", help="write a page on an incident", allow_abbrev=False)
    parser.add_argument("file", type=Path, metavar="FILE", help="a captured incident")
    parser.add_argument(
        "--policy",
        metavar="FILE",
        default="",
        help="also what this SchedulingPolicy would have placed elsewhere",
    )
    shared.add_output(parser, "text", "html", "json")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from fairlead.cli.replay import read_policy
    from fairlead.cli.sim.artifacts import load_artifact
    from fairlead.explain.incident.report import lines_of, report_of, steps_of
    from fairlead.replay.artifact import LIVE
    from fairlead.replay.replaying import WhatIf

    artifact = load_artifact(options.file)
    if artifact.head.origin != LIVE:
        raise UsageError(f"{options.file} is of the simulator: `fairlead sim show` tells of it")
    asked = [(f"under {options.policy}", WhatIf(read_policy(options.policy)))] if options.policy else []
    report = report_of(artifact, asked)
    if options.output == "html":
        from fairlead.replay.page import timeline_page

        print(timeline_page(f"Incident of {report.since}", lines_of(report), steps_of(report)))
    elif options.output == "json":
        print_json(told_report(report))
    else:
        print("\n".join(lines_of(report)))
    return 0


def told_report(report: IncidentReport) -> dict[str, Any]:
    import msgspec

    from fairlead.core.times import microtime

    def spans(found: list[BlockedSpan]) -> list[dict[str, Any]]:
        return [
            {
                **{
                    name: getattr(each, name)
                    for name in ("controller", "about", "reason", "message", "times")
                },
                "since": each.first["time"],
                "until": each.lifted["time"] if each.lifted is not None else None,
                "decisions": [each.first.get("id", ""), (each.lifted or each.last).get("id", "")],
            }
            for each in found
        ]

    def replayed(found: Replay) -> dict[str, Any]:
        told: dict[str, Any] = msgspec.to_builtins(found)
        return {**told, "differences": [each._asdict() for each in found.differences]}

    return {
        **{
            name: getattr(report, name)
            for name in ("since", "until", "version", "namespace", "objects", "changes")
        },
        "leaders": report.leaders,
        "controllers": report.controllers,
        "moments": [
            {**each._asdict(), "at": microtime(each.at), "last": microtime(each.last)}
            for each in report.moments
        ],
        "blocked": spans(report.blocked),
        "lifted": [{**spans([each.span])[0], "by": each.by, "unread": each.unread} for each in report.lifted],
        "stale": [each._asdict() for each in report.stale],
        "again": replayed(report.again),
        "whatIfs": [{"called": each.called, **replayed(each.found)} for each in report.what_ifs],
    }
