"""The answers to `explain` and `why-not`, as plain data that the command line turns into tables.

An attempt's record is shown as it was written; then the attempt is run again on history (`again.py`), which also gives
the world in which to say what would have to change. Called by `runtime/server/explanations.py`.
"""

from __future__ import annotations

from typing import Any

from fairlead.api.access.sight import EVERYTHING, Sight
from fairlead.core.errors import NotFound
from fairlead.explain import again, records
from fairlead.explain.asking import Asking
from fairlead.explain.masking import MASK, Spaces, masked_record
from fairlead.explain.released import in_the_way, told_of
from fairlead.explain.remedies import remarks, remedies
from fairlead.explain.scheduler_snapshots import scheduling_now
from fairlead.explain.sources import Sources, explain_untried, no_such_pod
from fairlead.explain.staleness import verdict_of
from fairlead.explain.why_not import WhyNot, why_not
from fairlead.model.key import Key
from fairlead.model.views import PODS, Pod
from fairlead.replay.placement import differences
from fairlead.schedule.facts import Facts
from fairlead.schedule.policy import Policy
from fairlead.schedule.snapshot import Snapshot
from fairlead.store.contract import Compacted

Json = dict[str, Any]
#: bound: plane | attempts of a pod listed | the oldest are left out
ATTEMPTS_SHOWN_MAX = 1000
#: bound: plane | missed changes counted | not counted further
MISSED_COUNTED_MAX = 1000


def explain(
    sources: Sources, namespace: str, name: str, number: int = 0, sight: Sight = EVERYTHING
) -> Asking[Json]:
    """The latest attempt for a pod, or with `number` the one with that number in the log. Pods of namespaces that are
    not in sight are counted, not named."""
    spaces = sight.namespaces(sources.namespaces())
    tried = yield from records.attempts_of(
        sources.journal, sources.index, namespace, name, 1, lambda each: number in (0, each.sequence)
    )
    line = tried[0] if tried else None
    pod = sources.pod(namespace, name)
    if line is None and number:
        raise NotFound(f'no attempt of pod "{name}" has the number {number}: --all lists those kept')
    if line is None and pod is None:
        raise no_such_pod(namespace, name)
    answer: Json = {"namespace": namespace, "name": name, "exists": pod is not None}
    if pod is not None:
        answer["node"] = pod.spec.node_name
        answer["queue"] = sources.queued(pod)
        answer["standing"] = sources.standing(pod)._asdict()
        answer["released"] = list(told_of(pod, sources.siblings(pod)))
    if line is None:
        assert pod is not None
        return answer | {"outcome": f"not tried: {explain_untried(sources, pod)}", "attempt": None}
    record = line.record
    policy = sources.policy(record)
    answer |= {
        "number": line.sequence,
        "outcome": describe_outcome(record),
        "attempt": masked_record(record, spaces),
        "waterfall": waterfall(record),
        "weights": policy.weights if policy is not None else {},
        "reads": [
            _read(sources, name, *revisions) for name, revisions in sorted(record.get("reads", {}).items())
        ],
    }
    if pod is not None and record["uid"] != pod.metadata.uid:
        answer["outcome"] += " (that was an earlier pod of this name)"
    answer |= yield from _run_again(sources, line, policy, spaces)
    blocked = (
        pod is not None and not pod.spec.node_name and not (record.get("node") or record.get("nominated"))
    )
    if blocked and pod is not None and policy is not None and record["uid"] == pod.metadata.uid:
        answer["verdict"] = (yield from verdict_of(sources, pod, record, policy)).as_json()
    return answer


def history(sources: Sources, namespace: str, name: str, sight: Sight = EVERYTHING) -> Asking[Json]:
    """Every attempt that the log keeps, oldest first."""
    lines = yield from records.attempts_of(
        sources.journal, sources.index, namespace, name, ATTEMPTS_SHOWN_MAX
    )
    pod = sources.pod(namespace, name)
    if not lines and pod is None:
        raise no_such_pod(namespace, name)
    spaces = sight.namespaces(sources.namespaces())
    attempts = [
        {
            "number": line.sequence,
            **masked_record(line.record, spaces),
            "outcome": describe_outcome(line.record),
        }
        for line in reversed(lines)
    ]
    told = {} if lines or pod is None else {"outcome": f"not tried: {explain_untried(sources, pod)}"}
    uid = pod.metadata.uid if pod is not None else ""
    return {"namespace": namespace, "name": name, "uid": uid, "attempts": attempts, **told}


def why_not_there(sources: Sources, namespace: str, name: str, node: str) -> Asking[Json]:
    """For a pod that waits: on the world as it is now; for one that was placed: as it was when that was decided."""
    pod = sources.pod(namespace, name)
    if pod is None:
        raise no_such_pod(namespace, name)
    chosen = pod.spec.node_name
    found = (yield from _when_placed(sources, pod)) if chosen else ""
    if isinstance(found, str):
        found = yield from _as_it_is_now(sources, pod, found)
    snapshot, facts, policy, when = found
    if node not in snapshot.nodes.slot:
        known = ", ".join(sorted(snapshot.nodes.slot)[:5])
        raise NotFound(f'there is no node "{node}"; there are {len(snapshot.nodes)}: {known or "none"}')
    told = why_not(snapshot, policy, facts, node, chosen)
    return {
        "namespace": namespace,
        "name": name,
        "node": node,
        "chosen": chosen,
        "when": when,
        "outcome": _why_not_told(told, node, chosen),
        "filters": [each._asdict() for each in told.filters],
        "score": told.score._asdict(),
        "best": told.chosen._asdict() if told.chosen is not None else None,
        "weights": policy.weights,
        "evictingHelps": told.evicting_helps,
    }


# Parts


def describe_outcome(record: Json) -> str:
    """One sentence."""
    if record.get("node"):
        return f"placed on {record['node']}"
    if record.get("nominated"):
        victims = len(record.get("victims") or ())
        leaving = "one pod has" if victims == 1 else f"{victims} pods have"
        return f"goes to {record['nominated']} once {leaving} left it"
    return f"fits on no node: {record.get('reason') or 'no reason is recorded'}"


def waterfall(record: Json) -> list[Json]:
    rows, before = [], record["nodes"]
    for stage in record.get("waterfall", ()):
        rows.append({"filter": stage["plugin"], "left": stage["left"], "refused": before - stage["left"]})
        before = stage["left"]
    return rows


def _read(sources: Sources, resource: str, used: int, newest: int) -> Json:
    """Revisions count the changes of all resources: whether a view was stale is told by those of its own."""
    told: Json = {"resource": resource, "used": used, "newest": newest}
    try:
        later = sources.reader.changes_after(used, resource, MISSED_COUNTED_MAX) if newest > used else ()
    except Compacted:
        return told  # it cannot be told any more
    return told | {"stale": sum(change.entry.revision <= newest for change in later)}


def _run_again(
    sources: Sources, line: records.NumberedRecord, policy: Policy | None, spaces: Spaces
) -> Asking[Json]:
    inputs = yield from _inputs(sources, line, policy)
    if isinstance(inputs, str) or policy is None:
        return {"again": {"agrees": None, "why": inputs}, "remedies": [], "remarks": []}
    told: Json = yield lambda: _told_again(inputs, line, policy, spaces)
    return told


def _told_again(inputs: again.Inputs, line: records.NumberedRecord, policy: Policy, spaces: Spaces) -> Json:
    found = again.run_again(inputs, policy)
    differing = differences(line.record, found.attempt)
    if spaces is not None:  # whose names these are is not looked into
        differing = tuple(
            each._replace(recorded=MASK, again=MASK) if each.field == "victims" else each
            for each in differing
        )
    return {
        "again": {"agrees": not differing, "differences": [each._asdict() for each in differing]},
        "remedies": list(remedies(found.snapshot, policy, found.facts)),
        "remarks": [
            *in_the_way(found.snapshot, policy, found.facts, spaces),
            *remarks(found.snapshot, found.facts),
        ],
    }


def _inputs(
    sources: Sources, line: records.NumberedRecord, policy: Policy | None
) -> Asking[again.Inputs | str]:
    if policy is None and "policy" in line.record:
        name, revision = line.record["policy"]
        return f"its policy {name}@{revision} is no longer known"
    batch = records.batch_of(sources.journal, line)
    if batch is None:
        return "the record of its batch is no longer kept"
    return (yield from again.inputs_of(sources.reader, batch, line.record["position"]))


def _as_it_is_now(sources: Sources, pod: Pod, why: str) -> Asking[tuple[Snapshot, Facts, Policy, str]]:
    """`why`: it was placed, and that cannot be looked at."""
    key = Key(PODS.name, pod.metadata.namespace, pod.metadata.name)
    when = f"now, had it no node ({why})" if why else "now"
    other = sources.scheduler_elsewhere()
    if other is None and key not in (placer := sources.placer()).snapshot.placed:
        return placer.snapshot, placer.snapshot.facts_for(pod), placer.policy, when
    seen = scheduling_now(sources)
    if seen.by:
        when += f", in the store; {seen.by}"
    # Where it is, or what it has claimed, is not in its own way.
    snapshot: Snapshot = yield lambda: seen.sight().snapshot(without=key)
    return snapshot, snapshot.facts_for(pod), seen.policy, when


def _when_placed(sources: Sources, pod: Pod) -> Asking[tuple[Snapshot, Facts, Policy, str] | str]:
    found = yield from records.attempt_of(sources.journal, sources.index, pod, pod.spec.node_name)
    if found is None:
        return "no attempt that placed it is on record"
    policy = sources.policy(found.record)
    inputs = yield from _inputs(sources, found, policy)
    if isinstance(inputs, str) or policy is None:
        return str(inputs)
    return (yield from _placed_again(inputs, policy, found.record["time"]))


def _placed_again(
    inputs: again.Inputs, policy: Policy, time: str
) -> Asking[tuple[Snapshot, Facts, Policy, str] | str]:
    found: again.RerunAttempt = yield lambda: again.run_again(inputs, policy)
    return found.snapshot, found.facts, policy, f"when it was placed, {time}"


def _why_not_told(told: WhyNot, node: str, chosen: str) -> str:
    refusing = [each for each in told.filters if not each.passes]
    if refusing:
        first = refusing[0]
        return f"{node} does not take it: {first.filter} refuses ({first.reason})"
    if node == chosen:
        return f"{node} is where it is: the best of those that take it"
    best = told.chosen
    if best is None or best.node == node:
        return f"{node} takes it, and is the best of those that do"
    short = best.total - told.score.total
    if short == 0:
        return f"{node} would take it and is as good as {best.node}, which comes first by name"
    return f"{node} would take it, but {best.node} is better by {short} points"
