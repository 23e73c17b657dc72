"""Which boundary between those who decide stopped progress, in one sentence, and what to do next. Called by
`debugging.py`.

From the one who decides over all to the one who runs: nobody leads; the plane rests, because the API does not answer
it; the API refused to make the replicas; the scheduler's view is older than what it decided on; it has heard, and has
not tried again; there is no room; the node; the workload itself, which is paused, suspended or has failed.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from fairlead.explain.plane_told import SILENT_SECONDS
from fairlead.explain.sources import Sources, explain_untried
from fairlead.explain.staleness import STALE, Verdict
from fairlead.explain.timeline.family import Family
from fairlead.explain.timeline.lines import Line
from fairlead.explain.timeline.moment import key_of, name_of
from fairlead.explain.workload_told import held_up
from fairlead.model.views import DAEMONSETS, DEPLOYMENTS, JOBS, PODS, STATEFULSETS, Pod

# Those that `reconcile/progress.py` writes to, and `fairlead progress` reads.
_TELL_PROGRESS = frozenset(each.name for each in (DEPLOYMENTS, STATEFULSETS, DAEMONSETS, JOBS))
_RESOURCE_QUOTA = re.compile(r"exceeded quota: ([a-z0-9.-]+)")
_PLACEMENT_QUOTA = re.compile(r"quota/([a-z0-9.-]+): exceeded")


class Boundary(NamedTuple):
    sentence: str
    action: str  # a command
    unread: tuple[str, ...] = ()


def boundary_of(
    sources: Sources,
    family: Family,
    workload: str,
    pod: Pod | None,
    verdict: Verdict | None,
    refused: Line | None,
) -> Boundary:
    """`pod`: the one that waits for a node; `refused`: what the API last refused to have made."""
    space = f" -n {family.target.namespace}" if family.target.namespace else ""
    plane = sources.told
    silent = sources.clock() - plane.at
    if silent > SILENT_SECONDS:
        return Boundary(
            f"between the API and its controllers: {plane.identity} has told nothing for {silent:.0f} s",
            "fairlead status",
        )
    if not plane.acts:
        return Boundary(
            f"between the API and its controllers: nobody here leads ({plane.phase})", "fairlead status"
        )
    if plane.rests_seconds:
        return Boundary(
            f"between the controllers and the API: the API does not answer {plane.identity}, as on a full disk, so"
            f" nothing is written for {plane.rests_seconds:.1f} s",
            "fairlead status",
        )
    if pod is not None:
        return _waits(sources, pod, verdict, space)
    if refused is not None:
        return _refused(refused, space)
    return _runs(sources, family, workload, space)


def _waits(sources: Sources, pod: Pod, verdict: Verdict | None, space: str) -> Boundary:
    name = f"pod/{pod.metadata.name}"
    if verdict is None:
        return Boundary(
            f"between {name} and the scheduler: {explain_untried(sources, pod)}",
            f"fairlead explain {name}{space}",
        )
    if verdict.verdict != STALE:
        why = verdict.why.partition(" preemption:")[0]
        quotas = _PLACEMENT_QUOTA.findall(verdict.why)
        action = (
            f"kubectl edit placementquota {quotas[0]}{space}" if quotas else f"fairlead explain {name}{space}"
        )
        where = f"placement quota {quotas[0]}" if quotas else "the nodes"
        return Boundary(f"between the scheduler and {where}: a durable shortage, {why}", action)
    unheard = [each for each in verdict.inputs if each.unheard and each.behind]
    if unheard:
        told = ", ".join(f"{each.resource} up to {each.heard} of {each.newest}" for each in unheard)
        return Boundary(
            f"between the store and the scheduler's view: it has heard {told}; on what there is now {name} goes to "
            f"{verdict.node}: nothing has to be added",
            "fairlead queues",
        )
    overtaken = ", ".join(
        f"{each.resource} was read at {each.read} and is at {each.newest}"
        for each in verdict.inputs
        if each.behind
    )
    queued = sources.queued(pod) or {}
    if queued.get("state") == "backoff":
        when = f"tries again in {queued['readyInSeconds']:.1f} s"
    else:
        when = f"has it in its queue as {queued['state']}" if queued else "has not taken it up again"
    told = overtaken or "what had been assumed holds no longer"
    return Boundary(
        f"between the scheduler's last decision and its next: {told}; it has heard of that and {when}; on what there "
        f"is now {name} goes to {verdict.node}: nothing has to be added",
        f"kubectl wait {name}{space} --for=condition=PodScheduled --timeout=60s",
    )


def _refused(refused: Line, space: str) -> Boundary:
    trouble = str(refused.record.get("trouble") or refused.record.get("message", ""))
    who, about = refused.record["controller"], name_of(refused.objects[0])
    quotas = _RESOURCE_QUOTA.findall(trouble)
    if quotas:
        action = f"kubectl describe resourcequota {quotas[0]}{space}"
        return Boundary(
            f"between {who} and quota {quotas[0]}: the pods of {about} are not made: {trouble}", action
        )
    return Boundary(f"between {who} and admission: {about}: {trouble}", f"kubectl describe {about}{space}")


def _runs(sources: Sources, family: Family, workload: str, space: str) -> Boundary:
    for each in sorted(family.own):
        key = key_of(each)
        pod = sources.pod(key.namespace, key.name) if key.resource == PODS.name else None
        if pod is None or not pod.live:
            continue
        standing = sources.standing(pod)
        if standing.reason and standing.owner:
            name = f"pod/{pod.metadata.name}"
            told = f"{standing.stage}: {standing.reason} {standing.message}".strip()
            return Boundary(
                f"on node {pod.spec.node_name}: {name} has come to {told}; next step: {standing.owner}",
                f"kubectl describe {name}{space}",
            )
    held = held_up(workload, family.objects[workload])
    if held is not None:
        return Boundary(held.sentence, held.action)
    verb = "progress" if key_of(workload).resource in _TELL_PROGRESS else "timeline"
    return Boundary("nothing stops it", f"fairlead {verb} {name_of(workload)}{space}")
