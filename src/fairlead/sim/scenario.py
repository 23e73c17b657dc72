"""What happens in a run, as data: who asks for what, when; when faults end; when it must be quiet.

A world file (`worlds/`) makes one Scenario. Its steps are people's doing: each is asked until the server takes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from fairlead.agent.contract import NodeSettings
from fairlead.agent.pace import Pace
from fairlead.api.access.users import User
from fairlead.control.leadership import LeadershipSettings
from fairlead.core import codec
from fairlead.decision.decider import Decider
from fairlead.model.key import Key
from fairlead.model.kinds.reservation import name_for
from fairlead.port.capabilities import FAIRLEAD, Capabilities
from fairlead.port.request import MERGE_PATCH, Request

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pick:
    """Objects that are known only when a step is taken: the first few, by name, that are so then."""

    resource: str
    namespace: str
    labels: tuple[tuple[str, str], ...] = ()
    node: str = ""  # on which pods are
    most: int = 1


@dataclass(frozen=True, slots=True)
class ScenarioStep:
    at_seconds: float
    request: Request
    owner: Key | None = None  # of what is created, which waits until that is there
    lane: str = ""  # steps of one lane wait for those before them; "": for none
    action: str = ""  # what people call it, for the count of what they did
    tries: int = 0  # given up after so many refusals; 0: asked until it is taken
    anew: bool = False  # an object of this name that is being deleted is not what was asked for
    pick: Pick | None = None  # asked of each of these instead of one that has a name
    drains: str = ""  # the node whose pods people then evict, one request each
    user: User | None = None  # who asks; None: an administrator


@dataclass(frozen=True, slots=True)
class Mishap:
    """A fault of a node at a certain time, in every run: a name from `incidents/nodes.py`."""

    at_seconds: float
    name: str
    node: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class DiskMishap:
    """A fault of the server's disk at a certain time, in every run: a name from `incidents/disk.py`."""

    at_seconds: float
    name: str
    seconds: float = 0.0  # how long the disk is full, or until people give up what decayed
    resources: tuple[str, ...] = ()  # of one of which an object decays


@dataclass(frozen=True, slots=True)
class PinnedFault:
    """A fault of planes or the server at a certain time, in every run but the one without faults: a name from
    `incidents/pinned.py`."""

    at_seconds: float
    name: str
    process: str  # or LEADER, STANDBY, EVERY: whoever that is at this time
    seconds: float = 0.0
    resource: str = ""  # whose watch it is about
    call: str = ""  # controller, verb and plural of the write it is about
    nth: int = 0  # of those writes, counted from this time


@dataclass(frozen=True, slots=True)
class Expected:
    """What must be there at the end: an object with these fields, or so many of them."""

    resource: str
    fields: tuple[tuple[str, Any], ...]  # path and value
    namespace: str = ""
    name: str = ""
    number: int | None = None  # None: that one object


@dataclass(frozen=True, slots=True)
class OlderPlane:
    """A plane of an earlier release beside newer ones: until it is upgraded it knows nothing of some controllers."""

    slot: int
    lacks: tuple[str, ...]
    until_seconds: float


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    steps: tuple[ScenarioStep, ...]  # in the order of time
    hollow_prefix: str  # nodes that begin so are hollow
    planes: int
    faults_until_seconds: float
    seconds_min: float  # the run is at least so long
    seconds_max: float  # not quiet by then: it does not converge
    quiet_seconds: float  # nothing written for so long is quiescence
    rest_seconds: float = 0.0  # and so long it must then stay at rest; at least as long as quiet took
    leadership: LeadershipSettings = field(default_factory=LeadershipSettings)
    controllers: tuple[Callable[[], Decider], ...] = ()  # besides those of production
    deciders: Callable[[], tuple[Decider, ...]] | None = None  # in place of those of production
    nodes: tuple[NodeSettings, ...] = ()  # with an agent and a machine of their own each
    without_deadlines: tuple[str, ...] = ()  # nodes whose supervisors accept none
    pace: Pace = field(default_factory=Pace)  # of these agents
    mishaps: tuple[Mishap, ...] = ()
    disk_mishaps: tuple[DiskMishap, ...] = ()
    faults_from_seconds: float = 0.0  # clocks may be wrong from the start
    capabilities: Capabilities = FAIRLEAD  # of the server, as far as the planes may use them
    unlisted: tuple[
        tuple[str, float], ...
    ] = ()  # resources that no plane may list or watch before this second
    pinned: tuple[PinnedFault, ...] = ()
    expected: tuple[Expected, ...] = ()  # at the end of every run
    allowed: tuple[str, ...] = ()  # ways in which runs may differ from the one without faults (`endstate.py`)
    standing: tuple[ScenarioStep, ...] = ()  # done long before: runs start from what came of it (`backup.py`)
    # It is at rest as soon as nothing is due within `quiet_seconds`, instead of after them (`rest.py`).
    looks_ahead: bool = False
    # Of what two runs ended in, the part that must be the same; None: all of it (`endstate.py`).
    compared: Callable[[dict[str, str]], dict[str, str]] | None = None
    older: OlderPlane | None = None
    contends: bool = False  # who has what only some can have is chance's: no two runs need to end alike


def create(at: float, api_version: str, plural: str, body: Json, namespace: str = "default") -> ScenarioStep:
    group, _, version = api_version.rpartition("/")
    whole = {"apiVersion": api_version, **body}
    return ScenarioStep(at, Request("create", group, version, plural, namespace, body=codec.encode(whole)))


def create_owned(
    at: float, api_version: str, plural: str, body: Json, owner_version: str, owner_kind: str, owner: Key
) -> ScenarioStep:
    """Something that belongs to `owner`, in the same namespace; its uid is filled in when it is known."""
    named = {"apiVersion": owner_version, "kind": owner_kind, "name": owner.name, "uid": ""}
    reference = {**named, "blockOwnerDeletion": True}
    owned = {**body, "metadata": {**body["metadata"], "ownerReferences": [reference]}}
    return replace(create(at, api_version, plural, owned, owner.namespace), owner=owner)


def told_of(request: Request) -> tuple[str, str, str]:
    """The object that a request is about."""
    name = request.name or (codec.decode(request.body).get("metadata") or {}).get("name", "")
    return request.plural, request.namespace, name


def owned_by(body: bytes, uid: str) -> bytes:
    """A reservation names its owner in its spec, everything else in its metadata."""
    made: Json = codec.decode(body)
    references = made["metadata"].get("ownerReferences")
    if references:
        references[0]["uid"] = uid
    else:
        made["spec"]["owner"]["uid"] = uid
        made["metadata"]["name"] = name_for(uid, made["spec"]["intent"])
    return codec.encode(made)


def patch(
    at: float,
    api_version: str,
    plural: str,
    name: str,
    change: Json,
    namespace: str = "default",
    subresource: str = "",
) -> ScenarioStep:
    group, _, version = api_version.rpartition("/")
    body = codec.encode(change)
    request = Request(
        verb="patch",
        group=group,
        version=version,
        plural=plural,
        namespace=namespace,
        name=name,
        subresource=subresource,
        body=body,
        content_type=MERGE_PATCH,
    )
    return ScenarioStep(at, request)


def evict(at: float, pod: str, namespace: str = "default") -> ScenarioStep:
    """As a drain asks for it: refused (429) or not there (404), it is asked again."""
    return ScenarioStep(at, eviction(namespace, pod))


def eviction(namespace: str, pod: str, uid: str = "") -> Request:
    """`uid`: of the pod that is meant, and not one of the same name after it."""
    metadata = {"name": pod, "namespace": namespace}
    body: Json = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
    if uid:
        body["deleteOptions"] = {"preconditions": {"uid": uid}}
    return Request(
        verb="create",
        group="",
        version="v1",
        plural="pods",
        namespace=namespace,
        name=pod,
        subresource="eviction",
        body=codec.encode(body),
    )


def delete(
    at: float,
    api_version: str,
    plural: str,
    name: str,
    namespace: str = "default",
    policy: str = "Background",
) -> ScenarioStep:
    group, _, version = api_version.rpartition("/")
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy}
    return ScenarioStep(
        at,
        Request(
            verb="delete",
            group=group,
            version=version,
            plural=plural,
            namespace=namespace,
            name=name,
            body=codec.encode(options),
        ),
    )
