"""What pods use, as far as it was told: by their nodes' leases, or, on nodes that pretend, by the pods' own script.

A node tells the usage of its pods with the renewals of its lease, which it writes anyhow, while its Node asks for it
(`wanting`): so that usage costs no write, and nodes without autoscaled pods tell nothing. Called by `measuring.py` and
`decider.py`; pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fairlead.core.quantity import from_json
from fairlead.core.times import time_or_zero, timestamp
from fairlead.decision.contract import Reading
from fairlead.decision.effects import Change
from fairlead.decision.ensure import ensure_fields
from fairlead.model.marks import DRIVER, HOLLOW_LOAD, HOLLOW_USAGE, NODE_LEASES, USAGE, USAGE_WANTED_UNTIL
from fairlead.model.views import LEASES, NODES, Node, Pod
from fairlead.port.usage import Amount, ToldUsage, read_usage
from fairlead.reconcile.autoscaling.replicas import MeasuredValue

#: bound: plane | what a node told of its pods counts for | they count as not measured
USAGE_FRESH_SECONDS = 60.0
#: bound: plane | a node is asked to tell usage for | it is asked again while somebody needs it
USAGE_WANTED_SECONDS = 3600.0
#: bound: plane | nodes asked to tell usage in one decision | the others are asked in the next
NODES_ASKED_MAX = 16
_HOLLOW_WINDOW_SECONDS = 10.0
_CPU, _MEMORY = "cpu", "memory"


def usage_of(
    view: Reading, pods: Sequence[Pod], resource: str, container: str, now: float
) -> dict[str, MeasuredValue]:
    """By name of the pod. `container`: only that one; "": all of them together."""
    told: dict[str, ToldUsage | None] = {}
    found: dict[str, MeasuredValue] = {}
    for pod in pods:
        node = pod.spec.node_name
        if not node or pod.finished:
            continue
        if node not in told:
            told[node] = _told_by(view, node)
        value = _measured(told[node], pod, resource, container, now)
        if value is None and not _is_real(view.get(NODES, "", node)):
            value = _scripted(pod, pods, resource, now)
        if value is not None:
            found[pod.metadata.name] = value
    return found


def wanting(view: Reading, controller: str, pods: Iterable[Pod], now: float) -> list[Change]:
    """Ask the nodes of these pods to tell what they use, for a while; those that were asked lately are not."""
    asked: list[Change] = []
    for name in sorted({pod.spec.node_name for pod in pods if pod.spec.node_name and not pod.finished}):
        node = view.get(NODES, "", name)
        if node is None or not _is_real(node) or len(asked) == NODES_ASKED_MAX:
            continue
        annotations = node.metadata.annotations
        if time_or_zero(annotations.get(USAGE_WANTED_UNTIL)) > now + USAGE_WANTED_SECONDS / 4:
            continue
        until = {USAGE_WANTED_UNTIL: timestamp(now + USAGE_WANTED_SECONDS)}
        change = ensure_fields(
            controller,
            node.metadata,
            NODES,
            node,
            "want-usage",
            {"metadata": {"annotations": annotations}},
            {"metadata": {"annotations": until}},
        )
        if change is not None:
            asked.append(change)
    return asked


def _told_by(view: Reading, node: str) -> ToldUsage | None:
    lease = view.get(LEASES, NODE_LEASES, node)
    text = lease.metadata.annotations.get(USAGE) if lease is not None else None
    return read_usage(text) if text else None


def _measured(
    told: ToldUsage | None, pod: Pod, resource: str, container: str, now: float
) -> MeasuredValue | None:
    if told is None or not now - USAGE_FRESH_SECONDS <= told.at <= now + USAGE_FRESH_SECONDS:
        return None
    used = told.pods.get(pod.metadata.uid)
    if used is None or (container and container not in used):
        return None
    amounts = [used[container]] if container else list(used.values())
    return MeasuredValue(sum(_milli(each, resource) for each in amounts), told.at, told.window)


def _milli(amount: Amount, resource: str) -> int:
    return -(-amount.cpu_nanos // 10**6) if resource == _CPU else amount.memory_bytes * 1000


def _is_real(node: Node | None) -> bool:
    return node is not None and node.metadata.labels.get(DRIVER) == "process"


def _scripted(pod: Pod, pods: Sequence[Pod], resource: str, now: float) -> MeasuredValue | None:
    """What a pod on a hollow node is said to use: an amount of its own, or its share of a load that all ready pods of
    the same script carry together."""
    annotations = pod.metadata.annotations
    own = _amounts(annotations.get(HOLLOW_USAGE)).get(resource)
    if own is not None:
        return MeasuredValue(own, now, _HOLLOW_WINDOW_SECONDS)
    script = annotations.get(HOLLOW_LOAD)
    load = _amounts(script).get(resource)
    if load is None:
        return None
    bearers = sum(
        each.ready and each.live and each.metadata.annotations.get(HOLLOW_LOAD) == script for each in pods
    )
    share = load // bearers if pod.ready and pod.live else 0
    return MeasuredValue(share, now, _HOLLOW_WINDOW_SECONDS)


def _amounts(text: str | None) -> Mapping[str, int]:
    """`cpu=250m,memory=64Mi` in thousandths. A script that cannot be read is as good as none."""
    found: dict[str, int] = {}
    for part in text.split(",") if text else ():
        name, _, amount = part.strip().partition("=")
        try:
            found[name] = from_json(amount).milli()
        except ValueError:
            return {}
    return found
