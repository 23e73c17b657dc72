"""What `fairlead coupling` asks for, mounted beside the explanations and given like them (`answering.py`).

GET /fairlead/v1/coupling[/CONTROLLER]
"""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.api.access.sight import Sight
from fairlead.api.plan import Context
from fairlead.core.errors import NotFound
from fairlead.explain.coupling.answer import coupled
from fairlead.explain.sources import Sources
from fairlead.runtime.server.answering import Answering
from fairlead.wire.documents import Extension, Later

COUPLING = "/fairlead/v1/coupling"


def couplings(sources: Sources, answering: Answering) -> Extension:
    def answer(path: str, query: Mapping[str, str], context: Context, sight: Sight) -> Later:
        controller = path.removeprefix(COUPLING).strip("/")
        if "/" in controller:
            raise NotFound(f"ask for {COUPLING} or {COUPLING}/CONTROLLER")
        return answering.later(coupled(sources, controller, sight))

    return answer
