"""Runs a world of a live plane's state with a change and without it, and tells the difference.

    preview(state, Change(asks=(request,)), until_seconds=300.0) -> Difference

The one way to look ahead: `fairlead forecast`, the dry run of an override and the rehearsal of a runbook all call it.
Pure: no clock, no files; takes as long as it takes, so nobody calls it in a server. If nothing happens without the
change, the world that was run without it goes on with it; else both begin with the same state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fairlead.api.access.users import User
from fairlead.control.authority import authority_table
from fairlead.ledger.authority import AuthorityTable
from fairlead.model.pod_decoder import decode_pod
from fairlead.model.views import PODS, Pod
from fairlead.port.request import Request
from fairlead.sim.preview.change import ChangeOutcome, ProposedChange, carry_out, key_of
from fairlead.sim.preview.counting import SHOWN, Named, free, placed, waiting, workload_of
from fairlead.sim.preview.difference import (
    Act,
    FightTold,
    PreviewDifference,
    RefusedAsk,
    RoomTold,
    WorkloadTold,
)
from fairlead.sim.preview.fights import fights_of
from fairlead.sim.preview.nodes import behaviour_of
from fairlead.sim.preview.reading import ObjectsOfMoment, acts_of, singular, zone_of
from fairlead.sim.preview.state import LiveState, backup_of_state
from fairlead.sim.preview.world import PERSON, PreviewCommit, PreviewWorld
from fairlead.store.contract import DELETED

#: bound: plane | how far a forecast looks ahead, unless it is told another end | told as not settled
UNTIL_SECONDS = 600.0
_NANO = 1_000_000_000


def preview(
    state: LiveState,
    change: ProposedChange,
    until_seconds: float = UNTIL_SECONDS,
    user: User | None = None,
    table: AuthorityTable | None = None,
) -> PreviewDifference:
    """`until_seconds`: how far ahead it looks if nothing settles before."""
    backup = backup_of_state(state)
    entries = {each.entry.key: each.entry for each in backup.changes}
    pods = [decode_pod(entry.data) for key, entry in entries.items() if key.resource == PODS.name]
    behaviour = behaviour_of(pods)
    brings = [key_of(each).resource for each in change.asks]

    def begin() -> PreviewWorld:
        return PreviewWorld(backup, int(state.now), behaviour, brings, user)

    world = begin()
    world.settle(until_seconds)
    before = ObjectsOfMoment(entries, world.decode_pod)
    anyway = list(world.commits)
    if anyway:
        without = before.moved_on(anyway)
        world = begin()
        world.start()  # with the change there from the first look on
    else:
        without = before
    asked = carry_out(world, change, pods)
    settled = world.settle(asked.at_seconds + until_seconds)
    commits = world.commits
    after = before.moved_on(commits)
    ran = _Ran(before, without, after, commits, asked.at_seconds, state.now)
    return PreviewDifference(
        told=change.told,
        revision=state.revision,
        settled=settled,
        seconds=round(_last(commits, asked.at_seconds), 3) if settled else until_seconds,
        fights=_met(
            fights_of(commits, before, after, asked.at_seconds, table or authority_table()), world.absent
        ),
        acts=ran.acts(anyway),
        workloads=ran.workloads(),
        room=ran.room(),
        refused=_refused(asked),
        warnings=tuple(asked.warnings),
        anyway=len(anyway),
    )


@dataclass(frozen=True, slots=True)
class Ahead:
    """What happens by itself from a state on."""

    settled: bool
    seconds: float
    acts: tuple[Act, ...]
    writes: int


def look_ahead(state: LiveState, until_seconds: float = UNTIL_SECONDS) -> Ahead:
    """The world of a state without any change: `fairlead sim from`."""
    backup = backup_of_state(state)
    entries = {each.entry.key: each.entry for each in backup.changes}
    pods = [decode_pod(entry.data) for key, entry in entries.items() if key.resource == PODS.name]
    world = PreviewWorld(backup, int(state.now), behaviour_of(pods))
    settled = world.settle(until_seconds)
    after = ObjectsOfMoment(entries, world.decode_pod).moved_on(world.commits)
    acts = sorted(acts_of(world.commits, after, 0.0).values(), key=lambda each: each.seconds)
    last = _last(world.commits, 0.0) if settled else until_seconds
    return Ahead(settled, round(last, 3), tuple(acts), len(world.commits))


def _met(found: Iterable[FightTold], absent: frozenset[str]) -> tuple[FightTold, ...]:
    """Without rules of controllers that have nothing to look at here."""
    return tuple(each for each in found if each.controller not in absent)


def _last(commits: Sequence[PreviewCommit], since: float) -> float:
    return max(0.0, commits[-1].seconds - since) if commits else 0.0


def _refused(asked: ChangeOutcome) -> tuple[RefusedAsk, ...]:
    return tuple(RefusedAsk(_told(each.request), each.status, each.message) for each in asked.refused)


def _told(request: Request) -> str:
    key = key_of(request)
    verb = "evict" if request.subresource == "eviction" else request.verb
    where = f" in {key.namespace}" if key.namespace else ""
    return f"{verb} {singular(key.resource)}/{key.name}{where}"


class _Ran:
    """What a run came to, next to what there was and what would have been."""

    def __init__(
        self,
        before: ObjectsOfMoment,
        without: ObjectsOfMoment,
        after: ObjectsOfMoment,
        commits: Sequence[PreviewCommit],
        since: float,
        now: float,
    ) -> None:
        """`since`: when the change was made, in the world's seconds; `now`: the time of day then."""
        self._before, self._without, self._after = before, without, after
        self._commits, self._since, self._now = commits, since, now

    def acts(self, anyway: Sequence[PreviewCommit]) -> tuple[Act, ...]:
        """Those of controllers that come with the change alone, or more often with it."""
        found = acts_of(self._commits, self._after, self._since)
        usual = acts_of(anyway, self._without, 0.0)
        acts = [
            each
            for key, each in found.items()
            if each.by != PERSON and (key not in usual or usual[key].count < each.count)
        ]
        return tuple(sorted(acts, key=lambda each: each.seconds))

    def workloads(self) -> tuple[WorkloadTold, ...]:
        touched = {
            each.change.entry.key for each in self._commits if each.change.entry.key.resource == PODS.name
        }
        if not touched:
            return ()
        after, without = self._after, self._without
        names: set[Named] = set()
        for each in self._commits:
            if each.change.entry.key.resource == PODS.name:
                names.add(self._workload(after.decode_pod(each.change.entry.data)))
        ready = self._readiness(names)
        was, now = placed(without, self._workload), placed(after, self._workload)
        waited, waits = waiting(without, self._workload), waiting(after, self._workload)
        zones = {name: zone_of(node) for name, node in {**without.nodes(), **after.nodes()}.items()}
        told = []
        for name in sorted(names):
            left, joined = was[name] - now[name], now[name] - was[name]
            begun, least, least_at, ended = ready[name]
            lacks, lacked = waits[name], waited[name]
            if not left and not joined and least >= begun == ended and len(lacks) == len(lacked):
                continue
            told.append(
                WorkloadTold(
                    namespace=name[0],
                    workload=name[1],
                    moved=min(left.total(), joined.total()),
                    left=dict(_by_zone(left, zones)),
                    joined=dict(_by_zone(joined, zones)),
                    ready_before=begun,
                    ready_least=least,
                    ready_least_at=least_at,
                    ready_after=ended,
                    pending=len(lacks),
                    pending_before=len(lacked),
                    why=_why(lacks[0]) if lacks else "",
                )
            )
        return tuple(told)

    def _workload(self, pod: Pod) -> Named:
        return workload_of(self._after, pod)

    def _readiness(self, names: set[Named]) -> dict[Named, tuple[int, int, float, int]]:
        """Of each workload: ready pods at first, the fewest, when that was, and at the end."""
        counts = dict.fromkeys(names, 0)
        for pod in self._before.pods():
            name = self._workload(pod)
            if name in counts and _counts(pod):
                counts[name] += 1
        first = dict(counts)
        least = {name: (count, 0.0) for name, count in counts.items()}
        decode = self._after.decode_pod
        for each in self._commits:
            entry, before = each.change.entry, each.change.before
            if entry.key.resource != PODS.name:
                continue
            pod = decode(entry.data)
            name = self._workload(pod)
            counts[name] += (each.change.type != DELETED and _counts(pod)) - (
                before is not None and _counts(decode(before.data))
            )
            if counts[name] < least[name][0]:
                least[name] = counts[name], round(each.seconds - self._since, 3)
        return {name: (first[name], *least[name], counts[name]) for name in names}

    def room(self) -> tuple[RoomTold, ...]:
        """Only zones in which it differs."""
        without, after = free(self._without, self._now), free(self._after, self._now)
        return tuple(
            RoomTold(
                zone,
                resource,
                without.get((zone, resource), 0) / _NANO,
                after.get((zone, resource), 0) / _NANO,
            )
            for zone, resource in sorted({*without, *after}, key=lambda each: (each[0], SHOWN.index(each[1])))
            if without.get((zone, resource)) != after.get((zone, resource))
        )


def _by_zone(nodes: Counter[str], zones: dict[str, str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for name, count in nodes.items():
        found[zones.get(name, "")] += count
    return found


def _counts(pod: Pod) -> bool:
    return pod.ready and not pod.finished and not pod.metadata.deletion_timestamp


def _why(pod: Pod) -> str:
    for each in pod.status.conditions:
        if each.type == "PodScheduled" and each.status != "True":
            return each.message or each.reason
    return "not looked at yet"
