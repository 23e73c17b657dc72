"""metrics.k8s.io/v1beta1: what nodes and pods use right now (`kubectl top`), asked of the nodes, never stored.

Called by `server.py` for addresses of that group. Planning says whom to ask; `finish` joins what came in time with
what is stored: names and labels are the API's, numbers the node's. A node speaks only of pods that are bound to it. One
that is silent is left out of a list, with a warning, and is an error where it alone was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from fairlead.api.access.node_references import bound_node
from fairlead.api.desk import Desk
from fairlead.api.listing import render_list, select_entries
from fairlead.api.node_addresses import no_answer, parse_node_address
from fairlead.api.plan import Context, NodeAddress, NodeQuestion
from fairlead.api.tables import render_one
from fairlead.core import codec
from fairlead.core.errors import MethodNotAllowed, NotFound
from fairlead.core.times import SECOND, format_duration, timestamp
from fairlead.model.key import Key
from fairlead.model.kind import Cell, Column, Json, Kind
from fairlead.port.request import Reply, Request
from fairlead.port.usage import NODE_STATS, Amount, NodeUsage, PodUsage
from fairlead.store.contract import Entry

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
VERBS = ("get", "list")
_LAST_INSTANT = 253402300799.0  # of the year 9999
_NAMED_MAX = 5  # silent nodes in one warning
_stats = msgspec.json.Decoder(NodeUsage).decode


class _Metadata(msgspec.Struct, gc=False):
    labels: dict[str, str] = {}


class _Labelled(msgspec.Struct, gc=False):
    metadata: _Metadata


_labelled = msgspec.json.Decoder(_Labelled).decode


def _total(amounts: Iterable[Json]) -> tuple[int, int]:
    cpu = memory = 0
    for each in amounts:
        cpu += int(each["cpu"].removesuffix("n"))
        memory += int(each["memory"].removesuffix("Ki"))
    return cpu, memory


def _used(obj: Json) -> tuple[int, int]:
    return _total([obj["usage"]] if "usage" in obj else [each["usage"] for each in obj["containers"]])


def _cpu(obj: Json, now: float) -> Cell:
    return f"{_used(obj)[0]}n"


def _memory(obj: Json, now: float) -> Cell:
    return f"{_used(obj)[1]}Ki"


def _window(obj: Json, now: float) -> Cell:
    return str(obj["window"])


_COLUMNS = (Column("cpu", _cpu), Column("memory", _memory), Column("window", _window))
NODE_METRICS = Kind(
    group=GROUP,
    version=VERSION,
    kind="NodeMetrics",
    plural="nodes",
    namespaced=False,
    schema="NodeMetrics",
    columns=_COLUMNS,
)
POD_METRICS = Kind(
    group=GROUP,
    version=VERSION,
    kind="PodMetrics",
    plural="pods",
    namespaced=True,
    schema="PodMetrics",
    columns=_COLUMNS,
)
METRICS = (NODE_METRICS, POD_METRICS)


def find_metrics(group: str, version: str, plural: str) -> Kind | None:
    """The kind that an address names, or None."""
    if (group, version) != (GROUP, VERSION):
        return None
    return next((kind for kind in METRICS if kind.plural == plural), None)


def measure(desk: Desk, request: Request, kind: Kind, context: Context) -> NodeQuestion:
    if request.verb not in VERBS or request.subresource:
        what = f"{kind.resource}/{request.subresource}" if request.subresource else kind.resource
        raise MethodNotAllowed(f"the server does not allow {request.verb} on {what}; only get and list are")
    if bool(request.namespace) and not kind.namespaced:
        raise NotFound(
            f"the server could not find the requested resource: {kind.plural} are not in a namespace"
        )
    if kind.namespaced and request.name and not request.namespace:
        raise MethodNotAllowed(
            f"get of {kind.plural} needs a namespace: use /namespaces/NAMESPACE/{kind.plural}"
        )
    subject = desk.catalog.find("", "v1", kind.plural)
    assert subject is not None
    entries = select_entries(request, subject, desk.read.list(subject.resource, request.namespace))
    return (
        _nodes(desk, request, entries, context)
        if kind is NODE_METRICS
        else _pods(desk, request, entries, context)
    )


def _nodes(desk: Desk, request: Request, entries: Sequence[Entry], context: Context) -> NodeQuestion:
    asked = {
        entry.key.name: (entry, address)
        for entry in entries
        if (address := parse_node_address(entry.data)) is not None
    }

    def finish(answers: Mapping[str, bytes]) -> Reply:
        told = _read(answers)
        found = [
            _stored(
                NODE_METRICS, entry, told[name].at, told[name].window, {"usage": _amount(told[name].usage)}
            )
            for name, (entry, _) in asked.items()
            if name in told
        ]
        return _reply(desk, request, NODE_METRICS, found, told, addresses, context)

    addresses = tuple(address for _, address in asked.values())
    return NodeQuestion(addresses, NODE_STATS, finish)


def _pods(desk: Desk, request: Request, entries: Sequence[Entry], context: Context) -> NodeQuestion:
    bound: dict[str, list[Entry]] = {}
    for entry in entries:
        node = bound_node(entry.data)
        if node:
            bound.setdefault(node, []).append(entry)
    addresses = tuple(_announced(desk, bound))

    def finish(answers: Mapping[str, bytes]) -> Reply:
        told = _read(answers)
        found = []
        for node, pods in bound.items():
            used = {pod.uid: pod for pod in told[node].pods} if node in told else {}
            found += [_pod(entry, used[entry.uid]) for entry in pods if entry.uid in used]
        found.sort(key=lambda entry: (entry.key.namespace, entry.key.name))
        return _reply(desk, request, POD_METRICS, found, told, addresses, context)

    return NodeQuestion(addresses, NODE_STATS, finish)


def _announced(desk: Desk, names: Iterable[str]) -> Iterable[NodeAddress]:
    for name in names:
        entry = desk.read.get(Key("nodes", "", name))
        address = parse_node_address(entry.data) if entry is not None else None
        if address is not None:
            yield address


def _read(answers: Mapping[str, bytes]) -> dict[str, NodeUsage]:
    """What is not an answer counts as none."""
    told = {}
    for name, body in answers.items():
        try:
            usage = _stats(body)
        except (msgspec.MsgspecError, ValueError):
            continue
        pods_plausible = all(_plausible(pod.at, pod.window) for pod in usage.pods)
        if _plausible(usage.at, usage.window) and pods_plausible:
            told[name] = usage
    return told


def _plausible(at: float, window: float) -> bool:
    """An instant and a length that can be written down."""
    return 0 <= at <= _LAST_INSTANT and 0 <= window <= _LAST_INSTANT


def _pod(entry: Entry, used: PodUsage) -> Entry:
    containers = [{"name": each.name, "usage": _amount(each.usage)} for each in used.containers]
    return _stored(POD_METRICS, entry, used.at, used.window, {"containers": containers})


def _amount(amount: Amount) -> dict[str, str]:
    return {"cpu": f"{max(0, amount.cpu_nanos)}n", "memory": f"{max(0, amount.memory_bytes) // 1024}Ki"}


def _stored(kind: Kind, entry: Entry, at: float, window: float, rest: Json) -> Entry:
    """In the form of what is stored, so that it is shown like that."""
    metadata: Json = {"name": entry.key.name}
    if kind.namespaced:
        metadata["namespace"] = entry.key.namespace
    metadata["creationTimestamp"] = timestamp(at)
    if labels := _labelled(entry.data).metadata.labels:
        metadata["labels"] = labels
    body = {
        "kind": kind.kind,
        "apiVersion": kind.api_version,
        "metadata": metadata,
        "timestamp": timestamp(at),
        "window": format_duration(round(window * 1000) * SECOND // 1000),
        **rest,
    }
    return Entry(entry.key, entry.uid, 0, codec.encode(body))


def _reply(
    desk: Desk,
    request: Request,
    kind: Kind,
    found: list[Entry],
    told: Mapping[str, NodeUsage],
    asked: tuple[NodeAddress, ...],
    context: Context,
) -> Reply:
    missing = [address for address in asked if address.name not in told]
    if request.name:
        if found:
            return render_one(request, kind, found[0].data, context.now, 200, ())
        if missing:
            raise no_answer(missing[0], "it has not told its usage in time")
        name = f"{request.namespace}/{request.name}" if kind.namespaced else request.name
        raise NotFound(
            f'{kind.kind.lower()}.{GROUP} "{name}" not found', group=GROUP, kind=kind.kind.lower(), name=name
        )
    reply = render_list(request, kind, found, desk.read.revision, context.now, "", None)
    if not missing:
        return reply
    names = ", ".join(address.name for address in missing[:_NAMED_MAX])
    more = f" and {len(missing) - _NAMED_MAX} more" if len(missing) > _NAMED_MAX else ""
    return msgspec.structs.replace(
        reply, warnings=(f"left out: what is on {names}{more}, which did not tell its usage in time",)
    )
