"""People in a run: they ask for what the scenario's steps say, and ask again until it is so, or give up.

They are behind the same network as planes and nodes: what they ask for, or the answer, may be lost (`person_unheard`).

What was done although nobody was told exists, or is gone, when it is asked for again. Steps of one lane wait for each
other, as one person does with one object; a step without a lane waits while another about the same object is open.
Called by `world.py`; `liveness.py` names the steps that are asked for in vain.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from msgspec import structs

from fairlead.api.access.users import MASTERS, User
from fairlead.core import codec
from fairlead.port.request import Reply, Request
from fairlead.sim.calls import TIMEOUT_MS, what_of
from fairlead.sim.chance import Chance
from fairlead.sim.digest import Digest
from fairlead.sim.draining import drained, is_done
from fairlead.sim.encounters import verb_of
from fairlead.sim.processes.server import Answer, SimulatedServer
from fairlead.sim.scenario import Pick, ScenarioStep, owned_by, told_of
from fairlead.sim.time import Timeline

if TYPE_CHECKING:
    from fairlead.sim.checkers.contract import Observed

PEOPLE = User("admin", groups=(MASTERS, "system:authenticated"))
PEOPLE_LANE = "people"  # as an actor
BY_USER = "user "  # what the origin of a write begins with whose author is no administrator
_ASK_AGAIN_MS = 500
_FULL = 507  # no refusal of what was asked for: there is room again, and it is asked for until then


class People:
    def __init__(
        self,
        timeline: Timeline,
        chance: Chance,
        server: SimulatedServer,
        digest: Digest,
        observed: Observed,
        left: int,
    ) -> None:
        """`left`: how many things are to be done before the world may rest."""
        self.left = left
        self.unheard = 0.0  # how likely it is that a request, or its answer, is lost
        self._chance = chance
        self.did: dict[str, int] = {}  # by action, how often it was carried out, or refused to who may not
        self.verbs: dict[str, int] = {}  # by verb, how often it was asked for
        self._timeline, self._server, self._digest, self._observed = timeline, server, digest, observed
        self._lanes: dict[str, deque[ScenarioStep]] = {}  # those with a step under way, and what waits for it
        self._open: dict[
            int, tuple[Request, int]
        ] = {}  # asked for, not done yet; with the last answer's status

    def take(self, step: ScenarioStep) -> None:
        """Its time has come."""
        if not step.lane:
            if step.pick is None and any(
                told_of(each) == told_of(step.request) for each, _ in self._open.values()
            ):
                self._timeline.after(_ASK_AGAIN_MS, self.take, step)
                return
            self._begin(step)
        elif step.lane in self._lanes:
            self._lanes[step.lane].append(step)
        else:
            self._lanes[step.lane] = deque()
            self._begin(step)

    def open_steps(self) -> tuple[tuple[Request, int], ...]:
        return tuple(self._open.values())

    def ask(self, request: Request, counts: bool = True) -> None:
        """Outside of any scenario."""
        self._ask(request, ScenarioStep(0.0, request) if counts else None)

    def _begin(self, step: ScenarioStep, tried: int = 0) -> None:
        request = step.request
        if step.owner is not None:
            owner = self._observed.objects.of(step.owner.resource).get(step.owner)
            if owner is None:
                if step.tries and tried >= step.tries:
                    self._end(step)
                else:
                    self._timeline.after(_ASK_AGAIN_MS, self._begin, step, tried + 1)
                return
            request = structs.replace(request, body=owned_by(request.body, owner.metadata.uid))
        if step.pick is None:
            evictions = drained(self._observed.objects, step.drains) if step.drains else []
            self.left += len(evictions)
            for each in evictions:
                self._ask(each, replace(step, lane="", drains=""))
            self._ask(request, step)
            return
        names = self._picked(step.pick)
        self.left += len(names)
        alone = replace(step, lane="")
        for name in names:
            body = request.body.replace(b'"name":""', f'"name":"{name}"'.encode())
            self._ask(structs.replace(request, name=name, body=body), alone)
        self._end(step)

    def _picked(self, pick: Pick) -> list[str]:
        found = []
        for key, view in self._observed.objects.of(pick.resource).items():
            labels = view.metadata.labels
            if key.namespace != pick.namespace or any(
                labels.get(name) != value for name, value in pick.labels
            ):
                continue
            if not pick.node or view.spec.node_name == pick.node:
                found.append(key.name)
        return sorted(found)[: pick.most]

    def _ask(self, request: Request, step: ScenarioStep | None, tried: int = 0) -> None:
        self._digest.tell("asks", PEOPLE_LANE, describe(request))
        if step is not None:
            self._open.setdefault(id(request), (request, 0))
        verb = verb_of(request)
        self.verbs[verb] = self.verbs.get(verb, 0) + 1
        lost = self._chance.faults("person_unheard", f"{PEOPLE_LANE} {verb} {what_of(request)}")
        if step is None or not lost.happens(self.unheard):
            self._send(request, step, partial(self._answered, request, step, tried))
            return
        if self._chance.details("person.sent", lost).choose(2):
            self._send(request, step, _nobody)
        self._timeline.after(TIMEOUT_MS, self._ask, request, step, tried)

    def _send(self, request: Request, step: ScenarioStep | None, done: Answer) -> None:
        """As who the step says; a write of somebody who is no administrator is told from others by its origin."""
        user = step.user if step is not None and step.user is not None else PEOPLE
        origin = "people" if MASTERS in user.groups else f"{BY_USER}{user.name}"
        self._server.send(request, user, origin, done)

    def _answered(self, request: Request, step: ScenarioStep | None, tried: int, reply: Reply | None) -> None:
        if reply is None or not self._is_so(request, step, reply):
            tried += reply is not None and reply.status != _FULL
            if step is not None and step.tries and tried >= step.tries:
                self._open.pop(id(request), None)
                if reply is not None and reply.status == 403:
                    self._count(step)
                self._end(step)
                return
            if step is not None:
                self._open[id(request)] = request, 0 if reply is None else reply.status
            if reply is not None and reply.status in (400, 403, 422) and not (step and step.tries):
                raise RuntimeError(f"the world's own step was refused: {reply.body.decode()}")
            self._timeline.after(_patience(step, tried), self._ask, request, step, tried)
        elif step is not None:
            self._open.pop(id(request), None)
            self._count(step)
            self._end(step)

    def _count(self, step: ScenarioStep) -> None:
        if step.action:
            self.did[step.action] = self.did.get(step.action, 0) + 1

    def _is_so(self, request: Request, step: ScenarioStep | None, reply: Reply) -> bool:
        if reply.status < 400:
            return True
        if request.verb == "create" and reply.status == 409:
            return not (step is not None and step.anew and self._is_going(request))
        return is_done(request, reply.status)

    def _is_going(self, request: Request) -> bool:
        """Whether the object that has the name is on its way out."""
        resource = f"{request.plural}.{request.group}" if request.group else request.plural
        name = codec.decode(request.body)["metadata"]["name"]
        for key, view in self._observed.objects.of(resource).items():
            if (key.namespace, key.name) == (request.namespace, name):
                return bool(view.metadata.deletion_timestamp)
        return True  # gone by now

    def _end(self, step: ScenarioStep) -> None:
        self.left -= 1
        waiting = self._lanes.get(step.lane) if step.lane else None
        if waiting:
            self._timeline.after(1, self._begin, waiting.popleft())
        elif waiting is not None:
            del self._lanes[step.lane]


def _nobody(reply: Reply | None) -> None:
    """The answer is lost."""


def _patience(step: ScenarioStep | None, tried: int) -> int:
    """Who would give up in the end asks less and less often."""
    return _ASK_AGAIN_MS if step is None or not step.tries else _ASK_AGAIN_MS * min(1 + tried // 2, 8)


def describe(request: Request) -> str:
    """A request in a line, for the trail."""
    below = f"/{request.subresource}" if request.subresource else ""
    at = "/".join(filter(None, (request.namespace, request.name)))
    return f"{request.verb} {request.plural}{below} {at} {request.body.decode()}".rstrip()
