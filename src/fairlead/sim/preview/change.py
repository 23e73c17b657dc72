"""A change that somebody thinks of, as data, and how it is carried out in a world: asked once, like a person does.

    Change(asks=(request, ...), drains=("node-1", "node-2"), then=(approval,))

Nodes that are to be drained are cordoned first; each pod on them that is no DaemonSet's is evicted, and asked for again
as long as a budget refuses it, as `kubectl drain` does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from msgspec import structs

from fairlead.api.access.users import MASTERS, User
from fairlead.core import codec
from fairlead.model.key import Key
from fairlead.model.views import NODES, PODS, Pod
from fairlead.port.request import MERGE_PATCH, Reply, Request
from fairlead.sim.preview.world import DRAIN, PERSON, PreviewWorld
from fairlead.sim.scenario import eviction

#: bound: plane | how long a drain in a preview asks for an eviction that budgets refuse | told as held up
EVICTION_ASKEDSECONDS = 120.0
_ASK_AGAIN_MS = 5_000
SECOND = User("somebody else", groups=(MASTERS, "system:authenticated"))
_CORDON = codec.encode({"spec": {"unschedulable": True}})


@dataclass(frozen=True, slots=True)
class ProposedChange:
    """`then`: asked for by a second person when `asks` are answered. `told`: what it is, in words."""

    asks: tuple[Request, ...] = ()
    drains: tuple[str, ...] = ()
    then: tuple[Request, ...] = ()
    told: str = ""


@dataclass(frozen=True, slots=True)
class RefusedChange:
    """What was asked for and refused, with the API's words."""

    request: Request
    status: int
    message: str


@dataclass(slots=True)
class ChangeOutcome:
    """What came of a change at the API."""

    at_seconds: float = 0.0
    unanswered: int = 0  # of what the first person asked for
    then: tuple[Request, ...] = ()
    refused: list[RefusedChange] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def carry_out(world: PreviewWorld, change: ProposedChange, pods: Iterable[Pod]) -> ChangeOutcome:
    """`pods`: as they are when the change is made."""
    asked = ChangeOutcome(world.seconds, len(change.asks), change.then)
    wanted = [(each, PERSON) for each in change.asks]
    wanted += [(_cordon(node), DRAIN) for node in change.drains]
    drained = frozenset(change.drains)
    for pod in pods if drained else ():
        owner = pod.metadata.controller
        if (
            pod.spec.node_name in drained
            and not pod.finished
            and (owner is None or owner.kind != "DaemonSet")
        ):
            wanted.append((_evict(pod), DRAIN))
    world.asking += len(wanted) + len(change.then) * bool(change.asks)
    for request, by in wanted:
        heard = _first_heard if by == PERSON else _answered
        world.ask(request, partial(heard, world, asked, request), by)
    return asked


def _first_heard(world: PreviewWorld, asked: ChangeOutcome, request: Request, reply: Reply | None) -> None:
    """Once all that was asked for first is answered, a second person has a word."""
    _answered(world, asked, request, reply)
    asked.unanswered -= 1
    if not asked.unanswered:
        for each in asked.then:
            world.ask(each, partial(_answered, world, asked, each), PERSON, SECOND)


def key_of(request: Request) -> Key:
    """Of the object that a request is about; a create names it in its body."""
    resource = f"{request.plural}.{request.group}" if request.group else request.plural
    name = request.name or str((codec.decode(request.body).get("metadata") or {}).get("name", ""))
    return Key(resource, request.namespace, name)


def _answered(world: PreviewWorld, asked: ChangeOutcome, request: Request, reply: Reply | None) -> None:
    assert reply is not None  # this server does not die
    evicts = request.plural == PODS.name and request.subresource == "eviction"
    if evicts and reply.status == 429 and world.seconds < asked.at_seconds + EVICTION_ASKEDSECONDS:
        again = partial(world.ask, request, partial(_answered, world, asked, request), DRAIN)
        world.timeline.after(_ASK_AGAIN_MS, again)
        return
    world.asking -= 1
    if reply.status < 400 or (evicts and reply.status == 404):
        asked.warnings += [each for each in reply.warnings if each not in asked.warnings]
        return
    message = str(codec.decode(reply.body).get("message", ""))
    asked.refused.append(RefusedChange(request, reply.status, message))


def _evict(pod: Pod) -> Request:
    """A pod of a ReplicaSet is replaced when it is asked to go, not when it is gone, and what it leaves is cordoned: it
    may go at once. Whoever waits for the end of a pod is shown one."""
    meta = pod.metadata
    request = eviction(meta.namespace, meta.name, meta.uid)
    owner = meta.controller
    if owner is None or owner.kind != "ReplicaSet" or meta.finalizers:
        return request
    body = codec.decode(request.body)
    body["deleteOptions"]["gracePeriodSeconds"] = 0
    return structs.replace(request, body=codec.encode(body))


def _cordon(node: str) -> Request:
    return Request(
        verb="patch",
        group="",
        version="v1",
        plural=NODES.name,
        name=node,
        body=_CORDON,
        content_type=MERGE_PATCH,
    )
