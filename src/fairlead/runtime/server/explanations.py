"""What `fairlead explain`, `why-not` and `plan` ask for, mounted beside Kubernetes' documents.

They are given by `answering.py`, which keeps the server free for others meanwhile.

GET  /fairlead/v1/explain/NAMESPACE/POD[?attempt=N][?all=true]
GET  /fairlead/v1/why-not/NAMESPACE/POD/NODE
POST /fairlead/v1/plan
"""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.api.access.sight import Sight
from fairlead.api.plan import Context
from fairlead.core.errors import NotFound
from fairlead.explain import planning
from fairlead.explain.explaining import explain, history, why_not_there
from fairlead.explain.sources import Sources
from fairlead.port.query import parse_flag, parse_whole
from fairlead.runtime.server.answering import Answering
from fairlead.wire.documents import Extension, Later, Question

EXPLAIN = "/fairlead/v1/explain"
WHY_NOT = "/fairlead/v1/why-not"
PLAN = "/fairlead/v1/plan"


def explanations(sources: Sources, answering: Answering) -> Extension:
    def answer(path: str, query: Mapping[str, str], context: Context, sight: Sight) -> Later:
        namespace, name = _parts(path, EXPLAIN, 2, "NAMESPACE/POD")
        if parse_flag(query, "all"):
            return answering.later(history(sources, namespace, name, sight))
        number = parse_whole(query, "attempt") or 0
        return answering.later(explain(sources, namespace, name, number, sight))

    return answer


def objections(sources: Sources, answering: Answering) -> Extension:
    def answer(path: str, query: Mapping[str, str], context: Context, sight: Sight) -> Later:
        namespace, name, node = _parts(path, WHY_NOT, 3, "NAMESPACE/POD/NODE")
        return answering.later(why_not_there(sources, namespace, name, node))

    return answer


def plans(sources: Sources, answering: Answering) -> Question:
    def answer(body: bytes, context: Context, sight: Sight) -> Later:
        return answering.later(planning.answer(sources, body, sight))

    return answer


def _parts(path: str, prefix: str, number: int, form: str) -> list[str]:
    parts = path.removeprefix(prefix).split("/")[1:]
    if len(parts) != number or not all(parts):
        raise NotFound(f"ask for {prefix}/{form}")
    return parts
