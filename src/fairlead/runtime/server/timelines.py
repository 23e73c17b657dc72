"""What `fairlead timeline` and `fairlead debug` ask for, mounted beside Kubernetes' documents.

They are given by `answering.py`, which keeps the server free for others meanwhile. A tenant may ask about what they may
get, and is told of objects that they may get.

GET  /fairlead/v1/timeline/RESOURCE/NAMESPACE/NAME[?since=TIME][?at=TIME|REVISION]   RESOURCE: as in deployments.apps;
                                                                    NAMESPACE: - for what is in none
GET  /fairlead/v1/debug/RESOURCE/NAMESPACE/NAME
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.api.access.contract import Attributes, reading
from fairlead.api.access.sight import Sight
from fairlead.api.access.users import User
from fairlead.api.plan import Context
from fairlead.core.errors import BadRequest, NotFound
from fairlead.core.times import parse_time
from fairlead.explain.debugging import debug
from fairlead.explain.sources import Sources
from fairlead.explain.timeline.telling import TimelineQuestion, timeline
from fairlead.model.key import Key
from fairlead.port.query import parse_whole
from fairlead.runtime.server.answering import Answering
from fairlead.wire.documents import Extension, Later, Needs

TIMELINE = "/fairlead/v1/timeline"
DEBUG = "/fairlead/v1/debug"
_NOWHERE = "-"


def timelines(sources: Sources, answering: Answering) -> Extension:
    def answer(path: str, query: Mapping[str, str], context: Context, sight: Sight) -> Later:
        key = asked_key(path, TIMELINE)
        since, at = asked_time(query, "since"), query.get("at", "")
        until = _written(sources, parse_whole(query, "at")) if at.isdecimal() else asked_time(query, "at")
        return answering.later(timeline(sources, TimelineQuestion(key, since, until), sight))

    return answer


def debug_views(sources: Sources, answering: Answering) -> Extension:
    def answer(path: str, query: Mapping[str, str], context: Context, sight: Sight) -> Later:
        return answering.later(debug(sources, asked_key(path, DEBUG), sight))

    return answer


def who_may_get_it(prefix: str) -> Needs:
    """Of an address PREFIX/RESOURCE/NAMESPACE/NAME."""

    def needs(user: User, path: str, body: bytes) -> Iterable[Attributes] | None:
        try:
            resource, namespace, name = asked_key(path, prefix)
        except NotFound:
            return None
        return (reading(user, resource, namespace, name),)

    return needs


def asked_key(path: str, prefix: str) -> Key:
    parts = path.removeprefix(prefix).split("/")[1:]
    if len(parts) != 3 or not all(parts):
        raise NotFound(f"ask for {prefix}/RESOURCE/NAMESPACE/NAME, with - for NAMESPACE of what is in none")
    return Key(parts[0], "" if parts[1] == _NOWHERE else parts[1], parts[2])


def asked_time(query: Mapping[str, str], name: str) -> float:
    text = query.get(name, "")
    try:
        return parse_time(text) if text else 0.0
    except ValueError as error:
        raise BadRequest(f"query parameter {name}: {error}") from None


def _written(sources: Sources, revision: int | None) -> float:
    found = sources.journal.written_after(revision - 1) if revision else None
    if found is None or found[0] != revision:
        raise NotFound(f"revision {revision} is not kept, or has not happened yet")
    return found[1]
