"""`fairlead replay FILE --closed`: a plane that is told what the captured one was told, and what its writes come to."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fairlead.cli.output import print_json
from fairlead.core.errors import UsageError
from fairlead.replay.artifact import LIVE, Artifact

if TYPE_CHECKING:
    from fairlead.sim.closed.player import ClosedReplay


def replay_closed(artifact: Artifact, options: argparse.Namespace) -> int:
    from fairlead.sim.closed.player import play

    if artifact.head.origin != LIVE:
        raise UsageError("--closed is for a captured incident; one of the simulator is always played so")
    if options.policy or options.without_override:
        raise UsageError("--closed runs the plane as it was told: leave --policy and --without-override out")
    found = play(artifact, options.plant)
    if options.output == "json":
        print_json(
            {
                "commits": found.commits,
                "equal": found.equal,
                "first_divergence": None if found.divergence is None else found.divergence._asdict(),
                "violations": found.violations,
                "deliveries": found.deliveries,
                "others": found.others,
                "starts": found.starts,
                "faults": found.faults,
            }
        )
    else:
        _print(found)
    return 0 if found.is_same and not found.violations else 1


def _print(found: ClosedReplay) -> None:
    faults = ", ".join(f"{name} {count}" for name, count in found.faults.items()) or "none"
    print(
        f"{found.deliveries} deliveries, {found.others} writes of others and {found.starts} starts of a plane fed;"
        f" faults: {faults}"
    )
    first = found.divergence
    if first is None:
        print(f"{found.commits} commits of the plane: all equal")
    else:
        print(f"{found.commits} commits of the plane, {found.equal} equal before the first that differs:")
        print(f"  {first.time} {first.controller}: {first.what}")
        print(f"    then:  {first.recorded}")
        print(f"    again: {first.again}")
    for violation in found.violations[:20]:
        print(f"broken: {violation}")
    if not found.violations:
        print("invariants hold")
