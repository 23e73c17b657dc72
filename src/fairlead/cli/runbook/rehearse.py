"""`fairlead runbook rehearse`: a run in virtual time on the plane as it is now, step by step; nothing is changed.

Where `run --dry-run` says whether a run could begin, this carries all of it out, in a world made of the live objects
(`sim/preview/rehearsal.py`): what each step waits for, what controllers do meanwhile, how it ends, what is left.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlead.cli import options as shared
from fairlead.cli.client import ApiClient
from fairlead.cli.output import cell, hint, print_json, print_table
from fairlead.core.errors import UsageError

if TYPE_CHECKING:
    from fairlead.model.runbooks.procedure import Procedure
    from fairlead.sim.preview.change import ProposedChange
    from fairlead.sim.preview.rehearsal import Rehearsal, Rehearsed
    from fairlead.sim.preview.state import LiveState

Add = Callable[..., argparse.ArgumentParser]
_ACTS_SHOWN = 30


def configure(add: Add) -> None:
    parser = add(
        "rehearse", "run one in virtual time on the plane as it is, and see how it ends", rehearse_run
    )
    parser.add_argument("name", metavar="NAME")
    parser.add_argument(
        "--set", action="append", default=[], metavar="PARAM=VALUE", dest="given",
        help="a parameter; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--answer", action="append", default=[], metavar="STEP.FIELD=VALUE",
        help="what is answered to a step that asks; what is not given is answered so that it goes on",
    )  # fmt: skip
    parser.add_argument(
        "--meanwhile", action="append", default=[], metavar="STEP=FILE",
        help="edits and objects that somebody applies while the run is at that step",
    )  # fmt: skip
    parser.add_argument(
        "--until", metavar="DURATION", default="6h", help="how long the run may take (default: 6h)"
    )
    parser.add_argument(
        "--from", dest="state", type=Path, metavar="FILE", help="a state that was saved, instead of now"
    )
    shared.add_namespace(parser, "namespace of the run (default: that of the kubeconfig)")


def rehearse_run(client: ApiClient, options: argparse.Namespace) -> int:
    import gc

    gc.disable()  # what is made here lives as long as the command
    from fairlead.cli.forecast import parse_until
    from fairlead.cli.live_state import load, read_live
    from fairlead.cli.runbook.verb import look_for, pairs
    from fairlead.sim.preview.rehearsal import Rehearsal, rehearse

    until = parse_until(options.until)
    if options.state is None:
        look_for(client, options.name)
        read = read_live(client)
        state = read.state
        if read.unseen:
            hint(f"you may not list {', '.join(read.unseen)}: what depends on them is not foreseen")
    else:
        state = load(options.state)
    space = options.namespace or client.target.namespace or "default"
    wanted = Rehearsal(
        options.name,
        space,
        pairs(options.given, "--set"),
        answers_of(pairs(options.answer, "--answer")),
        _meanwhile(client, state, options.meanwhile, space),
    )
    if options.state is None:
        wanted = replace(wanted, readings=_readings(client, wanted, state.now))
    found = rehearse(state, wanted, until)
    if options.output == "json":
        print_json(found.as_json())
    else:
        print_rehearsed(options.name, found)
        hint(f"{len(state.objects)} objects at revision {state.revision}; nothing was changed")
    return 0 if found.succeeded else 1


def _readings(client: ApiClient, wanted: Rehearsal, now: float) -> dict[str, Any] | None:
    """What the runbook would measure on the live plane; None where it measures nothing."""
    from fairlead.cli.runbook.readings import read_now
    from fairlead.core.problems import Problems
    from fairlead.model.catalog import CATALOG
    from fairlead.model.runbooks.procedure import compile_procedure
    from fairlead.model.runbooks.running import facts_of, places_of
    from fairlead.model.runbooks.values import read_values

    book = client.get(f"/apis/fairlead.dev/v1/runbooks/{wanted.runbook}")
    procedure = compile_procedure(book["spec"], CATALOG, None, Problems())
    if unknown := not_measured(book["spec"], procedure):
        hint(f"assumed to be none: decisions of {', '.join(unknown)}; a rehearsal does not know custom kinds")
    if not procedure.is_measuring:
        return None
    params = read_values(procedure.params, wanted.params)
    places = places_of(facts_of(wanted.name, wanted.namespace, ""), params, {})
    return read_now(client, procedure, places, now)


def not_measured(spec: dict[str, Any], procedure: Procedure) -> list[str]:
    """Variables of decisions that dropped out: they are about kinds that are not built in."""
    known = {each.name for each in procedure.decisions}
    return [each["name"] for each in spec.get("decisions") or () if each["name"] not in known]


def answers_of(given: dict[str, str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, value in given.items():
        step, dot, field = name.partition(".")
        if not dot or not step or not field:
            raise UsageError(f"--answer {name}={value!r}: say which field of which step: STEP.FIELD=VALUE")
        found.setdefault(step, {})[field] = value
    return found


def _meanwhile(
    client: ApiClient, state: LiveState, given: Sequence[str], space: str
) -> dict[str, ProposedChange]:
    from fairlead.cli.changes import change_of
    from fairlead.cli.runbook.verb import pairs

    files = pairs(given, "--meanwhile")
    return {step: change_of(client, state, [file], (), (), space) for step, file in files.items()}


def print_rehearsed(name: str, found: Rehearsed) -> None:
    if not found.phase:
        print(f"{name} would be refused: {cell(found.message)}")
        return
    if found.steps:
        rows: list[Sequence[Any]] = [
            (
                each.name,
                each.state,
                f"+{each.seconds:g}s",
                f"{each.lasted:g}s" if each.lasted is not None else "",
                each.made,
                each.message,
            )
            for each in found.steps
        ]
        print_table(("STEP", "STATE", "AT", "LASTED", "MADE", "MESSAGE"), rows)
    if found.played:
        print("\nwhat people were taken to do:")
        for each in found.played:
            print(f"  {cell(each)}")
    if found.acts:
        print("\nwhat controllers do meanwhile:")
        shown = found.acts[:_ACTS_SHOWN]
        print_table(
            ("AT", "BY", "DOES", "WHAT", "OF"),
            [
                (f"+{each.seconds:.1f}s", each.by, each.does, f"{each.count} {each.kind}",
                 f"{each.namespace}/{each.of}" if each.namespace else each.of)
                for each in shown
            ],
        )  # fmt: skip
        if len(found.acts) > len(shown):
            print(f"... and {len(found.acts) - len(shown)} lines more: -o json has all")
    print()
    for left in found.left:
        print(f"left: {left}")
    print(f"{found.phase or 'Pending'} after {found.seconds:g} s: {cell(found.message)}")
