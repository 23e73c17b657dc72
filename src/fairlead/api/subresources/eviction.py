"""POST pods/NAME/eviction: a deletion that respects disruption budgets.

The budget's new allowance and the pod's deletion are one transaction, judged at the revision of both.
"""

from __future__ import annotations

from fairlead.api import body, options
from fairlead.api.deletion import DeleteOptions
from fairlead.api.desk import Desk
from fairlead.api.finding import find
from fairlead.api.objects import put, tree
from fairlead.api.plan import AGAIN, Again, Context, Plan
from fairlead.api.verbs.delete import planned, transaction_for
from fairlead.api.writing import failed
from fairlead.core import codec
from fairlead.core.errors import Cause, InternalError, TooManyRequests
from fairlead.ledger import disruption
from fairlead.model.kind import Json, Kind
from fairlead.port.request import Reply, Request
from fairlead.store.contract import AtRevision, Committed, Entry, Outcome, Refused

BUDGETS = ("policy", "v1", "poddisruptionbudgets")
_CREATED = codec.encode(
    {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
)


def create(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply | Plan:
    asked = body.read_json(desk, request)
    body.check_structure(desk, "Eviction", asked, "Ignore")
    current = find(desk, kind, request)
    pod = tree(current)
    wanted = _options(request, asked)
    attempt = planned(desk, kind, context, current, wanted)
    if disruption.needs_budget(pod) and "deletionTimestamp" not in pod["metadata"]:
        spent = _spend(desk, pod, context.now)
        if spent is not None:
            budget, charged = spent
            attempt.preconditions.append(AtRevision(budget.key, budget.revision))
            attempt.operations.append(put(desk.catalog.by_resource(*BUDGETS), budget.key, charged))
    if wanted.dry_run:
        return Reply(201, _CREATED)
    if attempt.new == attempt.old:
        return Reply(201, _CREATED)

    def finish(outcome: Outcome) -> Reply | Again:
        if isinstance(outcome, Committed):
            return Reply(201, _CREATED)
        if isinstance(outcome, Refused):
            return AGAIN
        raise failed(outcome)

    return Plan(transaction_for(desk, attempt), finish)


def _options(request: Request, asked: Json) -> DeleteOptions:
    inner = asked.get("deleteOptions") or {}
    conditions = inner.get("preconditions") or {}
    revision = conditions.get("resourceVersion")
    return DeleteOptions(
        inner.get("gracePeriodSeconds"),
        inner.get("propagationPolicy") or "",
        conditions.get("uid") or "",
        options.revision({"resourceVersion": revision}) if revision else None,
        "All" in (inner.get("dryRun") or ()) or options.dry_run(request.query),
    )


def _spend(desk: Desk, pod: Json, now: float) -> tuple[Entry, Json] | None:
    """The one budget that covers the pod, and what it becomes; None where none does."""
    kind = desk.catalog.by_resource(*BUDGETS)
    labels = pod["metadata"].get("labels") or {}
    entries = desk.read.list(kind.resource, pod["metadata"]["namespace"])
    covering = [(entry, budget) for entry in entries if disruption.covers(budget := tree(entry), labels)]
    if not covering:
        return None
    if len(covering) > 1:
        names = ", ".join(entry.key.name for entry, _ in covering)
        raise InternalError(
            f"This pod has more than one PodDisruptionBudget ({names}), which the eviction subresource does not "
            "support; narrow their selectors so that one remains"
        )
    entry, budget = covering[0]
    why = disruption.refusal(budget)
    if why:
        raise TooManyRequests(
            "Cannot evict pod as it would violate the pod's disruption budget.",
            causes=(Cause("DisruptionBudget", why),),
            retry_after_seconds=10 if "still being processed" in why else 0,
        )
    return entry, disruption.charged(budget, pod["metadata"]["name"], now)
