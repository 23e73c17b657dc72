"""PUT: the whole object, or its status, replaced."""

from __future__ import annotations

from fairlead.api import body, options
from fairlead.api.changing import before, change
from fairlead.api.desk import Desk
from fairlead.api.finding import find
from fairlead.api.plan import Context, Plan
from fairlead.model.kind import Kind
from fairlead.port.request import Reply, Request


def update(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply | Plan:
    level = options.field_validation(request.query)
    options.check_field_manager(request.query)
    new = body.read_json(desk, request)
    body.check_identity(new, kind.api_version, kind.kind)
    known, raw = before(find(desk, kind, request)), body.json_text(request)
    if request.subresource == "status":
        # The rest of what is sent here is not taken over, and so not judged either.
        new, raw = {**known.tree, "metadata": new.get("metadata", {}), "status": new.get("status", {})}, b""
    warnings = body.check_structure(desk, kind.schema, new, level, raw, kind)
    return change(desk, request, kind, context, known, new, warnings)
