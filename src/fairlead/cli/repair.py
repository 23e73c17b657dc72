"""`fairlead repair`: what is left over, by which rule it is found, what the plane does about it and when.

Reads the objects and judges them by the same functions as the controller (`reconcile/repair.py`), so it is a dry run:
it changes nothing. `--ambiguous` shows what is left to people, of every kind that may be read.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import msgspec

from fairlead.cli import options as shared
from fairlead.cli.client import ApiClient, connect
from fairlead.cli.output import hint, print_json, print_table
from fairlead.core.errors import ApiError, NotFound
from fairlead.core.times import human_duration, parse_time, timestamp
from fairlead.ledger import handover, repair
from fairlead.ledger.evidence import Evidence, confirmed_by_human
from fairlead.model.at_most_one import is_at_most_one
from fairlead.model.catalog import CATALOG
from fairlead.model.custom.definition import ESTABLISHED, is_true, outline
from fairlead.model.kind import Kind
from fairlead.model.kinds import customresourcedefinition
from fairlead.model.marks import RELEASED
from fairlead.model.policy import evidence_rows, plane_knobs
from fairlead.model.served import Served
from fairlead.model.views import (
    EVIDENCE_POLICIES,
    NODES,
    PLACEMENT_QUOTAS,
    PLANE_SETTINGS,
    PODS,
    RESOURCE_QUOTAS,
    Meta,
    Node,
    Pod,
    Resource,
    View,
)
from fairlead.reconcile.ownership import owner_key
from fairlead.reconcile.repair import findings

#: bound: plane | objects that `fairlead repair` reads at once | the rest follows
PAGE_MAX = 500
_METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_HEADER = ("WHAT", "OBJECT", "RULE", "SINCE", "ACT", "DUE")
_LEFT = ("WHAT", "OBJECT", "RULE", "SINCE", "TRY")
EPILOG = """examples:
  fairlead repair                     what is left over, and when the plane removes it; nothing is changed
  fairlead repair --ambiguous         what only people can judge, and what they can do
  fairlead repair -o json
  kubectl patch planesettings default --type=merge -p '{"spec":{"repair":{"automatic":0}}}'

With automatic 0 in the PlaneSettings the plane removes nothing; the table shows what it would do. Each removal leaves
an Event (`kubectl get events`) and a record (`fairlead decisions --controller repair`) that cite the rule.
"""

Json = dict[str, Any]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ambiguous", action="store_true", help="what is left to people instead")
    shared.add_client_options(parser, run, "table", "json")


def run(options: argparse.Namespace) -> int:
    with closing(connect(options.kubeconfig)) as client:
        world = RepairView(client)
        now = time.time()
        knobs = world.knobs()
        found = [each for each, _ in findings(world, int(knobs["endedPodsMax"]), now)]  # type: ignore[arg-type]
        if options.ambiguous:
            unread: list[str] = []
            found = [each for each in found if not each.rule.act]
            known = {(each.rule.name, each.key) for each in found}
            found += [
                each for each in ambiguous(client, now, unread) if (each.rule.name, each.key) not in known
            ]
        else:
            found = [each for each in found if each.rule.act]
            unread = []
        released = [] if options.ambiguous else list(_released(world, now))
    automatic = bool(knobs["automatic"])
    if options.output == "json":
        items = [_as_json(each) for each in found] + [
            dict(zip(map(str.lower, _HEADER), row, strict=True)) for row in released
        ]
        print_json({"automatic": automatic, "items": items, "notRead": unread})
        return 0
    if options.ambiguous:
        rows = [
            (each.why, _object(each.key), each.rule.name, _ago(each.since, now), each.remedy)
            for each in found
        ]
        print_table(_LEFT, rows)
        if unread:
            hint(f"not read: {', '.join(unread)}")
        return 0
    print_table(_HEADER, [*(_row(each, now, automatic=automatic) for each in found), *released])
    if not automatic:
        hint("nothing is removed: repair.automatic is 0 in the PlaneSettings")
    return 0


class RepairView:
    """The objects that the controller looks at, as of now."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client
        self._lists: dict[str, Sequence[View]] = {}

    def list(self, resource: Resource[Any], namespace: str = "") -> Sequence[Any]:
        known = self._lists.get(resource.name)
        if known is None:
            kind = CATALOG.of_resource(resource.name)
            assert kind is not None
            objects = _listed(self._client, kind, namespace)
            known = self._lists[resource.name] = [msgspec.convert(each, resource.type) for each in objects]
        return known

    def get(self, resource: Resource[Any], namespace: str, name: str) -> Any:
        found = (each for each in self.list(resource, namespace))
        return next((each for each in found if each.metadata.name == name), None)

    def shows(self, resource: Resource[Any], revision: int) -> bool:
        """Lists are read one after the other, the first kind that is asked for first."""
        return resource.name in self._lists

    def knobs(self) -> plane_knobs.Numbers:
        found = self.get(PLANE_SETTINGS, "", plane_knobs.NAME)
        return plane_knobs.numbers(found.spec if found is not None else {}, "repair")


def ambiguous(client: ApiClient, now: float, unread: list[str]) -> Iterator[repair.Finding]:
    """Of every kind: deletions that wait for unknown finalizers, and owners of kinds that are not served. `unread` gets
    the kinds that may not be read."""
    kinds = _served(client, unread)
    for kind in kinds:
        if kinds.of_resource(kind.resource) is not kind:
            continue  # another version of the same
        try:
            for each in _listed(client, kind, "", _METADATA):
                meta = msgspec.convert(each["metadata"], Meta)
                found = repair.find_held(kind.resource, meta, now)
                if found is not None:
                    yield found
                unknown = [
                    f"{owner.kind} {owner.name} ({owner.api_version})"
                    for owner in meta.owner_references
                    if owner_key(kinds, owner, meta.namespace) is None
                ]
                if unknown:
                    yield repair.unknown_owner(kind.resource, meta, unknown)
        except ApiError as error:
            unread.append(f"{kind.plural} ({error})")


def _served(client: ApiClient, unread: list[str]) -> Served:
    """The built-in kinds and the custom ones that the server has."""
    kinds = Served()
    try:
        for definition in _listed(client, customresourcedefinition.KIND, ""):
            if is_true(definition, ESTABLISHED):
                kinds.serve(definition["metadata"]["name"], outline(definition))
    except ApiError as error:
        unread.append(f"custom kinds ({error})")
    return kinds


def _released(world: RepairView, now: float) -> Iterator[tuple[str, ...]]:
    """Pods that were released and hold something still; and those on a Node that is gone, about to be released.
    Evidence decides about both (`reconcile/nodes/release.py`, `reconcile/nodes/returned.py`)."""
    nodes = {each.metadata.name: each for each in world.list(NODES)}
    evidence = Evidence(world.get(EVIDENCE_POLICIES, "", evidence_rows.NAME))
    for pod in world.list(PODS):
        assert isinstance(pod, Pod)
        node = pod.spec.node_name
        if not node or pod.finished:
            continue
        if pod.released:
            yield _holding(pod, _quota_held(world, pod), nodes.get(node), evidence, now)
            continue
        act = evidence_rows.RELEASE_AT_MOST_ONE if is_at_most_one(pod.metadata) else evidence_rows.RELEASE
        allowed = evidence.allows(evidence_rows.NODE_GONE, act) if node not in nodes else None
        if allowed is not None:
            name = f"pods {pod.metadata.namespace}/{pod.metadata.name}"
            what = f"Node {node} is gone"
            due = f"after {human_duration(allowed.after_seconds)}"
            yield what, name, allowed.cited, "<unknown>", "release, then remove", due


def _quota_held(world: RepairView, pod: Pod) -> str:
    """Of the quotas that its namespace has: what a released pod still takes of them."""
    spaces = {each.metadata.namespace for each in world.list(PLACEMENT_QUOTAS)}
    placement = pod.metadata.namespace in spaces and handover.holds_placement(pod)
    spaces = {each.metadata.namespace for each in world.list(RESOURCE_QUOTAS)}
    if pod.metadata.namespace in spaces and handover.holds_quota(pod):
        return " and its quota"
    return " and its PlacementQuota" if placement else ""


def _holding(pod: Pod, quota: str, node: Node | None, evidence: Evidence, now: float) -> tuple[str, ...]:
    """One released pod: what it keeps, and when its object is removed unless its node is back by then."""
    signal = evidence_rows.MISSED_HEARTBEATS
    if node is None:
        signal = evidence_rows.NODE_GONE
    elif not node.ready and confirmed_by_human(node, pod):
        signal = evidence_rows.OUT_OF_SERVICE_SET
    allowed = evidence.allows(signal, evidence_rows.FORGET)
    condition = next(each for each in pod.status.conditions if each.type == RELEASED)
    since = parse_time(condition.last_transition_time) if condition.last_transition_time else 0.0
    holds = f"released, and holds its room on {pod.spec.node_name}{quota}"
    due = "never"
    if allowed is not None:
        at = since + allowed.after_seconds
        due = "now" if at <= now else f"in {human_duration(at - now)}, unless the node is back"
    name = f"pods {pod.metadata.namespace}/{pod.metadata.name}"
    cited = allowed.cited if allowed is not None else "no row allows Forget"
    return holds, name, cited, _ago(since, now), "remove the object", due


def _listed(
    client: ApiClient, kind: Kind, namespace: str, accept: str = "application/json"
) -> Iterator[Json]:
    base = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    path = f"{base}/namespaces/{namespace}/{kind.plural}" if namespace else f"{base}/{kind.plural}"
    query = {"limit": str(PAGE_MAX)}
    while True:
        try:
            answer = client.get(path, query, accept)
        except NotFound:
            return  # a namespace that is not there yet holds nothing
        yield from answer.get("items") or ()
        following = (answer.get("metadata") or {}).get("continue")
        if not following:
            return
        query["continue"] = following


def _row(found: repair.Finding, now: float, *, automatic: bool) -> tuple[str, ...]:
    due = "now" if found.due_at <= now else f"in {human_duration(found.due_at - now)}"
    return (
        found.why,
        _object(found.key),
        found.rule.name,
        _ago(found.since, now),
        found.rule.act,
        due if automatic else "never (report only)",
    )


def _object(key: Any) -> str:
    return "/".join(part for part in (key.resource, key.namespace, key.name) if part)


def _ago(since: float, now: float) -> str:
    return human_duration(now - since) if since else "<unknown>"


def _as_json(found: repair.Finding) -> Json:
    told: Json = {
        "what": found.why,
        "object": _object(found.key),
        "rule": found.rule.name,
        "since": timestamp(found.since) if found.since else None,
    }
    if found.rule.act:
        told |= {"act": found.rule.act, "due": timestamp(found.due_at)}
    else:
        told["try"] = found.remedy
    return told
