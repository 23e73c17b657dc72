"""A small cluster in memory for Decider tests: the real API over a store in memory, read through real mirrors.

    world = World()
    world.add(DEPLOYMENTS, "web", spec={...})        an object as a client would create it
    world.settle([deployment_decider(), ...])         run deciders over all keys until none has anything to do
    world.start_pods()                               what scheduler and nodes would do: bind, run, be ready
    world.tick(60)                                   time goes on

Everything is a request to `tests/inprocess.py`, which is the server's own assembly: clients ask as an administrator, and
effects are carried out by `control/turn.py` as the plane's. `apply` raises `Refused` when the API says no; a Decider that
is asked on current state is never refused. Deleted pods that are bound stay, marked, until `stop_pods`. Dependents are
deleted or set free by the real garbage collector, when `collect_garbage` is called. Every effect that was carried out is
in `writes`. `overwrite` and `vanish` go past the API, for what it would not do or has long done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from fairlead.api import objects
from fairlead.api.access.users import MASTERS, User
from fairlead.api.admission.plane_conditions import PLANE
from fairlead.api.assembly import Remembered
from fairlead.control.turn import Next, Turn
from fairlead.core import codec
from fairlead.core.times import timestamp
from fairlead.decision.contract import EFFECTS_MAX, Decision, FirstTurn, Sighting, Silent
from fairlead.decision.decider import Decider
from fairlead.decision.effects import Effect, plural_of
from fairlead.model.catalog import CATALOG
from fairlead.model.key import Key
from fairlead.model.kind import Kind
from fairlead.model.selectors import LabelMatcher
from fairlead.model.views import NAMESPACES, PODS, Pod, Resource, View
from fairlead.port.outcome import Done, Outcome, Unknown, outcome_of
from fairlead.port.request import JSON, MERGE_PATCH, Reply, Request
from fairlead.reconcile.daemonset.eligibility import pinned_node
from fairlead.reconcile.garbage import garbage_decider
from fairlead.store.contract import Transaction
from fairlead.store.machine import Store
from tests.inprocess import ADMIN, InProcess
from tests.unit.reconcile.mirrors import Mirrors

Json = dict[str, Any]
T = TypeVar("T", bound=View)

NOW = 1_700_000_000.0
NAMESPACE = "default"
TURNS_MAX = 2000
CONTROLLERS = User(PLANE, groups=(MASTERS,))
# Defaults, validation and ownership of fields that were worked out once hold for all worlds.
_REMEMBERED = Remembered()


class Refused(AssertionError):
    """The API said no."""


class World:
    def __init__(self, now: float = NOW) -> None:
        self.plane = InProcess(now, _REMEMBERED)
        self.mirrors = Mirrors(self.plane)
        self.wall_clock = self.mirrors.wall
        self.objects = Objects(self.plane.store)
        self.writes: list[Effect] = []

    @property
    def now(self) -> float:
        return self.plane.now

    @now.setter
    def now(self, now: float) -> None:
        self.plane.now = now

    @property
    def revision(self) -> int:
        return self.plane.store.revision

    # Reading, as a Decider does it.

    def wall(self, at: float) -> float:
        return self.wall_clock.shown(at)

    def get(self, resource: Resource[T], namespace: str, name: str) -> T | None:
        return self.mirrors.view(resource).get(resource, namespace, name)

    def list(self, resource: Resource[T], namespace: str = "") -> Sequence[T]:
        return self.mirrors.view(resource).list(resource, namespace)

    def owned(self, resource: Resource[T], owner_uid: str, namespace: str = "") -> Sequence[T]:
        return self.mirrors.view(resource).owned(resource, owner_uid, namespace)

    def select(
        self, resource: Resource[T], namespace: str, selector: LabelMatcher | Json | None
    ) -> Sequence[T]:
        return self.mirrors.view(resource).select(resource, namespace, selector)

    def on_node(self, node: str) -> Sequence[View]:
        return self.mirrors.view(PODS).on_node(node)

    def shows(self, resource: Resource[T], revision: int) -> bool:
        return self.mirrors.view(resource).shows(resource, revision)

    def deleting_since(self, resource: Resource[T], key: Key) -> int:
        return self.mirrors.view(resource).deleting_since(resource, key)

    def first_turns(self, uid: str) -> Mapping[str, FirstTurn]:
        return self.mirrors.first_turns.get(uid, {})

    def missed(self) -> Sequence[Key]:
        return ()

    def sighting(self, resource: Resource[T], namespace: str, name: str) -> Sighting | None:
        return self.mirrors.view(resource).sighting(resource, namespace, name)

    def silent(self, resource: Resource[T], namespace: str, seconds: float) -> Silent:
        return self.mirrors.view(resource).silent(resource, namespace, seconds)

    # What people and machines do to it.

    def add(self, resource: Resource[Any], name: str, namespace: str = NAMESPACE, **fields: Any) -> Json:
        """A new object, in a namespace that is made if need be. A status is written after it."""
        namespace = _space(resource, namespace)
        if namespace and self.get(NAMESPACES, "", namespace) is None:
            self.add(NAMESPACES, namespace)
        body: Json = {"apiVersion": resource.api_version, "kind": resource.kind, **codec.clone(fields)}
        body["metadata"] = {"name": name, **body.get("metadata", {})}
        status = body.pop("status", None)
        self._ask("create", resource, namespace, body=body)
        if status is not None:
            self.edit_status(resource, name, status, namespace)
        return self.objects[Key(resource.name, namespace, name)]

    def edit(self, resource: Resource[Any], name: str, patch: Json, namespace: str = NAMESPACE) -> Json:
        """As `kubectl patch --type=merge`."""
        return self._patch(resource, name, patch, namespace)

    def edit_status(
        self, resource: Resource[Any], name: str, status: Json, namespace: str = NAMESPACE
    ) -> Json:
        """As the controller or the node that answers for it; some conditions are the plane's alone to write."""
        return self._patch(resource, name, {"status": status}, namespace, "status", CONTROLLERS)

    def delete(
        self, resource: Resource[Any], name: str, namespace: str = NAMESPACE, policy: str = "Background"
    ) -> None:
        self._ask("delete", resource, namespace, name, body={"propagationPolicy": policy})

    def overwrite(self, key: Key, change: Callable[[Json], None]) -> None:
        """An object as no client could make it now: past the API, straight into the store."""
        obj = self.objects[key]
        change(obj)
        self.plane.commit(Transaction((objects.put(_kind(key), key, obj),)))

    def vanish(self, key: Key) -> None:
        """An object is gone without finalizers, grace or leave."""
        self.plane.commit(Transaction((objects.delete(_kind(key), key, self.objects[key]),)))

    def tick(self, seconds: float) -> None:
        self.now += seconds

    def start_pods(self, chosen: Callable[[Json], bool] = lambda pod: True, node: str = "node-1") -> int:
        """Live pods that are not ready yet are bound, run and become ready at this instant. Returns how many."""
        changed = 0
        for pod in self.list(PODS):
            key = Key(PODS.name, pod.metadata.namespace, pod.metadata.name)
            if pod.finished or pod.metadata.deletion_timestamp or pod.ready or not chosen(self.objects[key]):
                continue
            self.set_pod(key.name, "Running", ready=True, node=node, namespace=key.namespace)
            changed += 1
        return changed

    def set_pod(
        self, name: str, phase: str, *, ready: bool = False, node: str = "node-1", namespace: str = NAMESPACE
    ) -> None:
        """A pod's phase and readiness as its node reports them; binds it if it is not bound and can be."""
        pod = self._pod(namespace, name)
        if not pod.spec.node_name and not pod.metadata.deletion_timestamp:
            target = {"kind": "Node", "name": pinned_node(pod.spec) or node}
            binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
            self._ask("create", PODS, namespace, name, "binding", binding)
        at = timestamp(self.now)
        condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": at}
        began = self.objects[Key(PODS.name, namespace, name)]["status"].get("startTime", at)
        status = {"startTime": began, "phase": phase, "conditions": [condition]}
        self._patch(PODS, name, {"status": status}, namespace, "status")

    def stop_pods(self) -> int:
        """Pods that are being deleted are gone, as when their node has stopped them (finalizers still hold)."""
        stopped = 0
        for pod in self.list(PODS):
            meta = pod.metadata
            if meta.deletion_timestamp and not meta.finalizers:
                self._ask("delete", PODS, meta.namespace, meta.name, body={"gracePeriodSeconds": 0})
                stopped += 1
        return stopped

    def collect_garbage(self) -> None:
        """The garbage collector does all that there is for it to do."""
        collector, before = garbage_decider(), -1
        assert collector.unsettled is not None
        while before != self.revision:
            before = self.revision
            for key in tuple(collector.unsettled(self.mirrors.view(*collector.reads))):
                self.apply(self.decide(collector, key).effects)

    # Effects and turns.

    def apply(self, effects: Iterable[Effect]) -> int:
        """Carry effects out in order; raises Refused at the first that the API refuses. Returns how many changes
        came of them."""
        before = self.revision
        turn = Turn(Key("", "", ""), Decision(effects=tuple(effects)), self.now)
        while (effect := turn.effect) is not None:
            after = turn.answered(self._send(turn.request(), CONTROLLERS))
            if after in (Next.EFFECT, Next.FINISH):
                self.writes.append(effect)
            elif after is not Next.LOOK:
                raise Refused(turn.trouble)
        return self.revision - before

    def turn(
        self, decider: Decider, name: str, namespace: str = NAMESPACE, *, prefix: int = EFFECTS_MAX
    ) -> Decision:
        """One turn of one key: decide (twice, to see that it repeats), then apply. `prefix`: crash after so many."""
        key = Key(decider.reads[0].name, namespace, name)
        decision = self.decide(decider, key)
        self.apply(decision.effects[:prefix])
        return decision

    def decide(self, decider: Decider, key: Key) -> Decision:
        view = self.mirrors.view(*decider.reads)
        decision = decider.decide(view, key, self.now)
        again = decider.decide(view, key, self.now)
        assert msgspec.json.encode(decision) == msgspec.json.encode(again), (
            "the same state gave another decision"
        )
        assert len(decision.effects) <= EFFECTS_MAX, "too many effects for one turn"
        identities = [effect.identity for effect in decision.effects]
        assert len(set(identities)) == len(identities), f"identities repeat: {identities}"
        return decision

    def keys(self, decider: Decider) -> tuple[Key, ...]:
        return tuple(entry.key for entry in self.plane.store.list(decider.reads[0].name))

    def settle(self, deciders: Iterable[Decider], *, each: Callable[[], None] = lambda: None) -> int:
        """Run all deciders over all their keys until none changes anything; `each` is called after every turn that
        did (check invariants there). Time stands still. Returns the number of such turns."""
        deciders, turns = tuple(deciders), 0
        while True:
            quiet = True
            for decider in deciders:
                for key in self.keys(decider):
                    if self.apply(self.decide(decider, key).effects):
                        quiet = False
                        turns += 1
                        each()
                        assert turns < TURNS_MAX, f"does not settle; last writes: {self.writes[-4:]}"
            if quiet:
                return turns

    # Requests

    def _pod(self, namespace: str, name: str) -> Pod:
        found = self.get(PODS, namespace, name)
        assert found is not None, f"no pod {namespace}/{name}"
        return found

    def _patch(
        self,
        resource: Resource[Any],
        name: str,
        patch: Json,
        namespace: str,
        subresource: str = "",
        user: User = ADMIN,
    ) -> Json:
        self._ask("patch", resource, namespace, name, subresource, patch, MERGE_PATCH, user)
        return self.objects.get(Key(resource.name, _space(resource, namespace), name), {})

    def _ask(
        self,
        verb: str,
        resource: Resource[Any],
        namespace: str,
        name: str = "",
        subresource: str = "",
        body: Json | None = None,
        content_type: str = JSON,
        user: User = ADMIN,
    ) -> None:
        group, _, version = resource.api_version.rpartition("/")
        plural, space = plural_of(resource), _space(resource, namespace)
        request = Request(
            verb=verb, group=group, version=version, plural=plural, namespace=space, name=name,
            subresource=subresource, body=codec.encode(body), content_type=content_type,
        )  # fmt: skip
        outcome = self._send(request, user)
        if not isinstance(outcome, Done):
            reason = "Unknown" if isinstance(outcome, Unknown) else outcome.reason
            raise Refused(f"{reason}: {verb} {plural} {name or body}: {outcome.message}")

    def _send(self, request: Request, user: User) -> Outcome:
        reply = self.plane.send(request, user)
        assert isinstance(reply, Reply)
        assert user is ADMIN or not reply.warnings, f"{request.verb} {request.name}: {reply.warnings}"
        return outcome_of(reply)


class Objects(Mapping[Key, Json]):
    """Copies of all objects that are stored, without managedFields. A change of a copy changes nothing else."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getitem__(self, key: Key) -> Json:
        entry = self._store.get(key)
        if entry is None:
            raise KeyError(key)
        return objects.plain(entry)[0]

    def __iter__(self) -> Iterator[Key]:
        for resource in sorted({kind.resource for kind in CATALOG}):
            yield from (entry.key for entry in self._store.list(resource))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def template(labels: dict[str, str] | None = None, image: str = "nginx:1.27", **spec: Any) -> Json:
    """A pod template that is valid as it is."""
    return {
        "metadata": {"labels": labels or {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": image}], **spec},
    }


def selector(labels: dict[str, str] | None = None) -> Json:
    return {"matchLabels": labels or {"app": "web"}}


def names(objects: Iterable[Any]) -> list[str]:
    return [obj.metadata.name for obj in objects]


def _kind(key: Key) -> Kind:
    kind = CATALOG.of_resource(key.resource)
    assert kind is not None
    return kind


def _space(resource: Resource[Any], namespace: str) -> str:
    kind = CATALOG.of_resource(resource.name)
    return namespace if kind is None or kind.namespaced else ""
