"""What `fairlead explain` asks for about the decisions of any controller, mounted beside Kubernetes' documents.

GET /fairlead/v1/decided/RESOURCE/NAMESPACE/NAME[?at=TIME][?id=DECISION][?controller=NAME][?diff=true[&against=ID]]
    RESOURCE: as in deployments.apps; NAMESPACE: - for what is in none

Whoever may get the object may ask. Given by `answering.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.api.access.sight import Sight
from fairlead.api.plan import Context
from fairlead.explain.decided.answer import Question, explain_decisions
from fairlead.explain.sources import Sources
from fairlead.port.query import parse_flag
from fairlead.runtime.server.answering import Answering
from fairlead.runtime.server.timelines import asked_key, asked_time
from fairlead.wire.documents import Extension, Later

DECIDED = "/fairlead/v1/decided"


def decided(sources: Sources, answering: Answering) -> Extension:
    def answer(path: str, query: Mapping[str, str], context: Context, sight: Sight) -> Later:
        asked = Question(
            asked_key(path, DECIDED),
            asked_time(query, "at"),
            query.get("id", ""),
            query.get("controller", ""),
            bool(parse_flag(query, "diff")),
            query.get("against", ""),
        )
        return answering.later(explain_decisions(sources, asked, sight))

    return answer
