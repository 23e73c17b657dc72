"""Deployment: replicas of a template, kept by ReplicaSets, replaced step by step when the template changes.

Per turn the first of these that has something to do: claim ReplicaSets; create the new one (or, if the strategy is
Recreate, empty the old ones first); number the revision; scale when the number of replicas changed; take the next step
of the rollout; forget old revisions; report. Sizes come from `rollout.py`, the history from `history.py`, conditions
from `status.py`, and what holds a rollout back from `caution.py`. Pods are looked at only to see whether old ones are
gone, or out of reach when others are about to be given up for them; how many are available is what the ReplicaSets
report.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from fairlead.decision.contract import (
    EFFECTS_MAX,
    NOTHING,
    SETTLED,
    Decision,
    EventNote,
    Reading,
    Refusal,
    Verdict,
    Waiting,
)
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.effects import Create
from fairlead.decision.ensure import ensure_status
from fairlead.decision.notes import WARNING, regarding_of
from fairlead.decision.predicates import GONE, OWNED
from fairlead.decision.wakes import changed, claiming, each_of, workload_itself
from fairlead.model.key import Key
from fairlead.model.marks import TEMPLATE_HASH
from fairlead.model.reasons import HELD_BY_OVERRIDE, LATE
from fairlead.model.views import (
    DEPLOYMENTS,
    EVIDENCE_POLICIES,
    LEASES,
    NODES,
    PODS,
    REPLICASETS,
    Deployment,
    DeploymentStatus,
    Pod,
    ReplicaSet,
)
from fairlead.reconcile.children import claim
from fairlead.reconcile.deployment.caution import became_ready, is_late, late_notes, pause_due_at, pause_of
from fairlead.reconcile.deployment.history import split_sets
from fairlead.reconcile.deployment.rollout import limits, without_surge
from fairlead.reconcile.deployment.status import (
    PROGRESSING,
    RESUMED,
    create_failed,
    deadline,
    is_complete,
    wanted_status,
)
from fairlead.reconcile.deployment.steps import NAME, RolloutScene, next_step, scalings
from fairlead.reconcile.nodes.pod_marks import is_lost
from fairlead.reconcile.nodes.reach import LOOK_AGAIN_SECONDS
from fairlead.reconcile.overrides.heeding import heeding, held_deployment, with_held


def deployment_decider() -> Decider:
    decider = Decider(
        name=NAME,
        reads=(DEPLOYMENTS, REPLICASETS, PODS, NODES, LEASES, EVIDENCE_POLICIES),
        dated=(LEASES,),
        wakes=(
            Wake(DEPLOYMENTS, workload_itself),
            *claiming(DEPLOYMENTS, REPLICASETS),
            Wake(PODS, _of_pod, when=GONE),
            Wake(PODS, changed(_counts_as, _of_pod), when=OWNED),
            Wake(EVIDENCE_POLICIES, each_of(DEPLOYMENTS, is_late)),
        ),
        decide=_decide,
        refused=_refused,
    )
    return heeding(decider, DEPLOYMENTS)


def _decide(view: Reading, key: Key, now: float) -> Decision:
    found = view.get(DEPLOYMENTS, key.namespace, key.name)
    if found is None:
        return NOTHING
    found, held = held_deployment(view, found, now)
    claimed = claim(view, NAME, DEPLOYMENTS, found.metadata, found.spec.selector, REPLICASETS)
    if claimed.effects:
        return Decision(Waiting("ClaimingReplicaSets"), claimed.effects[:EFFECTS_MAX])
    new, olds = split_sets(found, claimed.mine)
    bounds = limits(found)
    scene = RolloutScene(view, found, new, olds, without_surge(found, bounds, new))
    status = wanted_status(
        found,
        new,
        olds,
        bounds,
        now=now,
        pause=lambda: pause_of(view, found, new, now),
        unknown=_unknown(view, claimed.mine),
        became_ready=lambda since: became_ready(view, new, since),
    )
    status = structs.replace(status, conditions=with_held(status.conditions, held, now))
    again_at = deadline(found, new, status) or pause_due_at(view, found, status, now)
    if not found.metadata.deletion_timestamp:
        reason, effects, waits = next_step(scene, status)
        if waits:
            again_at = min(again_at or now + LOOK_AGAIN_SECONDS, now + LOOK_AGAIN_SECONDS)
        if effects:
            effects = effects[:EFFECTS_MAX]
            notes = scalings(scene, effects)
            if scene.bounds != bounds and any(each.name != scene.new_name for each in effects):
                notes = (*notes, _surge_refused(found))
            return Decision(Waiting(reason), tuple(effects), again_at, notes)
    report = ensure_status(NAME, DEPLOYMENTS, found, status)
    notes = late_notes(found, status) if report is not None else ()
    effects = (report,) if report is not None else ()
    # That it goes on is told once; what follows from it is told next.
    is_final = not any(each.type == PROGRESSING and each.reason == RESUMED for each in status.conditions)
    return Decision(_verdict(scene, status, held), effects, again_at, notes, is_final=is_final)


def _refused(view: Reading, key: Key, refusal: Refusal, now: float) -> Decision:
    """What to report while the API refuses something about its ReplicaSets: what holds it, and of a new set why it is
    not there. An override may end while the refusal lasts."""
    found, effect = view.get(DEPLOYMENTS, key.namespace, key.name), refusal.effect
    if found is None:
        return NOTHING
    found, held = held_deployment(view, found, now)
    wanted = found.status
    notes: tuple[EventNote, ...] = ()
    if isinstance(effect, Create):
        sets = claim(view, NAME, DEPLOYMENTS, found.metadata, found.spec.selector, REPLICASETS).mine
        counted = wanted_status(found, *split_sets(found, sets), limits(found), now)
        wanted = create_failed(found, counted, refusal, now)
        told = f'Failed to create new replica set "{effect.name}": {refusal.message}'
        notes = (
            EventNote(regarding_of(DEPLOYMENTS, found.metadata), WARNING, "ReplicaSetCreateError", told),
        )
    wanted = structs.replace(wanted, conditions=with_held(wanted.conditions, held, now))
    status = ensure_status(NAME, DEPLOYMENTS, found, wanted)
    verdict = Waiting("ReplicaSetCreateError", refusal.message) if notes else NOTHING.verdict
    return Decision(verdict, (status,) if status else (), events=notes)


def _unknown(view: Reading, sets: Iterable[ReplicaSet]) -> int:
    """Pods of which nobody can tell how they are: their nodes are silent."""
    metas = [found.metadata for found in sets]
    pods = (pod for meta in metas for pod in view.owned(PODS, meta.uid, meta.namespace))
    return sum(map(_is_unknown, pods))


def _surge_refused(found: Deployment) -> EventNote:
    said = (found.spec.strategy.get("rollingUpdate") or {}).get("maxUnavailable", "25%")
    told = (
        f"A quota refuses the surge, and maxUnavailable {said} of {found.spec.replicas} is less than one pod: "
        "an old pod goes before the new one is there"
    )
    return EventNote(regarding_of(DEPLOYMENTS, found.metadata), WARNING, "SurgeRefused", told, 0)


def _verdict(scene: RolloutScene, status: DeploymentStatus, held: str) -> Verdict:
    if scene.deployment.metadata.deletion_timestamp:
        return Waiting("Deleting")
    if held:
        return Waiting(HELD_BY_OVERRIDE, held)
    for each in status.conditions:
        if each.type == PROGRESSING and each.reason == LATE:
            return Waiting(each.reason, each.message)  # late, but it may still get there
    if is_complete(scene.deployment, status):
        return SETTLED
    if scene.deployment.spec.paused:
        return Waiting("Paused")
    wanted = scene.deployment.spec.replicas
    return Waiting("PodsUnavailable", f"{status.available_replicas} of {wanted} replicas are available")


def _is_unknown(pod: Pod | None) -> bool:
    return pod is not None and not pod.finished and is_lost(pod)


def _counts_as(pod: Pod | None) -> tuple[bool, bool]:
    return _is_unknown(pod), pod is not None and pod.released


def _of_pod(event: WatchEvent[Pod]) -> Iterable[Key]:
    """The Deployment whose ReplicaSet a pod belongs to, as far as the names tell. Recreate waits until old pods are
    gone, or released, and pods of silent nodes are counted."""
    pod = event.newest
    owner, label = pod.metadata.controller, pod.metadata.labels.get(TEMPLATE_HASH)
    if owner is None or not label or not owner.name.endswith(f"-{label}"):
        return ()
    return (Key(DEPLOYMENTS.name, pod.metadata.namespace, owner.name.removesuffix(f"-{label}")),)
