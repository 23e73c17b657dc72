"""Repair: removes what is left over and would stay for ever, by the rules of `ledger/repair.py`; tells what is unclear.

One key, looked at every `repair.everySeconds`: leftovers are those that no event speaks of any more, so they are looked
for in the state alone. Each removal commits only while the object is as it was seen and its Node still gone, and leaves
a record and an Event that cites the rule. With `repair.automatic` 0 in the PlaneSettings nothing is touched; `fairlead
repair` shows what would be done all the same. What was left over is told on its workload (`repair_told.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec import structs

from fairlead.core.times import timestamp
from fairlead.decision.contract import EFFECTS_MAX, SETTLED, Decision, EventNote, Reading, Verdict, Waiting
from fairlead.decision.decider import Decider, Wake
from fairlead.decision.effects import Effect, delete_object, identity
from fairlead.decision.ensure import ensure_fields, ensure_gone, ensure_status
from fairlead.decision.notes import NORMAL, WARNING, regarding_of
from fairlead.decision.wakes import always, changed
from fairlead.ledger import override, repair
from fairlead.ledger.evidence import Evidence
from fairlead.model.key import Key
from fairlead.model.marks import NODE_LEASES
from fairlead.model.policy import evidence_rows as rows
from fairlead.model.policy import plane_knobs
from fairlead.model.premise import Premise
from fairlead.model.views import (
    EVIDENCE_POLICIES,
    JOBS,
    LEASES,
    NODES,
    OVERRIDES,
    PLANE_SETTINGS,
    PODS,
    REPLICASETS,
    Condition,
    Lease,
    Pod,
    Resource,
    SchedulerOverride,
    View,
)
from fairlead.reconcile.job.pods import release_pod
from fairlead.reconcile.repair_told import WORKLOADS, told_on_workloads

NAME = "repair"
ALL = Key(PODS.name, "", "")

Found = tuple[repair.Finding, Pod | Lease]


def repair_decider() -> Decider:
    return Decider(
        name=NAME,
        reads=(
            PODS,
            NODES,
            LEASES,
            JOBS,
            PLANE_SETTINGS,
            EVIDENCE_POLICIES,
            OVERRIDES,
            REPLICASETS,
            *WORKLOADS,
        ),
        wakes=(Wake(PLANE_SETTINGS, always(ALL)), Wake(OVERRIDES, changed(override.bearing, always(ALL)))),
        decide=_decide,
        unsettled=lambda view: (ALL,),
        initial_keys=(ALL,),
    )


def _decide(view: Reading, key: Key, now: float) -> Decision:
    settings = view.get(PLANE_SETTINGS, "", plane_knobs.NAME)
    knobs = plane_knobs.numbers(settings.spec if settings is not None else {}, "repair")
    again_at = now + knobs["everySeconds"]
    found = [
        each for each in findings(view, int(knobs["endedPodsMax"]), now) if not _is_paused(view, each, now)
    ]
    approved = {each[0].key: by for each in found if (by := _approval_of(view, each, now)) is not None}
    clear = [each for each in found if each[0].rule.act or each[0].key in approved]
    left = [each for each in found if not each[0].rule.act and each[0].key not in approved]
    effects: list[Effect] = []
    notes = [_ambiguous(each) for each in left[:EFFECTS_MAX]]
    if not knobs["automatic"]:
        return Decision(_verdict(clear, left, reporting=True), (), again_at, tuple(notes))
    for each in clear:
        by = approved.get(each[0].key)
        effect, note = _act(each, now) if by is None else _act_approved(each, by)
        if effect is None:
            again_at = min(again_at, each[0].due_at)
            continue
        if len(effects) >= EFFECTS_MAX:
            again_at = now
            break
        if note is not None:
            notes.append(structs.replace(note, after=len(effects)))
        effects.append(effect)
    effects += islice(told_on_workloads(NAME, view, found, now), EFFECTS_MAX - len(effects))
    return Decision(_verdict(clear, left), tuple(effects), again_at, tuple(notes))


def _is_paused(view: Reading, each: Found, now: float) -> bool:
    overrides = view.list(OVERRIDES)
    if not overrides:
        return False
    found = each[1]
    name = found.spec.node_name if isinstance(found, Pod) else found.metadata.name
    node = view.get(NODES, "", name) if name else None
    labels = node.metadata.labels if node is not None else {}
    meta = found.metadata if isinstance(found, Pod) else None
    return override.holding_at(overrides, override.repair, name, labels, meta, now) is not None


def _approval_of(view: Reading, each: Found, now: float) -> SchedulerOverride | None:
    """Who approved the removal of this very pod, of which the rules leave it to people to decide."""
    finding, found = each
    if finding.rule.act or not isinstance(found, Pod):
        return None
    for by in override.active(view.list(OVERRIDES), now):
        if override.approves(by, found.metadata):
            return by
    return None


def _act_approved(each: Found, by: SchedulerOverride) -> tuple[Effect, EventNote]:
    """Only while the approval lasts, by the server's clock."""
    found, premises = each[1], (override.premise_of(by),)
    meta, who = found.metadata, f"SchedulerOverride {by.metadata.namespace}/{by.metadata.name}"
    effect: Effect | None = None
    told = f"it is removed, as {by.spec.requested_by} approved ({who})"
    if meta.finalizers:
        told = f"its finalizers are removed, as {by.spec.requested_by} approved ({who})"
        before = {"metadata": {"finalizers": list(meta.finalizers)}}
        after = {"metadata": {"finalizers": None}}
        effect = ensure_fields(
            NAME, meta, PODS, found, intent="approved", current=before, wanted=after, premises=premises
        )
    if effect is None:
        label = identity(NAME, meta.uid, "approved", by.metadata.uid)
        effect = delete_object(label, PODS, meta, grace_seconds=0, premises=premises)
    return effect, _note(PODS, each, told)


def findings(view: Reading, ended_max: int, now: float) -> Iterator[Found]:
    """All there is to say of pods and leases, each object once."""
    nodes = {node.metadata.name: bool(node.spec.taints) for node in view.list(NODES)}
    calm = {name for name, tainted in nodes.items() if not tainted}
    calm.add("")
    releasable = is_releasable(Evidence(view.get(EVIDENCE_POLICIES, "", rows.NAME)))
    ended: dict[Key, Pod] = {}
    let_go: dict[tuple[str, str], list[Pod]] = {}  # by the namespace and uid of their Job
    for pod in view.list(PODS):
        node, meta, phase = pod.spec.node_name, pod.metadata, pod.status.phase
        has_ended = phase == "Succeeded" or phase == "Failed"
        if not has_ended and node in calm and not meta.deletion_timestamp and not meta.finalizers:
            continue  # nearly all of them: no rule speaks of these
        is_gone = bool(node) and node not in nodes
        if has_ended:
            ended[Key(PODS.name, meta.namespace, meta.name)] = pod
            if meta.controller is not None and repair.is_let_go(pod):
                let_go.setdefault((meta.namespace, meta.controller.uid), []).append(pod)
        found = repair.of_pod(pod, is_gone, now, releasable)
        if found is not None:
            ended.pop(found.key, None)
            yield found, pod
    yield from _not_counted(view, let_go, now)
    for over in repair.over_limit(ended.values(), ended_max, now):
        yield over, ended[over.key]
    for lease in view.list(LEASES, NODE_LEASES):
        left = repair.of_lease(lease, lease.metadata.name not in nodes)
        if left is not None:
            yield left, lease


def _not_counted(view: Reading, let_go: dict[tuple[str, str], list[Pod]], now: float) -> Iterator[Found]:
    """Only on Jobs that are seen as they were when the pods were let go, or later."""
    if not let_go:
        return
    for job in view.list(JOBS):
        pods = let_go.get((job.metadata.namespace, job.metadata.uid))
        if pods and view.shows(JOBS, max(pod.metadata.revision for pod in pods)):
            by_name = {pod.metadata.name: pod for pod in pods}
            for found in repair.not_counted(job, pods, now):
                yield found, by_name[found.key.name]


def is_releasable(evidence: Evidence) -> bool:
    acts = (rows.RELEASE, rows.RELEASE_AT_MOST_ONE)
    return all(evidence.allows(rows.NODE_GONE, act) is not None for act in acts)


def _act(each: Found, now: float) -> tuple[Effect | None, EventNote | None]:
    """What is to be done about it now, and what to tell; nothing before it is due."""
    finding, found = each
    meta = found.metadata
    resource: Resource[View] = PODS if isinstance(found, Pod) else LEASES
    if finding.rule is repair.TRACKING_LEFT:
        assert isinstance(found, Pod)
        return release_pod(NAME, meta, found), _note(resource, each, "its finalizer is removed")
    if isinstance(found, Pod) and finding.rule is repair.NODE_IS_BACK:
        return _with_mark(found, None), None
    if isinstance(found, Pod) and finding.rule is repair.ENDED_ON_MISSING_NODE and not finding.since:
        return _with_mark(found, _mark(finding, now)), None
    if now < finding.due_at:
        return None, None
    if isinstance(found, Lease):
        gone = ensure_gone(NAME, meta, LEASES, found, premises=(_absent(meta.name),))
        return gone, _note(resource, each, "it is removed")
    is_orphan = finding.rule is repair.ENDED_ON_MISSING_NODE
    premises = (_absent(found.spec.node_name),) if is_orphan else ()
    label = identity(NAME, meta.uid, "remove")
    delete = delete_object(label, PODS, meta, grace_seconds=0, premises=premises)
    return delete, _note(resource, each, "it is removed")


def _mark(finding: repair.Finding, now: float) -> Condition:
    """From here on its time runs."""
    due = timestamp(now + finding.rule.after_seconds)
    told = f"{finding.why}; unless that comes back it is removed after {due} ({finding.rule.cited})"
    return Condition(repair.MARK, "True", finding.rule.name, told, timestamp(now))


def _with_mark(pod: Pod, mark: Condition | None) -> Effect | None:
    conditions = [each for each in pod.status.conditions if each.type != repair.MARK]
    if mark is not None:
        conditions.append(mark)
    return ensure_status(NAME, PODS, pod, structs.replace(pod.status, conditions=tuple(conditions)))


def _note(resource: Resource[View], each: Found, what: str) -> EventNote:
    finding, found = each
    told = f"{finding.why}: {what} ({finding.rule.cited})"
    return EventNote(regarding_of(resource, found.metadata), NORMAL, "Repaired", told)


def _ambiguous(each: Found) -> EventNote:
    finding, found = each
    resource: Resource[View] = PODS if isinstance(found, Pod) else LEASES
    told = f"{finding.why} ({finding.rule.cited}); {finding.remedy}"
    occasion = f"{finding.rule.name}/{found.metadata.uid}"
    return EventNote(
        regarding_of(resource, found.metadata), WARNING, "RepairNeedsSomebody", told, occasion=occasion
    )


def _absent(node: str) -> Premise:
    return Premise(Key(NODES.name, "", node), 0)


def _verdict(clear: list[Found], left: list[Found], *, reporting: bool = False) -> Verdict:
    """The record names the rules; which object each is about is in the effects and Events."""
    if not clear and not left:
        return SETTLED
    doing = "only reported" if reporting else "to be removed"
    told = [f"{len(clear)} {doing} ({_rules(clear)})"] if clear else []
    told += [f"{len(left)} left to people ({_rules(left)})"] if left else []
    return Waiting("LeftoversFound", "; ".join(told) + ": fairlead repair")


def _rules(found: list[Found]) -> str:
    return ", ".join(sorted({finding.rule.name for finding, _ in found}))
