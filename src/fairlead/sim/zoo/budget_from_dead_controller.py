"""Zoo 15: an eviction believes the budget's status, also when its controller is down and pods have failed since."""

from __future__ import annotations

from fairlead.api import body
from fairlead.api.attempt import Attempt
from fairlead.api.deletion import options_from
from fairlead.api.finding import find
from fairlead.api.objects import put, tree
from fairlead.api.plan import Context, Step
from fairlead.api.server import Api
from fairlead.api.status import accepted
from fairlead.api.subresources.eviction import BUDGETS
from fairlead.api.verbs.delete import admit_deletion
from fairlead.api.writing import plan_at, transaction_for
from fairlead.core.errors import TooManyRequests
from fairlead.ledger import disruption
from fairlead.model.kind import Json
from fairlead.port.request import Request
from fairlead.sim.parts import replacing
from fairlead.store.contract import AtRevision


class CredulousApi(Api):
    """Evicts as Kubernetes does: the status must be of this generation and allow it; no pod is looked at."""

    __slots__ = ()

    def plan(self, request: Request, context: Context) -> Step:
        if request.subresource != "eviction":
            return super().plan(request, context)
        self._authorize(request, context)
        desk, kind = self.desk, self.desk.catalog.by_resource("", "v1", "pods")
        current = find(desk, kind, request)
        wanted = options_from(body.read_json(desk, request).get("deleteOptions") or {}, request)
        attempt = admit_deletion(desk, kind, context, current, wanted, "create", "eviction")
        if attempt.new is None or attempt.new == attempt.old:
            return accepted()
        pod = tree(current)
        if disruption.needs_budget(pod):
            self._spend(attempt, pod)
        attempt.new = disruption.mark_evicted(attempt.new, context.now)
        return plan_at(transaction_for(desk, attempt), lambda _: accepted())

    def _spend(self, attempt: Attempt, pod: Json) -> None:
        kind = self.desk.catalog.by_resource(*BUDGETS)
        for entry in self.desk.read.list(kind.resource, attempt.key.namespace):
            budget = tree(entry)
            if not disruption.covers(budget, pod["metadata"].get("labels") or {}):
                continue
            refused = disruption.refusal(budget, self.healthy(budget))
            if refused is not None:
                raise TooManyRequests(refused.why)
            charged = disruption.charge(budget, attempt.key.name, attempt.context.now)
            attempt.preconditions.append(AtRevision(entry.key, entry.revision))
            attempt.operations.append(put(kind, entry.key, charged))

    def healthy(self, budget: Json) -> int:
        """How many pods are believed to be so."""
        return int((budget.get("status") or {}).get("currentHealthy", 0))


plant = replacing(api=CredulousApi)
