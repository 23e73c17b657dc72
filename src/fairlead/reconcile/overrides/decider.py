"""The SchedulerOverride controller: says in each override's status who has taken note of it, and what its end undoes.

Controllers read overrides from mirrors that this view shows, so a turn that sees one is a turn of a plane whose
controllers see it (as `plane_settings.py` has it). A condition names the plane that leads (its fence is a Lease that
changes with the leader only) and the first decision that the controller made under the override: who comes to lead
looks at all of them, and the condition begins anew. A controller that this plane does not run, or that has failed in
each of its turns since, leaves its condition False, and so do proxies of nodes that have not heard (`proxies.py`), and
`SchedulerOverrideObserved` with it. While nobody leads, the server says so (`unled.py`).

    while it holds   it names the pods that it raises (`raising.py`)
    before its end   a warning tells what changes back
    after its end    what it left is looked for until nothing is left (`residue.py`), then it is kept for a day
    removed          an Event tells what it left, and again when that changes

This controller reports an end and does not bring it about: every reader asks `ledger/override.py` at its own instant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import structs

from fairlead.core.times import parse_time, timestamp
from fairlead.decision.contract import (
    NOTHING,
    SETTLED,
    Decision,
    EventNote,
    FirstTurn,
    Reading,
    Regarding,
    Verdict,
    Waiting,
)
from fairlead.decision.decider import Decider, Wake
from fairlead.decision.ensure import ensure_gone, ensure_status
from fairlead.decision.notes import NORMAL, WARNING, regarding_of
from fairlead.decision.predicates import ENDED, GONE, NEW
from fairlead.decision.wakes import changed, each_of, itself
from fairlead.ledger import override as ledger
from fairlead.model.key import Key
from fairlead.model.kinds.scheduleroverride import APPROVED, OBSERVED, RESIDUE
from fairlead.model.marks import PLANE_FENCE, PLANE_NAMESPACE
from fairlead.model.service_views import ENDPOINT_SLICES, SERVICES
from fairlead.model.views import (
    LEASES,
    NODES,
    OVERRIDES,
    PODS,
    RESERVATIONS,
    Condition,
    Resource,
    SchedulerOverride,
)
from fairlead.reconcile.overrides import proxies
from fairlead.reconcile.overrides.heeding import key_of_reservation
from fairlead.reconcile.overrides.raising import raised_pods, raising
from fairlead.reconcile.overrides.residue import made_for, residue_of
from fairlead.reconcile.overrides.telling import AWAITING, affected_by, undo_plan

NAME = "overrides"
#: bound: plane | an ended SchedulerOverride is kept for | it is removed
ENDED_KEPT_SECONDS = 86400.0
# How long before its end people are warned; of a short one, a tenth of its time.
_WARN_SECONDS, _WARN_SHARE = 300.0, 0.1


def override_decider(runs: Iterable[str], fence: str = PLANE_FENCE) -> Decider:
    """`runs`: the controllers of this plane, by name; `fence`: the Lease that changes with its leader."""
    keeper = _Keeper(frozenset((*runs, NAME)), fence)
    reads: tuple[Resource[Any], ...] = (OVERRIDES, LEASES, PODS, RESERVATIONS)
    wakes: tuple[Wake[Any], ...] = (
        Wake(OVERRIDES, itself),
        Wake(RESERVATIONS, key_of_reservation),
        Wake(PODS, each_of(OVERRIDES, _has_residue), when=ENDED | GONE, among=OVERRIDES),
        Wake(PODS, raising, among=OVERRIDES),
    )
    if proxies.SLICES in keeper.runs:
        weighing = each_of(OVERRIDES, proxies.weighs)
        reads += (ENDPOINT_SLICES, NODES, SERVICES)
        wakes += (
            Wake(LEASES, changed(proxies.follows_of, weighing), among=OVERRIDES),
            Wake(ENDPOINT_SLICES, changed(proxies.note_of, weighing), among=OVERRIDES),
            Wake(NODES, weighing, when=NEW | GONE, among=OVERRIDES),
        )
    return Decider(name=NAME, reads=reads, wakes=wakes, decide=keeper.decide)


def _has_residue(override: SchedulerOverride) -> bool:
    return bool(override.status.residue)


class _Keeper:
    def __init__(self, runs: frozenset[str], fence: str) -> None:
        self.runs, self._fence = runs, fence

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        found = view.get(OVERRIDES, key.namespace, key.name)
        if found is None:
            return _removed(view, key)
        if found.metadata.deletion_timestamp:
            return NOTHING
        ends = ledger.end_of(found)
        if now >= ends + ENDED_KEPT_SECONDS:
            gone = ensure_gone(NAME, found.metadata, OVERRIDES, found)
            return Decision(effects=(gone,) if gone is not None else ())
        over = now >= ends
        left = tuple(residue_of(view, key)) if over else ()
        affected = affected_by(found)
        conditions = [*self._observed(view, found, affected, over, now)]
        if over:
            conditions.append(_residue(found, left, now))
        approved = [each for each in found.status.conditions if each.type == APPROVED]
        wanted = structs.replace(
            found.status,
            observed_generation=found.metadata.generation,
            active=ledger.is_active(found, now),
            affected_controllers=affected,
            conditions=(*approved, *conditions),
            undo_plan=tuple(undo_plan(found)),
            raised=raised_pods(view, found) if ledger.is_active(found, now) else (),
            residue=left,
        )
        status = ensure_status(NAME, OVERRIDES, found, wanted, ("active",))
        notes, warn_at = _notes(found, wanted.undo_plan, left, over, now)
        again_at = ends + ENDED_KEPT_SECONDS if over else min(at for at in (ends, warn_at) if at > now)
        verdict = _verdict(found, conditions, left, over)
        return Decision(verdict, (status,) if status is not None else (), again_at, notes)

    def _observed(
        self, view: Reading, found: SchedulerOverride, affected: tuple[str, ...], over: bool, now: float
    ) -> Iterator[Condition]:
        if over:
            told = f"it ended at {found.spec.expires_at}"
            yield from _alike(found, affected, "Ended", "it has ended", told, now)
            return
        if found.spec.approval and not ledger.is_approved(found):
            yield from _alike(found, affected, AWAITING, found.spec.approval, found.spec.approval, now)
            return
        fence = view.get(LEASES, PLANE_NAMESPACE, self._fence)
        holder = (fence.spec.holder_identity if fence is not None else "") or "the plane"
        first_turns, missing = view.first_turns(found.metadata.uid), []
        for name in affected:
            seen = self._seen(view, found, name, first_turns.get(name), holder)
            if not seen.is_observed:
                missing.append(name)
            status = "True" if seen.is_observed else "False"
            yield _condition(found, f"{ledger.OBSERVED_BY}{name}", status, seen.reason, seen.message, now)
        if missing:
            told = f"not yet by {', '.join(missing)}"
            yield _condition(found, OBSERVED, "False", "NotObserved", told, now)
        else:
            told = f"by {', '.join(affected)} of {holder}"
            yield _condition(found, OBSERVED, "True", "Observed", told, now)

    def _seen(
        self, view: Reading, found: SchedulerOverride, name: str, first: FirstTurn | None, holder: str
    ) -> proxies.Following:
        """One that fails whenever it looks has taken note of nothing; one that had nothing to decide yet has."""
        if name == proxies.NAME and proxies.SLICES in self.runs:
            return proxies.following(view, found)
        if name not in self.runs:
            return proxies.Following(False, "NotRunning", "the leading plane does not run it")
        if first is None:
            return proxies.Following(
                True, "Observed", f"by {holder}, which had nothing to decide under it yet"
            )
        if not first.decision:
            return proxies.Following(False, "Failing", f"it fails in every turn: {first.trouble}")
        told = f"by {holder}; its first decision under it is {first.decision}, about {first.about}"
        return proxies.Following(True, "Observed", told)


def _alike(
    found: SchedulerOverride, affected: tuple[str, ...], reason: str, each: str, all_: str, now: float
) -> Iterator[Condition]:
    """Nobody has to take note of it now."""
    for name in affected:
        yield _condition(found, f"{ledger.OBSERVED_BY}{name}", "False", reason, each, now)
    yield _condition(found, OBSERVED, "False", reason, all_, now)


def _removed(view: Reading, key: Key) -> Decision:
    """Somebody ended it before its time: there is no status any more, so an Event and the record say what it left."""
    if not any(made_for(view, key)):
        return NOTHING
    left = tuple(residue_of(view, key))
    regarding = Regarding(OVERRIDES.api_version, OVERRIDES.kind, key.namespace, key.name, "")
    told = f"{len(left)} left: {'; '.join(left[:3])}" if left else "nothing is left"
    occasion = f"{key.namespace}/{key.name}/removed/{len(left)}"
    note = EventNote(
        regarding,
        WARNING if left else NORMAL,
        "OverrideRemoved",
        f"it was removed; {told}",
        occasion=occasion,
    )
    return Decision(Waiting("Residue", "; ".join(left)) if left else SETTLED, events=(note,))


def _condition(
    found: SchedulerOverride, type_: str, status: str, reason: str, told: str, now: float
) -> Condition:
    known = next((each for each in found.status.conditions if each.type == type_), None)
    # With another leader it begins anew, which its message tells.
    same = known is not None and (known.status, known.message) == (status, told)
    since = known.last_transition_time if known is not None and same else timestamp(now)
    return Condition(type_, status, reason, told, since, observed_generation=found.metadata.generation)


def _residue(found: SchedulerOverride, left: tuple[str, ...], now: float) -> Condition:
    if left:
        return _condition(found, RESIDUE, "True", "Left", f"{len(left)} left: {'; '.join(left[:3])}", now)
    return _condition(found, RESIDUE, "False", "Clean", "nothing of it is left", now)


def _notes(
    found: SchedulerOverride, undo: tuple[str, ...], left: tuple[str, ...], over: bool, now: float
) -> tuple[tuple[EventNote, ...], float]:
    """What is due to be told, and when the next is."""
    regarding, uid = regarding_of(OVERRIDES, found.metadata), found.metadata.uid
    ends = ledger.end_of(found)
    if over:
        told = (
            f"it has ended; {len(left)} left: {'; '.join(left[:3])}"
            if left
            else "it has ended; nothing is left"
        )
        kind = WARNING if left else NORMAL
        return (EventNote(regarding, kind, "OverrideEnded", told, occasion=f"{uid}/ended/{len(left)}"),), 0.0
    lasts = ends - parse_time(found.metadata.creation_timestamp)
    warn_at = ends - min(_WARN_SECONDS, lasts * _WARN_SHARE)
    if now < warn_at:
        return (), warn_at
    told = f"it ends at {found.spec.expires_at}; then {'; '.join(undo)}"
    return (EventNote(regarding, WARNING, "OverrideEndsSoon", told, occasion=f"{uid}/ends-soon"),), 0.0


def _verdict(
    found: SchedulerOverride, conditions: list[Condition], left: tuple[str, ...], over: bool
) -> Verdict:
    if over:
        return Waiting("Residue", "; ".join(left)) if left else SETTLED
    missing = next((each for each in conditions if each.type == OBSERVED and each.status != "True"), None)
    return SETTLED if missing is None else Waiting(missing.reason, missing.message)
