"""Who is told of faults of the disk (`disk.py`): the checkers, and the people who give up what is lost."""

from __future__ import annotations

from fairlead.model.key import Key
from fairlead.port.request import Request
from fairlead.sim.checkers.contract import Observed
from fairlead.sim.checkers.roster import all_checkers
from fairlead.sim.people import People
from fairlead.sim.processes.server import SimulatedServer
from fairlead.sim.time import Timeline
from fairlead.store.contract import ADDED, CommittedChange, Entry
from fairlead.store.damage import DELETE_OPTION


class MishapObserver:
    """`fencing`: what the server can do, by which its checkers are chosen."""

    def __init__(
        self, timeline: Timeline, observed: Observed, server: SimulatedServer, people: People, fencing: bool
    ) -> None:
        self._timeline, self._observed, self._server, self._people = timeline, observed, server, people
        self._fencing = fencing

    def decayed(self, key: Key) -> None:
        self._observed.decayed(key, self._timeline.ms / 1000)

    def lost_changes(self, entries: tuple[Entry, ...]) -> None:
        """What is stored is as it was some time ago: what was committed since does not count any more."""
        kept = sorted(entries, key=lambda entry: entry.revision)
        changes = [CommittedChange(ADDED, entry, None) for entry in kept]
        self._observed.begin_again(changes, all_checkers(self._fencing), self._timeline.ms / 1000)

    def give_up(self, key: Key) -> None:
        kind = next(each for each in self._server.served if each.resource == key.resource)
        request = Request(
            verb="delete",
            group=kind.group,
            version=kind.version,
            plural=kind.plural,
            namespace=key.namespace,
            name=key.name,
            query={DELETE_OPTION: "true"},
        )
        self._people.ask(request)

    def mishap_over(self) -> None:
        self._people.left -= 1
