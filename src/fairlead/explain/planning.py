"""Where pods would go that do not exist, and whom they would evict: placed on a copy of the world, nothing is written.

Pods are tried as the queue would: by priority, then in the order given. Pods that have to leave for one are gone for
those after it. Called by `runtime/server/explanations.py` for `fairlead plan`, with pods that the API has defaulted
(dry run).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from fairlead.api.access.sight import EVERYTHING, Sight
from fairlead.core.errors import BadRequest, TooLarge
from fairlead.explain.asking import Asking
from fairlead.explain.masking import masked_names
from fairlead.explain.remedies import remarks, remedies
from fairlead.explain.scheduler_snapshots import Scheduling, scheduling_now
from fairlead.explain.sources import Sources, held_back
from fairlead.model.key import Key
from fairlead.model.views import PODS, Meta, Pod, View
from fairlead.schedule.contract import SchedulingAttempt
from fairlead.schedule.cycle import Cycle
from fairlead.schedule.facts import Facts
from fairlead.schedule.policy import Policy
from fairlead.schedule.snapshot import Snapshot

Json = dict[str, Any]
#: bound: plane | pods of one plan | 413
PLAN_PODS_MAX = 5000


class WantedPods(msgspec.Struct, frozen=True):
    """Pods that differ in nothing but their names."""

    pod: Json
    names: tuple[str, ...]


class PlanQuestion(msgspec.Struct, frozen=True):
    items: tuple[WantedPods, ...]


class Planned(NamedTuple):
    namespace: str
    name: str
    node: str
    evicts: tuple[str, ...]
    message: str
    remedies: tuple[str, ...]
    remarks: tuple[str, ...]
    held: bool = False  # nobody would try to place it yet, so that it neither fits nor does not


def answer(sources: Sources, body: bytes, sight: Sight = EVERYTHING) -> Asking[Json]:
    """Pods of namespaces that are not in sight and would be evicted are counted, not named."""
    spaces = sight.namespaces(sources.namespaces())
    pods: list[Pod] = yield lambda: _asked(body)
    found = scheduling_now(sources)
    policy = found.policy
    told: Json = {
        "policy": [policy.name, policy.revision],
        "revision": found.revision,
        "waiting": found.waiting,
        **({"plane": found.by} if found.by else {}),
    }
    planned: tuple[Planned, ...] = yield lambda: _planned(found, pods)
    return {
        **told,
        "fits": all(each.node or each.held for each in planned),
        "items": [each._replace(evicts=masked_names(each.evicts, spaces))._asdict() for each in planned],
    }


def _planned(found: Scheduling, pods: Sequence[Pod]) -> tuple[Planned, ...]:
    seen = found.sight()
    return plan(seen.snapshot(), found.policy, pods, seen.pods())


def _asked(body: bytes) -> list[Pod]:
    try:
        question = msgspec.json.decode(body, type=PlanQuestion)
        pods = [
            _named(msgspec.convert(each.pod, Pod), name) for each in question.items for name in each.names
        ]
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise BadRequest(f"this is not a question for a plan: {error}") from error
    if len(pods) > PLAN_PODS_MAX:
        raise TooLarge(
            f"{len(pods)} pods are more than can be planned at once: {PLAN_PODS_MAX}; plan them in parts"
        )
    return pods


def plan(
    snapshot: Snapshot, policy: Policy, pods: Sequence[Pod], there: dict[Key, Pod] | None = None
) -> tuple[Planned, ...]:
    """In the order given. Pods that exist are in `there`: those who are evicted are looked up in it."""
    cycle = Cycle(snapshot, policy)
    order = sorted(range(len(pods)), key=lambda place: -snapshot.priority_of(pods[place]))
    found: dict[int, Planned] = {}
    known: dict[Facts, tuple[str, ...]] = {}  # ways out of pods alike, as long as nobody else is placed
    for place in order:
        pod = pods[place]
        if pod.spec.node_name:
            found[place] = _told(pod, pod.spec.node_name, (), "names its node itself")
            snapshot.assume(pod, pod.spec.node_name)
            known.clear()
            continue
        if held := held_back(pod):
            found[place] = _told(pod, "", (), held)._replace(held=True)
            continue
        attempt = cycle.place(pod, assume=False)
        node = attempt.node or attempt.nominated
        facts = snapshot.facts_for(pod)
        if not node and facts not in known:
            known[facts] = remedies(snapshot, policy, facts)
        ways = () if node else known[facts]
        found[place] = _told(pod, node, _evicted(attempt), attempt.message, ways, remarks(snapshot, facts))
        if node:
            known.clear()
            _make_room(snapshot, attempt, there or {})
            snapshot.assume(pod, node)
    return tuple(found[place] for place in range(len(pods)))


def _make_room(snapshot: Snapshot, attempt: SchedulingAttempt, there: dict[Key, Pod]) -> None:
    for victim in attempt.victims:
        snapshot.forget(victim.key, victim.uid)
        snapshot.release(victim.key)
        gone: View | None = there.get(victim.key)
        if gone is not None:
            snapshot.observe(PODS.name, gone, None)


def _evicted(attempt: SchedulingAttempt) -> tuple[str, ...]:
    """A pod that is leaving anyhow, or was not there yet, is not evicted."""
    return tuple(
        f"{victim.key.namespace}/{_shown(victim.key.name)}"
        for victim in attempt.victims
        if not victim.leaving and not victim.nominated
    )


def _told(
    pod: Pod,
    node: str,
    evicts: tuple[str, ...],
    message: str,
    ways: Iterable[str] = (),
    more: Iterable[str] = (),
) -> Planned:
    meta = pod.metadata
    return Planned(
        namespace=meta.namespace,
        name=_shown(meta.name),
        node=node,
        evicts=evicts,
        message=message if not node or not evicts else "",
        remedies=(*ways,),
        remarks=(*more,),
    )


_MARK = " (planned)"  # no object can be called so: a planned pod never is taken for one that exists


def _named(pod: Pod, name: str) -> Pod:
    meta: Meta = msgspec.structs.replace(pod.metadata, name=name + _MARK, uid=name + _MARK)
    return msgspec.structs.replace(pod, metadata=meta)


def _shown(name: str) -> str:
    return name.removesuffix(_MARK)
