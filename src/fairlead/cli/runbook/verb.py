"""`fairlead runbook`: what to do in an incident, as objects: read one, see what it would do, run it, answer it, end it.

Everything here is an ordinary request: `kubectl apply` of a Runbook or a RunbookRun does the same. What a dry run shows
is in `dry_run.py`, a rehearsal in `rehearse.py`, the page for people in `page.py`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.client import ApiClient, connect
from fairlead.cli.output import cell, hint, print_json, print_table
from fairlead.cli.runbook import rehearse
from fairlead.core.errors import ApiError, NotFound, UsageError

Json = dict[str, Any]
Action = Callable[[ApiClient, argparse.Namespace], int]

_BOOKS = "/apis/fairlead.dev/v1/runbooks"
_SHIPPED = Path("runbooks")
_ENDED = ("Succeeded", "Failed", "Aborted")
#: bound: plane | `fairlead runbook run --follow` looks every | -
POLL_SECONDS = 0.5
EPILOG = """examples:
  fairlead runbook install runbooks/                                   those that come with Fairlead
  fairlead runbook list
  fairlead runbook show recover-workload                               the page to read under pressure
  fairlead runbook run recover-workload --set workload=risk-api --dry-run
  fairlead runbook rehearse recover-workload --set workload=risk-api   all of it in virtual time
  fairlead runbook run recover-workload --set workload=risk-api -n prod --follow
  fairlead runbook runs -n prod
  fairlead runbook answer recover-workload-x7k2m confirm go=true -n prod
  fairlead runbook abort recover-workload-x7k2m --reason "wrong zone" -n prod
  fairlead runbook check                                               finds those that have become stale

A run acts with your rights, and is in the audit log under your name. Aborting it undoes what it made.
Exit codes of `run --follow`: 0 it succeeded, 1 it failed or was aborted, or nobody answered its question yet.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(metavar="ACTION", title="actions", required=True, dest="action")

    def add(name: str, text: str, action: Action, *forms: str) -> argparse.ArgumentParser:
        found = actions.add_parser(name, help=text, allow_abbrev=False)
        found.set_defaults(act=action)
        shared.add_client_options(found, run, *(forms or ("text", "json")))
        return found

    add("list", "the runbooks there are", _list)
    show = add("show", "the page of one: what it is for, its steps, and how to run it", _show)
    show.add_argument("name", metavar="NAME")
    begin = add("run", "run one, or with --dry-run see what it would do", _run)
    begin.add_argument("name", metavar="NAME")
    begin.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PARAM=VALUE",
        dest="given",
        help="a parameter; may be repeated",
    )
    begin.add_argument("--name", metavar="RUN", dest="run_name", help="name of the run (default: made up)")
    begin.add_argument("--dry-run", action="store_true", help="evaluate and print everything, change nothing")
    begin.add_argument(
        "--follow", action="store_true", help="print each step as it happens, until it asks or ends"
    )
    rehearse.configure(add)
    runs = add("runs", "the runs there were and are", _runs)
    runs.add_argument("-A", "--all-namespaces", action="store_true", help="those of all namespaces")
    status = add("status", "one run: each step, when, by whom, and what it made", _status)
    status.add_argument("name", metavar="RUN")
    answer = add("answer", "answer the step that asks", _answer)
    answer.add_argument("name", metavar="RUN")
    answer.add_argument("step", metavar="STEP")
    answer.add_argument("given", metavar="FIELD=VALUE", nargs="+")
    abort = add("abort", "end a run: what it made is undone, the last step first", _abort)
    abort.add_argument("name", metavar="RUN")
    abort.add_argument("--reason", metavar="TEXT", required=True, help="why; kept with the run")
    check = add("check", "say which runbooks name kinds, fields, commands or metrics that are gone", _check)
    check.add_argument("names", metavar="NAME", nargs="*", help="of runbooks (default: all)")
    check.add_argument("-f", "--filename", action="append", default=[], metavar="FILE", help="files instead")
    install = add("install", "create or replace the runbooks of files or directories", _install)
    install.add_argument("files", metavar="FILE", nargs="*", help=f"default: {_SHIPPED}/")
    for each in (begin, runs, status, answer, abort):
        shared.add_namespace(each, "namespace of the run (default: that of the kubeconfig)")


def run(options: argparse.Namespace) -> int:
    with closing(connect(options.kubeconfig)) as client:
        action: Action = options.act
        return action(client, options)


def runs_path(client: ApiClient, options: argparse.Namespace, name: str = "") -> str:
    space = options.namespace or client.target.namespace or "default"
    return f"/apis/fairlead.dev/v1/namespaces/{space}/runbookruns" + (f"/{name}" if name else "")


def pairs(given: Sequence[str], option: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {each!r} is no value: write NAME=VALUE")
        if name in found:
            raise UsageError(f"{option} gives {name} twice")
        found[name] = value
    return found


def _list(client: ApiClient, options: argparse.Namespace) -> int:
    found = client.get(_BOOKS).get("items") or []
    if options.output == "json":
        print_json(found)
        return 0
    if not found:
        hint(
            "there are no runbooks: `fairlead runbook install runbooks/` brings those that come with Fairlead"
        )
        return 0
    rows = [
        (
            each["metadata"]["name"],
            " ".join(_wanted(param) for param in each["spec"].get("params") or ()),
            len(each["spec"]["steps"]),
            each["spec"]["summary"],
        )
        for each in found
    ]
    print_table(("NAME", "PARAMS", "STEPS", "SUMMARY"), rows)
    return 0


def _wanted(param: Json) -> str:
    default = param.get("default")
    return f"{param['name']}={default}" if default is not None else f"{param['name']}="


def _book(client: ApiClient, name: str) -> Json:
    try:
        return client.get(f"{_BOOKS}/{name}")
    except NotFound:
        from fairlead.cli.resources import did_you_mean  # only for those who mistyped

        try:
            names = [each["metadata"]["name"] for each in client.get(_BOOKS).get("items") or ()]
            told = did_you_mean(name, names) or ": `fairlead runbook list` shows those there are"
        except NotFound:
            told = ": this server has no runbooks at all"
        raise NotFound(f'there is no runbook "{name}"{told}') from None


def look_for(client: ApiClient, name: str) -> None:
    """NotFound with what may have been meant. Who may not read runbooks may run one all the same."""
    try:
        _book(client, name)
    except NotFound:
        raise
    except ApiError:
        return


def _show(client: ApiClient, options: argparse.Namespace) -> int:
    from fairlead.cli.runbook.page import page_of

    book = _book(client, options.name)
    if options.output == "json":
        print_json(book)
    else:
        print(page_of(book))
    return 0


def _run(client: ApiClient, options: argparse.Namespace) -> int:
    look_for(client, options.name)
    metadata = {"name": options.run_name} if options.run_name else {"generateName": f"{options.name}-"}
    body = {
        "apiVersion": "fairlead.dev/v1",
        "kind": "RunbookRun",
        "metadata": metadata,
        "spec": {"runbook": options.name, "params": pairs(options.given, "--set")},
    }
    path = runs_path(client, options)
    if options.dry_run:
        from fairlead.cli.runbook.dry_run import show_dry_run

        return show_dry_run(client, client.post(path, body, {"dryRun": "All"}), options.output == "json")
    made = client.post(path, body)
    name = made["metadata"]["name"]
    if not options.follow:
        if options.output == "json":
            print_json(made)
        else:
            print(f"runbookrun {name} was created")
            hint(f"`fairlead runbook status {name} -n {made['metadata']['namespace']}` shows how far it is")
        return 0
    return _follow(client, f"{path}/{name}", options)


def _follow(client: ApiClient, path: str, options: argparse.Namespace) -> int:
    """Each change of the record, as it happens."""
    quiet = options.output == "json"
    told: dict[str, str] = {}
    while True:
        found = client.get(path)
        status, name = found.get("status") or {}, found["metadata"]["name"]
        if not quiet:
            _tell(status, told)
        phase = status.get("phase") or "Pending"
        if phase in _ENDED or phase == "Asking":
            break
        time.sleep(POLL_SECONDS)
    if quiet:
        print_json(found)
    elif phase == "Asking":
        print(f"asks: {cell(status.get('message'))}")
        step = _step(found, status.get("step") or "")
        fields = " ".join(f"{each['name']}=..." for each in (step.get("ask") or {}).get("fields") or ())
        space = found["metadata"]["namespace"]
        hint(f"answer with: fairlead runbook answer {name} {status.get('step')} {fields} -n {space}")
    else:
        print(f"{phase}: {cell(status.get('message'))}")
    return 0 if phase == "Succeeded" else 1


def _tell(status: Json, told: dict[str, str]) -> None:
    for each in status.get("steps") or ():
        state = each.get("state") or ""
        if told.get(each["name"]) != state:
            told[each["name"]] = state
            print(f"  {each['name']}: {state}{_made(each)}", flush=True)


def _made(record: Json) -> str:
    made = record.get("made")
    text = f"  {made['kind'].lower()}/{made['name']}" if made else ""
    return text + (f"  {cell(record['message'])}" if record.get("message") else "")


def _step(found: Json, name: str) -> Json:
    steps = (found["spec"].get("procedure") or {}).get("steps") or ()
    return next((each for each in steps if each["name"] == name), {})


def _runs(client: ApiClient, options: argparse.Namespace) -> int:
    path = "/apis/fairlead.dev/v1/runbookruns" if options.all_namespaces else runs_path(client, options)
    found = client.get(path).get("items") or []
    if options.output == "json":
        print_json(found)
        return 0
    if not found:
        hint("there are no runs here; -A shows those of all namespaces")
        return 0
    rows = []
    for each in found:
        meta, spec, status = each["metadata"], each["spec"], each.get("status") or {}
        rows.append(
            (
                meta["namespace"],
                meta["name"],
                spec["runbook"],
                status.get("phase") or "Pending",
                status.get("step"),
                (spec.get("requestedBy") or {}).get("username"),
                status.get("message"),
            )
        )
    print_table(("NAMESPACE", "RUN", "RUNBOOK", "PHASE", "STEP", "BY", "MESSAGE"), rows)
    return 0


def _status(client: ApiClient, options: argparse.Namespace) -> int:
    from fairlead.cli.runbook.page import record_of

    found = client.get(runs_path(client, options, options.name))
    if options.output == "json":
        print_json(found)
    else:
        record_of(found)
    return 0


def _answer(client: ApiClient, options: argparse.Namespace) -> int:
    path = runs_path(client, options, options.name)
    found = client.get(path)
    answer = {"step": options.step, "values": pairs(options.given, "FIELD=VALUE")}
    answers = [*(found["spec"].get("answers") or ()), answer]
    changed = _patch(client, path, found, {"answers": answers})
    if options.output == "json":
        print_json(changed)
    else:
        print(f"{options.step} of {options.name} was answered")
    return 0


def _abort(client: ApiClient, options: argparse.Namespace) -> int:
    if not options.reason.strip():
        raise UsageError("--reason is empty: say why, whoever reads the run will want to know")
    path = runs_path(client, options, options.name)
    changed = client.patch(path, {"spec": {"abort": {"reason": options.reason}}})
    if options.output == "json":
        print_json(changed)
    else:
        print(f"{options.name} is being aborted")
    return 0


def _patch(client: ApiClient, path: str, found: Json, spec: Json) -> Json:
    """Bound to what was read: an answer that another gave meanwhile is not written over."""
    version = found["metadata"]["resourceVersion"]
    return client.patch(path, {"metadata": {"resourceVersion": version}, "spec": spec})


def _check(client: ApiClient, options: argparse.Namespace) -> int:
    from fairlead.cli.runbook.check import stale

    if options.filename:
        books = list(_documents(options.filename))
    else:
        books = [_book(client, name) for name in options.names] or client.get(_BOOKS).get("items") or []
    wrong = stale(client, books)
    if options.output == "json":
        print_json([{"name": name, "message": message} for name, message in wrong])
    else:
        for name, message in wrong:
            print(f"{name}: {cell(message)}")
        sound = len(books) - len({name for name, _ in wrong})
        print(f"{sound} of {len(books)} runbooks can be run")
    return 1 if wrong else 0


def _install(client: ApiClient, options: argparse.Namespace) -> int:
    done, wrong = [], 0
    for book in _documents(options.files or [str(_SHIPPED)]):
        name = book["metadata"]["name"]
        try:
            done.append((name, _put(client, name, book)))
        except ApiError as error:
            wrong += 1
            print(f"fairlead: {name}: {error}", file=sys.stderr)
    if options.output == "json":
        print_json([{"name": name, "result": result} for name, result in done])
    else:
        for name, result in done:
            print(f"runbook {name} {result}")
    return 1 if wrong else 0


def _put(client: ApiClient, name: str, book: Json) -> str:
    try:
        found = client.get(f"{_BOOKS}/{name}")
    except NotFound:
        client.post(_BOOKS, book)
        return "created"
    if found["spec"] == book["spec"]:
        return "unchanged"
    # Nulls take away what the new one does not have.
    client.patch(f"{_BOOKS}/{name}", {"spec": {**dict.fromkeys(found["spec"]), **book["spec"]}})
    return "configured"


def _documents(names: Sequence[str]) -> list[Json]:
    from fairlead.cli.manifests import documents

    found = list(documents(names))
    for each in found:
        if each["kind"] != "Runbook":
            raise UsageError(f"{each['kind']} {(each.get('metadata') or {}).get('name')} is no Runbook")
    return found
