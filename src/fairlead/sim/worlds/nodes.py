"""`nodes`: six machines in three zones, agents that run processes on them, and every fault that both can have.

Leases are short, and so are the times of the EvidencePolicy, so that a node is suspected, given up and taken back
within a minute. Machines lose power, agents are stopped for longer than their lease, zones are cut off, and the plane
that judges all of them is now and then the one that hears nothing. The supervisors of node-c2 accept no deadline.

    0 s     the EvidencePolicy; node-a1 to node-c2 register themselves
    3 s     Deployments web (4, behind a Service, probed; who returns counts again) and pay (1, at most one),
            StatefulSet db (2, with a process that ignores SIGTERM), ReplicaSet old (2)
    15 s    Job batch: 3 pods, 2 at a time
    50 s    web gets a new image: a rollout
    70 s    the pods of old are deleted by force, without waiting for their nodes
    85 s    ReplicaSet old is deleted
    100 s   pay is scaled to 2
"""

from __future__ import annotations

from fairlead.agent.contract import NodeSettings
from fairlead.agent.pace import Pace
from fairlead.control.leadership import LeadershipSettings
from fairlead.core import codec
from fairlead.model.marks import AT_MOST_ONE, DRIVER, KEEP_ORIGINAL, ON_RETURN, ZONE
from fairlead.model.policy import evidence_rows as rows
from fairlead.port.request import Request
from fairlead.reconcile.nodes.pod_networks import pod_network_decider
from fairlead.reconcile.services.endpoint_slices import endpoint_slice_decider
from fairlead.sim.faults import NodeFaults
from fairlead.sim.scenario import Json, Scenario, ScenarioStep, create, delete, patch

NODES = ("node-a1", "node-a2", "node-b1", "node-b2", "node-c1", "node-c2")
_LEASE_SECONDS = 20
CONTROLLERS = (pod_network_decider, endpoint_slice_decider)  # agents need addresses, and tell routes
FAULTS = NodeFaults(
    request_lost=0.01,
    request_late=0.01,
    reply_lost=0.02,
    crash_at_write=0.002,
    sync_slow=0.01,
    sync_failed=0.001,
    list_lost=0.05,
    watch_lag=0.02,
    watch_broken=0.004,
    incident=0.5,
    incidents=(
        ("plane_crash", 2),
        ("plane_pause", 2),
        ("server_crash", 1),
        ("watches_expire", 1),
        ("agent_crash", 3),
        ("agent_pause", 3),
        ("agent_cut", 4),
        ("agent_deaf", 3),
        ("zone_cut", 2),
        ("plane_away", 2),
        ("node_flaps", 3),
        ("power_loss", 3),
        ("process_crash", 3),
        ("monitor_cut", 2),
        ("heartbeats_unheard", 2),
        ("node_lies", 2),
        ("agent_mute", 2),
        ("agent_slow", 2),
    ),
    clock_skew=0.5,
    agent_crash_at_write=0.002,
    driver_failed=0.01,
    status_late=0.05,
    status_again=0.05,
)


def scenario() -> Scenario:
    return Scenario(
        name="nodes",
        steps=(policy(), *_steps()),
        hollow_prefix="hollow-",
        planes=2,
        faults_from_seconds=8.0,  # what stands then is what a run without faults begins with
        faults_until_seconds=140.0,
        seconds_min=300.0,
        seconds_max=1500.0,
        quiet_seconds=125.0,  # longer than any back-off and grace; a mark of disruption that came to nothing has 120 s
        leadership=LeadershipSettings(duration_seconds=10.0, renew_seconds=4.0, retry_seconds=4.0),
        controllers=CONTROLLERS,
        nodes=tuple(settings(name) for name in NODES),
        without_deadlines=("node-c2",),
        pace=PACE,
    )


# Everything a process does again and again is done soon again; a status that says nothing new is not repeated.
PACE = Pace(
    crash_seconds=2.0,
    crash_max_seconds=20.0,
    crash_reset_seconds=60.0,
    ask_again_seconds=10.0,
    node_status_seconds=100_000.0,
    orphan_grace_seconds=5,
)

# What a story of silent nodes with agents of their own lasts; worlds fill it in by `dataclasses.replace`.
FRAME = Scenario(
    name="",
    steps=(),
    hollow_prefix="hollow-",
    planes=2,
    faults_until_seconds=150.0,
    seconds_min=240.0,
    seconds_max=1500.0,
    quiet_seconds=125.0,
    controllers=CONTROLLERS,
    pace=PACE,
)


def settings(name: str) -> NodeSettings:
    labels = {ZONE: f"zone-{name[5]}", DRIVER: "process"}
    return NodeSettings(
        name,
        labels,
        lease_seconds=_LEASE_SECONDS,
        renew_seconds=6.0,
        fence_margin_seconds=2.0,
        instance=f"machine-of-{name}",
    )


def policy(
    unknown_seconds: float = 20.0, forget_seconds: float = 45.0, suspect_seconds: float = 8.0
) -> ScenarioStep:
    """The default one with shorter times."""
    spec = policy_spec(unknown_seconds, forget_seconds, suspect_seconds)
    body = {"kind": "EvidencePolicy", "metadata": {"name": rows.NAME}, "spec": spec}
    return create(0.1, "fairlead.dev/v1", "evidencepolicies", body, "")


def policy_spec(
    unknown_seconds: float = 20.0, forget_seconds: float = 45.0, suspect_seconds: float = 8.0
) -> Json:
    spec = rows.default_spec()
    silence = {
        rows.STOP_PLACEMENT: suspect_seconds,
        rows.MARK_UNKNOWN: unknown_seconds,
        rows.RELEASE: unknown_seconds,
        rows.FORGET: forget_seconds,
    }
    for row in spec["rows"]:
        if row["signal"] == rows.MISSED_HEARTBEATS:
            row["acts"] = [{"act": act, "afterSeconds": after} for act, after in silence.items()]
    # Two nodes make a zone, so one silent node never brakes it and two stop it.
    spec["zones"] = {**spec["zones"], "slowedReleasesPerMinute": 2.0, "silentNodesMin": 2}
    return spec


def _steps() -> tuple[ScenarioStep, ...]:
    return (
        create(3.0, "v1", "services", _service("web")),
        create(3.0, "apps/v1", "deployments", _deployment("web", 4, {ON_RETURN: KEEP_ORIGINAL})),
        create(3.0, "apps/v1", "deployments", _deployment("pay", 1, {AT_MOST_ONE: "true"})),
        create(3.0, "apps/v1", "statefulsets", _stateful("db", 2)),
        create(3.0, "apps/v1", "replicasets", workload("ReplicaSet", "old", 2, template("old"))),
        create(15.0, "batch/v1", "jobs", _job("batch", 3, 2)),
        patch(50.0, "apps/v1", "deployments", "web", {"spec": {"template": _probed("web:2")}}),
        _forced(70.0, "old"),
        delete(85.0, "apps/v1", "replicasets", "old"),
        patch(100.0, "apps/v1", "deployments", "pay", {"spec": {"replicas": 2}}),
    )


def _forced(at: float, app: str) -> ScenarioStep:
    body = codec.encode({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
    query = {"labelSelector": f"app={app}"}
    return ScenarioStep(at, Request("deletecollection", "", "v1", "pods", "default", query=query, body=body))


def template(app: str, *command: str, image: str = "", annotations: dict[str, str] | None = None) -> Json:
    container = {
        "name": "main",
        "image": image or f"{app}:1",
        "command": list(command or ("serve",)),
        "resources": {"requests": {"cpu": "200m"}},
    }
    spec: Json = {
        "containers": [container],
        "terminationGracePeriodSeconds": 5,
        "tolerations": [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
            for key in ("node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready")
        ],
    }
    metadata: Json = {"labels": {"app": app}}
    if annotations:
        metadata["annotations"] = annotations
    return {"metadata": metadata, "spec": spec}


def _probed(image: str) -> Json:
    made = template("web", "serve", image=image, annotations={ON_RETURN: KEEP_ORIGINAL})
    made["spec"]["containers"][0]["readinessProbe"] = {"tcpSocket": {"port": 80}, "periodSeconds": 10}
    return made


def workload(kind: str, name: str, replicas: int, made: Json) -> Json:
    spec: Json = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": made}
    return {"kind": kind, "metadata": {"name": name}, "spec": spec}


def _deployment(name: str, replicas: int, annotations: dict[str, str]) -> Json:
    made = _probed("web:1") if name == "web" else template(name, annotations=annotations)
    body = workload("Deployment", name, replicas, made)
    if AT_MOST_ONE in annotations:
        body["spec"]["strategy"] = {"type": "Recreate"}
    return body


def _stateful(name: str, replicas: int) -> Json:
    body = workload("StatefulSet", name, replicas, template(name, "stubborn"))
    body["spec"] |= {"serviceName": name, "podManagementPolicy": "Parallel"}
    return body


def _job(name: str, completions: int, parallelism: int) -> Json:
    made = template(name, "work", "6")
    made["spec"]["restartPolicy"] = "OnFailure"
    spec = {"completions": completions, "parallelism": parallelism, "backoffLimit": 20, "template": made}
    return {"kind": "Job", "metadata": {"name": name}, "spec": spec}


def _service(name: str) -> Json:
    spec = {"selector": {"app": name}, "ports": [{"port": 80}]}
    return {"kind": "Service", "metadata": {"name": name}, "spec": spec}
