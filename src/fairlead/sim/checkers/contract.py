"""What a checker is: it sees every commit, decoded once for all, and raises Violation when its invariant is broken.

`Observed` keeps the objects as of the newest commit and hands each change to every checker in turn; the world calls it
before anybody else learns of the commit. `quiesced` is called once, when the world has come to rest. Checkers keep
what they need to know of the past and change nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import msgspec
from msgspec import structs

from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.kinds.accessgrant import KIND as ACCESS_GRANT
from fairlead.model.kinds.certificatesigningrequest import KIND as CERTIFICATE_REQUEST
from fairlead.model.kinds.role import CLUSTER_ROLE, ROLE
from fairlead.model.kinds.rolebinding import CLUSTER_ROLE_BINDING, ROLE_BINDING
from fairlead.model.marks import KEEP_REPLACEMENT, ON_RETURN, REPLACES
from fairlead.model.service_views import ENDPOINT_SLICES, SERVICES
from fairlead.model.views import (
    AUTOSCALERS,
    BUDGETS,
    DAEMONSETS,
    DEPLOYMENTS,
    EVIDENCE_POLICIES,
    JOBS,
    LEASES,
    NODES,
    OVERRIDES,
    PLACEMENT_QUOTAS,
    PLANE_SETTINGS,
    PODS,
    REPLICASETS,
    RESERVATIONS,
    RESOURCE_QUOTAS,
    SCHEDULING_POLICIES,
    STATEFULSETS,
    Anything,
    Meta,
    Resource,
    View,
)
from fairlead.model.views.objectives import OBJECTIVES
from fairlead.model.views.runbooks import RUNBOOK_RUNS
from fairlead.port.request import Reply, Request
from fairlead.sim.decoded import Decoded
from fairlead.sim.violation import Violation
from fairlead.store.contract import DELETED, CommittedChange
from fairlead.store.damage import is_stand_in

LATE = "late "  # before the origin of what was carried out after its sender gave up


class Event(View, frozen=True):
    """What people read of one."""

    metadata: Meta
    reason: str = ""
    message: str = ""


class ClusterRole(View, frozen=True):
    """One that may gather others."""

    metadata: Meta
    rules: list[Json] | None = None
    aggregation_rule: Json | None = None


class RoleBinding(View, frozen=True):
    """Who has which role."""

    metadata: Meta
    role_ref: Json
    subjects: list[Json] | None = None


class CertificateRequest(View, frozen=True):
    """What was decided about it."""

    metadata: Meta
    status: Json = msgspec.field(default_factory=dict)


class GrantSubject(View, frozen=True):
    name: str = ""


class GrantSpec(View, frozen=True):
    subject: GrantSubject = GrantSubject()


class GrantStatus(View, frozen=True):
    decision: str = ""
    expires_at: str | None = None


class AccessGrant(View, frozen=True):
    """Whose it is, and whether it holds."""

    metadata: Meta
    spec: GrantSpec = GrantSpec()
    status: GrantStatus = GrantStatus()


EVENTS = Resource("events", "v1", "Event", Event)
ACCESS_GRANTS = Resource(ACCESS_GRANT.resource, ACCESS_GRANT.api_version, ACCESS_GRANT.kind, AccessGrant)
_ACCESS_KINDS = (
    (ROLE, ClusterRole), (ROLE_BINDING, RoleBinding), (CLUSTER_ROLE_BINDING, RoleBinding),
    (CERTIFICATE_REQUEST, CertificateRequest),
)  # fmt: skip
CLUSTER_ROLES = Resource(CLUSTER_ROLE.resource, CLUSTER_ROLE.api_version, CLUSTER_ROLE.kind, ClusterRole)
_TYPED: tuple[Resource[Any], ...] = (
    PODS, NODES, REPLICASETS, DEPLOYMENTS, JOBS, STATEFULSETS, DAEMONSETS, LEASES, PLACEMENT_QUOTAS, RESERVATIONS,
    BUDGETS, RESOURCE_QUOTAS, AUTOSCALERS, PLANE_SETTINGS, SCHEDULING_POLICIES,
    SERVICES, ENDPOINT_SLICES,
    EVIDENCE_POLICIES,
    EVENTS,
    CLUSTER_ROLES,
    *[Resource(kind.resource, kind.api_version, kind.kind, view) for kind, view in _ACCESS_KINDS],
    OVERRIDES,
    ACCESS_GRANTS,
    RUNBOOK_RUNS,
    OBJECTIVES,
)  # fmt: skip


class SeenChange(msgspec.Struct, frozen=True, gc=False):
    """One committed change. `before` and `after` are views (`Anything` for kinds nobody decides on)."""

    key: Key
    revision: int
    before: Any  # None: it was not there
    after: Any  # None: it is gone
    last: Any  # the newest state in either case
    origin: str  # controller and identity of the plane whose leader wrote it; else "people" or "";
    # with "late " before it when its sender had given up
    seconds: float  # of the run
    server_ahead: float = 0.0  # so many seconds is the server's clock ahead of the run's

    @property
    def by_plane(self) -> bool:
        """Written by a plane as leader, in time or late."""
        return "plane-" in self.origin

    @property
    def for_a_node(self) -> bool:
        """What a plane did because of a node: a taint or a drain drove a pod out, or the rule for one that came back,
        by which a replacement goes that has not run."""
        annotations = self.last.metadata.annotations
        by_rule = annotations.get(ON_RETURN, KEEP_REPLACEMENT) != KEEP_REPLACEMENT or not self.last.ready
        driven = any(f"{name} of plane-" in self.origin for name in ("taint-eviction", "override-drain"))
        return driven or (REPLACES in annotations and by_rule)

    @property
    def by_scheduler(self) -> bool:
        return "scheduler of plane-" in self.origin


class Checker(Protocol):
    @property
    def name(self) -> str: ...

    def saw(self, sight: SeenChange) -> None: ...

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None: ...


def is_shown(checker: type[Checker], resource: str) -> bool:
    """Whether it is to see changes of this resource. One that says nothing (`sees`) sees all there is."""
    sees: frozenset[str] | None = getattr(checker, "sees", None)
    return sees is None or resource in sees


@lru_cache(maxsize=1024)  # of every world the same
def _places(checkers: tuple[type[Checker], ...], resource: str) -> tuple[int, ...]:
    return tuple(place for place, each in enumerate(checkers) if is_shown(each, resource))


@runtime_checkable
class Decays(Checker, Protocol):
    """A checker that is told which objects decay."""

    def decayed(self, key: Key, view: Any, seconds: float) -> None: ...


class Hears(ABC):
    """A checker that is told what was answered with a conflict while faults are off."""

    @abstractmethod
    def answered(self, request: Request, origin: str, reply: Reply, calm_seconds: float) -> None:
        """`calm_seconds`: since faults stopped."""


@runtime_checkable
class Lasts(Checker, Protocol):
    """A checker of what holds although changes were lost."""

    outlives_loss: bool


class CommittedObjects:
    """The newest committed state."""

    __slots__ = ("_by_resource",)

    def __init__(self) -> None:
        self._by_resource: dict[str, dict[Key, Any]] = {}

    def of(self, resource: str) -> dict[Key, Any]:
        found = self._by_resource.get(resource)
        if found is None:
            found = self._by_resource[resource] = {}
        return found

    def all(self) -> Iterator[tuple[Key, Any]]:
        for resource in sorted(self._by_resource):
            yield from self._by_resource[resource].items()

    def put(self, key: Key, view: View | None) -> Any:
        """The state before."""
        held = self.of(key.resource)
        if view is None:
            return held.pop(key, None)
        before = held.get(key)
        held[key] = view
        return before


class Observed:
    """All checkers at work."""

    def __init__(self, checkers: Sequence[Checker], decoded: Decoded | None = None) -> None:
        decoded = decoded or Decoded()
        self._decoders = {each.name: decoded.decoder(each.type) for each in _TYPED}
        self._decode_any = decoded.decoder(Anything)
        self.objects = CommittedObjects()
        self._saw: dict[
            str, tuple[Callable[[SeenChange], None], ...]
        ] = {}  # by resource, whom to show its changes
        self._checkers = tuple(checkers)
        self._hear = tuple(each for each in checkers if isinstance(each, Hears))

    def add(self, checker: Checker) -> None:
        """From now on this one looks on as well."""
        self._checkers += (checker,)
        self._saw.clear()
        if isinstance(checker, Hears):
            self._hear += (checker,)

    def decayed(self, key: Key, seconds: float) -> None:
        """Of this object only a stand-in can be read from now on; it is still what it was."""
        for checker in self._checkers:
            if isinstance(checker, Decays):
                checker.decayed(key, self.objects.of(key.resource).get(key), seconds)

    def answered(self, request: Request, origin: str, reply: Reply, calm_seconds: float) -> None:
        for checker in self._hear:
            checker.answered(request, origin, reply, calm_seconds)

    def begin_again(
        self, changes: Iterable[CommittedChange], fresh: Sequence[Checker], seconds: float
    ) -> None:
        """The newest changes were lost, and this is all there is: what was seen of them is forgotten. But revisions
        go on: whoever judges those has seen them."""
        lasting = tuple(each for each in self._checkers if isinstance(each, Lasts))
        self.objects, self._checkers, self._saw, self._hear = CommittedObjects(), (), {}, ()
        for checker in fresh:
            if not isinstance(checker, Lasts):
                self.add(checker)
        self.committed(changes, {}, seconds)
        for checker in lasting:
            self.add(checker)

    def committed(
        self,
        changes: Iterable[CommittedChange],
        origins: dict[int, str],
        seconds: float,
        server_ahead: float = 0.0,
    ) -> None:
        put = self.objects.put
        decoders, decode_any = self._decoders, self._decode_any
        for change in changes:
            entry = change.entry
            key = entry.key
            last = decoders.get(key.resource, decode_any)(entry.data)
            after = None if change.type == DELETED else last
            before = put(key, after)
            if after is None and before is not None and is_stand_in(entry.data):
                # Given up by people: it is gone as it was, though nobody could read it.
                metadata = structs.replace(before.metadata, resource_version=str(entry.revision))
                last = structs.replace(before, metadata=metadata)
            sight = SeenChange(
                key=key,
                revision=entry.revision,
                before=before,
                after=after,
                last=last,
                origin=origins.get(entry.revision, ""),
                seconds=seconds,
                server_ahead=server_ahead,
            )
            try:
                for saw in self._saw.get(key.resource) or self._shown(key.resource):
                    saw(sight)
            except Violation as broken:
                broken.revision = 0 if broken.overdue else entry.revision
                raise

    def _shown(self, resource: str) -> tuple[Callable[[SeenChange], None], ...]:
        places = _places(tuple(map(type, self._checkers)), resource)
        found = self._saw[resource] = tuple(self._checkers[place].saw for place in places)
        return found

    def quiesced(self, seconds: float) -> None:
        for checker in self._checkers:
            checker.quiesced(self.objects, seconds)
