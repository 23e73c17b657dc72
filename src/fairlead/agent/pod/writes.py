"""What an agent writes of one pod to the API: its status, and its removal once nothing of it runs.

Called by `worker.py`, which says what should be there. One request at a time for each pod. A status patch is bound to
the uid and to the revision it was compared with, and says the whole level: where its outcome is unknown it may be
sent again (laws.md 4), because if the first did happen the revision has moved, the second conflicts, changes nothing,
and the mirror shows the level reached. That also keeps the conditions that others write meanwhile. Where a plane marked
the pod as lost, it is contradicted once for each renewal of the node's lease. The removal is bound to the uid, and
removing twice is removing once.
"""

from __future__ import annotations

from fairlead.agent.calls import MANAGER, Purpose
from fairlead.agent.contract import Ask
from fairlead.agent.pace import Retry
from fairlead.agent.pod.shared_by_pods import Means
from fairlead.agent.views import BoundPod
from fairlead.core import codec
from fairlead.model.reasons import LOST
from fairlead.model.views import Json
from fairlead.port.outcome import Conflict, Done, Outcome
from fairlead.port.request import MERGE_PATCH, Request

PART = "pod"
_STATUS_TRIES_MAX = 3  # before a pod whose status cannot be written is removed all the same


class Writes:
    def __init__(self) -> None:
        self.in_flight = ""  # status, removal
        self.retry = Retry()
        self.removed = False
        self._awaited = (
            0  # what was written, or won over a write: the mirror must pass it before what it says counts
        )
        self._renewals = -1  # of the node's lease, when the last status was sent

    @property
    def stuck(self) -> bool:
        """The status could not be written, again and again."""
        return self.retry.failures >= _STATUS_TRIES_MAX

    def settled(self, means: Means) -> bool:
        """The mirror shows what was last written, and nothing is on its way."""
        return not self.in_flight and means.pods_revision >= self._awaited

    def free(self, means: Means, now: float) -> bool:
        """A request could be sent now."""
        return (
            self.settled(means)
            and not self.retry.waits(now)
            and means.calls.open_for(PART) < means.pace.writes_in_flight_max
        )

    def contradicts_again(self, pod: BoundPod, patch: Json, means: Means) -> bool:
        """A plane that does not hear of this node says that the pod is not ready, and was told otherwise since the last
        renewal of the lease: before it hears of another it would only say the same again."""
        if self._renewals != means.renewals or patch.keys() != {"conditions"}:
            return False
        held = {each.get("type"): each for each in pod.status.get("conditions") or ()}
        differing = [held.get(each["type"]) for each in patch["conditions"] if each != held.get(each["type"])]
        return bool(differing) and all(each is not None and each.get("reason") == LOST for each in differing)

    def status(self, pod: BoundPod, patch: Json, means: Means) -> Ask:
        meta = pod.metadata
        self._renewals = means.renewals
        bound = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        body = codec.encode({"metadata": bound, "status": patch})
        self.in_flight = "status"
        request = Request(
            verb="patch", group="", version="v1", plural="pods", namespace=meta.namespace, name=meta.name,
            subresource="status", body=body, content_type=MERGE_PATCH, manager=MANAGER,
        )  # fmt: skip
        return means.calls.ask(Purpose(PART, meta.uid), request)

    def removal(self, pod: BoundPod, means: Means) -> Ask:
        meta = pod.metadata
        options = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": meta.uid},
        }
        self.in_flight = "removal"
        request = Request(
            verb="delete",
            group="",
            version="v1",
            plural="pods",
            namespace=meta.namespace,
            name=meta.name,
            body=codec.encode(options),
        )
        return means.calls.ask(Purpose(PART, meta.uid), request)

    def answered(self, outcome: Outcome, means: Means, now: float) -> None:
        what, self.in_flight = self.in_flight, ""
        if isinstance(outcome, Done):
            self.retry.succeeded()
            if what == "removal":
                self.removed = True
            else:
                self._awaited = max(self._awaited, outcome.revision)
        elif isinstance(outcome, Conflict) and what == "status" and outcome.revision and not outcome.premise:
            self._awaited = max(self._awaited, outcome.revision)
        elif isinstance(outcome, Conflict) and not self.retry.failures:
            self.retry.failures = 1  # the mirror is about to show why: the next try need not wait
            self.retry.at = now + means.pace.retry_seconds / 4
        else:
            self.retry.failed(now, means.pace, means.chance)
