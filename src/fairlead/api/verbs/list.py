"""GET of a collection. All the work is in `api/listing.py`; a list with watch=true is the watch verb."""

from __future__ import annotations

from fairlead.api.desk import Desk
from fairlead.api.listing import list_page
from fairlead.api.plan import Context
from fairlead.model.kind import Kind
from fairlead.port.request import Reply, Request


def list_objects(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply:
    return list_page(desk, request, kind, context.now)
