"""`fairlead replay FILE --closed`: a plane that is told what the captured one was told, and what its writes come to."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fairlead.cli.output import print_json
from fairlead.core.errors import UsageError
from fairlead.replay.artifact import LIVE, Artifact

if TYPE_CHECKING:
    from fairlead.sim.closed.player import ClosedReplay, MidTerm

_SHOWN = 10


def replay_closed(artifact: Artifact, options: argparse.Namespace) -> int:
    from fairlead.sim.closed.midterm import play

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
                "begins": found.begins,
                "mid_term": None if found.mid_term is None else found.mid_term._asdict(),
                "faults": found.faults,
            }
        )
    else:
        _print(found)
    return 0 if found.is_same and not found.violations else 1


def _print_mid_term(begins: str, found: MidTerm) -> None:
    print(
        f"begun in mid-term, at {begins}: {found.why}, so this plane knew the objects of then, and not what that one"
        " remembered (back-offs, refusals, what was under way)"
    )
    told = (
        ("asked for then and not now; what it wrote was put in", found.unasked),
        ("asked for now and not then; not carried out", found.unmade),
    )
    for said, names in told:
        for name in names[:_SHOWN]:
            print(f"  {said}: {name}")
        if len(names) > _SHOWN:
            print(f"  ... and {len(names) - _SHOWN} more: -o json has them")


def _print(found: ClosedReplay) -> None:
    faults = ", ".join(f"{name} {count}" for name, count in found.faults.items()) or "none"
    print(
        f"{found.deliveries} deliveries, {found.others} writes of others and {found.starts} starts of a plane fed;"
        f" faults: {faults}"
    )
    first = found.divergence
    if found.mid_term is not None:
        _print_mid_term(found.begins, found.mid_term)
    else:
        print(f"begun at {found.begins}, when the plane was started")
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
