"""`fairlead debug`: one workload, everybody who decides about it, and the boundary that stopped progress."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.client import ApiClient, connect
from fairlead.cli.objects import resolve_object
from fairlead.cli.output import cell, changes_later, print_json
from fairlead.cli.timeline import ask_about, short
from fairlead.core.errors import ApiError

PATH = "/fairlead/v1/debug"
_BOOKS = "/apis/fairlead.dev/v1/runbooks"
EPILOG = """examples:
  fairlead debug deployment/risk-api
  fairlead debug pod/risk-api-7f2-x4k9z -n prod
  fairlead debug deployment/risk-api -o json | jq .verdict

The verdict is the same decision, run again on the newest of everything: a durable shortage, or an input that was stale.
`fairlead timeline` shows how it came to that. Runbooks are suggested whose preconditions hold for this workload.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("object", metavar="KIND/NAME", help="a workload or a pod")
    shared.add_namespace(parser, "namespace (default: the kubeconfig's, or default)")
    shared.add_client_options(parser, run, "text", "json")


def run(options: argparse.Namespace) -> int:
    with closing(connect(options.kubeconfig)) as client:
        found = resolve_object(client, options.object, options.namespace)
        answer = ask_about(client, PATH, found, {})
        books, unread = suggested(client, found.namespace, answer)
    answer["runbooks"] = books
    answer["unread"] += unread
    if options.output == "json":
        print_json(answer)
        return 0
    for name, text in lines_of(answer):
        print(f"{name + ':':<32} {cell(text)}")
    return 0


def lines_of(answer: dict[str, Any]) -> list[tuple[str, str]]:
    """The view, line by line."""
    ready = answer["ready"]
    wants_none = not any(ready.values())
    stands = "wants no pods now" if wants_none else f"{ready['ready']} of {ready['desired']} are ready"
    told = [
        ("workload", f"{short(answer['workload'])}, {stands}"),
        ("generation", str(answer["generation"])),
        ("observed by", ", ".join(f"{who} {at}" for who, at in answer["observed"].items()) or "nobody yet"),
    ]
    rollout = answer["rollout"]
    if rollout is not None:
        what = "rollback" if rollout["rollbackTo"] else "rollout"
        earlier = ""
        if rollout["rollbackTo"]:
            earlier = f" (revision {rollout['revision']}, the template of revision {rollout['rollbackTo']})"
        told.append(
            (f"{what} observed by scheduler", f"{str(rollout['observedByScheduler']).lower()}{earlier}")
        )
    missing = max(0, ready["desired"] - ready["exist"])
    pending = [", ".join(answer["pending"][:3])] if answer["pending"] else []
    pending += [f"and {len(answer['pending']) - 3} more"] if len(answer["pending"]) > 3 else []
    pending += [f"{missing} not made yet"] if missing else []
    told.append(("pending replica", ", ".join(pending) or "none"))
    decided = f" [{answer['decision']}]" if answer["decision"] else ""
    told.append(("last scheduling reason", f"{answer['reason']}{decided}" if answer["reason"] else "none"))
    told += _inputs(answer["verdict"])
    told += [("autoscaler reason", _autoscaler(each)) for each in answer["autoscaler"]]
    told += [] if answer["autoscaler"] else [("autoscaler reason", "none: no autoscaler scales it")]
    repair = answer["repair"]
    told.append(
        ("repair condition", _repair(repair) if repair is not None else "none: nothing of it was left over")
    )
    told += [("condition", _condition(each)) for each in answer["conditions"]]
    if answer["verdict"]:
        told.append(("verdict", f"{answer['verdict']['verdict']}: {answer['verdict']['why']}"))
    told += [("boundary", answer["boundary"]), ("next", answer["next"])]
    told += [("runbook", f"{each['command']}: {each['summary']}") for each in answer["runbooks"]]
    told += [("could not read", text) for text in answer["unread"]]
    return told


def _inputs(verdict: dict[str, Any] | None) -> list[tuple[str, str]]:
    """Those that were overtaken; where none was, that of the nodes."""
    inputs = verdict["inputs"] if verdict else []
    shown = [each for each in inputs if each["behind"] or each["behind"] is None] or [
        each for each in inputs if each["resource"] == "nodes"
    ]
    told = []
    for each in shown:
        name = each["resource"].partition(".")[0]
        behind = "no longer known" if each["behind"] is None else changes_later(each["behind"])
        told.append((f"scheduler read {name} at", str(each["read"])))
        told.append((f"{name} latest", f"{each['newest']} ({behind}; heard up to {each['heard']})"))
    return told


def _autoscaler(told: dict[str, Any]) -> str:
    said = "; ".join(told["conditions"]) or "it has said nothing yet"
    return f"{told['name']} wants {told['desired']}, there are {told['current']}: {said}"


def _repair(told: dict[str, Any]) -> str:
    return (
        f"{told['type']}={told['status']}, observedGeneration={told.get('observedGeneration', 0)}:"
        f" {told.get('message', '')}"
    )


def _condition(told: dict[str, Any]) -> str:
    by = f" by {told['by']}" if told.get("by") else ""
    decided = f" [{told['decision']}]" if told.get("decision") else ""
    return f"{told['type']}={told['status']} {told.get('reason', '')}{by}{decided}"


def suggested(
    client: ApiClient, namespace: str, answer: dict[str, Any]
) -> tuple[list[dict[str, str]], list[str]]:
    """Runbooks whose parameters follow from the workload and whose preconditions hold, by a dry run with the rights of
    who asks; and why there is no telling."""
    from fairlead.cli.runbook.dry_run import DryRun  # evaluates expressions: only here

    try:
        books = client.get(_BOOKS).get("items") or []
    except ApiError as error:
        return [], [f"runbooks: {error}"]
    found, unread = [], []
    for book in books:
        given = _params(book, answer)
        if given is None:
            continue
        run = {
            "apiVersion": "fairlead.dev/v1",
            "kind": "RunbookRun",
            "metadata": {"generateName": f"{book['metadata']['name']}-"},
            "spec": {"runbook": book["metadata"]["name"], "params": given},
        }
        path = f"/apis/fairlead.dev/v1/namespaces/{namespace}/runbookruns"
        try:
            scene = DryRun(client, client.post(path, run, {"dryRun": "All"})).scene
            if scene.unmet(scene.procedure.preconditions).name:
                continue
        except ApiError as error:
            unread.append(f"whether runbook {book['metadata']['name']} would help: {error}")
            continue
        sets = "".join(f" --set {name}={value}" for name, value in given.items())
        command = f"fairlead runbook run {book['metadata']['name']}{sets} -n {namespace} --dry-run"
        found.append(
            {"name": book["metadata"]["name"], "command": command, "summary": book["spec"].get("summary", "")}
        )
    return found, unread


def _params(book: dict[str, Any], answer: dict[str, Any]) -> dict[str, str] | None:
    """None: it wants to know what the workload does not say."""
    known = {"workload": answer["workload"].rpartition("/")[2], "pod": (answer["pending"] or [""])[0]}
    given = {}
    for each in book["spec"].get("params") or ():
        if known.get(each["name"]):
            given[each["name"]] = known[each["name"]]
        elif "default" not in each:
            return None
    return given if "workload" in given or "pod" in given else None
