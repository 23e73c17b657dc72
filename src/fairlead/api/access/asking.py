"""A request as authorization sees it. Built by `api/server.py` once per request, with Kubernetes' two particularities:

a Namespace       is asked about as if it were inside itself, so that a RoleBinding in it can allow reading it
a list or watch   with the field selector metadata.name=NAME carries that name, so that rules with resourceNames
                  can allow it; a deletecollection carries none, whatever it selects
"""

from __future__ import annotations

from fairlead.api.access.contract import Attributes
from fairlead.api.access.node_access import selected_name
from fairlead.api.access.users import User
from fairlead.model.kinds.namespace import KIND as NAMESPACE
from fairlead.port.request import Request


def attributes_of(request: Request, user: User, now: float = 0.0) -> Attributes:
    query, name = request.query, request.name
    selector = query.get("fieldSelector", "")
    if selector and not name and request.verb in ("list", "watch"):
        name = selected_name(selector)
    within = request.namespace
    if request.plural == NAMESPACE.plural and request.group == NAMESPACE.group and not within:
        within = request.name
    return Attributes(
        user=user,
        verb=request.verb,
        group=request.group,
        version=request.version,
        plural=request.plural,
        subresource=request.subresource,
        namespace=within,
        name=name,
        field_selector=selector,
        label_selector=query.get("labelSelector", ""),
        now=now,
    )
