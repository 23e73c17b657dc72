"""Hollow nodes: Nodes that register, stay ready, and make the pods bound to them run, without running anything.

A Decider whose keys are its nodes. `initial_keys` names the nodes it is to register: nothing in the world wakes a key
for a node that does not exist yet. The plane, the simulator and tests
with many nodes use it in place of agents; what becomes of one pod is in `pod.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fairlead import __version__
from fairlead.agent.hollow.pod import HollowDelays, HollowStep, address_of, next_step
from fairlead.agent.hollow.script import NEVER, silent_until
from fairlead.core.times import timestamp
from fairlead.decision.contract import EFFECTS_MAX, NOTHING, Decision, Reading, Waiting
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.effects import (
    OPERATION,
    Create,
    Effect,
    change_status,
    create_object,
    delete_object,
    identity,
)
from fairlead.model.key import Key
from fairlead.model.marks import HOSTNAME, UNREACHABLE
from fairlead.model.views import NODES, PODS, Json, Node, Pod

_LABELS = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
HOLLOW = "hollow"
ALLOCATABLE: Mapping[str, str] = {"cpu": "32", "memory": "256Gi", "pods": "110"}


def hollow_decider(
    node_prefix: str,
    nodes: int = 0,
    allocatable: Mapping[str, str] = ALLOCATABLE,
    labels: Mapping[str, str] | None = None,
    pace: HollowDelays | None = None,
) -> Decider:
    """`nodes`: how many to register, as `prefix0` and so on; existing ones with the prefix are kept anyway."""
    names = [f"{node_prefix}{number}" for number in range(nodes)]
    hollow = _Hollow(
        node_prefix, frozenset(names), dict(allocatable), dict(labels or {}), pace or HollowDelays()
    )
    return Decider(
        name=HOLLOW,
        reads=(NODES, PODS),
        wakes=(Wake(NODES, hollow.of_node), Wake(PODS, hollow.of_pod)),
        decide=hollow.decide,
        initial_keys=tuple(Key(NODES.name, "", name) for name in names),
    )


class _Hollow(NamedTuple):
    prefix: str
    registers: frozenset[str]
    allocatable: dict[str, str]
    labels: dict[str, str]
    pace: HollowDelays

    def of_node(self, event: WatchEvent[Node]) -> Iterable[Key]:
        return (event.key,) if event.key.name.startswith(self.prefix) else ()

    def of_pod(self, event: WatchEvent[Pod]) -> Iterable[Key]:
        at = event.newest.spec.node_name
        return (Key(NODES.name, "", at),) if at.startswith(self.prefix) else ()

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        if not key.name.startswith(self.prefix):
            return NOTHING
        node = view.get(NODES, "", key.name)
        if node is None:
            effects = (self._register(key.name, now),) if key.name in self.registers else ()
            return Decision(effects=effects)
        until = silent_until(node, now)
        if until:  # by its script it is cut off: it says nothing until it is heard again
            return Decision(Waiting("NodeSilent"), again_at=until if until < NEVER else 0.0)
        if _is_given_up(node):
            return NOTHING  # a hollow node whose lease fell silent plays dead
        if not node.metadata.deletion_timestamp and not self._is_fine(node):
            label = identity(HOLLOW, node.metadata.uid, "keep-ready")
            refresh = change_status(label, NODES, node.metadata, self._status(now))
            return Decision(effects=(refresh,))
        return self._run_pods(view, key.name, now)

    def _run_pods(self, view: Reading, node: str, now: float) -> Decision:
        effects: list[Effect] = []
        again_at = 0.0
        for pod in view.on_node(node):
            step = next_step(pod, now, self.pace) if isinstance(pod, Pod) else None
            if step is None or not isinstance(pod, Pod):
                continue
            if step.due > now:
                again_at = min(again_at or step.due, step.due)
            elif len(effects) < EFFECTS_MAX:
                effects.append(_effect(pod, step))
        if not effects and not again_at:
            return NOTHING
        return Decision(Waiting("PodsInTransition"), tuple(effects), again_at)

    def _is_fine(self, node: Node) -> bool:
        """What others have added to it is theirs."""
        return node.ready and self.allocatable.items() <= node.status.allocatable.items()

    def _register(self, name: str, now: float) -> Create:
        label = identity(HOLLOW, name, "register")
        body: Json = {
            "apiVersion": NODES.api_version,
            "kind": NODES.kind,
            "metadata": {
                "name": name,
                "labels": {HOSTNAME: name, **_LABELS, **self.labels},
                "annotations": {OPERATION: label},
            },
            "spec": {},
            "status": {**self._status(now), **_described(name)},
        }
        return create_object(label, NODES, "", name, body)

    def _status(self, now: float) -> Json:
        at = timestamp(now)
        ready = {
            "type": "Ready",
            "status": "True",
            "reason": "HollowNodeReady",
            "message": "this node pretends to run its pods",
            "lastHeartbeatTime": at,
            "lastTransitionTime": at,
        }
        return {"allocatable": self.allocatable, "capacity": self.allocatable, "conditions": [ready]}


def _described(name: str) -> Json:
    """What tools look for in a Node, told once."""
    return {
        "addresses": [
            {"type": "InternalIP", "address": address_of(name)},
            {"type": "Hostname", "address": name},
        ],
        "nodeInfo": {
            "machineID": name,
            "systemUUID": name,
            "bootID": name,
            "kernelVersion": "hollow",
            "osImage": "hollow",
            "containerRuntimeVersion": f"hollow://{__version__}",
            "kubeletVersion": f"v{__version__}+fairlead",
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": "amd64",
        },
    }


def _is_given_up(node: Node) -> bool:
    """Ready=Unknown is said by those who judge its silence, and comes before their taint."""
    return any(taint.get("key") == UNREACHABLE for taint in node.spec.taints) or any(
        each.type == "Ready" and each.reason == "NodeStatusUnknown" for each in node.status.conditions
    )


def _effect(pod: Pod, step: HollowStep) -> Effect:
    meta = pod.metadata
    label = identity(HOLLOW, meta.uid, step.intent)
    if not step.remove:
        return change_status(label, PODS, meta, step.status or {})
    return delete_object(label, PODS, meta, grace_seconds=0)
