"""`fairlead replay`: every decision of a captured incident run again, on this machine, without a server."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.output import hint, print_json, print_table

EPILOG = """examples:
  fairlead incident capture --since 15m -o friday.incident
  fairlead replay friday.incident                       every decision again: all equal, or the first that is not
  fairlead replay friday.incident -o json | jq .first_divergence
  fairlead replay friday.incident --closed              the whole plane again, told the same: the same commits?
  fairlead replay friday.incident --policy packing.yaml       what would have been placed elsewhere
  fairlead replay friday.incident --without-override stop-web  what would have been decided without it

A file of the simulator is played again as well. Each decision is made on the state as it was then, also with --policy
and --without-override: what would have followed is for `fairlead sim from FILE`.
With --closed a plane is told what the plane was told then, and its writes are carried out: of the same version the same
commits come, of another the first that differs is named, and whether invariants hold.
Exit code: 0 all equal, 1 something is different.
"""
_SHOWN = 20


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="an incident, or an artifact of the simulator"
    )
    parser.add_argument(
        "--policy",
        metavar="FILE",
        default="",
        help="place under this SchedulingPolicy instead of the one then",
    )
    parser.add_argument(
        "--without-override",
        metavar="NAME",
        default="",
        help="decide as if this SchedulerOverride had not been there",
    )
    parser.add_argument(
        "--closed",
        action="store_true",
        help="play it from the tape of the plane: what it was told then, and what its writes come to",
    )
    parser.add_argument(
        "--plant",
        default="",
        metavar="PACKAGE.MODULE:NAME",
        help="with --closed: a part of the plane replaced",
    )
    shared.add_output(parser, "text", "json")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from fairlead.cli.sim.artifacts import load_artifact
    from fairlead.replay.artifact import LIVE

    artifact = load_artifact(options.file)
    if options.closed:
        from fairlead.cli.replay_closed import replay_closed

        return replay_closed(artifact, options)
    if artifact.head.origin == LIVE:
        return replay_incident(artifact, options.output, options.policy, options.without_override)
    return _play(artifact, options)


def replay_incident(artifact: Any, form: str, policy_file: str = "", without_override: str = "") -> int:
    from fairlead.replay.replaying import WhatIf, replay

    policy = read_policy(policy_file) if policy_file else None
    what_if = WhatIf(policy, without_override)
    found = replay(artifact, what_if)
    first = found.first_divergence
    if form == "json":
        print_json(
            {
                "decisions": found.decisions,
                "equal": found.equal,
                "different": found.different,
                "skipped": found.skipped,
                "first_divergence": None if first is None else first._asdict(),
                "differences": [each._asdict() for each in found.differences],
                "controllers": found.controllers,
            }
        )
        return 0 if not found.different else 1
    _print(found, is_what_if=what_if != WhatIf())
    return 0 if not found.different else 1


def _print(found: Any, *, is_what_if: bool) -> None:
    times = "decision" if found.decisions == 1 else "decisions"
    if not found.different:
        said = "would have been the same" if is_what_if else "all equal"
        print(f"{found.decisions} {times} run again: {said}")
    elif is_what_if:
        print(f"{found.decisions} {times} run again: {found.different} would have been different")
    else:
        print(f"{found.decisions} {times} run again: {found.equal} equal, {found.different} different")
    for why, count in sorted(found.skipped.items(), key=lambda each: (-each[1], each[0])):
        print(f"{count} not run again: {why}")
    if not found.different:
        return
    print(
        "\nwhat would be different:"
        if is_what_if
        else f"\nthe first that differs: {_named(found.differences[0])}"
    )
    rows = [
        (each.time, each.controller, each.object, _brief(each.recorded), _brief(each.again) or each.why)
        for each in found.differences[:_SHOWN]
    ]
    print_table(("TIME", "CONTROLLER", "OBJECT", "THEN", "AGAIN"), rows)
    if len(found.differences) > _SHOWN:
        hint(f"... and {found.different - _SHOWN} more: -o json has them")


def _named(first: Any) -> str:
    return f"{first.id or first.time}: {first.controller} on {first.object}"


def _brief(told: dict[str, Any]) -> str:
    if "verdict" in told:
        effects = [each.partition(" ")[0] for each in told.get("effects", ())]
        counted = ", ".join(f"{effects.count(name)} {name}" for name in dict.fromkeys(effects))
        return " ".join(filter(None, (told["verdict"], told.get("reason", ""), counted)))
    if "node" in told:
        return f"to {told['node']}" if told["node"] else "nowhere"
    return ", ".join(told)


def read_policy(name: str) -> Any:
    from fairlead.cli.manifests import documents
    from fairlead.core.errors import UsageError
    from fairlead.model.policy.in_use import problem_of
    from fairlead.model.views import Meta, SchedulingPolicy

    found = [each for each in documents([name]) if each["kind"] == "SchedulingPolicy"]
    if len(found) != 1:
        raise UsageError(f"{name} has {len(found)} SchedulingPolicies: exactly one is needed")
    spec, called = found[0].get("spec") or {}, (found[0].get("metadata") or {}).get("name") or "policy"
    policy = SchedulingPolicy(Meta(called, ""), spec)
    if problem := problem_of(policy):
        raise UsageError(f"{name} {problem}")
    return policy


def _play(artifact: Any, options: argparse.Namespace) -> int:
    """A simulated run has choices to play; its decisions are among its steps."""
    from fairlead.core.errors import UsageError
    from fairlead.sim.player import play_again

    if options.policy or options.without_override:
        raise UsageError("--policy and --without-override are for incidents: this file is of the simulator")
    replayed = play_again(artifact)
    decisions = sum(step[2] == "decision" for step in artifact.steps)
    parted = replayed.divergence
    first = None if parted is None else {"step": parted.step, "recorded": parted.one, "again": parted.other}
    if options.output == "json":
        told = {"decisions": decisions, "equal": decisions if replayed.same else None, "different": 0}
        print_json({**told, "same": replayed.same, "first_divergence": first, "skipped": {}})
    elif replayed.same:
        print(f"the same run to the last byte: digest {replayed.run.digest}")
    else:
        print(f"not the same run: {parted or 'only what chance was asked differs'}")
    return 0 if replayed.same else 1
