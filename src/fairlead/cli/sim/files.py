"""`fairlead sim replay`, `show` and `test`: what can be done with the artifact of a run.

An artifact is made where a run fails (`fairlead sim run --artifacts DIR`, `fairlead sim zoo --artifacts DIR`).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from fairlead.cli import options as shared
from fairlead.cli.output import print_json
from fairlead.cli.replay import replay_incident
from fairlead.cli.sim.artifacts import load_artifact, write_file
from fairlead.core.errors import OperatorError
from fairlead.replay.artifact import LIVE, Artifact
from fairlead.replay.page import QUIET, shown_kind, timeline_page
from fairlead.sim.account import account, shown
from fairlead.sim.player import Replayed, play_again, trail_of

_TEXT = 140
_TEST = '''"""{title}

{message}

Written by `fairlead sim test {file}`.
The artifact beside it holds the run; the test plays it on the code as it is.
"""

from pathlib import Path

from fairlead.testing.replays import assert_holds


def test_{name}() -> None:
    assert_holds(Path(__file__).with_name("{file}"), "{invariant}")
'''
_INCIDENT_TEST = '''"""Every decision of a captured incident comes out as it was on the plane that made it.

Written by `fairlead sim test {file}`.
The capture beside it holds what was decided, and on what; the test runs it again on the code as it is.
"""

from pathlib import Path

from fairlead.testing.replays import assert_replays


def test_{name}() -> None:
    assert_replays(Path(__file__).with_name("{file}"))
'''


def configure_files(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    again = actions.add_parser(
        "replay", help="play the run of an artifact again, and say where it differs", allow_abbrev=False
    )
    _file(again)
    again.add_argument(
        "--plant", default=None, metavar="PACKAGE.MODULE:NAME", help="instead of the artifact's own"
    )
    again.add_argument(
        "--unplanted", action="store_true", help="on the code as it is, without the artifact's plant"
    )
    shared.add_output(again, "text", "json")
    again.set_defaults(run=_replay)
    show = actions.add_parser(
        "show", help="show what happened in the run of an artifact, and why", allow_abbrev=False
    )
    _file(show)
    show.add_argument("--all", action="store_true", help="timers, lists and renewals as well")
    show.add_argument(
        "--html", type=Path, metavar="PAGE", help="write a page with a lane per process instead"
    )
    show.set_defaults(run=_show)
    test = actions.add_parser("test", help="write the regression test of an artifact", allow_abbrev=False)
    _file(test)
    test.add_argument(
        "--to",
        type=Path,
        metavar="TEST.py",
        help="where to, with a copy of the artifact beside it (default: beside the artifact)",
    )
    test.set_defaults(run=_write_test)


def _file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the artifact")


def _replay(options: argparse.Namespace) -> int:
    artifact = load_artifact(options.file)
    if artifact.head.origin == LIVE:
        return replay_incident(artifact, options.output)
    plant = "" if options.unplanted else options.plant
    replayed = play_again(artifact, plant)
    same = replayed.same
    broken = str(replayed.run.violation) if replayed.run.violation else ""
    if options.output == "json":
        told = None
        if replayed.divergence is not None:
            parted = replayed.divergence
            told = {"step": parted.step, "recorded": parted.one, "now": parted.other}
        print_json({"same": same, "digest": replayed.run.digest, "violation": broken, "divergence": told})
    elif same:
        print(f"the same run to the last byte: digest {replayed.run.digest}")
        print(f"it breaks {broken}" if broken else "it breaks nothing")
    else:
        _print_difference(artifact, replayed)
        print(f"now it breaks {broken or 'nothing'} (recorded: {artifact.head.invariant or 'nothing'})")
    return 0 if same else 1


def _print_difference(artifact: Artifact, replayed: Replayed) -> None:
    head = artifact.head
    if replayed.divergence is not None:
        print(f"not the same run (recorded first, then as it is now): {replayed.divergence}")
    else:
        print(f"every step is the same, but not what chance was asked: digest {replayed.run.digest}")
    print(f"recorded by fairlead {head.fairlead} with Python {head.python}, digest {head.digest}")


def _show(options: argparse.Namespace) -> int:
    artifact = load_artifact(options.file)
    trail = trail_of(artifact)
    told = account(trail)
    lines = list(told.lines()) if told is not None else ["nothing was violated"]
    if options.html is not None:
        title = f"{artifact.head.world}: {artifact.head.invariant or 'a run'}"
        write_file(options.html, timeline_page(title, lines, artifact.steps).encode())
        print(f"wrote {options.html}")
        return 0
    print("\n".join(lines))
    print()
    width = max((len(step.actor) for step in trail), default=0)
    for step in trail:
        if options.all or shown_kind(step.kind, step.text) not in QUIET:
            print(f"{step.ms / 1000:>9.3f}  {step.actor:<{width}}  {shown(step)}"[:_TEXT])
    return 0


def _write_test(options: argparse.Namespace) -> int:
    artifact = load_artifact(options.file)
    name = "".join(each if each.isalnum() else "_" for each in options.file.stem).strip("_").lower()
    target = options.to or options.file.with_name(f"test_{name}.py")
    head = artifact.head
    if head.origin == LIVE:
        return _write_incident_test(options.file, target, name)
    if not head.invariant:
        raise OperatorError(f"{options.file} is of a run that broke nothing: there is nothing to test")
    _check_free(options.file, target)
    text = _TEST.format(
        title=f"{head.invariant}, found in the world {head.world}.",
        message=head.message.replace("\\", "\\\\").replace('"""', "'''"),
        file=options.file.name,
        name=name,
        invariant=head.invariant,
    )
    return _keep_test(options.file, target, text)


def _write_incident_test(file: Path, target: Path, name: str) -> int:
    """Of a live plane: every decision of it must come out as it was."""
    _check_free(file, target)
    return _keep_test(file, target, _INCIDENT_TEST.format(file=file.name, name=name))


def _check_free(file: Path, target: Path) -> None:
    beside = target.with_name(file.name)
    for each in (target, *(() if beside.resolve() == file.resolve() else (beside,))):
        if each.exists():
            raise OperatorError(f"{each} is there already: name another test with --to")


def _keep_test(file: Path, target: Path, text: str) -> int:
    beside = target.with_name(file.name)
    write_file(target, text.encode())
    if not beside.exists():
        write_file(beside, file.read_bytes())
    print(f"wrote {target}, which plays {beside}")
    return 0
