"""What `fairlead coupling` asks for, mounted beside the explanations and given like them (`answering.py`).

GET /fairlead/v1/coupling[/CONTROLLER]
GET /fairlead/v1/coupling[/CONTROLLER]?loops=true
"""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.api.access.sight import Sight
from fairlead.api.plan import Context
from fairlead.control.write_loops import WriteLoop
from fairlead.core import codec
from fairlead.core.errors import NotFound
from fairlead.explain.coupling.answer import coupled
from fairlead.explain.sources import Sources
from fairlead.port.query import parse_flag
from fairlead.port.request import Reply
from fairlead.runtime.server.answering import Answering
from fairlead.runtime.server.tenants import place_of_key
from fairlead.wire.documents import Extension, Later

COUPLING = "/fairlead/v1/coupling"


def couplings(sources: Sources, answering: Answering) -> Extension:
    def answer(path: str, query: Mapping[str, str], context: Context, sight: Sight) -> Later | Reply:
        controller = path.removeprefix(COUPLING).strip("/")
        if "/" in controller:
            raise NotFound(f"ask for {COUPLING} or {COUPLING}/CONTROLLER")
        if parse_flag(query, "loops"):
            return Reply(200, codec.encode({"loops": loops(sources, controller, sight)}))
        return answering.later(coupled(sources, controller, sight))

    return answer


def loops(sources: Sources, controller: str, sight: Sight) -> list[WriteLoop]:
    """Those that go on, with their proof: all, or those that a controller takes part in."""
    found = sources.told.loops
    return [
        each
        for each in found
        if (not controller or controller in (each.controller, *each.writers))
        and (sight.is_whole or sight.sees(*place_of_key(each.object)))
    ]
