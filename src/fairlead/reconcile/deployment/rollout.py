"""The arithmetic of a rollout: how many replicas each ReplicaSet of a Deployment should have next.

Called by `decider.py` with the ReplicaSets as they are; gives the sizes to set, by name. Two promises hold for
whatever is returned: all sets together never have more than desired + surge, counting also pods that a set has not yet
taken down; and no step plans fewer available pods than desired - unavailable, if there are that many now.
Where a set has not yet observed its latest size, nobody knows how many pods it has: nothing grows until it has. What
stops one that is late or out of reach is in `caution.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fairlead.ledger.quota import fits_in_place
from fairlead.model.reasons import WAITING_FOR
from fairlead.model.views import Deployment, Json, ReplicaSet
from fairlead.model.waiting import QUOTA_REASONS

DESIRED = "deployment.kubernetes.io/desired-replicas"
MAXIMUM = "deployment.kubernetes.io/max-replicas"

Sizes = dict[str, int]  # ReplicaSet name -> replicas
Seen = Callable[[ReplicaSet], ReplicaSet]


class RolloutLimits(NamedTuple):
    desired: int
    surge: int
    unavailable: int

    @property
    def maximum(self) -> int:
        """Replicas of all sets together. A Deployment of none has none, whatever its surge."""
        return self.desired + self.surge if self.desired else 0

    @property
    def minimum(self) -> int:
        """Available pods that a step must leave."""
        return self.desired - self.unavailable


def limits(deployment: Deployment) -> RolloutLimits:
    """Percentages are of the desired replicas; surge is rounded up, unavailable down. Not both may be 0, or nothing
    could move."""
    spec = deployment.spec
    if is_recreate(spec.strategy):
        return RolloutLimits(spec.replicas, 0, 0)
    rolling = spec.strategy.get("rollingUpdate") or {}
    surge = resolve_amount(rolling.get("maxSurge", "25%"), spec.replicas, up=True)
    unavailable = min(
        resolve_amount(rolling.get("maxUnavailable", "25%"), spec.replicas, up=False), spec.replicas
    )
    if surge == 0 and unavailable == 0:
        unavailable = min(1, spec.replicas)
    return RolloutLimits(spec.replicas, surge, unavailable)


def without_surge(deployment: Deployment, bounds: RolloutLimits, new: ReplicaSet | None) -> RolloutLimits:
    """The limits while a quota refuses the new set's pods. A share of unavailability that was rounded down to nothing
    is one pod then, as it is where there is no surge: else nothing could move. A plain 0 stays 0, whatever that holds
    up, and nothing is given up where that would make no room (docs/adr/0017)."""
    if new is None or bounds.unavailable or not bounds.surge:
        return bounds
    said = (deployment.spec.strategy.get("rollingUpdate") or {}).get("maxUnavailable", "25%")
    is_share = isinstance(said, str) and said != "0%"
    is_refused = any(
        each.type == WAITING_FOR
        and each.status == "True"
        and each.reason in QUOTA_REASONS
        and fits_in_place(each.message)
        for each in new.status.conditions
    )
    return bounds._replace(unavailable=min(1, bounds.desired)) if is_share and is_refused else bounds


def is_recreate(strategy: Json) -> bool:
    return strategy.get("type") == "Recreate"


def resolve_amount(amount: int | str, total: int, *, up: bool) -> int:
    """A number, or a percentage ("25%") of a total."""
    if isinstance(amount, int):
        return amount
    share = int(amount.removesuffix("%")) * total
    return -(-share // 100) if up else share // 100


def size(found: ReplicaSet) -> int:
    """Replicas that a set has or is about to have; one that is being deleted grows no more."""
    return found.status.replicas if found.metadata.deletion_timestamp else found.spec.replicas


def occupied(found: ReplicaSet) -> int:
    """Pods that may be alive: what it is told to have, or still has on the way down."""
    return max(size(found), found.status.replicas)


def available(found: ReplicaSet) -> int:
    """Available pods left once the set has the size it was told; it takes down the others first."""
    return min(size(found), found.status.available_replicas)


def has_observed(found: ReplicaSet) -> bool:
    """Whether its status bounds its pods. A new set that has reported nothing has at most what it was created with."""
    meta, observed = found.metadata, found.status.observed_generation
    return (
        observed >= meta.generation
        or (observed == 0 and meta.generation == 1)
        or bool(meta.deletion_timestamp)
    )


def room(sets: Sequence[ReplicaSet], bounds: RolloutLimits) -> int:
    """How many replicas can be added now."""
    if not all(map(has_observed, sets)):
        return 0
    return max(0, bounds.maximum - sum(map(occupied, sets)))


def first_size(olds: Sequence[ReplicaSet], bounds: RolloutLimits) -> int:
    """Replicas that a new set starts with."""
    return min(bounds.desired, room(olds, bounds))


def roll_step(
    new: ReplicaSet, olds: Sequence[ReplicaSet], bounds: RolloutLimits, seen: Seen = lambda found: found
) -> Sizes:
    """The next step of a rolling update: the new set grows, or else the old ones shrink. `olds` oldest first.
    `seen`: a set with no more pods available than can be counted on."""
    wanted = bounds.desired
    if new.spec.replicas > wanted:
        return {new.metadata.name: wanted}
    added = min(room((new, *olds), bounds), wanted - new.spec.replicas)
    if added:
        return {new.metadata.name: new.spec.replicas + added}
    return _shrunk(new, olds, bounds, seen)


def _shrunk(new: ReplicaSet, olds: Sequence[ReplicaSet], bounds: RolloutLimits, seen: Seen) -> Sizes:
    """Old pods that their set reports as not available go first, as nobody misses them: one that is available but
    cannot be counted on now is not among these, nor those of a set that has not reported anything yet. Then as many as
    those allow that can be counted on."""
    sets = (new, *olds)
    shrinking = [old for old in olds if _can_shrink(old)]
    not_yet = new.spec.replicas - available(seen(new))
    spare = sum(map(size, sets)) - bounds.minimum - not_yet
    sizes: Sizes = {}
    for old in shrinking:
        if not old.status.observed_generation:
            continue
        going = min(old.spec.replicas - available(old), spare)
        if going > 0:
            sizes[old.metadata.name] = old.spec.replicas - going
            spare -= going
    left = sum(available(seen(each)) for each in sets) - bounds.minimum
    for old in shrinking:
        now = sizes.get(old.metadata.name, old.spec.replicas)
        going = min(now, left)
        if going > 0:
            sizes[old.metadata.name] = now - going
            # What goes beyond the unavailable ones costs availability.
            left -= max(0, available(seen(old)) - (now - going))
    return sizes


def empty_sets(olds: Sequence[ReplicaSet]) -> Sizes:
    return {old.metadata.name: 0 for old in olds if _can_shrink(old)}


def grow_new_set(new: ReplicaSet, olds: Sequence[ReplicaSet], bounds: RolloutLimits) -> Sizes:
    """The one set of a Deployment that recreates: to what is wanted, as far as there is room."""
    target = min(bounds.desired, new.spec.replicas + room((new, *olds), bounds))
    return {new.metadata.name: target} if target != new.spec.replicas else {}


def _can_shrink(found: ReplicaSet) -> bool:
    return found.spec.replicas > 0 and not found.metadata.deletion_timestamp


def is_scaling(sets: Sequence[ReplicaSet], bounds: RolloutLimits) -> bool:
    """Whether the number of replicas was changed since the sets got their sizes."""
    return any(
        noted != str(bounds.desired)
        for found in sets
        if _can_shrink(found) and (noted := found.metadata.annotations.get(DESIRED)) is not None
    )


def scale_sets(
    new: ReplicaSet | None, olds: Sequence[ReplicaSet], bounds: RolloutLimits, *, rolling: bool
) -> Sizes:
    """Sizes after a change of the number of replicas, also in the middle of a rollout: each set keeps its share.
    Sets whose size stays are named too, for the change to be noted on them."""
    sets = [found for found in (*olds, new) if found is not None and not found.metadata.deletion_timestamp]
    active = [found for found in sets if found.spec.replicas > 0]
    free = room([*olds, new] if new is not None else olds, bounds)
    if len(active) <= 1:
        latest = active[0] if active else (sets[-1] if sets else None)
        if latest is None:
            return {}
        return {latest.metadata.name: min(bounds.desired, latest.spec.replicas + free)}
    if new is not None and available(new) >= bounds.desired and new.spec.replicas == bounds.desired:
        return {**empty_sets(olds), new.metadata.name: bounds.desired}
    if not rolling:
        return {}
    total = sum(found.spec.replicas for found in active)
    change = min(bounds.maximum - total, free) if bounds.maximum > total else bounds.maximum - total
    sizes = _shared_out(active, change, bounds)
    return _kept_available(active, sizes, bounds) if change < 0 else sizes


def _shared_out(active: Sequence[ReplicaSet], change: int, bounds: RolloutLimits) -> Sizes:
    """Larger sets take larger parts; what rounding leaves goes to the largest. Ties: growing prefers the newer."""
    order = sorted(
        active, key=lambda found: (found.metadata.creation_timestamp, found.metadata.name), reverse=change > 0
    )
    order.sort(key=lambda found: -found.spec.replicas)
    sizes: Sizes = {found.metadata.name: found.spec.replicas for found in order}
    left = change
    for found in order:
        if left == 0:
            break
        before = _noted_maximum(found, bounds)
        share = (2 * found.spec.replicas * bounds.maximum + before) // (2 * before) - found.spec.replicas
        share = max(0, min(share, left)) if change > 0 else min(0, max(share, left))
        sizes[found.metadata.name] += share
        left -= share
    for found in order:
        name = found.metadata.name
        part = max(left, -sizes[name])
        sizes[name] += part
        left -= part
    return sizes


def _noted_maximum(found: ReplicaSet, bounds: RolloutLimits) -> int:
    text = found.metadata.annotations.get(MAXIMUM, "")
    known = int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else 0
    return known or max(1, bounds.maximum)


def _kept_available(active: Sequence[ReplicaSet], sizes: Sizes, bounds: RolloutLimits) -> Sizes:
    """Shares are rounded; where that would cost availability that must stay, replicas are moved from sets that would
    keep unavailable ones to sets that would lose available ones."""
    planned = sum(min(sizes[found.metadata.name], available(found)) for found in active)
    needed = min(bounds.minimum, sum(map(available, active))) - planned
    for found in active:
        name = found.metadata.name
        lost = max(0, available(found) - sizes[name])
        for other in active:
            idle = sizes[other.metadata.name] - available(other)
            moved = min(needed, lost, idle)
            if moved > 0:
                sizes[name] += moved
                sizes[other.metadata.name] -= moved
                needed -= moved
                lost -= moved
    return sizes
