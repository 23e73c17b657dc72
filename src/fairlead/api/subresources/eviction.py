"""POST pods/NAME/eviction: a deletion that respects disruption budgets.

The budget's new allowance and the pod's deletion are one transaction, judged at the revision of both. The pods that
the budget covers are counted as they are now (`ledger/disruption.py`), those of a silent node, at any stage of its
silence, not at all (`api/heard_nodes.py`).
"""

from __future__ import annotations

from functools import cache

from fairlead.api import body
from fairlead.api.admission.policies.mutating import mutate
from fairlead.api.attempt import Attempt
from fairlead.api.deletion import options_from
from fairlead.api.desk import Desk
from fairlead.api.finding import find
from fairlead.api.objects import put, tree
from fairlead.api.options import dry_run
from fairlead.api.plan import Context, Plan
from fairlead.api.status import accepted
from fairlead.api.verbs.delete import admit_deletion
from fairlead.api.writing import plan_at, transaction_for
from fairlead.core.errors import Cause, InternalError, TooManyRequests
from fairlead.ledger import disruption
from fairlead.model.kind import Json, Kind
from fairlead.port.request import Reply, Request
from fairlead.store.contract import AtRevision

BUDGETS = ("policy", "v1", "poddisruptionbudgets")


def create(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply | Plan:
    asked = body.read_json(desk, request)
    body.check_structure(desk, "Eviction", asked, "Ignore")
    body.check_meant_for(asked, request, "Eviction")
    current = find(desk, kind, request)
    pod = tree(current)
    sending = Attempt(
        kind=kind, verb="create", subresource="eviction", key=current.key, context=context, read=desk.sound,
        new=pod, old=pod, current=current, sent=asked, dry_run=dry_run(request.query),
    )  # fmt: skip
    if desk.policies.active:
        mutate(desk, sending)
    wanted = options_from(asked.get("deleteOptions") or {}, request)
    attempt = admit_deletion(
        desk, kind, context, current, wanted=wanted, verb="create", subresource="eviction", sending=sending
    )
    if disruption.needs_budget(pod):
        _spend(desk, attempt, pod)
    if wanted.dry_run or attempt.new == attempt.old:
        return accepted(attempt.warnings)
    assert attempt.new is not None
    attempt.new = disruption.mark_evicted(attempt.new, context.now)
    return plan_at(transaction_for(desk, attempt), lambda _: accepted(attempt.warnings))


def _spend(desk: Desk, attempt: Attempt, pod: Json) -> None:
    """Charge the budget that covers the pod, in the transaction that deletes it; none where none does."""
    kind = desk.catalog.by_resource(*BUDGETS)
    labels = pod["metadata"].get("labels") or {}
    entries = desk.sound.list(kind.resource, attempt.key.namespace)
    covering = [(entry, budget) for entry in entries if disruption.covers(budget := tree(entry), labels)]
    if not covering:
        return
    if len(covering) > 1:
        names = ", ".join(entry.key.name for entry, _ in covering)
        raise InternalError(
            f"This pod has more than one PodDisruptionBudget ({names}), which the eviction subresource does not "
            "support; narrow their selectors so that one remains"
        )
    entry, budget = covering[0]
    attempt.preconditions.append(AtRevision(entry.key, entry.revision))
    pods = desk.sound.list(attempt.kind.resource, attempt.key.namespace)
    now = attempt.context.now
    out_of_reach = cache(lambda node: desk.heard.is_out_of_reach(desk.sound, node, now))
    healthy = disruption.count_healthy(budget, (each.data for each in pods), out_of_reach)
    # A missed renewal alone may be our own fault: it makes no pod count, and none free.
    lost = desk.heard.is_marked(desk.sound, pod["spec"].get("nodeName") or "")
    if disruption.is_free(budget, pod, healthy, lost=lost):
        return
    refused = disruption.refusal(budget, healthy)
    if refused is not None:
        raise TooManyRequests(
            "Cannot evict pod as it would violate the pod's disruption budget.",
            causes=(Cause("DisruptionBudget", refused.why),),
            retry_after_seconds=refused.retry_after_seconds,
        )
    charged = disruption.charge(budget, attempt.key.name, now)
    attempt.operations.append(put(kind, entry.key, charged))
