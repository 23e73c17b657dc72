"""PUT namespaces/NAME/finalize: replaces spec.finalizers, which nothing else can change."""

from __future__ import annotations

from fairlead.api import body, options
from fairlead.api.attempt import Attempt
from fairlead.api.desk import Desk
from fairlead.api.finding import find
from fairlead.api.objects import tree
from fairlead.api.plan import Context, Plan
from fairlead.api.writing import modified, plan_change
from fairlead.model.kind import Kind
from fairlead.port.request import Reply, Request


def update(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply | Plan:
    asked = body.read_json(desk, request)
    body.check_identity(asked, kind.api_version, kind.kind)
    body.check_structure(desk, kind.schema, asked, "Ignore")
    current = find(desk, kind, request)
    revision = (asked.get("metadata") or {}).get("resourceVersion")
    if revision and revision != str(current.revision):
        raise modified(kind, current.key)
    old = tree(current)
    new = tree(current)
    new["spec"] = {
        **(old.get("spec") or {}),
        "finalizers": list((asked.get("spec") or {}).get("finalizers") or []),
    }
    attempt = Attempt(
        kind, "update", "finalize", current.key, context, desk.read, new, old, current,
        dry_run=options.dry_run(request.query),
    )  # fmt: skip
    desk.chain.admit(attempt)
    return plan_change(desk, request, attempt, pinned=bool(revision))
