"""The autoscaler: brings the number of replicas of a workload in step with its metrics, every 15 seconds.

    target and its number -> metrics -> stabilization -> replicas that wait -> policies, bounds -> pause -> scale

Nothing but a change of the autoscaler itself wakes it before its time. A change of scale goes to the scale subresource,
bound to the versions of the target and of the autoscaler that were looked at; before it, what must be remembered of it
is written down (`memory.py`), after it the status. All is Kubernetes' algorithm, but for one thing: replicas that wait
for others are no reason to add more (`blocked.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.decision.contract import (
    NOTHING,
    SETTLED,
    Decision,
    EventNote,
    Reading,
    Refusal,
    Verdict,
    Waiting,
)
from fairlead.decision.decider import Decider, Wake
from fairlead.decision.effects import ChangeScale, Effect
from fairlead.decision.ensure import ensure_fields, ensure_status
from fairlead.decision.notes import NORMAL, WARNING, regarding_of
from fairlead.decision.predicates import PRESENT
from fairlead.decision.wakes import changed, itself
from fairlead.model.catalog import CATALOG, Catalog
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.policy import plane_knobs
from fairlead.model.views import (
    AUTOSCALERS,
    LEASES,
    NODES,
    OVERRIDES,
    PLANE_SETTINGS,
    PODS,
    Autoscaler,
    Pod,
    Resource,
    View,
)
from fairlead.reconcile.autoscaling.blocked import AMPLIFIED, Waiters, bounds_of, find_waiters, held_back
from fairlead.reconcile.autoscaling.measuring import MeasuredMetric, MeasuringMeans, Unmeasured, measure
from fairlead.reconcile.autoscaling.memory import (
    MEMORY,
    Recommendation,
    Rescaling,
    ScalingMemory,
    carried_out,
    read_memory,
    recommend,
    remember_rescaling,
    write_memory,
)
from fairlead.reconcile.autoscaling.pace import Behavior, behavior_of, limited, stabilized
from fairlead.reconcile.autoscaling.pausing import PAUSED, paused_by
from fairlead.reconcile.autoscaling.report import ABLE, ACTIVE, LIMITED, ScalingReport
from fairlead.reconcile.autoscaling.targets import (
    READABLE,
    ScaleTarget,
    UnknownTarget,
    custom_resources,
    find_target,
    scale_to,
)
from fairlead.reconcile.autoscaling.usage import wanting

NAME = "autoscaler"
_ALWAYS = ("desiredReplicas",)


def autoscaler_decider(catalog: Catalog = CATALOG) -> Decider:
    """`catalog`: kinds may be added to it and taken from it; the controller is made anew for them."""
    scaler = _Autoscaling(catalog)
    return Decider(
        name=NAME,
        reads=scaler.reads,
        wakes=(Wake(AUTOSCALERS, changed(_asked, itself), when=PRESENT),),
        decide=scaler.decide,
        refused=scaler.refused,
        remade=lambda: autoscaler_decider(catalog),
    )


def _asked(found: Autoscaler | None) -> object:
    """What people say of it; its own reports and notes are no news."""
    if found is None:
        return None
    meta = found.metadata
    told = {name: text for name, text in meta.annotations.items() if name != MEMORY}
    return meta.uid, meta.generation, told


class _Wanted(NamedTuple):
    """How many there should be, why, and what is remembered of it."""

    replicas: int
    why: str
    memory: ScalingMemory
    inputs: tuple[Json, ...] = ()
    verdict: Verdict = SETTLED


class _Autoscaling:
    """Decides for the kinds that a catalog has as this is made."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        first: tuple[Resource[View], ...] = (AUTOSCALERS, PODS, NODES, LEASES, PLANE_SETTINGS)
        others = (each for each in READABLE if catalog.of_resource(each.name) is not None)
        self.reads: tuple[Resource[View], ...] = (*first, OVERRIDES, *others, *custom_resources(catalog))

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        found = view.get(AUTOSCALERS, key.namespace, key.name)
        if found is None or found.metadata.deletion_timestamp:
            return NOTHING
        settings = view.get(PLANE_SETTINGS, "", plane_knobs.NAME)
        knobs = plane_knobs.numbers(settings.spec if settings is not None else {}, "autoscaling")
        again_at = now + knobs["syncSeconds"]
        report = ScalingReport(found, now)
        try:
            target = find_target(view, self._catalog, found.spec.scale_target_ref, key.namespace)
        except UnknownTarget as error:
            text = f"the HPA controller was unable to get the target's current scale: {error}"
            report.say(ABLE, False, "FailedGetScale", text)
            return _told(found, report, (), Waiting("FailedGetScale", str(error)), again_at)
        report.say(
            ABLE, True, "SucceededGetScale", "the HPA controller was able to get the target's current scale"
        )
        rules = behavior_of(found.spec.behavior, knobs)
        memory = carried_out(_recalled(found, target, rules), target.replicas)
        report.current = target.replicas
        pods = _pods_of(view, target)
        wanted = self._wanted(
            view, found, target, pods, memory=memory, rules=rules, knobs=knobs, report=report, now=now
        )
        nodes = wanting(view, NAME, pods, now) if _follows_usage(found) else ()
        return _carried_out(
            view, found, target, wanted, rules=rules, report=report, nodes=nodes, again_at=again_at, now=now
        )

    def _wanted(
        self,
        view: Reading,
        found: Autoscaler,
        target: ScaleTarget,
        pods: Sequence[Pod],
        memory: ScalingMemory,
        rules: Behavior,
        knobs: plane_knobs.Numbers,
        report: ScalingReport,
        now: float,
    ) -> _Wanted:
        current, least, most = target.replicas, found.spec.min_replicas, found.spec.max_replicas
        if current == 0 and least != 0:
            text = "scaling is disabled since the replica count of the target is zero"
            report.say(ACTIVE, False, "ScalingDisabled", text)
            return _Wanted(0, "", memory)
        if current > most:
            return _Wanted(most, "Current number of replicas above Spec.MaxReplicas", memory)
        if current < least:
            return _Wanted(least, "Current number of replicas below Spec.MinReplicas", memory)
        others = _others(view, found)
        if target.selector is None or others:
            return _unselected(found, target, others, memory, report)
        means = MeasuringMeans(
            view,
            self._catalog,
            found.metadata.namespace,
            target,
            pods=pods,
            rules=rules,
            knobs=knobs,
            now=now,
        )
        results = [measure(each, means) for each in found.spec.metrics]
        best = _largest(results, current, report)
        inputs = tuple(each.inputs for each in results)
        if best is None:
            trouble = next(each for each in results if isinstance(each, Unmeasured))
            return _Wanted(current, "", memory, inputs, Waiting(trouble.reason, trouble.message))
        why = "All metrics below target" if best.replicas < current else f"{best.name} above target"
        memory = recommend(memory, best.replicas, now, rules.down.window_seconds, rules.up.window_seconds)
        waiters = find_waiters(target, pods)
        return _paced(
            found,
            target,
            best.replicas,
            why,
            memory=memory,
            rules=rules,
            waiters=waiters,
            knobs=knobs,
            inputs=inputs,
            report=report,
            now=now,
        )

    def refused(self, view: Reading, key: Key, refusal: Refusal, now: float) -> Decision:
        """What to report while the API refuses to change the scale."""
        found = view.get(AUTOSCALERS, key.namespace, key.name)
        if found is None or not isinstance(refusal.effect, ChangeScale):
            return NOTHING
        report = ScalingReport(found, now)
        text = f"the HPA controller was unable to update the target scale: {refusal.message}"
        report.say(ABLE, False, "FailedUpdateScale", text)
        size = refusal.effect.patch["spec"]["replicas"]
        note = EventNote(
            regarding_of(AUTOSCALERS, found.metadata),
            WARNING,
            "FailedRescale",
            f"New size: {size}; error: {refusal.message}",
            occasion=refusal.message,
        )
        settings = view.get(PLANE_SETTINGS, "", plane_knobs.NAME)
        knobs = plane_knobs.numbers(settings.spec if settings is not None else {}, "autoscaling")
        again_at = now + knobs["syncSeconds"]
        told = _told(found, report, (), Waiting("FailedUpdateScale", refusal.message), again_at)
        return Decision(told.verdict, told.effects, told.again_at, (note,))


def _recalled(found: Autoscaler, target: ScaleTarget, rules: Behavior) -> ScalingMemory:
    """One that is new, or has forgotten, begins with the number there is, as if that had been recommended."""
    memory = read_memory(found.metadata.annotations.get(MEMORY, ""))
    now_there = (Recommendation(target.replicas),)
    if not memory.highest and rules.down.window_seconds:
        memory = memory._replace(highest=now_there)
    if not memory.lowest and rules.up.window_seconds:
        memory = memory._replace(lowest=now_there)
    return memory


def _pods_of(view: Reading, target: ScaleTarget) -> Sequence[Pod]:
    if target.selector is None:
        return ()
    return view.select(PODS, target.metadata.namespace, target.selector)


def _others(view: Reading, found: Autoscaler) -> list[str]:
    """Autoscalers of the same target: each would undo what the other does."""
    wanted = found.spec.scale_target_ref
    same = [
        f"{each.metadata.namespace}/{each.metadata.name}"
        for each in view.list(AUTOSCALERS, found.metadata.namespace)
        if (each.spec.scale_target_ref.kind, each.spec.scale_target_ref.name) == (wanted.kind, wanted.name)
    ]
    return same if len(same) > 1 else []


def _unselected(
    found: Autoscaler, target: ScaleTarget, others: list[str], memory: ScalingMemory, report: ScalingReport
) -> _Wanted:
    if others:
        reason = "AmbiguousSelector"
        text = f"pods by selector {target.text} are controlled by multiple HPAs: [{' '.join(others)}]"
    else:
        reason, text = "InvalidSelector", "the HPA target's scale is missing a selector"
    report.say(ACTIVE, False, reason, text)
    return _Wanted(target.replicas, "", memory, (), Waiting(reason, text))


def _follows_usage(found: Autoscaler) -> bool:
    return any(each.get("type") in ("Resource", "ContainerResource") for each in found.spec.metrics)


def _largest(
    results: Sequence[MeasuredMetric | Unmeasured], current: int, report: ScalingReport
) -> MeasuredMetric | None:
    """The metric that wants most replicas. None if there is none, or if it would take some away while others are
    not known."""
    measured = [each for each in results if isinstance(each, MeasuredMetric)]
    unknown = [each for each in results if isinstance(each, Unmeasured)]
    if measured:
        report.metrics = tuple(each.status for each in measured)
    best = max(measured, key=lambda each: each.replicas, default=None)
    if best is None or (unknown and best.replicas < current):
        text = f"the HPA was unable to compute the replica count: {unknown[0].message}"
        report.say(ACTIVE, False, unknown[0].reason, text)
        return None
    text = f"the HPA was able to successfully calculate a replica count from {best.name}"
    report.say(ACTIVE, True, "ValidMetricFound", text)
    return best


def _paced(
    found: Autoscaler,
    target: ScaleTarget,
    recommended: int,
    why: str,
    memory: ScalingMemory,
    rules: Behavior,
    waiters: Waiters,
    knobs: plane_knobs.Numbers,
    inputs: tuple[Json, ...],
    report: ScalingReport,
    now: float,
) -> _Wanted:
    """What remains of a recommendation after all that holds it back."""
    current, spec = target.replicas, found.spec
    steady = stabilized(current, recommended, memory, rules, now)
    if steady.reason:
        report.say(ABLE, True, steady.reason, steady.message)
    else:
        report.say(ABLE, True, "ReadyForNewScale", "recommended size matches current size")
    bounds = bounds_of(knobs, current, memory, now)
    held = held_back(found, target, steady.replicas, waiters, bounds)
    paced = limited(current, held.replicas, spec.min_replicas, spec.max_replicas, memory, rules, now)
    verdict: Verdict = SETTLED
    if held.reason:
        verdict = Waiting(held.reason, held.message)
        blocked: Json = {"waiting": waiters.waiting, "placed": waiters.placed}
        if waiters.blocked:
            blocked |= {"blocked": waiters.blocked, "reason": waiters.reason, "owner": waiters.owner}
        if held.reason == AMPLIFIED:
            blocked |= {"bound": bounds.limit(waiters)[0], "windowReplicas": bounds.window_replicas}
        inputs = (*inputs, {"forbade": held.reason, "wanted": steady.replicas, **blocked})
    limit = held if held.reason else paced
    if limit.reason:
        report.say(LIMITED, True, limit.reason, limit.message)
    else:
        report.say(LIMITED, False, "DesiredWithinRange", "the desired count is within the acceptable range")
    return _Wanted(paced.replicas, why, memory, inputs, verdict)


def _carried_out(
    view: Reading,
    found: Autoscaler,
    target: ScaleTarget,
    wanted: _Wanted,
    rules: Behavior,
    report: ScalingReport,
    nodes: Sequence[Effect],
    again_at: float,
    now: float,
) -> Decision:
    current, memory, verdict = target.replicas, wanted.memory, wanted.verdict
    pausing = (
        paused_by(view, target.metadata.namespace, target.name, now) if wanted.replicas != current else ""
    )
    if pausing:
        text = (
            f"SchedulerOverride {pausing} pauses autoscaling of {target.name}: {current} stay,"
            f" {wanted.replicas} are wanted"
        )
        report.say(ABLE, False, PAUSED, text)
        verdict = Waiting(PAUSED, text)
    effects: list[Effect] = []
    notes: tuple[EventNote, ...] = ()
    report.desired = current
    scale: ChangeScale | None = None
    if wanted.replicas != current and not pausing:
        memory = remember_rescaling(
            memory, Rescaling(now, current, wanted.replicas), rules.remembered_seconds
        )
        scale = scale_to(wanted.replicas, target, NAME, found)
        report.desired = wanted.replicas
        report.rescaled()
        size = wanted.replicas
        told = f"the HPA controller was able to update the target scale to {size}"
        report.say(ABLE, True, "SucceededRescale", told)
        text = f"New size: {size}; reason: {wanted.why}"
        verdict = verdict if isinstance(verdict, Waiting) else Waiting("Rescaling", text)
    kept = _kept(found, memory)
    if kept is not None:
        effects.append(kept)
    if scale is not None:
        about = regarding_of(AUTOSCALERS, found.metadata)
        notes = (EventNote(about, NORMAL, "SuccessfulRescale", text, len(effects)),)
        effects.append(scale)
    status = _told(found, report, wanted.inputs, verdict, again_at).effects
    return Decision(verdict, (*effects, *status, *nodes), again_at, notes, wanted.inputs)


def _kept(found: Autoscaler, memory: ScalingMemory) -> Effect | None:
    known = found.metadata.annotations
    if read_memory(known.get(MEMORY, "")) == memory:
        return None
    return ensure_fields(
        NAME,
        found.metadata,
        AUTOSCALERS,
        found,
        "memory",
        {"metadata": {"annotations": known}},
        {"metadata": {"annotations": {MEMORY: write_memory(memory)}}},
    )


def _told(
    found: Autoscaler, report: ScalingReport, inputs: tuple[Json, ...], verdict: Verdict, again_at: float
) -> Decision:
    status = ensure_status(NAME, AUTOSCALERS, found, report.status(), always=_ALWAYS)
    return Decision(verdict, (status,) if status is not None else (), again_at, inputs=inputs)
