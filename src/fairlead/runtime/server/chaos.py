"""Which ChaosExperiment runs on this server, and what it has injected so far.

Told of changes by `serving.py`, so that its end does not hang on watches which it may be holding back. The faults are
carried out by `runtime/chaos_faults.py`, in this server's plane; planes in other processes are told of the experiment
with the answer to what they report, and report what they injected (`plane_reports.py`). Ends by itself, when the object
is deleted, and when the PlaneSettings no longer allow it. What was injected is counted in the object's status, and
every answer that a fault gave is on the tape of this server's plane.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fairlead.api.access.users import MASTERS, User
from fairlead.core import codec
from fairlead.model.catalog import Catalog
from fairlead.model.key import Key
from fairlead.model.kinds import planesettings
from fairlead.model.kinds.chaosexperiment import KIND, ends_at
from fairlead.model.policy.plane_knobs import NAME
from fairlead.port.request import MERGE_PATCH, Request
from fairlead.runtime.chaos_faults import CHAOS_SECONDS, Striking
from fairlead.runtime.server.host import ServingHost
from fairlead.store.contract import CommittedChange, Entry, Reader
from fairlead.store.damage import is_stand_in

_USER = User("system:fairlead:chaos", groups=(MASTERS,))
_EXPERIMENTS = KIND.resource
_SETTINGS = Key(planesettings.KIND.resource, "", NAME)
Json = dict[str, Any]


class Chaos:
    """Fed by `observe`, worked by `run`. `elsewhere`: what planes in other processes injected of an experiment."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, host: ServingHost, store: Reader, catalog: Catalog,
        clock: Callable[[], float],
    ) -> None:  # fmt: skip
        self._host, self._store, self._clock = host, store, clock
        self.striking = Striking(loop, catalog, clock, self._send)
        self.elsewhere: Callable[[str], Iterable[Mapping[str, int]]] = lambda uid: ()
        self._uid, self._spec = "", Json()  # of the experiment that runs, or ran last
        self._own: Mapping[str, int] = {}
        self._told: dict[str, int] = {}

    def learn(self) -> None:
        """What there is: an experiment outlives the server, until its end."""
        self._choose()

    def observe(self, changes: Iterable[CommittedChange]) -> None:
        for each in changes:
            key = each.entry.key
            if key.resource == _EXPERIMENTS or key == _SETTINGS:
                self._choose()
                return

    def running(self) -> Json | None:
        """What a plane in another process needs to know of the experiment that runs."""
        left = self.striking.ends - self._clock()
        if not self.striking.experiment or left <= 0.0:
            return None
        return {"uid": self.striking.experiment, "spec": self._spec, "seconds": round(left, 3)}

    def _choose(self) -> None:
        now = self._clock()
        found = [each for each in map(_tree, self._store.list(KIND.resource)) if now < ends_at(each)]
        if not found or not self._is_allowed():
            self._end()
            return
        experiment = min(found, key=lambda each: each["metadata"]["creationTimestamp"])
        if experiment["metadata"]["uid"] != self.striking.experiment:
            self._end()
            self._uid, self._spec = experiment["metadata"]["uid"], experiment["spec"]
            self._own, self._told = {}, {}
            self.striking.begin(self._uid, self._spec, ends_at(experiment))

    def _is_allowed(self) -> bool:
        entry = self._store.get(_SETTINGS)
        spec = _tree(entry).get("spec") or {} if entry is not None else {}
        return bool((spec.get("chaos") or {}).get("allowed"))

    def _end(self) -> None:
        self._tell_status()
        self.striking.end()

    async def run(self) -> None:
        while True:
            await asyncio.sleep(CHAOS_SECONDS)
            self._tell_status()
            self.striking.look()

    def _tell_status(self) -> None:
        """Also after its end: planes in other processes tell of their last faults a moment later."""
        if self.striking.experiment == self._uid:
            self._own = self.striking.injected
        counts: Counter[str] = Counter(self._own)
        for each in self.elsewhere(self._uid):
            counts.update(each)
        if not self._uid or counts == self._told:
            return
        self._told = dict(counts)
        entry = next((each for each in self._store.list(KIND.resource) if each.uid == self._uid), None)
        if entry is None:
            return
        injected = [{"name": name, "count": count} for name, count in sorted(counts.items())]
        patch = Request(
            "patch", KIND.group, KIND.version, KIND.plural, "", entry.key.name, "status",
            body=codec.encode({"status": {"injected": injected}}), content_type=MERGE_PATCH,
        )  # fmt: skip
        self._send(patch)

    def _send(self, request: Request) -> None:
        self._host.send(request, _USER, lambda reply: None)


def _tree(entry: Entry) -> dict[str, Any]:
    return {} if is_stand_in(entry.data) else codec.decode(entry.data)
