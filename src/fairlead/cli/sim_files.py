"""`fairlead sim replay`, `show` and `test`: what can be done with the artifact of a run.

An artifact is made where a run fails (`fairlead sim run --artifacts DIR`, `fairlead sim zoo --artifacts DIR`).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from fairlead.cli import options as shared
from fairlead.cli.output import print_json
from fairlead.core.errors import OperatorError
from fairlead.replay.artifact import Artifact, read_artifact
from fairlead.replay.page import QUIET, timeline_page
from fairlead.sim.account import account, shown
from fairlead.sim.player import play_again, trail_of

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
        "--to", type=Path, metavar="TEST.py", help="where to (default: beside the artifact, test_NAME.py)"
    )
    test.set_defaults(run=_write_test)


def _file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the artifact")


def load(file: Path) -> Artifact:
    try:
        return read_artifact(file.read_bytes())
    except OSError as error:
        raise OperatorError(f"{file} cannot be read: {error.strerror}") from None


def _replay(options: argparse.Namespace) -> int:
    artifact = load(options.file)
    plant = "" if options.unplanted else options.plant
    replayed = play_again(artifact, plant)
    same = replayed.divergence is None
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
        print(f"not the same run: {replayed.divergence}")
        print(
            f"now it breaks {broken}"
            if broken
            else f"now it breaks nothing (recorded: {artifact.head.invariant})"
        )
    return 0 if same else 1


def _show(options: argparse.Namespace) -> int:
    artifact = load(options.file)
    trail = trail_of(artifact)
    told = account(trail)
    lines = list(told.lines()) if told is not None else ["nothing was violated"]
    if options.html is not None:
        title = f"{artifact.head.world}: {artifact.head.invariant or 'a run'}"
        options.html.write_text(timeline_page(title, lines, artifact.steps), encoding="utf-8")
        print(f"wrote {options.html}")
        return 0
    print("\n".join(lines))
    print()
    width = max((len(step.actor) for step in trail), default=0)
    for step in trail:
        if options.all or step.kind not in QUIET:
            print(f"{step.ms / 1000:>9.3f}  {step.actor:<{width}}  {shown(step)}"[:_TEXT])
    return 0


def _write_test(options: argparse.Namespace) -> int:
    artifact = load(options.file)
    name = "".join(each if each.isalnum() else "_" for each in options.file.stem).strip("_").lower()
    target = options.to or options.file.with_name(f"test_{name}.py")
    if target.exists():
        raise OperatorError(f"{target} is there already: name another file with --to")
    head = artifact.head
    text = _TEST.format(
        title=f"{head.invariant}, found in the world {head.world}.",
        message=head.message.replace("\\", "\\\\").replace('"""', "'''"),
        file=options.file.name,
        name=name,
        invariant=head.invariant,
    )
    target.write_text(text, encoding="utf-8")
    print(f"wrote {target}")
    return 0
