"""What an explanation is made from: the store with its history, the log of decisions with its index, the scheduler
as it runs.

Made once by `runtime/`, handed to every function here that answers a question.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from fairlead.cache.events import Listed
from fairlead.cache.mirror import Mirror
from fairlead.cache.view import MirrorView, NotMirrored
from fairlead.control.placing import Placer
from fairlead.control.plane import Plane
from fairlead.core.errors import NotFound, Unavailable
from fairlead.explain.index import DecisionIndex
from fairlead.explain.plane_told import PlaneTold, plane_told, queued_pod
from fairlead.ledger.progress import standing_of
from fairlead.model.catalog import CATALOG
from fairlead.model.key import Key
from fairlead.model.policy import plane_knobs
from fairlead.model.policy.in_use import policy_in_use
from fairlead.model.reasons import GATED, OTHER_SCHEDULER
from fairlead.model.service_views import ENDPOINT_SLICES, SERVICES
from fairlead.model.stages import Standing
from fairlead.model.views import (
    JOBS,
    NAMESPACES,
    PLANE_SETTINGS,
    PODS,
    SCHEDULING_POLICIES,
    Pod,
    Resource,
    View,
)
from fairlead.port.driving import Started
from fairlead.reconcile.progress import served_with
from fairlead.schedule.policy import Policy
from fairlead.schedule.registry import default_policy, policy_for
from fairlead.store.contract import Compacted, FutureRevision, Journal, Reader

T = TypeVar("T", bound=View)


@dataclass(frozen=True, slots=True)
class Sources:
    reader: Reader
    journal: Journal
    plane_now: Callable[[], Plane]  # one that failed is replaced by another
    clock: Callable[[], float]
    index: DecisionIndex
    elsewhere: Callable[[], PlaneTold | None] = lambda: (
        None
    )  # the plane in another process, if one has told of itself

    @property
    def plane(self) -> Plane:
        """The one of this process."""
        return self.plane_now()

    @property
    def told(self) -> PlaneTold:
        """Of the plane that schedules: this process' own, or the one in another."""
        own = self.plane
        other = self.elsewhere() if own.placer is None else None
        return other if other is not None else plane_told(own, self.clock())

    def queued(self, pod: Pod) -> dict[str, Any] | None:
        """Where a pod is in the queue of the running scheduler; None: it is not in it."""
        key = Key(PODS.name, pod.metadata.namespace, pod.metadata.name)
        placer = self.plane.placer
        return (
            self.told.queued.get("/".join(key)) if placer is None else queued_pod(placer, key, self.clock())
        )

    def pod(self, namespace: str, name: str) -> Pod | None:
        entry = self.reader.get(Key(PODS.name, namespace, name))
        return None if entry is None else msgspec.json.decode(entry.data, type=Pod)

    def namespaces(self) -> list[str]:
        return [entry.key.name for entry in self.reader.list(NAMESPACES.name)]

    def siblings(self, pod: Pod) -> tuple[Pod, ...]:
        """The pods of its controller, as the plane sees them."""
        owner = pod.metadata.controller
        if owner is None:
            return ()
        with suppress(NotMirrored):
            namespace = pod.metadata.namespace
            return tuple(self._seen(namespace, PODS).owned(PODS, owner.uid, namespace))
        return ()

    def _seen(self, namespace: str, *resources: Resource[Any]) -> MirrorView:
        """As the plane sees them; where it is in another process, as they are."""
        if self.plane.placer is not None:
            return MirrorView(self.plane.mirrors)
        mirrors = {each.name: Mirror(each) for each in resources}
        for name, mirror in mirrors.items():
            mirror.handle(Started(0.0))
            mirror.handle(Listed(self.reader.revision, tuple(self.reader.list(name, namespace)), 0.0))
        return MirrorView(mirrors)

    def standing(self, pod: Pod) -> Standing:
        """How far it has come, why no further and whose turn it is: as `status.progress` of its workload says it."""
        owner, served = pod.metadata.controller, None
        if owner is None or owner.kind != JOBS.kind:
            with suppress(NotMirrored):  # nobody here looks after Services
                view = self._seen(pod.metadata.namespace, SERVICES, ENDPOINT_SLICES)
                served = served_with(view, pod.metadata.namespace, pod.metadata.labels)
        return standing_of(pod, served)

    def scheduler_elsewhere(self) -> PlaneTold | None:
        """The plane in another process that schedules; None if this process has a scheduler, or none told of itself."""
        other = self.elsewhere() if self.plane.placer is None else None
        if other is None or not other.schedules:
            return None
        if not other.acts:
            raise Unavailable(
                f"the scheduler in another process ({other.identity}) stands by ({other.phase}): ask again in a moment"
            )
        return other

    def policy_now(self) -> Policy:
        """That the PlaneSettings name, as the store has them."""
        settings = self._present(PLANE_SETTINGS, plane_knobs.NAME)
        return policy_for(policy_in_use(settings, lambda name: self._present(SCHEDULING_POLICIES, name)))

    def placer(self) -> Placer:
        """The scheduler of this process, or why there is none."""
        placer = self.plane.placer
        if placer is None:
            raise Unavailable(
                "this server runs without a scheduler, and no `fairlead control` has told of itself: start it without"
                " --without-controllers, or a `fairlead control` beside it; one that runs with"
                " --capabilities kubernetes tells nothing"
            )
        if not self.plane.leadership.leads or not self.plane.synced:
            phase = self.plane.leadership.phase.value
            raise Unavailable(f"the scheduler of this server stands by ({phase}): ask again in a moment")
        return placer

    def policy(self, record: dict[str, Any]) -> Policy | None:
        """The policy that an attempt was made under; None if it cannot be found any more.

        It is found as it was then: from the PlaneSettings and the policies at the revisions that were read, also if
        the policy was deleted since, or before. What is in use now serves only where history does not reach: another
        policy of that name may have come to the same generation."""
        then = built_in = default_policy()
        wanted = tuple(record.get("policy", ()))  # none: the line of its batch, which says so, is gone
        if wanted == (built_in.name, built_in.revision):
            return built_in
        try:
            settings = self._then(record, PLANE_SETTINGS, plane_knobs.NAME)
            found = policy_in_use(settings, lambda name: self._then(record, SCHEDULING_POLICIES, name))
            then = policy_for(found)
        except (Compacted, FutureRevision, KeyError):  # or it does not say what it read
            then = built_in if self.plane.placer is None else self.plane.placer.policy
        return then if (then.name, then.revision) == wanted else None

    def _present(self, resource: Resource[T], name: str) -> T | None:
        entry = self.reader.get(Key(resource.name, "", name))
        return None if entry is None else msgspec.json.decode(entry.data, type=resource.type)

    def _then(self, record: dict[str, Any], resource: Resource[T], name: str) -> T | None:
        """An object as it was at the revision that an attempt had read."""
        used, _ = record["reads"][resource.name]
        entry = self.reader.get_at(Key(resource.name, "", name), used)
        return None if entry is None else msgspec.json.decode(entry.data, type=resource.type)


def singular(key: Key) -> str:
    """As sentences name it: `pod "web" in namespace "default"`; of a custom kind, `tutors.example.com "web"`."""
    kind = CATALOG.of_resource(key.resource)
    place = f' in namespace "{key.namespace}"' if key.namespace else ""
    return f'{kind.singular_name if kind is not None else key.resource} "{key.name}"{place}'


def no_such(key: Key, rest: str) -> NotFound:
    """`rest`: what else was looked for, or the next step."""
    what = singular(key)
    if CATALOG.of_resource(key.resource) is None:
        what = f"object of {what}"
    return NotFound(f"there is no {what}{rest}", kind=key.resource, name=key.name)


def no_such_pod(namespace: str, name: str) -> NotFound:
    return no_such(Key(PODS.name, namespace, name), ", and no attempt to place one is kept")


def held_back(pod: Pod) -> str:
    """Why the scheduler leaves a pod without a node alone; "" if it does not."""
    found = standing_of(pod)
    return found.message if found.reason in (GATED, OTHER_SCHEDULER) else ""


def explain_untried(sources: Sources, pod: Pod) -> str:
    """Why there is no attempt on record for a pod that exists."""
    spec, plane = pod.spec, sources.told
    if not plane.schedules:
        return "this server runs without a scheduler"
    if held := held_back(pod):
        return held
    if spec.node_name:
        return (
            f"it is on {spec.node_name}, and no attempt of ours is on record: it was created with a node,"
            " bound by somebody else, or placed so long ago that the log has dropped it"
        )
    if not pod.live:
        return "it has ended, or is being deleted: nothing is tried any more"
    if not plane.acts:
        return f"the scheduler stands by ({plane.phase})"
    place = (sources.queued(pod) or {}).get("position", -1)
    if place >= 0:
        return f"it has not been tried yet; {place} pods are before it in the queue"
    return "it has not been tried yet"
