"""`fairlead decisions`: what the controllers decided, why, and which revisions they had read."""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.client import Client, connect
from fairlead.cli.output import print_json, print_table
from fairlead.core.errors import UsageError

PATH = "/fairlead/v1/decisions"
_PAGE = 1000
_LIMIT_MAX = 100_000  # what the server keeps; a test compares them
_HEADER = ("TIME", "CONTROLLER", "OBJECT", "VERDICT", "EFFECTS", "DETAIL")

_EPILOG = """examples:
  fairlead decisions                                     the last 50
  fairlead decisions --controller deployment --limit 10
  fairlead decisions --object deployments.apps/default/web
  fairlead decisions --data-dir fairlead-control         those of a `fairlead control`
  fairlead decisions -o json | jq .items[-1].record.reads  which revisions were read, and the newest known then
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EPILOG
    parser.add_argument("--controller", metavar="NAME", default="", help="only this controller's")
    parser.add_argument(
        "--object", metavar="RESOURCE/NS/NAME", default="", help="only those about this object"
    )
    parser.add_argument(
        "--limit", type=shared.whole, default=50, metavar="N", help="the last N decisions (default: 50)"
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        metavar="DIR",
        help="read them from the directory of a `fairlead control` instead of asking a server",
    )
    shared.output(parser, "table", "json")
    shared.kubeconfig(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if not 1 <= options.limit <= _LIMIT_MAX:
        raise UsageError(f"--limit takes a number from 1 to {_LIMIT_MAX}: the log keeps no more")
    if options.data_dir is not None:
        from fairlead.runtime.decisions_file import recorded  # only for those who ask for a file

        items = _last(options, recorded(options.data_dir))
    else:
        client = connect(options.kubeconfig)
        try:
            items = _last(options, _all(client))
        finally:
            client.close()
    if options.output == "json":
        print_json({"items": items})
    else:
        print_table(_HEADER, [_row(item["record"]) for item in items])
    return 0


def _all(client: Client) -> Iterator[dict[str, Any]]:
    after = 0
    while page := client.get(PATH, {"after": str(after), "limit": str(_PAGE)})["items"]:
        yield from page
        after = page[-1]["sequence"]


def _last(options: argparse.Namespace, found: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return list(deque((item for item in found if _accepts(options, item["record"])), maxlen=options.limit))


def _accepts(options: argparse.Namespace, record: dict[str, Any]) -> bool:
    return (not options.controller or record["controller"] == options.controller) and (
        not options.object or record.get("object") == options.object
    )


def _row(record: dict[str, Any]) -> tuple[Any, ...]:
    effects = [effect.partition(" ")[0] for effect in record.get("effects", ())]
    counted = ", ".join(f"{effects.count(name)} {name}" for name in dict.fromkeys(effects))
    detail = record.get("trouble") or record.get("message") or record.get("reason") or ""
    if record.get("node"):
        detail = f"to {record['node']}"
    if "object" not in record:  # what the attempts of a batch share
        return (
            record["time"],
            record["controller"],
            "",
            "Batch",
            "",
            f"pods to be placed: {len(record['pods'])}",
        )
    return record["time"], record["controller"], record["object"], record["verdict"], counted, detail
