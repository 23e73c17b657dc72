"""The people of a world: they take the steps of its scenario, each when it is due, and ask until it is done.

One thing after the other: a step about an object waits until the one before it, about the same object, was taken. What
was done although nobody was told of it exists, or is gone, when it is asked for again. `World` holds them, and asks how
many steps are left; `liveness.py` names those that are asked for in vain.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec import structs

from fairlead.api.access.users import MASTERS, User
from fairlead.model.key import Key
from fairlead.port.request import Reply, Request
from fairlead.sim.checkers.contract import CommittedObjects
from fairlead.sim.digest import Digest
from fairlead.sim.processes.server import SimulatedServer
from fairlead.sim.scenario import ScenarioStep, owned_by, told_of
from fairlead.sim.time import Timeline
from fairlead.store.damage import DELETE_OPTION

PEOPLE = User("admin", groups=(MASTERS, "system:authenticated"))
LANE = "people"  # as an actor
_ASK_AGAIN_MS = 500


class People:
    def __init__(
        self,
        timeline: Timeline,
        server: SimulatedServer,
        digest: Digest,
        objects: Callable[[], CommittedObjects],
        steps: int,
    ) -> None:
        """`steps`: how many are to be taken, with the mishaps that are waited for."""
        self._timeline, self._server, self._digest, self._objects = timeline, server, digest, objects
        self.steps_left = steps
        self._open: dict[
            int, tuple[Request, int]
        ] = {}  # asked for, not done yet; with the last answer's status

    def open_steps(self) -> tuple[tuple[Request, int], ...]:
        return tuple(self._open.values())

    def take(self, step: ScenarioStep) -> None:
        request = step.request
        if any(told_of(each) == told_of(request) for each, _ in self._open.values()):
            self._timeline.after(_ASK_AGAIN_MS, self.take, step)
            return
        if step.owner is not None:
            owner = self._objects().of(step.owner.resource).get(step.owner)
            if owner is None:
                self._timeline.after(_ASK_AGAIN_MS, self.take, step)
                return
            request = structs.replace(request, body=owned_by(request.body, owner.metadata.uid))
        self._open[id(request)] = request, 0
        self.ask(request, True)

    def give_up(self, key: Key) -> None:
        """What decayed goes, with the option that says so."""
        kind = next(each for each in self._server.served if each.resource == key.resource)
        request = Request(
            verb="delete",
            group=kind.group,
            version=kind.version,
            plural=kind.plural,
            namespace=key.namespace,
            name=key.name,
            query={DELETE_OPTION: "true"},
        )
        self.ask(request, True)

    def mishap_over(self) -> None:
        self.steps_left -= 1

    def ask(self, request: Request, counts: bool) -> None:
        """`counts`: it is one of the steps that are to be taken."""
        self._digest.tell("asks", LANE, describe(request))
        self._server.send(request, PEOPLE, LANE, partial(self.answered, request, counts))

    def answered(self, request: Request, counts: bool, reply: Reply | None) -> None:
        done = {"create": 409, "delete": 404}.get(request.verb)
        if reply is None or (reply.status >= 400 and reply.status != done):
            if reply is not None and reply.status in (400, 403, 422):
                raise RuntimeError(f"the world's own step was refused: {reply.body.decode()}")
            if counts:
                self._open[id(request)] = request, 0 if reply is None else reply.status
            self._timeline.after(_ASK_AGAIN_MS, self.ask, request, counts)
            return
        self._open.pop(id(request), None)
        if counts:
            self.steps_left -= 1


def describe(request: Request) -> str:
    """A request in a line, for the trail."""
    below = f"/{request.subresource}" if request.subresource else ""
    at = "/".join(filter(None, (request.namespace, request.name)))
    return f"{request.verb} {request.plural}{below} {at} {request.body.decode()}".rstrip()
