"""What the pods of one agent share: its settings, its parts, and what it knows at this moment.

Made by `agent/machine.py`, which keeps the plain fields up to date; handed to each step of `worker.py`.
"""

from __future__ import annotations

from typing import Any

from fairlead.agent.calls import Calls
from fairlead.agent.contract import NodeSettings
from fairlead.agent.notes import Notes
from fairlead.agent.pace import Pace
from fairlead.agent.pod.addresses import Addresses
from fairlead.agent.pod.tokens import PodTokens
from fairlead.agent.references import ReferenceLibrary


class Means:
    def __init__(self, settings: NodeSettings, pace: Pace) -> None:
        self.settings, self.pace = settings, pace
        self.calls = Calls()
        self.addresses = Addresses()
        self.library = ReferenceLibrary(pace, self.calls)
        self.tokens = PodTokens(pace, self.calls)
        self.notes = Notes(settings, pace, self.calls)
        self.found = False  # the driver has said what is on this machine
        self.leaving = False
        self.deadline = 0.0  # until then a pod of which at most one may run may begin, and goes on
        self.regained = 0  # the revision from which on what the API says of a pod holds (`at_most_one.py`)
        self.renewals = 0  # of the node's lease, so far
        self.pods_synced = False
        self.away = False  # no API has answered since the start, and pods are known from what was kept
        self.unreadable: frozenset[str] = frozenset()  # uids of pods that are there and could not be decoded
        self.pods_revision = 0  # what the mirror of pods has
        self.services: tuple[Any, ...] = ()
        self.services_known = False
        self.host_address = ""
        self.chance = 0.5

    @property
    def may_start(self) -> bool:
        """Whether anything may begin to run. What the plane may start elsewhere needs more (`at_most_one.py`)."""
        return self.found and not self.leaving

    @property
    def content_version(self) -> int:
        """Grows when what is in the volumes of pods may have changed."""
        return self.library.version + self.tokens.version

    def knows_absence_of(self, uid: str) -> bool:
        """Whether a pod that was not seen is surely not there."""
        return self.pods_synced and uid not in self.unreadable
