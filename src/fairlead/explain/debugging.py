"""The debug view of a workload: where each of those who decide about it stands, what they read, and which boundary
stopped progress.

    generation, observed by         whether a change, such as a rollback, has reached everybody
    pending, reason                 the replica that waits, and the last word of who refused it
    inputs                          the revision that was read of each input, its own newest, and how far was heard
    autoscaler, repair              what those two make of it
    conditions                      of the workload, each with the decision that wrote it
    boundary, next                  one sentence, and a command

The verdict on a pod that waits is `staleness.py`'s: the same decision on the newest of everything. Called by
`runtime/server/timelines.py`; what it could not read it says, and does not guess.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fairlead.api.access.sight import EVERYTHING, Sight
from fairlead.control.attempts import SCHEDULER
from fairlead.core import codec
from fairlead.explain import records
from fairlead.explain.asking import Asking
from fairlead.explain.boundary import Boundary, boundary_of
from fairlead.explain.conditions import conditions_told
from fairlead.explain.sources import Sources, no_such
from fairlead.explain.staleness import Verdict, verdict_of
from fairlead.explain.timeline.family import Family, family_of
from fairlead.explain.timeline.inputs import autoscalers_of
from fairlead.explain.timeline.lines import AUDIT, Line
from fairlead.explain.timeline.moment import key_of, key_text, name_of
from fairlead.explain.timeline.telling import unread
from fairlead.explain.workload_told import ready_told, refuse_others
from fairlead.model.key import Key
from fairlead.model.views import PODS, REPLICASETS, Pod
from fairlead.reconcile.deployment.history import REVISION, REVISION_HISTORY

Json = dict[str, Any]
_REPAIR = "RepairComplete"
#: bound: plane | a debug view looks back for | what was decided before is not told
LOOKED_BACK_SECONDS = 6 * 3600.0


class PlacementAttempt(NamedTuple):
    pod: Pod
    line: records.NumberedRecord | None
    verdict: Verdict | None


def debug(sources: Sources, target: Key, sight: Sight = EVERYTHING) -> Asking[Json]:
    since = sources.clock() - LOOKED_BACK_SECONDS
    family = yield from family_of(sources, target, since)
    if family.present is None:
        raise no_such(target, ": fairlead timeline tells of what is gone")
    refuse_others(target, family.present, family.own)
    workload = family.above[-1] if family.above and family.above[-1] in family.objects else key_text(target)
    there = family.objects[workload]
    pods = [pod for each in sorted(family.own) if (pod := _pod(sources, each)) is not None]
    pending = [each for each in pods if each.live and not each.spec.node_name]
    last = (yield from _last_attempt(sources, pending)) if pending else None
    refused = _last_refusal(family)
    found = boundary_of(
        sources, family, workload, last.pod if last else None, last.verdict if last else None, refused
    )
    return {
        "object": key_text(target),
        "workload": workload,
        "generation": there["metadata"].get("generation", 0),
        "observed": _observed(family, workload, there),
        "rollout": _rollout(sources, family, workload, pods),
        "ready": ready_told(there, pods),
        "pending": [each.metadata.name for each in pending],
        "reason": _reason(last, refused),
        "decision": last.line.record["id"] if last and last.line else refused.record["of"] if refused else "",
        "queue": sources.queued(last.pod) if last else None,
        "verdict": last.verdict.as_json() if last and last.verdict else None,
        "autoscaler": _autoscalers(sources, family, sight),
        "repair": _repair(there),
        "conditions": conditions_told(
            sources.reader, there, [each for each in family.sorted_lines() if each.objects[0] == workload]
        ),
        "boundary": found.sentence,
        "next": found.action,
        "unread": _unread(sources, family, last, found),
    }


def _pod(sources: Sources, text: str) -> Pod | None:
    key = key_of(text)
    return sources.pod(key.namespace, key.name) if key.resource == PODS.name else None


def _last_attempt(sources: Sources, pending: list[Pod]) -> Asking[PlacementAttempt]:
    """Of the pod that has waited longest."""
    pod = min(pending, key=lambda each: (each.metadata.creation_timestamp, each.metadata.name))
    line = yield from records.attempt_of(sources.journal, sources.index, pod)
    if line is None:
        return PlacementAttempt(pod, None, None)
    policy = sources.policy(line.record)
    if policy is None or line.record.get("node"):
        return PlacementAttempt(pod, line, None)
    return PlacementAttempt(pod, line, (yield from verdict_of(sources, pod, line.record, policy)))


def _last_refusal(family: Family) -> Line | None:
    """The last that was refused by the API, if nothing of the sort was done since."""
    newest: Line | None = None
    for line in family.sorted_lines():
        if line.stream == AUDIT or line.objects[0] not in family.own:
            continue
        if line.record.get("outcome") == "refused":
            newest = line
        elif (
            newest is not None
            and line.objects[0] == newest.objects[0]
            and line.record["verdict"] == "Settled"
        ):
            newest = None
    return newest


def _observed(family: Family, workload: str, there: Json) -> Json:
    """By whom, and which generation of the workload: what its status says, and what each last decided on."""
    found: Json = {}
    told = (there.get("status") or {}).get("observedGeneration")
    if told is not None:
        found["status"] = told
    for line in family.sorted_lines():
        if line.stream != AUDIT and line.objects[0] == workload and "generation" in line.record:
            found[line.record["controller"]] = line.record["generation"]
    return found


def _rollout(sources: Sources, family: Family, workload: str, pods: list[Pod]) -> Json | None:
    """Of a Deployment: which revision it is at, whether that is a rollback, and whether the scheduler has seen it: it
    has when it tried, or bound, every pod of that revision."""
    revision = (family.objects[workload]["metadata"].get("annotations") or {}).get(REVISION)
    sets = [
        each
        for text, each in family.objects.items()
        if key_of(text).resource == REPLICASETS.name
        and (each["metadata"].get("annotations") or {}).get(REVISION) == revision
    ]
    if revision is None or not sets:
        return None
    newest = sets[0]["metadata"]
    mine = [each for each in pods if (owner := each.metadata.controller) and owner.uid == newest["uid"]]
    tried = {
        line.record["uid"]
        for line in family.lines.values()
        if line.stream != AUDIT and line.record["controller"] == SCHEDULER and "uid" in line.record
    }
    seen = [each for each in mine if each.spec.node_name or each.metadata.uid in tried]
    earlier = (newest.get("annotations") or {}).get(REVISION_HISTORY, "")
    return {
        "revision": int(revision),
        "replicaSet": newest["name"],
        "rollbackTo": earlier,
        "pods": len(mine),
        "observedByScheduler": len(seen) == len(mine),
    }


def _reason(last: PlacementAttempt | None, refused: Line | None) -> str:
    if last is not None and last.line is not None:
        refusals = last.line.record.get("refusals") or ()
        if refusals:
            return "; ".join(each["reason"] for each in sorted(refusals, key=lambda each: -each["nodes"]))
        return str(last.line.record.get("reason", ""))
    if refused is not None:
        return str(refused.record.get("reason") or refused.record.get("trouble", ""))
    return ""


def _autoscalers(sources: Sources, family: Family, sight: Sight) -> list[Json]:
    found = []
    for key in sorted(autoscalers_of(sources, family.target.namespace, (*family.own, *family.above))):
        entry = sources.reader.get(key)
        if entry is None or not sight.sees(key.resource, key.namespace, key.name):
            continue
        status = codec.decode(entry.data).get("status") or {}
        said = [
            f"{each['type']}={each['status']} {each.get('reason', '')}: {each.get('message', '')}"
            for each in status.get("conditions") or ()
        ]
        found.append(
            {
                "name": key.name,
                "current": status.get("currentReplicas", 0),
                "desired": status.get("desiredReplicas", 0),
                "lastScaleTime": status.get("lastScaleTime", ""),
                "conditions": said,
            }
        )
    return found


def _repair(there: Json) -> Json | None:
    for each in (there.get("status") or {}).get("conditions") or ():
        if each.get("type") == _REPAIR:
            return dict(each)
    return None


def _unread(sources: Sources, family: Family, last: PlacementAttempt | None, found: Boundary) -> list[str]:
    told = unread(sources, family, 0.0)
    if last is not None and last.line is None:
        told.append(f"no attempt to place {last.pod.metadata.name} is on record")
    elif (
        last is not None
        and last.line is not None
        and last.verdict is None
        and not last.line.record.get("node")
    ):
        told.append("the policy that the last attempt was made under: there is no verdict")
    if family.left_out:
        told.append(f"{family.left_out} more objects of the workload")
    told += [name_of(each) for each in family.above if each not in family.objects]
    return [*told, *found.unread]
