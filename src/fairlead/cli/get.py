"""`fairlead get`: objects as the server shows them, now or at an older revision (`--at`).

kubectl does the first as well; the second is ours: history is kept, so the past can be listed, too.
"""

from __future__ import annotations

import argparse
import time
from contextlib import closing
from typing import Any

from fairlead.cli import options as shared
from fairlead.cli.client import JSON, TABLE, ApiClient, connect
from fairlead.cli.moments import parse_moment
from fairlead.cli.objects import NamedObject, exists, not_found, split_typed
from fairlead.cli.output import hint, print_json, print_table, print_yaml
from fairlead.cli.resources import ApiResource, resolve
from fairlead.core.errors import NotFound, UsageError
from fairlead.core.times import microtime

REVISION = "/fairlead/v1/revision"
_PAGE = 500
EPILOG = """examples:
  fairlead get pods                     pods of the default namespace
  fairlead get deploy -A -o wide        deployments of all namespaces, all columns
  fairlead get pod web -o yaml          one object
  fairlead get pods --at 1200           the same list as it was at revision 1200
  fairlead get pod/web --at 10m         one object as it was ten minutes ago
  fairlead get pods --at "yesterday 14:00"
  fairlead audit --object pods/web      shows the revisions at which it changed
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kind", metavar="KIND", help="resource, kind or short name: pods, Pod, po, deployments.apps"
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="one object; KIND/NAME works too")
    shared.add_namespace(parser, "namespace (default: the kubeconfig's, or default)")
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="all namespaces")
    parser.add_argument(
        "--at", metavar="WHEN", help="as it was at this revision, or at this time: 10m, yesterday 14:00"
    )
    parser.add_argument(
        "--show-managed-fields", action="store_true", help="with -o json or yaml: also who owns which field"
    )
    shared.add_client_options(parser, run, "table", "wide", "json", "yaml", "name")


def run(options: argparse.Namespace) -> int:
    typed = split_typed(options.kind, options.namespace)
    if typed.name and options.name:
        raise UsageError("give the name once: `fairlead get pod web` or `fairlead get pod/web`")
    name = typed.name or options.name or ""
    if name and options.all_namespaces:
        raise UsageError("a name is looked up in one namespace: use -n NS, or leave the name out with -A")
    now = time.time()
    if options.at is not None and not _is_revision(options.at):
        parse_moment("--at", options.at, now)  # before anybody is asked
    with closing(connect(options.kubeconfig)) as client:
        options.at = _revision(client, options.at, now)
        resource = resolve(client, typed.kind)
        namespace = "" if options.all_namespaces else typed.namespace or client.target.namespace
        show = _table if options.output in ("table", "wide") else _objects
        try:
            return show(client, resource, namespace, name, options)
        except NotFound as error:
            wanted = NamedObject(resource, namespace if resource.namespaced else "", name)
            if not name or options.at is not None or exists(client, wanted):
                raise
            raise not_found(client, [wanted]) from error


def _is_revision(text: str) -> bool:
    if text.lstrip("-").isdigit() and text.isascii():
        if int(text) <= 0:
            raise UsageError(
                "--at takes a revision greater than 0: metadata.resourceVersion of any object is one"
            )
        return True
    return False


def _revision(client: ApiClient, at: str | None, now: float) -> int | None:
    """The number itself, or the newest revision of a time; which one is told."""
    if at is None or _is_revision(at):
        return None if at is None else int(at)
    asked = microtime(parse_moment("--at", at, now))
    found = client.get(REVISION, {"at": asked})
    hint(f"as of revision {found['revision']}, written {found['written']}: the newest at {asked}")
    return int(found["revision"])


def _fetch(
    client: ApiClient, resource: ApiResource, namespace: str, name: str, at: int | None, accept: str
) -> dict[str, Any]:
    """One object, or a whole list whose pages are joined. At a revision even one object comes as a list."""
    if name and at is None:
        return client.get(resource.path(namespace, name), accept=accept)
    query = {"limit": str(_PAGE)}
    if name:
        query["fieldSelector"] = f"metadata.name={name}"
    if at is not None:
        query |= {"resourceVersion": str(at), "resourceVersionMatch": "Exact"}
    path = resource.path(namespace)
    whole = page = client.get(path, query, accept)
    part = "rows" if whole.get("kind") == "Table" else "items"
    whole[part] = whole.get(part) or []
    while following := page.get("metadata", {}).get("continue"):
        page = client.get(path, {"limit": str(_PAGE), "continue": following} | _selector(query), accept)
        whole[part] += page.get(part) or []
    whole.get("metadata", {}).pop("continue", None)
    whole.get("metadata", {}).pop("remainingItemCount", None)
    if name and not whole[part]:
        raise NotFound(
            f'{resource.plural} "{name}" did not exist at revision {at}: {_history_hint(resource, name)}'
        )
    return whole


def _selector(query: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in query.items() if key == "fieldSelector"}


def _history_hint(resource: ApiResource, name: str) -> str:
    return f"`fairlead audit --object {resource.plural}/{name}` shows when it changed"


def _table(
    client: ApiClient, resource: ApiResource, namespace: str, name: str, options: argparse.Namespace
) -> int:
    table = _fetch(client, resource, namespace, name, options.at, TABLE)
    rows = table.get("rows") or []
    if not rows:
        _check_namespace(client, resource, namespace)
        scope = f" in {namespace} namespace" if resource.namespaced and namespace else ""
        hint(f"No resources found{scope}.")
        return 0
    shown = [
        (index, column["name"].upper())
        for index, column in enumerate(table["columnDefinitions"])
        if options.output == "wide" or not column.get("priority")
    ]
    with_namespace = resource.namespaced and not namespace
    header = (["NAMESPACE"] if with_namespace else []) + [title for _, title in shown]
    lines = []
    for row in rows:
        start = [row["object"]["metadata"].get("namespace", "")] if with_namespace else []
        lines.append(start + [row["cells"][index] for index, _ in shown])
    print_table(header, lines)
    return 0


def _check_namespace(client: ApiClient, resource: ApiResource, namespace: str) -> None:
    """Nothing there is one thing; no such place is another."""
    if not resource.namespaced or not namespace:
        return
    place = NamedObject(resolve(client, "namespaces"), "", namespace)
    if not exists(client, place):
        raise not_found(client, [place])


def _objects(
    client: ApiClient, resource: ApiResource, namespace: str, name: str, options: argparse.Namespace
) -> int:
    found = _fetch(client, resource, namespace, name, options.at, JSON)
    if name and options.at is not None:
        found = {"apiVersion": resource.api_version, "kind": resource.kind, **found["items"][0]}
    items = [found] if name else found["items"]
    if not options.show_managed_fields:
        for item in items:
            item["metadata"].pop("managedFields", None)
    if options.output == "name":
        for item in items:
            print(resource.short(item["metadata"]["name"]))
    elif options.output == "yaml":
        print_yaml(found)
    else:
        print_json(found)
    return 0
