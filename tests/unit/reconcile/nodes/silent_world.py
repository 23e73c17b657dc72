"""A World with nodes that renew leases, and an observer who hears of it: for tests of what is made of silence.

    world = SilentWorld({"n1": "a", "n2": "a"})      nodes with a lease, by zone
    world.run(10)                                     ten seconds, every node renewing, all deciders at work
    world.hush("n1")                                  from now on n1 sends nothing
    world.deafen()                                    from now on the observer hears nothing

Time goes in steps of one second; each step settles the deciders on every key that has something to do. Hearing is the
that of a real mirror (`tests/unit/reconcile/mirrors.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from fairlead.core.times import microtime, timestamp
from fairlead.decision.decider import Decider
from fairlead.model.at_most_one import ACCEPTED, DEADLINE, accepted_message
from fairlead.model.key import Key
from fairlead.model.marks import NODE_LEASES, REGION, RELEASED, ZONE
from fairlead.model.policy.evidence_rows import default_spec
from fairlead.model.views import EVIDENCE_POLICIES, LEASES, NODES, PODS, REPLICASETS
from fairlead.reconcile.nodes.evidence_policy import evidence_policy_decider
from fairlead.reconcile.nodes.health import node_health_decider
from fairlead.reconcile.nodes.release import release_decider
from fairlead.reconcile.nodes.returned import returned_decider
from fairlead.reconcile.nodes.taint_eviction import taint_eviction_decider
from fairlead.reconcile.replicaset import replicaset_decider
from fairlead.reconcile.statefulset import statefulset_decider
from tests.unit.reconcile.waking import woken
from tests.unit.reconcile.world import TURNS_MAX, Json, World, selector, template

SUSPECT, UNKNOWN = 20.0, 40.0  # the default rows


def deciders() -> tuple[Decider, ...]:
    return (
        node_health_decider(), evidence_policy_decider(), release_decider(), returned_decider(), taint_eviction_decider(),
        replicaset_decider(), statefulset_decider(),
    )  # fmt: skip


class SilentWorld(World):
    def __init__(self, nodes: dict[str, str], spec: Json | None = None, deadline: int = 0) -> None:
        """`deadline`: so many seconds after the last renewal supervisors end their pods; 0: they accept none."""
        super().__init__()
        self.deadline = deadline
        self.silenced: set[str] = set()
        self.deciders = deciders()
        self.add(EVIDENCE_POLICIES, "default", spec=spec or default_spec())
        for name, zone in nodes.items():
            self.join(name, zone)
        self.hear()

    # What happens

    def join(self, name: str, zone: str = "a") -> None:
        """`zone`: "a", or "eu/a" in a region."""
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": timestamp(self.now)}
        region, _, zone = zone.rpartition("/")
        labels = {**({ZONE: zone} if zone else {}), **({REGION: region} if region else {})}
        self.add(NODES, name, metadata={"labels": labels})
        self.edit_status(NODES, name, {"conditions": [ready]}, "")
        self.add(LEASES, name, NODE_LEASES, spec={"holderIdentity": name, "renewTime": microtime(self.now)})

    def hush(self, *names: str) -> None:
        self.silenced.update(names)

    def deafen(self, deaf: bool = True) -> None:
        self.mirrors.deaf = deaf

    def hear(self) -> None:
        """What the observer's mirror would get now; it always gets something, the leader's own lease for one."""
        self.mirrors.hear()

    def restart(self) -> None:
        """Another observer, who has heard nothing yet, and now lists."""
        self.mirrors.restart()

    def renew(self) -> None:
        for lease in self.list(LEASES, NODE_LEASES):
            name = lease.metadata.name
            if name not in self.silenced:
                self.edit(LEASES, name, {"spec": {"renewTime": microtime(self.now)}}, NODE_LEASES)

    def run(self, seconds: int, each: Callable[[], None] = lambda: None) -> None:
        for second in range(seconds):
            self.tick(1.0)
            if second % 10 == 9 or seconds < 10:
                self.renew()
            self.hear()
            self.settle_all()
            each()

    def settle_all(self) -> None:
        turns = 0
        while self._turn_of_all():
            turns += 1
            assert turns < TURNS_MAX, f"does not settle; last writes: {self.writes[-4:]}"

    def _turn_of_all(self) -> bool:
        changed = False
        for decider in self.deciders:
            for key in self._keys(decider):
                changed = bool(self.apply(self.decide(decider, key).effects)) or changed
        return changed

    def _keys(self, decider: Decider) -> Iterable[Key]:
        if decider.unsettled is not None:
            return tuple(decider.unsettled(self.mirrors.view(*decider.reads)))
        found: dict[Key, None] = {}
        named = decider.reads[0]
        for view in self.list(named):
            found.update(dict.fromkeys(woken(decider, named.name, None, view, self)))
        return tuple(found)

    # What is seen

    def replicas(
        self, name: str = "web", count: int = 2, tolerations: Sequence[Json] = (), **metadata: Any
    ) -> None:
        made = template({"app": name}, tolerations=list(tolerations))
        made["metadata"] |= metadata
        self.add(
            REPLICASETS, name, spec={"replicas": count, "selector": selector({"app": name}), "template": made}
        )
        self.settle_all()

    def run_on(self, **nodes: str) -> None:
        """Pods, by name, are bound, run and are ready."""
        for pod, node in nodes.items():
            self._run(pod, node)

    def start_on(self, *nodes: str) -> list[str]:
        """All pods that are not bound, in turn on these."""
        names = [pod.metadata.name for pod in self.list(PODS) if not pod.spec.node_name and pod.live]
        for number, name in enumerate(names):
            self._run(name, nodes[number % len(nodes)])
        self.settle_all()
        return names

    def _run(self, pod: str, node: str) -> None:
        self.set_pod(pod, "Running", ready=True, node=node)
        if self.deadline:
            conditions = self.objects[Key("pods", "default", pod)]["status"]["conditions"]
            told = {"type": DEADLINE, "status": "True", "reason": ACCEPTED}
            accepted = {**told, "message": accepted_message(self.deadline)}
            self.edit_status(PODS, pod, {"conditions": [*conditions, accepted]})

    def taints(self, node: str) -> list[str]:
        found = self.objects[Key("nodes", "", node)]["spec"].get("taints") or []
        return [f"{each['key'].rpartition('/')[2]}:{each['effect']}" for each in found]

    def ready(self, node: str) -> str:
        conditions = self.objects[Key("nodes", "", node)]["status"]["conditions"]
        return next(str(each["status"]) for each in conditions if each["type"] == "Ready")

    def released(self, pod: str) -> tuple[str, str]:
        """(status, reason) of the condition, as far as there is one."""
        conditions = self.objects[Key("pods", "default", pod)]["status"].get("conditions") or []
        return next(
            ((each["status"], each["reason"]) for each in conditions if each["type"] == RELEASED), ("", "")
        )

    def zone(self, name: str) -> Json:
        status = self.objects[Key(EVIDENCE_POLICIES.name, "", "default")]["status"]
        return next(each for each in status["zones"] if each["name"] == name)

    def pods(self) -> dict[str, str]:
        """name -> node"""
        return {pod.metadata.name: pod.spec.node_name for pod in self.list(PODS)}
