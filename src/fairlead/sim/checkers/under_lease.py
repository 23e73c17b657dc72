"""runs-while-leased: a pod that its deadline ended runs again once its node has held its lease for long enough.

Judged from the renewals that were committed and from what really ran. It may need nothing of the server but the lease
and an answer: one that has no room for any other write ends no pod for good. Who released, deleted or finished the pod
has decided otherwise, and a process that ends by itself has a back-off of its own.
"""

from __future__ import annotations

from typing import Any

from fairlead.model.marks import NODE_LEASES, RELEASED
from fairlead.model.views import LEASES, PODS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.processes.runs import DEADLINE, EXITED, ProcessRun
from fairlead.sim.violation import Violation

# Longer than an agent can be deaf (`sim/incidents/nodes.py`), with the back-offs of what it does afterwards.
_GRACE_SECONDS = 120.0


class RunsWhileLeased:
    name = "runs-while-leased"
    sees = frozenset({LEASES.name, PODS.name})

    def __init__(self) -> None:
        self._pods: dict[str, Any] = {}  # uid -> the newest that was committed
        self._renewed: dict[str, float] = {}  # node -> when its lease was renewed last
        self._held: dict[str, float] = {}  # node -> since when without a gap
        self._waiting: dict[str, ProcessRun] = {}  # uid -> the run that its deadline ended
        self._crashed: set[str] = set()  # uids of pods whose processes ended by themselves

    def saw(self, sight: SeenChange) -> None:
        key, after = sight.key, sight.after
        if key.resource == PODS.name:
            if after is None:
                self._pods.pop(sight.last.metadata.uid, None)
            else:
                self._pods[after.metadata.uid] = after
        elif key.namespace == NODE_LEASES and after is not None:
            lasts = float(after.spec.lease_duration_seconds or 0)
            if sight.seconds - self._renewed.get(key.name, -lasts) >= lasts:
                self._held[key.name] = sight.seconds
            self._renewed[key.name] = sight.seconds
            self._judge(key.name, sight.seconds)

    def began(self, run: ProcessRun) -> None:
        self._waiting.pop(run.uid, None)

    def ended(self, run: ProcessRun) -> None:
        if run.cause == EXITED:
            self._crashed.add(run.uid)
        elif run.cause == DEADLINE and run.uid not in self._crashed:
            self._waiting[run.uid] = run

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Says nothing about rest."""

    def _judge(self, node: str, seconds: float) -> None:
        for uid, run in list(self._waiting.items()):
            if run.node != node:
                continue
            if not _is_wanted(self._pods.get(uid)):
                del self._waiting[uid]
                continue
            since = max(self._held[node], (run.until_ms or 0) / 1000)
            if seconds - since > _GRACE_SECONDS:
                held = f"its node has held its lease for {seconds - since:.0f} s"
                raise Violation(self.name, f"{run} was ended by its deadline and does not run, though {held}")


def _is_wanted(pod: Any) -> bool:
    if pod is None or pod.metadata.deletion_timestamp or pod.finished:
        return False
    return not any(each.type == RELEASED and each.status == "True" for each in pod.status.conditions)
