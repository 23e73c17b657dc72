"""`fairlead audit verify`: follows the chain of each log in a data directory, and says where it breaks first.

Reads the files, not the server: whoever doubts a log should not have to ask the one who wrote it.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from fairlead.cli import options as shared
from fairlead.cli.output import print_json
from fairlead.core.errors import UsageError
from fairlead.core.times import timestamp

if TYPE_CHECKING:
    from fairlead.store.log_chain import Followed

BROKEN = 1  # the exit code
_DIGITS = 64

_EPILOG = """examples:
  fairlead audit verify
  fairlead audit verify --data-dir /var/lib/fairlead
  fairlead audit verify --head audit:1024:9f2c...    that line is still the one it was

Each line has a digest over itself and the line before. What is printed as head stands for all lines up to it: note it
where those who can write the data directory cannot, and give it back with --head. Without one, somebody who makes every
digest anew is not found. A server may run meanwhile. Exit code 1 if a chain is broken.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    shared.data_dir(parser)
    parser.add_argument(
        "--head",
        action="append",
        default=[],
        metavar="LOG:LINE:DIGEST",
        help="a head that was noted before; may be repeated",
    )
    shared.add_output(parser, "text", "json")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from fairlead.runtime.data.checking import follow_chains  # brings the database library along

    heads: dict[str, dict[int, bytes]] = {}
    for text in options.head:
        stream, sequence, digest = _head(text)
        heads.setdefault(stream, {})[sequence] = digest
    followed = follow_chains(options.data_dir, heads)
    whole = all(each.whole for each in followed.values())
    if options.output == "json":
        print_json({"whole": whole, "logs": {name: _document(each) for name, each in followed.items()}})
    else:
        for name, each in followed.items():
            _tell(name, each)
        if not followed:
            print("no line was written yet")
    return 0 if whole else BROKEN


def _head(text: str) -> tuple[str, int, bytes]:
    stream, _, rest = text.partition(":")
    sequence, _, digest = rest.partition(":")
    if not stream or not sequence.isdigit() or len(digest) != _DIGITS:
        raise UsageError(f"--head {text}: write LOG:LINE:DIGEST as `fairlead audit verify` printed it")
    try:
        return stream, int(sequence), bytes.fromhex(digest)
    except ValueError:
        raise UsageError(f"--head {text}: the digest is 64 hexadecimal digits") from None


def _tell(name: str, found: Followed) -> None:
    chain = found.chain
    if found.whole and chain is not None:
        print(f"{name}: {found.lines} lines, none was removed, changed or added")
        print(f"  head {name}:{chain.newest}:{chain.head.hex()}")
    if found.older and found.whole:
        print(f"  {found.older} lines are older than the chain: they were not compared")
    if chain is not None and chain.why == "trimmed":
        print(
            f"  begins at line {chain.first} since {timestamp(chain.since)}: older ones went with retention"
        )
    for sequence, became in found.heads.items():
        if became == "same":
            print(f"  line {sequence} is the one that was noted")
        elif became == "gone":
            print(f"  line {sequence} was noted, and went with retention: nothing can be said of it")
    for broken in found.broken:
        print(f"BROKEN: {name} at line {broken.sequence}: {broken.what}")
    if found.breaks > len(found.broken):
        print(f"BROKEN: {name}: and {found.breaks - len(found.broken)} more")


def _document(found: Followed) -> dict[str, Any]:
    chain = found.chain
    return {
        "whole": found.whole,
        "lines": found.lines,
        "older": found.older,
        "head": {"line": chain.newest, "digest": chain.head.hex()} if chain is not None else None,
        "anchor": {"line": chain.first, "why": chain.why, "since": timestamp(chain.since)}
        if chain is not None
        else None,
        "noted": {str(sequence): became for sequence, became in found.heads.items()},
        "broken": [{"line": each.sequence, "what": each.what} for each in found.broken],
        "breaks": found.breaks,
    }
