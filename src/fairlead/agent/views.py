"""What an agent reads of its pods and its node. Wider than `model/views/`: a node runs all of a pod's spec.

Decoded by the mirrors of `machine.py`. Parts that are walked once and whose shape has many branches (variables,
volumes, hooks) stay plain JSON; `pod/environment.py`, `pod/volumes.py` and `pod/launch.py` read those.
"""

from __future__ import annotations

import msgspec

from fairlead.model.views import Json, Meta, Needs, Resource, SecurityContext, View


class ProbeSpec(View, frozen=True):
    """The handler and its numbers. The API fills in defaults; 0 where none was given means the default too."""

    exec: Json | None = None
    http_get: Json | None = None
    tcp_socket: Json | None = None
    grpc: Json | None = None
    initial_delay_seconds: int = 0
    timeout_seconds: int = 1
    period_seconds: int = 10
    success_threshold: int = 1
    failure_threshold: int = 3
    termination_grace_period_seconds: int | None = None


class Lifecycle(View, frozen=True):
    post_start: Json | None = None
    pre_stop: Json | None = None


class BoundContainer(View, frozen=True):
    name: str
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    working_dir: str = ""
    env: tuple[Json, ...] = ()
    env_from: tuple[Json, ...] = ()
    ports: tuple[Json, ...] = ()
    volume_mounts: tuple[Json, ...] = ()
    resources: Needs = Needs()
    restart_policy: str | None = None
    startup_probe: ProbeSpec | None = None
    readiness_probe: ProbeSpec | None = None
    liveness_probe: ProbeSpec | None = None
    lifecycle: Lifecycle = Lifecycle()
    security_context: SecurityContext = SecurityContext()

    @property
    def sidecar(self) -> bool:
        """Of an init container: it keeps running beside the others."""
        return self.restart_policy == "Always"


class BoundPodSpec(View, frozen=True):
    node_name: str = ""
    restart_policy: str = "Always"
    containers: tuple[BoundContainer, ...] = ()
    init_containers: tuple[BoundContainer, ...] = ()
    volumes: tuple[Json, ...] = ()
    readiness_gates: tuple[Json, ...] = ()
    termination_grace_period_seconds: int = 30
    active_deadline_seconds: int | None = None
    service_account_name: str = ""
    enable_service_links: bool = True
    host_network: bool = False
    host_users: bool | None = None
    security_context: SecurityContext = SecurityContext()


class BoundPod(View, frozen=True):
    """A pod as its node reads it. The status is JSON: it is compared with what this node would write."""

    metadata: Meta
    spec: BoundPodSpec = BoundPodSpec()
    status: Json = msgspec.field(default_factory=dict)

    @property
    def phase(self) -> str:
        return self.status.get("phase") or "Pending"

    @property
    def finished(self) -> bool:
        return self.phase in ("Succeeded", "Failed")

    @property
    def deleted(self) -> bool:
        return bool(self.metadata.deletion_timestamp)

    @property
    def all_containers(self) -> tuple[BoundContainer, ...]:
        return (*self.spec.init_containers, *self.spec.containers)

    def told_of(self, container: str) -> Json:
        """The status of a container as the API has it; {} if it has none."""
        for field in ("containerStatuses", "initContainerStatuses"):
            for each in self.status.get(field) or ():
                if each.get("name") == container:
                    found: Json = each
                    return found
        return {}


class OwnNodeSpec(View, frozen=True):
    pod_cidr: str = msgspec.field(default="", name="podCIDR")
    unschedulable: bool = False


class OwnNode(View, frozen=True):
    metadata: Meta
    spec: OwnNodeSpec = OwnNodeSpec()
    status: Json = msgspec.field(default_factory=dict)


BOUND_PODS = Resource("pods", "v1", "Pod", BoundPod)
OWN_NODE = Resource("nodes", "v1", "Node", OwnNode)
