"""The rolling update of a DaemonSet: which old pods go now, and which nodes get a new one beside the old.

    maxUnavailable    the old pod goes first; so many at a time that at most so many nodes are without a working pod
    maxSurge          the new pod comes first, on so many nodes at a time; the old one goes when the new is available

Old pods that do not work are replaced at once in both cases. With maxSurge a node may have two pods, the oldest of
the new revision and the oldest of another, while the new one is not available and the old one is ready.

Nobody knows how the pod of a node fares that is out of reach (`reconcile/nodes/reach.py`). It is not replaced for not
working, and it is no reason to take another: it counts as missing until it was heard of, or its node is Unknown; and
the last pod that works and is within reach stays. Called by `decider.py`; pure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairlead.model.views import DaemonSet, Pod
from fairlead.reconcile.daemonset.pods import Place, Template, is_available
from fairlead.reconcile.deployment.rollout import resolve_amount
from fairlead.reconcile.revisions import REVISION_LABEL

Lost = Callable[[Pod], bool]  # whether a pod is out of reach


def _is_heard(pod: Pod) -> bool:
    return False


def is_surging(found: DaemonSet) -> bool:
    return _is_rolling(found) and _limit(found, "maxSurge", 100) > 0


def _is_rolling(found: DaemonSet) -> bool:
    return (found.spec.update_strategy.get("type") or "RollingUpdate") == "RollingUpdate"


def _limit(found: DaemonSet, name: str, nodes: int) -> int:
    said = (found.spec.update_strategy.get("rollingUpdate") or {}).get(name)
    return 0 if said is None else resolve_amount(said, nodes, up=True)


def _pair(place: Place, template: Template) -> tuple[Pod | None, Pod | None]:
    """(the oldest pod of the new revision, the oldest of any other) on a node."""
    new = old = None
    for pod in sorted(_live(place), key=_age):
        if pod.metadata.labels.get(REVISION_LABEL) == template.revision:
            new = new or pod
        else:
            old = old or pod
    return new, old


def _live(place: Place) -> list[Pod]:
    return [] if place.chosen is None else [place.chosen, *place.others]


def _age(pod: Pod) -> tuple[bool, str, str]:
    return pod.status.phase != "Running", pod.metadata.creation_timestamp, pod.metadata.name


def choose_surplus(
    found: DaemonSet, template: Template, places: Sequence[Place], now: float, is_lost: Lost = _is_heard
) -> list[Pod]:
    """Pods that are one too many on their node."""
    here = [place for place in places if place.may_stay and place.others]
    if not is_surging(found):
        return [pod for place in here for pod in place.others]
    gone: list[Pod] = []
    for place in here:
        new, old = _pair(place, template)
        gone += [pod for pod in _live(place) if pod is not new and pod is not old]
        if new is None or old is None:
            continue
        if not old.ready or (is_available(found, new, now) and not is_lost(new)):
            gone.append(old)
    return gone


def wants_another(
    found: DaemonSet, template: Template, places: Sequence[Place], now: float
) -> frozenset[str]:
    """Nodes that get a pod of the new revision beside their old one now."""
    if not is_surging(found):
        return frozenset()
    desired = [place for place in places if place.should_run]
    room = _limit(found, "maxSurge", len(desired))
    at_once, candidates = [], []
    for place in desired:
        new, old = _pair(place, template)
        if old is None:
            continue
        if new is not None:
            room -= not is_available(found, new, now)
        elif is_available(found, old, now):
            candidates.append(place.node)
        else:
            at_once.append(place.node)
    return frozenset((*at_once, *candidates[: max(0, room)]))


def choose_outdated(
    found: DaemonSet, template: Template, places: Sequence[Place], now: float, is_lost: Lost = _is_heard
) -> list[Pod]:
    """Without maxSurge: old pods that may go now, those that do not work at once, others while few enough are
    missing."""
    if is_surging(found) or not _is_rolling(found):
        return []
    lost = {place.node for place in places if place.chosen is not None and is_lost(place.chosen)}
    # Whoever is not ready on a node out of reach is of a node that is Unknown: it is not waited for.
    doubtful = {each.node for each in places if each.node in lost and each.chosen and each.chosen.ready}
    desired = [place for place in places if place.should_run or place.node in doubtful]
    room = max(1, _limit(found, "maxUnavailable", len(desired)))
    useless: list[Pod] = []
    working: list[Pod] = []
    up = 0
    for place in desired:
        pod = place.chosen
        is_up = pod is not None and place.node not in lost and is_available(found, pod, now)
        room -= not is_up
        up += is_up
        if (
            pod is not None
            and place.node not in doubtful
            and pod.metadata.labels.get(REVISION_LABEL) != template.revision
        ):
            (working if is_up else useless).append(pod)
    return [*useless, *working[: max(0, min(room, up - 1) if lost else room)]]
