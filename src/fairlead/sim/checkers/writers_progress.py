"""Every writer gets on: what it wants is not refused for ever because it decided on an old read.

Judged while faults are off: so many conflicts in a row (`_TRIES`), of one controller of one plane, or of one agent,
about one object, without a write of its own to that object in between, are a writer that does not look. Each conflict
by right says that somebody else came first, and the next attempt is made on what that one wrote; with one leader, and
nodes that write of their own pods, few come together. People are no such writers: they ask until it is so. Neither is a
plane whose clock is behind the server's, and which asks on the ground of an override until its own clock shows the end.
"""

from __future__ import annotations

from fairlead.core import codec
from fairlead.model.key import Key
from fairlead.port.request import READ_VERBS, Reply, Request
from fairlead.sim.checkers.contract import CommittedObjects, Hears, SeenChange
from fairlead.sim.people import PEOPLE_LANE
from fairlead.sim.violation import Violation

_TRIES = 6
# What was under way to a mirror when faults stopped has come by then, also to a plane that is slow (for 41 seconds, and
# four late): until it has, a writer cannot know better.
_SETTLE_SECONDS = 48.0
_CONFLICT = 409
_NOBODY = frozenset({"", "people"})  # leadership, which `leases.py` judges; people may ask as they like
_ENDED = "has ended"  # a premise, by the clock of the server
_EXEMPT = "finalize"  # of a namespace: refused so for as long as it is not empty


class WritersProgress(Hears):
    name = "writers-progress"

    def __init__(self) -> None:
        self._refused: dict[tuple[str, Key], int] = {}  # writer and object -> conflicts in a row

    def answered(self, request: Request, origin: str, reply: Reply, calm_seconds: float) -> None:
        if reply.status != _CONFLICT or request.verb in READ_VERBS or origin in _NOBODY:
            return
        if request.subresource == _EXEMPT or origin == PEOPLE_LANE:
            return
        told = codec.decode(reply.body).get("message", "")
        if told.endswith(_ENDED):
            return
        at = (origin, _key(request))
        tries = self._refused[at] = self._refused.get(at, 0) + 1
        if tries >= _TRIES and calm_seconds >= _SETTLE_SECONDS:
            what = f"{request.verb} {at[1].resource} {at[1].name}"
            raise Violation(self.name, f"{origin} was refused {tries} times in a row: {what}: {told}")

    def saw(self, sight: SeenChange) -> None:
        if self._refused:
            self._refused.pop((sight.origin, sight.key), None)

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        """Whoever asks in vain at rest is found as on the way."""


def _key(request: Request) -> Key:
    resource = f"{request.plural}.{request.group}" if request.group else request.plural
    if request.name or not request.body:  # without either: several bindings at once
        return Key(resource, request.namespace, request.name)
    return Key(resource, request.namespace, codec.decode(request.body)["metadata"].get("name", ""))
