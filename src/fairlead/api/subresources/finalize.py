"""PUT namespaces/NAME/finalize: replaces spec.finalizers, which nothing else can change."""

from __future__ import annotations

from fairlead.api import body
from fairlead.api.changing import change
from fairlead.api.desk import Desk
from fairlead.api.finding import find
from fairlead.api.objects import named_by, tree
from fairlead.api.plan import Context, Plan
from fairlead.model.kind import Kind
from fairlead.port.request import Reply, Request


def update(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply | Plan:
    asked = body.read_json(desk, request)
    body.check_identity(asked, kind.api_version, kind.kind)
    body.check_structure(desk, kind.schema, asked, "Ignore")
    current = find(desk, kind, request)
    old = tree(current)
    finalizers = list((asked.get("spec") or {}).get("finalizers") or [])
    new = named_by(asked, old)
    new["spec"] = {**(old.get("spec") or {}), "finalizers": finalizers}
    return change(desk, request, kind, context, current, old, new, [])
