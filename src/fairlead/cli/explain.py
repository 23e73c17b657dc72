"""`fairlead explain`: how far a pod has come, the latest attempt to place it, and what would have to change.

Of a workload: what holds its pods up and whose turn it is, and then the same of the pod that stands for most of them.
Of anything else, and of the past (`--at`, `--diff`), what controllers decided about it (`explain_decided.py`).
"""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.client import ApiClient, connect
from fairlead.cli.explain_decided import PREVIOUS, explain_decided, is_other
from fairlead.cli.log_lines import attempts_told
from fairlead.cli.output import cell, changes_later, hint, print_json, print_table
from fairlead.cli.pods import ask, named_pod, score_header, score_row
from fairlead.cli.workloads import find, held_up, is_workload, observe
from fairlead.core.errors import UsageError
from fairlead.core.times import human_duration

PATH = "/fairlead/v1/explain"
EPILOG = """examples:
  fairlead explain pod/web-0                the latest attempt: waterfall, reasons, best nodes, ways out
  fairlead explain deployment/web           what its pods wait for, also those that are not there; then one of them
  fairlead explain pod/web-0 -n shop --all  every attempt that the log keeps
  fairlead explain pod/web-0 --attempt 412  one of them, by its number in the log (--all shows it as NUMBER)
  fairlead explain pod/web-0 -o json | jq .again
  fairlead explain service/web              what controllers decided about any object, run again on what they had read
  fairlead explain deployment/web --at 14:05      the same of a moment of the past; also a decision's id
  fairlead explain deployment/web --diff          what made each decision another than the one before
  fairlead explain deployment/web --controller deployment --diff 4f1c22ab-7   ... than that one

The attempt is run again on the store's history; `run again` says whether that comes to the same. "stale by 2" says that
a view lacked 2 changes that had been made: a reason for decisions that look wrong later. Of a pod that waits, `verdict`
says whether it would on the newest state as well (durable shortage), or only on what had been read (stale input).
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pod",
        metavar="KIND/NAME",
        help="a pod, whose name alone works, too; a workload, as in deployment/web; or any other object",
    )
    shared.add_namespace(parser, "namespace (default: the kubeconfig's, or default)")
    parser.add_argument("--all", action="store_true", help="list all attempts that are kept")
    parser.add_argument(
        "--attempt",
        type=shared.parse_whole,
        metavar="NUMBER",
        help="the attempt with this NUMBER in --all, not the latest",
    )
    parser.add_argument(
        "--at",
        metavar="TIME|DECISION",
        default="",
        help="what controllers had decided about it by then, or one decision by its id",
    )
    parser.add_argument("--controller", metavar="NAME", default="", help="only what this controller decided")
    parser.add_argument(
        "--diff",
        metavar="DECISION",
        nargs="?",
        const=PREVIOUS,
        default="",
        help="what made a decision another than the one before it, or than this one",
    )
    shared.add_client_options(parser, run, "table", "json")


def run(options: argparse.Namespace) -> int:
    of_controllers = bool(options.at or options.controller or options.diff)
    if of_controllers and (options.all or options.attempt is not None):
        raise UsageError(
            "--all and --attempt are of attempts to place a pod: leave out --at, --controller and --diff"
        )
    if options.all and options.attempt is not None:
        raise UsageError("--all lists every attempt, --attempt shows one: give one of them")
    if options.attempt is not None and options.attempt < 1:
        raise UsageError("--attempt takes a number greater than 0: --all lists those that are kept")
    with closing(connect(options.kubeconfig)) as client:
        if of_controllers or is_other(options.pod, client, options.namespace):
            return explain_decided(client, options)
        if is_workload(client, options.pod, options.namespace):
            return _workload(client, options)
        answer = _ask(client, options)
    if options.output == "json":
        print_json(answer)
    elif options.all:
        _print_all(answer)
    else:
        _print_one(answer)
    return 0


def _ask(client: ApiClient, options: argparse.Namespace) -> dict[str, Any]:
    pod = named_pod(client, options.pod, options.namespace)
    query = {"all": "true"} if options.all else {}
    if options.attempt is not None:
        query["attempt"] = str(options.attempt)
    return ask(client, f"{PATH}/{pod.namespace}/{pod.name}", query, [] if "attempt" in query else [pod])


def _workload(client: ApiClient, options: argparse.Namespace) -> int:
    if options.all or options.attempt is not None:
        raise UsageError(
            "--all and --attempt are about the attempts to place one pod: name a pod, as in pod/web-0"
        )
    workload = find(client, options.pod, options.namespace)
    told = observe(client, workload).told
    groups = [each for each in told.get("pending") or () if each.get("pod")]
    pod = max(groups, key=lambda each: each["count"])["pod"] if groups else ""
    answer = ask(client, f"{PATH}/{workload.namespace}/{pod}", {}, []) if pod else None
    if options.output == "json":
        print_json({"progress": told, "pod": answer})
        return 0
    print(
        f"{workload.resource.singular}/{workload.name}: {told.get('ready', 0)} of {told.get('desired', 0)} are ready"
    )
    for line in held_up(told) or ["nothing holds it up"]:
        print(line)
    if answer is not None:
        print()
        _print_one(answer)
    return 0


def _print_all(answer: dict[str, Any]) -> None:
    if not answer["attempts"]:
        print(f"pod/{answer['name']}: {answer['outcome']}")
        return
    by_uid: dict[str, list[dict[str, Any]]] = {}
    for each in answer["attempts"]:
        by_uid.setdefault(each["uid"], []).append(each)
    for place, (uid, attempts) in enumerate(by_uid.items()):
        if len(by_uid) > 1:  # of one name there can be one after the other
            gap = "\n" if place else ""
            which = "the one that exists" if uid == answer["uid"] else "an earlier one, which is gone"
            print(f"{gap}pod/{answer['name']} with uid {uid}: {which}")
        _print_attempts(attempts)
    hint("fairlead explain --attempt NUMBER shows one of them")


def _print_attempts(attempts: list[dict[str, Any]]) -> None:
    print_table(
        ("NUMBER", "TIME", "ATTEMPT", "CAUSE", "WAITED", "POLICY", "OUTCOME"),
        [
            (
                each["number"],
                each["time"],
                attempts_told(each),
                each["cause"],
                f"{each['waited']:.3f}s",
                "@".join(map(str, each.get("policy", ()))),
                each["outcome"],
            )
            for each in attempts
        ],
    )


def _print_one(answer: dict[str, Any]) -> None:
    gone = "" if answer["exists"] else " (it no longer exists)"
    print(f"pod/{answer['name']} in {answer['namespace']}{gone}: {answer['outcome']}")
    if answer.get("standing"):
        print(f"stage: {_standing(answer['standing'])}")
    for text in answer.get("released") or ():
        print(f"released: {text}")
    if answer.get("queue"):
        print(f"queue: {_queue(answer['queue'])}")
    record = answer["attempt"]
    if record is None:
        return
    policy = "@".join(map(str, record.get("policy", ()))) or "unknown"
    print(
        f"tried: {record['time']}, attempt {attempts_told(record)} (--attempt {answer['number']}),"
        f" because of {record['cause']},"
        f" after {record['waited']:.3f}s in the queue; policy {policy}"
    )
    print(f"read: {', '.join(map(_read, answer['reads']))}")
    print(f"run again: {_again(answer['again'])}")
    if answer.get("verdict"):
        _print_verdict(answer["verdict"])
    for differing in answer["again"].get("differences") or ():
        print(f"  {differing['field']}: recorded {differing['recorded']}, now {differing['again']}")
    _print_parts(answer, record)


def _print_verdict(told: dict[str, Any]) -> None:
    """Whether it waits for good, or only on what the scheduler had read."""
    print(f"verdict: {told['verdict']}: {told['why']}")
    for each in told["inputs"]:
        if each["behind"] or each["unheard"]:
            heard = f", of which the scheduler has heard up to {each['heard']}" if each["unheard"] else ""
            print(
                f"  {each['resource']} was read at {each['read']}; its newest is {each['newest']},"
                f" {changes_later(each['behind'])}{heard}"
            )


def _print_parts(answer: dict[str, Any], record: dict[str, Any]) -> None:
    rows = [("(all nodes)", record["nodes"], 0)]
    rows += [(each["filter"], each["left"], each["refused"]) for each in answer["waterfall"]]
    print()
    print_table(("FILTER", "NODES LEFT", "REFUSED"), rows)
    if record.get("refusals"):
        print()
        print_table(
            ("NODES", "REASON", "FILTER", "WHO MAY REACT"),
            [
                (each["nodes"], each["reason"], each["plugin"], ", ".join(each["concerns"]))
                for each in record["refusals"]
            ],
        )
    if record.get("best"):
        plugins = list(record["best"][0]["parts"])
        print()
        print_table(
            score_header(plugins, answer["weights"]), [score_row(each, plugins) for each in record["best"]]
        )
    if record.get("victims"):
        print()
        print_table(
            ("VICTIM", "PRIORITY", "BREAKS A BUDGET"),
            [
                ("/".join(each["key"][1:]), each["priority"], each["breaks_budget"])
                for each in record["victims"]
            ],
        )
    for title, part in (("what would have to change, any of:", "remedies"), ("note:", "remarks")):
        if answer[part]:
            print(f"\n{title}")
            for text in answer[part]:
                print(f"  - {text}")


def _standing(told: dict[str, Any]) -> str:
    """As `fairlead progress` says it of the pod's workload."""
    reason = f": {told['reason']}" if told["reason"] else ""
    turn = f"; next step: {told['owner']}" if told["owner"] else ""
    message = f" ({cell(told['message'])})" if told["message"] else ""
    return f"{told['stage']}{reason}{turn}{message}"


def _queue(queue: dict[str, Any]) -> str:
    told = {
        "active": f"{queue['position']} pods before it",
        "backoff": f"rests for {queue.get('readyInSeconds', 0)}s more, woken by {queue.get('wokenBy', '')}",
        "unschedulable": f"waits for {' or '.join(queue.get('wakesOn', ()))}",
        "taken": "being tried, or on its way to a node",
    }[queue["state"]]
    waited = human_duration(queue["waitedSeconds"])
    return f"{queue['state']} ({told}); waiting for {waited}, attempts so far: {queue['attempts']}"


def _read(read: dict[str, Any]) -> str:
    known = f"{read['newest']} was known"
    if "stale" not in read:
        return f"{read['resource']}@{read['used']} ({known})"
    stale = f" (stale by {read['stale']}: {known})" if read["stale"] else ""
    return f"{read['resource']}@{read['used']}{stale}"


def _again(again: dict[str, Any]) -> str:
    if again["agrees"] is None:
        return f"not possible, {again['why']}; this is the record alone"
    return "agrees" if again["agrees"] else "differs"
