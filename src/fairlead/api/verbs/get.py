"""GET of one object. A get always answers from the newest durable state; a revision is a lower bound."""

from __future__ import annotations

from fairlead.api import options
from fairlead.api.desk import Desk
from fairlead.api.finding import find, not_newer_than
from fairlead.api.plan import Context
from fairlead.api.tables import render_one
from fairlead.model.kind import Kind
from fairlead.port.request import Reply, Request


def get(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply:
    if request.query:
        not_newer_than(desk, options.parse_revision(request.query))
    entry = find(desk, kind, request)
    return render_one(request, kind, entry.data, context.now, 200, ())
