"""GET, PUT and PATCH of certificatesigningrequests/NAME/approval: its conditions, for those who approve.

What may be written is judged by what it is, wherever it is written (`api/access/certificate_rights.py`); here nothing
but the conditions is taken over.
"""

from __future__ import annotations

from msgspec import structs

from fairlead.api import body, options
from fairlead.api.changing import before, change
from fairlead.api.desk import Desk
from fairlead.api.finding import find
from fairlead.api.plan import Context, Plan
from fairlead.api.verbs.patch import patch as patch_object
from fairlead.model.kind import Kind
from fairlead.port.request import Reply, Request


def update(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply | Plan:
    level = options.field_validation(request.query)
    sent = body.read_json(desk, request)
    body.check_identity(sent, kind.api_version, kind.kind)
    known = before(find(desk, kind, request))
    old = known.tree
    conditions = (sent.get("status") or {}).get("conditions") or []
    status = {**(old.get("status") or {}), "conditions": conditions}
    new = {**old, "metadata": sent.get("metadata") or {}, "status": status}
    warnings = body.check_structure(desk, kind.schema, new, level, b"", kind)
    as_status = structs.replace(request, subresource="status")
    return change(desk, as_status, kind, context, known, new, warnings, addressed="approval")


def patch(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply | Plan:
    as_status = structs.replace(request, subresource="status")
    return patch_object(desk, as_status, kind, context, addressed="approval")
