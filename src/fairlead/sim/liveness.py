"""Why a world does not come to rest: who still writes, who does not follow, which steps of people are open.

The world asks when its time is over (`World._go`), and again if a write comes at rest. Faults have stopped long before;
if one remains all the same (a process that is paused, a disk that is full), it is the fault that is named, as
`faults-end`, and not the plane: nobody can come to rest meanwhile. So is a step of people that is refused for ever, as
`people-are-served`: shrinking takes steps away, and with them what others rest on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairlead.cache.mirror import MirrorPhase
from fairlead.model.key import Key
from fairlead.model.views import LEASES
from fairlead.port.request import Request
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.people import People
from fairlead.sim.processes.agents import AgentProcess
from fairlead.sim.processes.planes import PlaneProcess
from fairlead.sim.processes.server import SimulatedServer
from fairlead.sim.violation import Violation

CONVERGES, FAULTS_END, PEOPLE_ARE_SERVED = "converges", "faults-end", "people-are-served"
_TOLD_MAX = 3  # writers that a message names

Processes = Sequence[PlaneProcess | AgentProcess]


class LastWrites:
    """Who wrote what, how often and when last, since `forget`. Looks on as checkers do, and judges nothing."""

    name = "last-writes"
    outlives_loss = True

    def __init__(self) -> None:
        self._by: dict[tuple[str, Key], list[float]] = {}  # writer and object -> when, the newest last

    def forget(self) -> None:
        self._by.clear()

    def saw(self, sight: SeenChange) -> None:
        if sight.key.resource != LEASES.name:
            self._by.setdefault((sight.origin, sight.key), []).append(sight.seconds)

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Judges nothing."""

    def told(self) -> str:
        """The writers that wrote last, in words; "" if nobody wrote."""
        newest = sorted(self._by.items(), key=lambda each: (-each[1][-1], each[0]))[:_TOLD_MAX]
        return "; ".join(
            f"{origin or 'somebody'} writes {key.resource} {key.name}, {len(times)} times, "
            f"last at {', '.join(f'{at:.1f}' for at in times[-3:])} s"
            for (origin, key), times in newest
        )


def why_restless(
    server: SimulatedServer,
    processes: Processes,
    ms: int,
    writes: LastWrites,
    people: People,
) -> Violation:
    """The violation of a world that is not at rest in time; a fault that remains is the reason, if there is one."""
    faults = [*_remaining(server, processes, ms)]
    if faults:
        return Violation(
            FAULTS_END, f"not at rest after {ms / 1000:.0f} s, and faults remain: {'; '.join(faults)}"
        )
    asked = [f"{_asked(request)} by people is answered {status}" for request, status in people.open_steps()]
    if asked:
        return Violation(PEOPLE_ARE_SERVED, f"after {ms / 1000:.0f} s {'; '.join(asked)}")
    told = [f"{people.left} steps of people are open"] if people.left else []
    told += _behind(processes)
    still = writes.told()
    if still:
        told.append(still)
    return Violation(CONVERGES, f"not at rest after {ms / 1000:.0f} s: {'; '.join(told) or 'nobody writes'}")


def _remaining(server: SimulatedServer, processes: Processes, ms: int) -> Iterator[str]:
    if not server.up:
        yield "the server is down"
    if server.disk.is_full:
        yield "the disk is full"
    for each in processes:
        link = each.link
        if not each.up:
            yield f"{each.called} is down"
        elif max(link.cut_until, link.deaf_until, link.mute_until, *link.stalled.values(), 0) > ms:
            yield f"{each.called} is cut off"
        elif link.paused_until > ms:
            yield f"{each.called} is paused"


def _behind(processes: Processes) -> Iterator[str]:
    for each in processes:
        for name, mirror in each.mirrors.items():
            if mirror.phase is not MirrorPhase.FOLLOWING:
                yield f"{each.called} does not follow {name}: {mirror.trouble or mirror.phase.value}"


def _asked(request: Request) -> str:
    return " ".join(
        each for each in (request.verb, request.plural, request.name, request.subresource) if each
    )
