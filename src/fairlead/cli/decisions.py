"""`fairlead decisions`: what the controllers decided, why, and which revisions they had read."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from fairlead.cli import options as shared
from fairlead.cli.about import About, asked_about, asked_about_offline
from fairlead.cli.client import ApiClient, connect
from fairlead.cli.log_lines import LogLines, attempts_told
from fairlead.cli.output import hint, print_json, print_table
from fairlead.cli.resources import did_you_mean
from fairlead.control.instructions import DECISIONS, TURNS
from fairlead.core.errors import UsageError

PATH = "/fairlead/v1/decisions"
QUEUES = "/fairlead/v1/queues"
_PAGE = 1000
_LIMIT_MAX = 100_000
_HEADER = ("TIME", "ID", "CONTROLLER", "OBJECT", "VERDICT", "EFFECTS", "DETAIL")

EPILOG = """examples:
  fairlead decisions                                     the last 50
  fairlead decisions --controller deployment --limit 10
  fairlead decisions --object deploy/web -n default      by whomever it was touched; found at once, by an index
  fairlead decisions 3fa94c01-17                         the decision of that id, and what became of it
  fairlead decisions --turns                             turns that found nothing to do, which are kept apart
  fairlead decisions --data-dir fairlead-control         those of a `fairlead control`
  fairlead decisions -o json | jq .items[-1].record.reads  which revisions were read, and the newest known then
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id", nargs="?", default="", metavar="ID", help="the decision of that id, and what became of it"
    )
    parser.add_argument("--controller", metavar="NAME", default="", help="only this controller's")
    parser.add_argument(
        "--object",
        metavar="KIND/NAME",
        default="",
        help="only those about this object, or that touch it; KIND alone: all of them",
    )
    parser.add_argument(
        "--turns",
        action="store_true",
        help="turns that found everything as it should be, in place of decisions to do something or to wait",
    )
    shared.add_namespace(parser, "only this namespace (default: all)")
    parser.add_argument(
        "--limit", type=shared.parse_whole, default=50, metavar="N", help="the last N decisions (default: 50)"
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        metavar="DIR",
        help="read them from the directory of a `fairlead control` instead of asking a server",
    )
    shared.add_client_options(parser, run, "table", "json")


def run(options: argparse.Namespace) -> int:
    if not 1 <= options.limit <= _LIMIT_MAX:
        raise UsageError(f"--limit takes a number from 1 to {_LIMIT_MAX}")
    if options.id and (options.object or options.controller or options.turns):
        raise UsageError("an ID names one decision: leave --object, --controller and --turns out")
    if options.data_dir is not None:
        from fairlead.runtime.data.decisions_file import read_decisions  # only for those who ask for a file

        about = asked_about_offline(options.object, options.namespace)
        streams = (TURNS, DECISIONS) if options.id else (TURNS if options.turns else DECISIONS,)
        kept = [item for stream in streams for item in read_decisions(options.data_dir, stream)]
        found = _found(options, about, reversed(kept))
        _check(options, about, found, None)
    else:
        with closing(connect(options.kubeconfig)) as client:
            about = asked_about(client, options.object, options.namespace)
            lines = LogLines(client, PATH, TURNS if options.turns else "")
            found = _found(options, about, lines.newest_first(**_narrowed(options, about)))
            _check(options, about, found, client)
            lines.tell_hidden()
    items = found.last[::-1]
    if options.output == "json":
        print_json({"items": items})
    elif not items:
        hint("No decisions match.")
    else:
        print_table(_HEADER, [_row(item["record"]) for item in items])
    return 0


def _narrowed(options: argparse.Namespace, about: About) -> dict[str, str]:
    """What the server can look up: one decision, or one object; anything else is found by reading the log."""
    if options.id:
        return {"id": options.id}
    resource, (_, namespace, name) = about.resource, about.typed
    if resource is None or not name or (resource.namespaced and not namespace):
        return {}
    group_resource = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
    return {"object": "/".join([group_resource, *([namespace] if resource.namespaced else []), name])}


class _Found(NamedTuple):
    last: list[dict[str, Any]]  # the newest first
    controllers: set[str]  # that decided anything
    is_known: bool  # the object was decided about


def _found(options: argparse.Namespace, about: About, items: Iterable[dict[str, Any]]) -> _Found:
    """`items`: the newest first. They are read no further than needed."""
    last: list[dict[str, Any]] = []
    controllers: set[str] = set()
    is_known = False
    for item in items:
        record = item["record"]
        controllers.add(record["controller"])
        touched = (record.get("object", ""), *record.get("about", ()))
        if options.id not in ("", record.get("id"), record.get("of")):
            continue
        if not any(about.matches(*_object(each)) for each in touched):
            continue
        is_known = True
        if options.controller in ("", record["controller"]):
            last.append(item)
            if len(last) == options.limit:
                break
    return _Found(last, controllers, is_known)


def _check(options: argparse.Namespace, about: About, found: _Found, client: ApiClient | None) -> None:
    """A word that nobody knows is an error; a controller that has decided nothing yet is not."""
    if options.controller and options.controller not in found.controllers:
        running = client.get(QUEUES)["items"] if client is not None else ()
        known = sorted({*found.controllers, *(item["controller"] for item in running)})
        if options.controller not in known:
            near = did_you_mean(options.controller, known)
            raise UsageError(
                f'there is no controller "{options.controller}"{near}: known are {", ".join(known) or "none"}'
            )
    if options.id and not found.last:
        raise UsageError(
            f'no decision "{options.id}" is kept: `fairlead decisions` lists the ids of the last ones'
        )
    if not found.is_known:
        about.check(client)


def _object(text: str) -> tuple[str, str, str]:
    resource, *rest = text.split("/")
    return resource, rest[0] if len(rest) == 2 else "", rest[-1] if rest else ""


def _row(record: dict[str, Any]) -> tuple[Any, ...]:
    effects = [effect.partition(" ")[0] for effect in record.get("effects", ())]
    counted = ", ".join(f"{effects.count(name)} {name}" for name in dict.fromkeys(effects))
    detail = record.get("trouble") or record.get("message") or record.get("reason") or ""
    if measured := "; ".join(_measured(each) for each in record.get("inputs", ()) if "metric" in each):
        detail = f"{detail} ({measured})" if detail else measured
    if record.get("node"):
        detail = f"to {record['node']}"
    if "attempts" in record:
        detail = f"{detail} (attempts {attempts_told(record)})"
    time, controller, named = record["time"], record["controller"], record.get("id") or record.get("of", "")
    if "term" in record:  # who decides from here on
        told = f"{record['identity']} leads, with fairlead {record['version'] or 'of no version'}"
        return time, record["term"], controller, "", "Leads", "", told
    if "counted" in record:  # repeated decisions that have no record of their own yet
        most = max(last - first + 1 for *_, first, last in record["counted"])
        return (
            time,
            "",
            controller,
            "",
            "Counted",
            "",
            f"of {len(record['counted'])} objects, up to {most} times",
        )
    if "object" not in record:  # what the attempts of a batch share
        return time, "", controller, "", "Batch", "", f"pods to be placed: {len(record['pods'])}"
    verdict = record["outcome"] if "of" in record else record["verdict"]
    return time, named, controller, record["object"], verdict, counted, detail


def _measured(used: dict[str, Any]) -> str:
    """A metric that was decided on: what it was, what it should be, and how many replicas follow."""
    told, wanted = used["current"], used["target"]
    for field, unit in (("averageUtilization", "%"), ("averageValue", ""), ("value", "")):
        if field in told and field in wanted:
            return (
                f"{used['metric']}: {told[field]}{unit} of {wanted[field]}{unit}, {used['replicas']} wanted"
            )
    return str(used["metric"])
