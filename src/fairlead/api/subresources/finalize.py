"""PUT namespaces/NAME/finalize: replaces spec.finalizers, which nothing else can change.

A deleted namespace keeps its own finalizer until it is empty. Nothing can be created in it any more, so what is seen
here stays true until the write commits.
"""

from __future__ import annotations

from fairlead.api import body
from fairlead.api.changing import before, change
from fairlead.api.desk import Desk
from fairlead.api.finding import find
from fairlead.api.objects import named_by
from fairlead.api.plan import Context, Plan
from fairlead.core.errors import Conflict
from fairlead.model.kind import Json, Kind
from fairlead.model.kinds.namespace import FINALIZER
from fairlead.port.request import Reply, Request


def update(desk: Desk, request: Request, kind: Kind, context: Context) -> Reply | Plan:
    asked = body.read_json(desk, request)
    body.check_identity(asked, kind.api_version, kind.kind)
    body.check_structure(desk, kind.schema, asked, "Ignore")
    known = before(find(desk, kind, request))
    finalizers = list((asked.get("spec") or {}).get("finalizers") or [])
    if FINALIZER not in finalizers:
        _check_empty(desk, kind, known.tree)
    new = named_by(asked, known.tree)
    new["spec"] = {**(known.tree.get("spec") or {}), "finalizers": finalizers}
    return change(desk, request, kind, context, known, new, [])


def _check_empty(desk: Desk, kind: Kind, old: Json) -> None:
    name = old["metadata"]["name"]
    if "deletionTimestamp" not in old["metadata"]:
        return
    left = [each.resource for each in desk.catalog if each.namespaced and desk.read.list(each.resource, name)]
    if left:
        raise Conflict(
            f'Operation cannot be fulfilled on {kind.resource} "{name}": the namespace is not empty, it has '
            f"{', '.join(left)}; delete those first",
            kind=kind.plural,
            name=name,
        )
