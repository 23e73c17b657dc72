"""GET /fairlead/v1/decisions: what was decided, from the log as it is or by what it touches. Mounted by `mounting.py`.

    ?after=SEQUENCE | ?before=SEQUENCE      lines as they follow one another (`extensions.lines`)
    ?object=RESOURCE/NAMESPACE/NAME         the last ones that are about it or touch it, up to ?before=SEQUENCE
    ?id=ID                                  the decision of that id and what became of it, from whichever log has it

The latter two ask the index (`explain/index.py`), elsewhere than on the loop. Lines come oldest first.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from fairlead.api.access.sight import Sight
from fairlead.api.plan import Context
from fairlead.control.instructions import DECISIONS, DELIVERIES, TURNS
from fairlead.core.errors import BadRequest, Forbidden
from fairlead.explain.asking import Asking
from fairlead.explain.index import DecisionIndex, id_key
from fairlead.explain.records import StoredNote, touching
from fairlead.port.query import parse_whole
from fairlead.port.request import Reply
from fairlead.runtime.server.answering import Answering
from fairlead.runtime.server.extensions import lines, shown_lines
from fairlead.store.contract import Journal
from fairlead.wire.documents import Extension, Later

#: bound: plane | decisions about an object in one answer | ask again with `before`
LINES_MAX = 1000


def decision_lines(journal: Journal, index: DecisionIndex, answering: Answering) -> Extension:
    as_they_follow = lines(journal, DECISIONS, {TURNS: TURNS, DELIVERIES: DELIVERIES})

    def answer(path: str, query: Mapping[str, str], context: Context, sight: Sight) -> Reply | Later:
        wanted, named = query.get("object", ""), query.get("id", "")
        if query.get("stream") == DELIVERIES and not sight.is_whole:
            raise Forbidden(
                "what a plane was told is about every namespace: only who may read all of them may ask"
            )
        if not wanted and not named:
            return as_they_follow(path, query, context, sight)
        if wanted and (named or not 2 <= len(wanted.split("/")) <= 3 or not all(wanted.split("/"))):
            raise BadRequest(
                f"query parameter object: {wanted!r} names no object: write RESOURCE/NAMESPACE/NAME, as in"
                " deployments.apps/default/web, or RESOURCE/NAME of what has no namespace; and not with id"
            )
        stream = query.get("stream", "") or DECISIONS
        if stream not in (DECISIONS, TURNS):
            raise BadRequest(f"there is no stream {stream!r} here; there are: {TURNS}")
        before = parse_whole(query, "before") or 0
        limit = min(parse_whole(query, "limit") or LINES_MAX, LINES_MAX)
        key = wanted or id_key(named)
        streams = (stream,) if wanted else (DECISIONS, TURNS)
        return answering.later(_found(journal, index, key, before, limit, streams, sight))

    return answer


def _found(
    journal: Journal,
    index: DecisionIndex,
    key: str,
    before: int,
    limit: int,
    streams: tuple[str, ...],
    sight: Sight,
) -> Asking[msgspec.Raw]:
    found: list[StoredNote] = []
    for stream in streams:
        found = yield from touching(journal, index, [key], before, limit, stream)
        if found:
            break
    return msgspec.Raw(shown_lines(found[::-1], sight))
