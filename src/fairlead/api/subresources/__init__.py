"""Parts of objects with an address of their own. `VERBS` says which verbs each understands.

`status` needs no file: it is get, update and patch of the object, which look at `request.subresource`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fairlead.api.desk import Desk
from fairlead.api.plan import Context, Step
from fairlead.api.subresources import approval, binding, eviction, finalize, log, node_metrics, scale, token
from fairlead.api.verbs.get import get
from fairlead.api.verbs.patch import patch
from fairlead.api.verbs.update import update
from fairlead.model.kind import Kind
from fairlead.port.request import Request

Verb = Callable[[Desk, Request, Kind, Context], Step]

VERBS: Mapping[str, Mapping[str, Verb]] = {
    "status": {"get": get, "update": update, "patch": patch},
    "scale": {"get": scale.get, "update": scale.update, "patch": scale.patch},
    "approval": {"get": get, "update": approval.update, "patch": approval.patch},
    "binding": {"create": binding.create},
    "eviction": {"create": eviction.create},
    "finalize": {"update": finalize.update},
    "log": {"get": log.get},
    "metrics": {"get": node_metrics.get},
    "token": {"create": token.create},
}
# Those that answer with text, whatever form of objects a client would accept.
TEXTS = frozenset({"log", "metrics"})
