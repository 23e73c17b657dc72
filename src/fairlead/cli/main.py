"""The `fairlead` command: finds the verb, imports its file only, runs it, turns errors into one sentence.

A verb's file has `EPILOG`, its examples, and `configure(parser)`, which sets the default `run`: a function of the
options that returns the exit code. Nothing here imports a server, a TLS library or a parser of YAML: `fairlead --help`
must answer at once. Exit codes are those of `core/errors.py`; docs/reference/cli.md lists them.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from fairlead.core.errors import FairleadError, UsageError

INTERRUPTED, PIPE_CLOSED = 130, 141


class Verb(NamedTuple):
    name: str
    module: str
    summary: str


# In the order of the help. A verb is in the file of its name, or in `verb.py` of the folder of its name.
_FOLDERS = frozenset(("incident", "override", "runbook", "sim"))
_VERBS = {
    "run": {
        "up": "run a whole plane on this machine and say how to use it",
        "serve": "run a server, quietly, under a service manager",
        "agent": "run a node, whose pods are processes of this machine",
        "control": "run the scheduler and controllers beside an API server elsewhere",
        "kinds": "print the kinds of fairlead.dev, to install them in a Kubernetes",
        "status": "show whether a plane runs on a data directory, and how it is doing",
        "stop": "end the plane of a data directory properly, and wait for it",
    },
    "look": {
        "get": "show objects, now or as they were at an older revision",
        "audit": "show who changed what, and which fields",
        "decisions": "show what the controllers decided, and on which revisions",
        "queues": "show what each controller has before it",
        "progress": "show how far a workload's pods have come and what holds them up",
    },
    "explain": {
        "timeline": "show what happened to an object, who did it and why",
        "debug": "show who stands where about a workload, and what stops it",
        "explain": "show why a pod is where it is, or why it is nowhere",
        "why-not": "show what each filter says of one pod on one node",
        "plan": "show where a manifest's pods would go and whom they would evict",
        "forecast": "show what a change would lead to, and which controllers it would fight",
        "coupling": "show who can change what a controller decides on without calling it",
        "incident": "keep what was decided, and on what, in a file",
        "replay": "run every decision of an incident again, and say which differ",
        "chaos": "inject faults into a plane of one's own for a while, and keep what happened",
    },
    "intervene": {
        "override": "pause, avoid, drain and the like for a while, and say why; approve, end, report",
        "overrides": "show what people have laid down for a while, and until when",
        "runbook": "list, read, try and run runbooks, and answer or abort their runs",
        "drain": "take a node out of use for a reason, and its pods away within their budgets",
        "repair": "show what is left over, what is done about it, and what only people can",
        "grant": "ask for, approve and review rights that end by themselves",
        "grants": "show which grants wait, hold, or are to be reviewed",
        "freezes": "show which freezes forbid what, now or at a time to come",
    },
    "keep": {
        "token": "create, list and revoke credentials",
        "backup": "copy a data directory into one file, also while the server runs",
        "restore": "make a data directory from a backup",
        "check": "read all of a data directory, and say what is damaged and what a backup has of it",
    },
    "other": {
        "sim": "run the plane in virtual time, with faults, and check what must always hold",
        "completion": "print a script with which a shell completes this command",
        "version": "show the version",
    },
}
VERBS = tuple(
    Verb(name, f"fairlead.cli.{name.replace('-', '_')}{'.verb' if name in _FOLDERS else ''}", summary)
    for verbs in _VERBS.values()
    for name, summary in verbs.items()
)

_DESCRIPTION = "A scheduler control plane that explains, can be intervened in, and replays."
_EPILOG = """examples:
  fairlead up                               start; everything is kept in ./fairlead-data
  export KUBECONFIG=fairlead-data/kubeconfig
  kubectl create configmap greeting --from-literal=text=hello
  fairlead get configmaps                   or kubectl get configmaps
  fairlead audit --limit 5                  who did what

`fairlead VERB --help` explains one verb. Exit codes: 0 done, 1 refused or failed, 2 wrong usage,
3 data directory unusable, 4 data directory in use, 5 newer format, 6 no server answers, 7 not found.
"""


class Parser(argparse.ArgumentParser):
    """argparse, but a mistake is a UsageError like any other error of a command."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}: see `{self.prog} --help`")


def build_parser(chosen: str | None) -> argparse.ArgumentParser:
    """All verbs by name and summary; only the chosen one is imported and gets its options."""
    parser = Parser(
        prog="fairlead",
        description=_DESCRIPTION,
        usage="fairlead [-h] VERB ...",
        epilog=f"{_grouped()}\n\n{_EPILOG}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verbs = parser.add_subparsers(prog="fairlead", help=argparse.SUPPRESS, parser_class=Parser)
    for verb in VERBS:
        sub = verbs.add_parser(
            verb.name,
            description=verb.summary[0].upper() + verb.summary[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if verb.name == chosen:
            module = importlib.import_module(verb.module)
            sub.epilog = module.EPILOG
            module.configure(sub)
    return parser


def _grouped() -> str:
    width = max(len(verb.name) for verb in VERBS)
    lines = []
    for title, verbs in _VERBS.items():
        lines += [f"{title}:", *(f"  {name:<{width}}  {summary}" for name, summary in verbs.items())]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry of the console script."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _have_streams()
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except FairleadError as error:
        return _say(str(error), error.exit_code)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has left. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except Exception as error:
        # The last resort: a person gets a sentence, never a traceback.
        if os.environ.get("FAIRLEAD_DEBUG"):
            raise
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            return _say(f"the output could not be written: {error.strerror}; write it somewhere else", 1)
        told = str(error).splitlines()[0] if str(error) else "no further message"
        return _say(
            f"unexpected {type(error).__name__} ({told}): this is a defect; run again with FAIRLEAD_DEBUG=1"
            " to see where, and report that",
            1,
        )


def _have_streams() -> None:
    """Started with its output closed (`>&-`), a program has no stream at all: what it says then goes nowhere."""
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["help"]:  # as other commands have it
        arguments = [*arguments[1:], "--help"]
    elif arguments == ["--version"]:
        arguments = ["version"]
    chosen = next((argument for argument in arguments if not argument.startswith("-")), None)
    if chosen is not None and chosen not in {verb.name for verb in VERBS}:
        raise UsageError(f'there is no verb "{chosen}"{_similar(chosen)}: see `fairlead --help`')
    parser = build_parser(chosen)
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        verb = f"fairlead {chosen}" if chosen else "fairlead"
        raise UsageError(f"unrecognized arguments: {' '.join(unknown)}: see `{verb} --help`")
    if not hasattr(options, "run"):
        parser.print_help()
        return 0
    return int(options.run(options))


def _similar(typed: str) -> str:
    from fairlead.cli.resources import did_you_mean  # only for those who mistyped

    return did_you_mean(typed, [verb.name for verb in VERBS])


def _say(message: str, code: int) -> int:
    sys.stdout.flush()
    print(f"fairlead: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
