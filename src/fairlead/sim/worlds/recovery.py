"""`recovery`: replicas that wait until room is reserved for them, by a controller whose create nobody hears of.

The worked example of a duplicate reservation: a Reservation is committed, its answer is lost, the leader dies, and the
next one has not been told. There must be one active Reservation per replica and intent all the same; it is found again,
used once, and goes with the replica.

    0 s     node-0 and node-1
    5 s     replica-040 of risk-api, closed by a gate, asks for room for `recovery`; -041 to -043 follow in half seconds
    90 s    they are deleted, but for replica-040

`Recovery` is the whole controller: it makes the Reservation, and opens the gate once room is kept.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.control.leadership import LeadershipSettings
from fairlead.decision.contract import NOTHING, SETTLED, Decision, Reading, Waiting
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.effects import Effect, premise_of
from fairlead.decision.ensure import ensure_child, ensure_fields
from fairlead.ledger.reservation import ACTIVE, ANNOTATION
from fairlead.model.key import Key
from fairlead.model.kinds.reservation import name_for
from fairlead.model.views import PODS, RESERVATIONS, Pod, Reservation
from fairlead.sim.faults import Faults
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, delete

NAME = "recovery"
INTENT = "recovery.fairlead.dev/intent"
GATE = "recovery.fairlead.dev/room"
REPLICAS = tuple(f"replica-04{number}" for number in range(4))
FAULTS = Faults(
    request_lost=0.04,
    request_late=0.03,
    reply_lost=0.06,
    crash_at_write=0.04,
    sync_slow=0.02,
    sync_failed=0.01,
    list_lost=0.05,
    watch_lag=0.15,
    watch_broken=0.02,
    incident=0.25,
    clock_skew=0.5,
)


def recovery_decider() -> Decider:
    return Recovery().decider()


class Recovery:
    def decider(self) -> Decider:
        return Decider(
            name=NAME,
            reads=(PODS, RESERVATIONS),
            wakes=(Wake(PODS, _of_replica), Wake(RESERVATIONS, _of_reservation)),
            decide=self.decide,
        )

    def decide(self, view: Reading, key: Key, now: float) -> Decision:
        pod = view.get(PODS, key.namespace, key.name)
        if pod is None or not pod.live or not pod.spec.scheduling_gates:
            return NOTHING
        found = self.found(view, pod)
        if found is None:
            return Decision(Waiting("NotReserved", "no room is reserved"), self._reserve(pod, now))
        if found.status.phase != ACTIVE:
            return Decision(Waiting("NoRoomYet", f"{found.metadata.name} has no node"))
        return Decision(SETTLED, self._open(pod, found))

    def found(self, view: Reading, pod: Pod) -> Reservation | None:
        """By owner and intent, from which its name follows."""
        return view.get(RESERVATIONS, pod.metadata.namespace, self.name_of(pod, 0.0))

    def name_of(self, pod: Pod, now: float) -> str:
        return name_for(pod.metadata.uid, pod.metadata.annotations[INTENT])

    def _reserve(self, pod: Pod, now: float) -> tuple[Effect, ...]:
        meta, intent = pod.metadata, pod.metadata.annotations[INTENT]
        body = {
            "metadata": {"name": self.name_of(pod, now)},
            "spec": {
                "owner": {"apiVersion": "v1", "kind": "Pod", "name": meta.name, "uid": meta.uid},
                "intent": intent,
                "nodeSelector": {},
                "requests": pod.spec.containers[0].resources.requests,
                "ttlSeconds": 3600,
            },
        }
        made = ensure_child(NAME, meta, RESERVATIONS, None, body, intent, (premise_of(PODS, meta),))
        return (made,) if made is not None else ()

    def _open(self, pod: Pod, found: Reservation) -> tuple[Effect, ...]:
        """From here on the scheduler may use what is kept."""
        wanted: Json = {
            "metadata": {"annotations": {ANNOTATION: found.metadata.name}},
            "spec": {"schedulingGates": None},
        }
        current: Json = {"spec": {"schedulingGates": pod.spec.scheduling_gates}}
        opened = ensure_fields(NAME, pod.metadata, PODS, pod, "open", current, wanted)
        return (opened,) if opened is not None else ()


def _of_replica(event: WatchEvent[Pod]) -> Iterable[Key]:
    return (event.key,) if INTENT in event.newest.metadata.annotations else ()


def _of_reservation(event: WatchEvent[Reservation]) -> Iterable[Key]:
    return (Key(PODS.name, event.key.namespace, event.newest.spec.owner.name),)


def scenario() -> Scenario:
    return Scenario(
        name="recovery",
        steps=_steps(),
        hollow_prefix="node-",
        planes=2,
        faults_until_seconds=150.0,
        seconds_min=200.0,
        seconds_max=900.0,
        quiet_seconds=50.0,
        controllers=(recovery_decider,),
        # Shorter than a watch may lag: who takes over may not have been told yet.
        leadership=LeadershipSettings(duration_seconds=8.0, renew_seconds=3.0, retry_seconds=2.0),
    )


def _steps() -> tuple[ScenarioStep, ...]:
    return (
        *(
            create(0.1, "v1", "nodes", {"kind": "Node", "metadata": {"name": f"node-{number}"}}, "")
            for number in range(2)
        ),
        *(create(5.0 + number / 2, "v1", "pods", replica(name)) for number, name in enumerate(REPLICAS)),
        *(delete(90.0, "v1", "pods", name) for name in REPLICAS[1:]),
    )


def replica(name: str) -> Json:
    container = {"name": "main", "image": "risk-api:1", "resources": {"requests": {"cpu": "4"}}}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "risk-api"}, "annotations": {INTENT: "recovery"}},
        "spec": {"containers": [container], "schedulingGates": [{"name": GATE}]},
    }
