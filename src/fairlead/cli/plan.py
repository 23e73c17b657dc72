"""`fairlead plan`: where the pods of a manifest would go, and whom they would evict. Nothing is written.

Every object is sent to the server as a dry run first, which checks and completes it as a creation would.
"""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.client import ApiClient, connect
from fairlead.cli.manifests import documents
from fairlead.cli.output import hint, print_json, print_table
from fairlead.cli.resources import ApiResource, resolve
from fairlead.core.errors import AlreadyExists, UsageError
from fairlead.explain.manifests import Expanded, expand

PATH = "/fairlead/v1/plan"
_DRY = {"dryRun": "All"}
EPILOG = """examples:
  fairlead plan -f web.yaml                 where each pod would go now
  fairlead plan -f shop/ -f extra.yaml      all manifests of a directory, and one more, together
  fairlead plan -f web.yaml -o json | jq '.items[] | select(.evicts != [])'
  helm template chart | fairlead plan -f -  exit code 1 if something would not fit

All of it is planned together, so that later pods see earlier ones. Pods, Deployments, ReplicaSets, StatefulSets and
Jobs are planned, other kinds are left out. Of a workload that exists only the replicas are planned that it would have
in addition; a rollout of a changed template is not. Pods that scheduling gates hold back, or that ask for another
scheduler, are shown, and count neither as fitting nor as not.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-f",
        "--filename",
        metavar="FILE",
        required=True,
        action="append",
        help="a manifest, or a directory of them; - is standard input; can be given several times",
    )
    parser.add_argument(
        "-R", "--recursive", action="store_true", help="also the directories below a directory"
    )
    shared.add_namespace(
        parser, "namespace of objects that name none (default: the kubeconfig's, or default)"
    )
    shared.add_client_options(parser, run, "table", "json")


def run(options: argparse.Namespace) -> int:
    found_in = list(documents(options.filename, options.recursive))
    with closing(connect(options.kubeconfig)) as client:
        namespace = options.namespace or client.target.namespace
        wanted = [found for each in found_in if (found := _wanted(client, each, namespace)) is not None]
        if not wanted:
            raise UsageError(f"{', '.join(options.filename)} has nothing that leads to pods: nothing to plan")
        items = [{"pod": each.pod, "names": each.names} for each in wanted]
        answer = client.post(PATH, {"items": items})
    owners = [each.owner for each in wanted for _ in each.names]
    for item, owner in zip(answer["items"], owners, strict=True):
        item["owner"] = owner
    if options.output == "json":
        print_json(answer)
    else:
        _print(answer)
    return 0 if answer["fits"] else 1


def _print(answer: dict[str, Any]) -> None:
    items = answer["items"]
    if items:
        print_table(("POD", "OF", "NODE", "EVICTS", "DETAIL"), [_row(each) for each in items])
    for title, part in (("what would have to change, any of:", "remedies"), ("note:", "remarks")):
        told = dict.fromkeys(text for each in items for text in each[part])
        if told:
            print(f"\n{title}")
            for text in told:
                print(f"  - {text}")
    fitting = sum(bool(each["node"]) for each in items)
    held = sum(each["held"] for each in items)
    also = f", {held} held back" if held else ""
    hint(f"{fitting} of {len(items)} pods would be placed{also}; nothing was written")
    if by := answer.get("plane"):
        hint(f"on what the store has now: {by}; it may not have heard of all of it")
    if answer["waiting"]:
        waiting = answer["waiting"]
        said = "1 pod waits" if waiting == 1 else f"{waiting} pods wait"
        hint(f"{said} for a node already, and may come first")


def _row(item: dict[str, Any]) -> tuple[str, ...]:
    detail = item["message"] or ("fits once they are gone" if item["evicts"] else "fits")
    return item["name"], item["owner"], item["node"], ", ".join(item["evicts"]), detail


def _wanted(client: ApiClient, document: dict[str, Any], namespace: str) -> Expanded | None:
    """The pods that an object leads to, as the server would make them; None: it leads to none."""
    meta = document["metadata"] = {**(document.get("metadata") or {})}
    meta.setdefault("namespace", namespace)
    if expand(document) is None:
        hint(
            f"{document['kind']}/{meta.get('name', '')} is left out: it leads to no pods that can be planned"
        )
        return None
    resource = resolve(client, f"{document['kind']}{_group(document)}")
    try:
        whole, existing = client.post(resource.path(meta["namespace"]), document, _DRY), 0
    except AlreadyExists:
        whole, existing = document, _existing(client, resource, meta)
        hint(f"{document['kind']}/{meta['name']} exists: only what it would have in addition is planned")
    found = expand(whole, existing)
    assert found is not None
    if resource.plural == "pods":
        return found._replace(pod=whole, names=() if existing else found.names)
    if not found.names:
        return found
    pod = {**found.pod, "metadata": {**found.pod["metadata"], "generateName": f"{meta.get('name', 'pod')}-"}}
    made = client.post(f"/api/v1/namespaces/{meta['namespace']}/pods", pod, _DRY)
    return found._replace(pod=made)


def _group(document: dict[str, Any]) -> str:
    group, slash, _ = str(document.get("apiVersion", "")).partition("/")
    return f".{group}" if slash else ""


def _existing(client: ApiClient, resource: ApiResource, meta: dict[str, Any]) -> int:
    there = client.get(resource.path(meta["namespace"], meta["name"]))
    found = expand(there)
    return len(found.names) if found is not None else 0
