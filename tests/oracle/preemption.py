"""Whom a pod that fits nowhere may push out: as few and as unimportant as possible, and budgets broken last.

On every node that eviction could help, all pods of lower priority are thought away; if the pod then fits, they are put
back one by one, those whose eviction would break a budget first, then the others, each group from the most important;
whoever can stay stays, the rest are the victims. Of the nodes the one whose victims matter least is taken.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.oracle.cluster import Cluster, priority
from tests.oracle.filters import MISSING_LABEL, NO_FRIENDS, refusal
from tests.oracle.labels import labels_of, selects

Json = dict[str, Any]

# No eviction changes these.
_FINAL_PLUGINS = ("NodeUnschedulable", "TaintToleration", "NodeAffinity")
_FINAL_REASONS = (MISSING_LABEL, NO_FRIENDS)


class Candidate(NamedTuple):
    node: str
    victims: list[Json]  # the most important first
    broken: int  # how many of them break a budget


def preempt(pod: Json, cluster: Cluster) -> Candidate | None:
    """Where it should go, and who would have to leave; None: evicting does not help, or it may not evict."""
    if pod["spec"].get("preemptionPolicy") == "Never":
        return None
    return pick(candidates(pod, cluster), cluster)


def candidates(pod: Json, cluster: Cluster) -> list[Candidate]:
    tried = [_try_out(pod, node, cluster) for node in cluster.nodes if _could_help(pod, node, cluster)]
    return [each for each in tried if each is not None]


def _could_help(pod: Json, node: Json, cluster: Cluster) -> bool:
    refused = refusal(pod, node, cluster)
    if refused is None:
        return False
    plugin, reasons = refused
    return plugin not in _FINAL_PLUGINS and not any(each in _FINAL_REASONS for each in reasons)


def _try_out(pod: Json, node: Json, cluster: Cluster) -> Candidate | None:
    mine = priority(pod, cluster)
    lower = [each for each in cluster.on(node) if priority(each, cluster) < mine]
    lower.sort(key=lambda each: (-priority(each, cluster), started(each)))
    out = list(lower)
    if not out or refusal(pod, node, cluster.without(out)) is not None:
        return None
    breaking = breaks_budget(lower, cluster)
    broken = 0
    for group in (breaking, [each for each in lower if not _among(each, breaking)]):
        for each in group:
            back = [other for other in out if other is not each]
            if refusal(pod, node, cluster.without(back)) is None:
                out = back
            elif group is breaking:
                broken += 1
    return Candidate(node["metadata"]["name"], [each for each in lower if _among(each, out)], broken)


def breaks_budget(pods: list[Json], cluster: Cluster) -> list[Json]:
    """Those whose eviction, after that of the ones before them, some budget does not allow."""
    left = [budget["status"].get("disruptionsAllowed", 0) for budget in cluster.budgets]
    found: list[Json] = []
    for pod in pods:
        for place, budget in enumerate(cluster.budgets):
            if budget["metadata"]["namespace"] != pod["metadata"]["namespace"]:
                continue
            if not labels_of(pod) or not _chooses(budget, pod):
                continue
            if pod["metadata"]["name"] in budget["status"].get("disruptedPods", {}):
                continue  # its eviction is counted already
            left[place] -= 1
            if left[place] < 0 and not _among(pod, found):
                found.append(pod)
    return found


def _chooses(budget: Json, pod: Json) -> bool:
    """A budget that selects everything is one that selects; only a missing selector selects nothing."""
    return selects(budget["spec"].get("selector"), labels_of(pod))


def pick(found: list[Candidate], cluster: Cluster) -> Candidate | None:
    """Fewest broken budgets; lowest priority of the most important victim; lowest sum of priorities; fewest victims;
    the latest start of the longest running of the most important; the first by name."""
    if not found:
        return None

    def cost(each: Candidate) -> tuple[int, int, int, int, list[int], str]:
        priorities = [priority(victim, cluster) for victim in each.victims]
        highest = max(priorities)
        earliest = min(started(victim) for victim in each.victims if priority(victim, cluster) == highest)
        # Negative priorities count as costs too, or many of them would be better than few.
        total = sum(value + 2**31 for value in priorities)
        return each.broken, highest, total, len(priorities), [-ord(c) for c in earliest], each.node

    return min(found, key=cost)


def started(pod: Json) -> str:
    """When it started; times in this form are ordered as text."""
    found = pod.get("status", {}).get("startTime") or pod["metadata"].get("creationTimestamp", "")
    return str(found)


def _among(pod: Json, pods: list[Json]) -> bool:
    return any(pod is each for each in pods)
