"""A small cluster in memory for Decider tests: it is read as a Decider reads, and does what effects ask.

    world = World()
    world.add(DEPLOYMENTS, "web", spec={...})        an object as a client would create it
    world.settle([DeploymentDecider(), ...])         run deciders over all keys until none has anything to do
    world.start_pods()                               what scheduler and nodes would do: bind, run, be ready
    world.tick(60)                                   time goes on

`apply` does what an ideal API does: it fills in defaults, validates, checks uid and revision preconditions and raises
`Refused` when one does not hold; a Decider that is asked on current state is never refused. Deleted pods that are
bound stay, marked, until `stop_pods`; other objects go unless a finalizer keeps them. Nothing is collected for a
dead owner until `collect_garbage`. Every write is in `writes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from fairlead.cache.wall import WallClock
from fairlead.control.requests import request_of
from fairlead.control.turn import Write, following
from fairlead.core import codec, ids
from fairlead.core.problems import Problems
from fairlead.core.times import timestamp
from fairlead.decision.contract import EFFECTS_MAX, Decider, Decision
from fairlead.decision.effects import Bind, Change, ChangeStatus, Create, Delete, Effect
from fairlead.model.catalog import CATALOG
from fairlead.model.kind import Kind
from fairlead.model.metadata import validate_metadata
from fairlead.model.patch.merge import merge_patch
from fairlead.model.selectors import LabelSelector, from_object
from fairlead.model.views import PODS, PodSpec, Resource, Stored, View
from fairlead.reconcile.eligibility import pinned
from fairlead.store.contract import Key

Json = dict[str, Any]
T = TypeVar("T", bound=View)

NOW = 1_700_000_000.0
NAMESPACE = "default"
TURNS_MAX = 2000


class Refused(AssertionError):
    """The API would have said no to this effect."""


class World:
    def __init__(self, now: float = NOW) -> None:
        self.now = now
        self.wall_clock = WallClock()
        self.revision = 0
        self.objects: dict[Key, Json] = {}
        self.writes: list[Effect] = []
        self._views: dict[tuple[Key, str], tuple[int, View]] = {}

    # Reading, as a Decider does it.

    def wall(self, at: float) -> float:
        return self.wall_clock.shown(at)

    def get(self, resource: Resource[T], namespace: str, name: str) -> T | None:
        key = Key(resource.name, namespace, name)
        return self._view(resource, key) if key in self.objects else None

    def list(self, resource: Resource[T], namespace: str = "") -> Sequence[T]:
        return tuple(
            self._view(resource, key)
            for key in sorted(self.objects)
            if key.resource == resource.name and namespace in ("", key.namespace)
        )

    def owned(self, resource: Resource[T], owner_uid: str) -> Sequence[T]:
        return tuple(
            self._view(resource, key)
            for key in sorted(self.objects)
            if key.resource == resource.name and owner_uid in _owner_uids(self.objects[key])
        )

    def select(
        self, resource: Resource[T], namespace: str, selector: LabelSelector | Json | None
    ) -> Sequence[T]:
        compiled = selector if isinstance(selector, LabelSelector) else from_object(selector)
        return tuple(
            self._view(resource, key)
            for key in sorted(self.objects)
            if key.resource == resource.name
            and namespace in ("", key.namespace)
            and compiled.matches(self.objects[key]["metadata"].get("labels") or {})
        )

    def on_node(self, node: str) -> Sequence[View]:
        return tuple(pod for pod in self.list(PODS) if pod.spec.node_name == node)

    def _view(self, resource: Resource[T], key: Key) -> T:
        revision = int(self.objects[key]["metadata"]["resourceVersion"])
        at = (key, resource.type.__name__)
        known = self._views.get(at)
        if known is None or known[0] != revision:
            data = codec.encode(self.objects[key])
            if issubclass(resource.type, Stored):
                known = (revision, Stored.of(key, self.objects[key]["metadata"]["uid"], revision, data))
            else:
                known = (revision, msgspec.json.decode(data, type=resource.type))
            self._views[at] = known
        return known[1]  # type: ignore[return-value]

    # What people and machines do to it.

    def add(self, resource: Resource[Any], name: str, namespace: str = NAMESPACE, **fields: Any) -> Json:
        """A new object, with defaults. `metadata` adds to what it gets by itself; a status is kept."""
        kind = CATALOG.of_resource(resource.name)
        if kind is not None and not kind.namespaced:
            namespace = ""
        obj: Json = {"apiVersion": resource.api_version, "kind": resource.kind, **codec.clone(fields)}
        status = obj.pop("status", None)
        key = Key(resource.name, namespace, name)
        self._create(key, obj)
        if status is not None:
            self.edit_status(resource, name, status, namespace)
        return self.objects[key]

    def edit(self, resource: Resource[Any], name: str, patch: Json, namespace: str = NAMESPACE) -> Json:
        """As `kubectl patch --type=merge`; the generation follows."""
        return self._change(Key(resource.name, namespace, name), patch, "")

    def edit_status(
        self, resource: Resource[Any], name: str, status: Json, namespace: str = NAMESPACE
    ) -> Json:
        return self._change(Key(resource.name, namespace, name), {"status": status}, "status")

    def delete(
        self, resource: Resource[Any], name: str, namespace: str = NAMESPACE, policy: str = "Background"
    ) -> None:
        self._delete(Key(resource.name, namespace, name), policy)

    def tick(self, seconds: float) -> None:
        self.now += seconds

    def start_pods(self, chosen: Callable[[Json], bool] = lambda pod: True, node: str = "node-1") -> int:
        """Live pods that are not ready yet are bound, run and become ready at this instant. Returns how many."""
        changed = 0
        for key, pod in sorted(self.objects.items()):
            if key.resource != "pods" or "deletionTimestamp" in pod["metadata"] or not chosen(pod):
                continue
            status = pod.get("status") or {}
            if status.get("phase") in ("Succeeded", "Failed") or _is_ready(pod):
                continue
            self.set_pod(key.name, "Running", ready=True, node=node, namespace=key.namespace)
            changed += 1
        return changed

    def set_pod(
        self, name: str, phase: str, *, ready: bool = False, node: str = "node-1", namespace: str = NAMESPACE
    ) -> None:
        """A pod's phase and readiness as its node reports them; binds it if it is not bound."""
        key = Key("pods", namespace, name)
        pod = codec.clone(self.objects[key])
        made_for = pinned(msgspec.convert(pod["spec"], PodSpec, strict=False))
        pod["spec"].setdefault("nodeName", made_for or node)
        at = timestamp(self.now)
        condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": at}
        pod["status"] = {
            "startTime": at,
            **(pod.get("status") or {}),
            "phase": phase,
            "conditions": [condition],
        }
        self._store(key, pod)

    def stop_pods(self) -> int:
        """Pods that are being deleted are gone, as when their node has stopped them (finalizers still hold)."""
        stopped = 0
        for key, pod in sorted(self.objects.items()):
            metadata = pod["metadata"]
            if key.resource == "pods" and "deletionTimestamp" in metadata and not metadata.get("finalizers"):
                self._remove(key)
                stopped += 1
        return stopped

    def collect_garbage(self) -> int:
        """Objects whose owners are all gone go as well, and so on. Returns how many."""
        collected = 0
        while True:
            uids = {obj["metadata"]["uid"] for obj in self.objects.values()}
            dead = [
                key
                for key, obj in sorted(self.objects.items())
                if (owners := _owner_uids(obj)) and not any(uid in uids for uid in owners)
            ]
            for key in dead:
                self._remove(key)
            collected += len(dead)
            if not dead:
                return collected

    # Effects and turns.

    def apply(self, effects: Iterable[Effect]) -> int:
        """Carry effects out in order; raises Refused at the first that the API would refuse. Returns how many
        changed something."""
        before, rest = self.revision, list(effects)
        while rest:
            effect = rest.pop(0)
            request_of(effect)  # must be expressible as one
            self._carry_out(effect)
            self.writes.append(effect)
            found = self.objects.get(effect.key)
            write = Write(effect.key, int(found["metadata"]["resourceVersion"]) if found else 0, False)
            rest = [following(each, write) for each in rest]
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
        decision = decider.decide(self, key, self.now)
        again = decider.decide(self, key, self.now)
        assert msgspec.json.encode(decision) == msgspec.json.encode(again), (
            "the same state gave another decision"
        )
        assert len(decision.effects) <= EFFECTS_MAX, "too many effects for one turn"
        identities = [effect.identity for effect in decision.effects]
        assert len(set(identities)) == len(identities), f"identities repeat: {identities}"
        return decision

    def keys(self, decider: Decider) -> tuple[Key, ...]:
        return tuple(key for key in sorted(self.objects) if key.resource == decider.reads[0].name)

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

    # How an ideal API does it.

    def _carry_out(self, effect: Effect) -> None:
        key = effect.key
        current = self.objects.get(key)
        self._check_premise(getattr(effect, "premise", ""))
        if isinstance(effect, Create):
            if current is None:
                self._create(key, codec.clone(effect.body))
            elif not effect.is_done(current):
                raise Refused(f"AlreadyExists: {key}")
            return
        if current is None:
            raise Refused(f"NotFound: {key}")
        metadata = current["metadata"]
        if metadata["uid"] != effect.uid:
            raise Refused(f"Conflict: {key} has uid {metadata['uid']}, not {effect.uid}")
        if isinstance(effect, Bind):
            if current["spec"].get("nodeName") or "deletionTimestamp" in metadata:
                raise Refused(f"Conflict: {key} is bound or being deleted")
            pod = codec.clone(current)
            pod["spec"]["nodeName"] = effect.node
            self._store(key, pod)
            return
        if int(metadata["resourceVersion"]) != effect.revision:
            raise Refused(f"Conflict: {key} is at {metadata['resourceVersion']}, not {effect.revision}")
        if isinstance(effect, Delete):
            self._delete(key, effect.policy, effect.grace_seconds)
        else:
            subresource = "status" if isinstance(effect, ChangeStatus) else ""
            assert isinstance(effect, Change)
            self._change(key, effect.patch, subresource)

    def _check_premise(self, premise: str) -> None:
        for each in premise.split(",") if premise else ():
            address, _, revision = each.rpartition("@")
            held = self.objects.get(Key(*address.split("/")))
            if (held["metadata"]["resourceVersion"] if held else "0") != revision:
                raise Refused(f"Conflict: {each} does not hold any more")

    def _create(self, key: Key, obj: Json) -> None:
        if key in self.objects:
            raise Refused(f"AlreadyExists: {key}")
        metadata = obj.setdefault("metadata", {})
        if metadata.setdefault("name", key.name) != key.name:
            raise Refused(f"BadRequest: {key} names itself {metadata['name']}")
        if key.namespace:
            metadata["namespace"] = key.namespace
        entropy = f"{self.revision}/{'/'.join(key)}".encode()
        metadata["uid"] = ids.uid(entropy)
        metadata["creationTimestamp"] = timestamp(self.now)
        obj.pop("status", None)
        kind = CATALOG.of_resource(key.resource)
        if kind is None or kind.generation:
            metadata["generation"] = 1
        if kind is not None:
            kind.defaults(obj)
            self._validate(kind, obj)
        if key.resource == "pods":
            obj["status"] = {"phase": "Pending"}
        self._store(key, obj)

    def _change(self, key: Key, patch: Json, subresource: str) -> Json:
        old = self.objects[key]
        part = (
            {"status": patch["status"]} if subresource else {k: v for k, v in patch.items() if k != "status"}
        )
        new = merge_patch(old, part)
        kind = CATALOG.of_resource(key.resource)
        if kind is not None:
            if not subresource:
                kind.defaults(new)
            self._validate(kind, new, old, subresource)
        if new == old:
            return old
        if not subresource and _spec(new) != _spec(old):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        if "deletionTimestamp" in new["metadata"] and _is_finished(new):
            self._remove(key)
            return new
        self._store(key, new)
        return new

    def _validate(self, kind: Kind, new: Json, old: Json | None = None, subresource: str = "") -> None:
        problems = Problems()
        validate_metadata(kind, new, problems)
        if subresource:
            kind.validate_status(new, old or {}, problems)
        else:
            kind.validate(new, problems)
            if old is not None:
                kind.validate_update(new, old, problems)
        if problems:
            raise Refused(f"Invalid: {[(each.field, each.message) for each in problems.causes]}")

    def _delete(self, key: Key, policy: str, asked_seconds: int | None = None) -> None:
        obj = codec.clone(self.objects[key])
        metadata = obj["metadata"]
        if "deletionTimestamp" in metadata:
            if asked_seconds is not None and asked_seconds < metadata["deletionGracePeriodSeconds"]:
                metadata["deletionTimestamp"] = timestamp(self.now + asked_seconds)
                metadata["deletionGracePeriodSeconds"] = asked_seconds
                self._remove(key) if _is_finished(obj) else self._store(key, obj)
            return
        kind = CATALOG.of_resource(key.resource)
        grace = kind.grace_seconds(obj, asked_seconds) if kind is not None else 0
        metadata["deletionTimestamp"] = timestamp(self.now + grace)
        metadata["deletionGracePeriodSeconds"] = grace
        if policy == "Orphan":
            self._set_dependents_free(metadata["uid"])
        elif policy == "Foreground":
            metadata["finalizers"] = [*metadata.get("finalizers", ()), "foregroundDeletion"]
        if _is_finished(obj):
            self._remove(key)
        else:
            self._store(key, obj)

    def _set_dependents_free(self, uid: str) -> None:
        for key, obj in sorted(self.objects.items()):
            if uid in _owner_uids(obj):
                free = codec.clone(obj)
                free["metadata"]["ownerReferences"] = [
                    owner for owner in free["metadata"]["ownerReferences"] if owner["uid"] != uid
                ]
                self._store(key, free)

    def _store(self, key: Key, obj: Json) -> None:
        self.revision += 1
        obj["metadata"]["resourceVersion"] = str(self.revision)
        self.objects[key] = obj

    def _remove(self, key: Key) -> None:
        self.revision += 1
        del self.objects[key]


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


def _spec(obj: Json) -> Json:
    return {key: value for key, value in obj.items() if key not in ("metadata", "status")}


def _owner_uids(obj: Json) -> tuple[str, ...]:
    return tuple(owner["uid"] for owner in obj["metadata"].get("ownerReferences") or ())


def _is_ready(pod: Json) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _is_finished(obj: Json) -> bool:
    metadata = obj["metadata"]
    return not metadata.get("finalizers") and not metadata.get("deletionGracePeriodSeconds")
