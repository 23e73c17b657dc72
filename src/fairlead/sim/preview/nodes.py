"""The nodes of a live plane as they behave when one looks ahead: one machine plays all that are ready.

What a hollow node does with a pod (`agent/hollow/pod.py`) is done here for every pod at once. A node that is not ready
stays as it is, and so do its pods. Nothing is known of how long a container of a Job will run, or when one that is not
ready will be: such pods stay as they were found.

Starting a pod touches nothing but its status, so it goes straight into the store. What ends one goes through the API,
which gives back what the pod had been charged for, and asks the policies of people, where there are any. What is due
about the same time is done together: a plane that hears of it at once has less to decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil

import msgspec

from fairlead.agent.hollow.pod import RUNS_FOR, HollowDelays, HollowStep, next_step
from fairlead.api import objects
from fairlead.api.access.users import MASTERS, User
from fairlead.core import codec
from fairlead.model.catalog import CATALOG
from fairlead.model.key import Key
from fairlead.model.kinds.admission import bindings
from fairlead.model.patch.merge import merge_patch
from fairlead.model.pod_decoder import decode_pod
from fairlead.model.views import JOBS, NODES, PLACEMENT_QUOTAS, PODS, RESOURCE_QUOTAS, Node, Pod
from fairlead.port.request import MERGE_PATCH, Reply, Request
from fairlead.sim.processes.server import SimulatedServer
from fairlead.sim.time import Timeline
from fairlead.store.contract import DELETED, AtRevision, CommittedChange, Entry, Transaction

NODE = "node"  # as an actor
_GRID_MS = 500
_USER = User("system:fairlead:node", groups=(MASTERS,))
_NODE = msgspec.json.Decoder(Node)
_PACE = HollowDelays()
_QUOTAS = (RESOURCE_QUOTAS.name, PLACEMENT_QUOTAS.name)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """`unready`: uids of pods that were not ready, and of controllers none of whose pods was: theirs will not be."""

    pace: HollowDelays = _PACE
    unready: frozenset[str] = frozenset()


def behaviour_of(pods: Iterable[Pod]) -> Behaviour:
    """As the pods were found: what is not ready, for all anybody knows, stays so."""
    ready: set[str] = set()
    unready: set[str] = set()
    for pod in pods:
        if not pod.spec.node_name or pod.finished or pod.metadata.deletion_timestamp:
            continue
        owner = pod.metadata.controller
        if pod.ready:
            ready.update((owner.uid,) if owner is not None else ())
        elif pod.status.phase == "Running":
            unready.update((pod.metadata.uid, owner.uid) if owner is not None else (pod.metadata.uid,))
    return Behaviour(_PACE, frozenset(unready - ready))


class PlayedNodes:
    """Told of every commit; carries out what is due on the timeline."""

    def __init__(
        self,
        timeline: Timeline,
        server: SimulatedServer,
        behaviour: Behaviour,
        decode: Callable[[bytes], Pod] = decode_pod,
    ) -> None:
        self._timeline, self._server, self._behaviour = timeline, server, behaviour
        self._decode = decode
        kind = CATALOG.of_resource(PODS.name)
        assert kind is not None
        self._kind = kind
        self._due: dict[int, dict[Key, None]] = {}  # by milliseconds
        self._ready: dict[str, tuple[int, bool]] = {}  # by node: the revision looked at, and what it said

    @property
    def now(self) -> float:
        return self._timeline.now

    def observe(self, change: CommittedChange) -> None:
        if change.entry.key.resource == PODS.name and change.type != DELETED:
            self.look_at(change.entry)

    def look_at(self, entry: Entry) -> None:
        pod = self._decode(entry.data)
        if not pod.spec.node_name or is_calm(pod):
            return
        step = next_step(pod, self.now, self._behaviour.pace)
        if step is not None and not self._is_unknown(pod, step):
            self._later(entry.key, step.due)

    def _later(self, key: Key, due: float) -> None:
        ms = max(self._timeline.ms + 1, round((due - self._timeline.epoch) * 1000))
        ms = ceil(ms / _GRID_MS) * _GRID_MS
        if ms not in self._due:
            self._due[ms] = {}
            self._timeline.at(ms, self._act, ms)
        self._due[ms][key] = None

    def _act(self, ms: int) -> None:
        for key in self._due.pop(ms):
            entry = self._server.store.get(key)
            pod = self._decode(entry.data) if entry is not None else None
            if entry is None or pod is None or is_calm(pod) or not self._is_ready(pod.spec.node_name):
                continue
            step = next_step(pod, self.now, self._behaviour.pace)
            if step is None or self._is_unknown(pod, step):
                continue
            if step.due > self.now:
                self._later(key, step.due)
            else:
                self._carry_out(entry, pod, step)

    def _carry_out(self, entry: Entry, pod: Pod, step: HollowStep) -> None:
        if step.intent in ("start", "ready"):
            self._start(entry, step)
        elif step.remove or (step.intent == "stop" and _is_simple(pod)):
            if _is_simple(pod) and not self._concerns_others(pod):
                premise = AtRevision(entry.key, entry.revision)
                self._submit(Transaction((objects.removal(entry),), (premise,)))
                return
            options = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.metadata.uid}}
            self._ask("delete", pod, codec.encode(options))
        else:
            self._ask("patch", pod, codec.encode({"status": step.status or {}}), "status")

    def _start(self, entry: Entry, step: HollowStep) -> None:
        found = codec.decode(entry.data)
        found["status"] = merge_patch(found.get("status") or {}, step.status or {})
        put = objects.put(self._kind, entry.key, found)
        premise = AtRevision(entry.key, entry.revision)
        self._submit(Transaction((put,), (premise,)))

    def _submit(self, transaction: Transaction) -> None:
        self._server.submit(transaction, NODE, lambda outcome: None)

    def _concerns_others(self, pod: Pod) -> bool:
        """Somebody counts it, or may have a say in its deletion."""
        read = self._server.store
        namespace = pod.metadata.namespace
        return bool(
            any(read.list(each, namespace) for each in _QUOTAS) or read.list(bindings.VALIDATING.resource)
        )

    def _ask(self, verb: str, pod: Pod, body: bytes, subresource: str = "") -> None:
        meta = pod.metadata
        request = Request(
            verb=verb,
            group="",
            version="v1",
            plural=PODS.name,
            namespace=meta.namespace,
            name=meta.name,
            subresource=subresource,
            body=body,
            content_type=MERGE_PATCH if verb == "patch" else "application/json",
        )
        self._server.send(request, _USER, NODE, _nobody)

    def _is_ready(self, name: str) -> bool:
        entry = self._server.store.get(Key(NODES.name, "", name))
        if entry is None:
            return False
        known = self._ready.get(name)
        if known is None or known[0] != entry.revision:
            known = self._ready[name] = (entry.revision, _NODE.decode(entry.data).ready)
        return known[1]

    def _is_unknown(self, pod: Pod, step: HollowStep) -> bool:
        if step.intent == "end":
            return RUNS_FOR not in pod.metadata.annotations
        if step.intent not in ("ready", "start"):
            return False
        owner = pod.metadata.controller
        unready = self._behaviour.unready
        return pod.metadata.uid in unready or (owner is not None and owner.uid in unready)


def is_calm(pod: Pod) -> bool:
    """Runs, and goes on running: most pods, which must cost nothing."""
    if pod.metadata.deletion_timestamp or not pod.ready:
        return False
    return pod.spec.restart_policy == "Always" and pod.spec.active_deadline_seconds is None


def _is_simple(pod: Pod) -> bool:
    """Nobody reads how it ended: it may be gone at once."""
    owner = pod.metadata.controller
    return not pod.metadata.finalizers and (owner is None or owner.kind != JOBS.kind)


def _nobody(reply: Reply | None) -> None:
    """What was refused is tried again when the pod changes."""
