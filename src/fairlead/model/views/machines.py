"""Views of pods, nodes, namespaces and leases: what runs, where, and who says so."""

from __future__ import annotations

from typing import Any

import msgspec

from fairlead.model.marks import RELEASED
from fairlead.model.views.common import Condition, Json, Meta, Resource, View


class NamespaceSpec(View, frozen=True):
    finalizers: tuple[str, ...] = ()


class NamespaceStatus(View, frozen=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()


class Namespace(View, frozen=True):
    metadata: Meta
    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus = NamespaceStatus()


class Needs(View, frozen=True):
    """What a container asks for, and may use at most, as quantities."""

    requests: dict[str, str | int | float] = {}
    limits: dict[str, str | int | float] = {}


class SecurityContext(View, frozen=True):
    """Of a pod or a container; some fields are of one of them only."""

    run_as_user: int | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    allow_privilege_escalation: bool | None = None
    capabilities: Json | None = None
    privileged: bool | None = None
    read_only_root_filesystem: bool | None = None
    seccomp_profile: Json | None = None
    app_armor_profile: Json | None = None
    se_linux_options: Json | None = None
    fs_group: int | None = None
    supplemental_groups: tuple[int, ...] = ()
    sysctls: tuple[Json, ...] = ()


class Container(View, frozen=True):
    name: str
    image: str = ""
    restart_policy: str = ""
    resources: Needs = Needs()
    ports: tuple[Json, ...] = ()
    security_context: SecurityContext | None = None
    volume_mounts: tuple[Json, ...] = ()


class Toleration(View, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class PodSpec(View, frozen=True):
    node_name: str = ""
    restart_policy: str = "Always"
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    scheduler_name: str = "default-scheduler"
    scheduling_gates: tuple[Json, ...] = ()
    affinity: Json = {}
    topology_spread_constraints: tuple[Json, ...] = ()
    overhead: dict[str, str | int | float] = {}
    priority: int = 0
    priority_class_name: str = ""
    preemption_policy: str = "PreemptLowerPriority"
    termination_grace_period_seconds: int = 30
    active_deadline_seconds: int | None = None
    resources: Needs = Needs()  # of the pod as a whole
    security_context: SecurityContext | None = None
    volumes: tuple[Json, ...] = ()


class PodStatus(View, frozen=True):
    phase: str = "Pending"
    reason: str = ""
    conditions: tuple[Condition, ...] = ()
    start_time: str = ""
    nominated_node_name: str = ""
    container_statuses: tuple[Json, ...] = ()
    init_container_statuses: tuple[Json, ...] = ()
    pod_ip: str = msgspec.field(default="", name="podIP")


class Pod(View, frozen=True):
    metadata: Meta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def ready(self) -> bool:
        for condition in self.status.conditions:
            if condition.type == "Ready":
                return condition.status == "True"
        return False

    @property
    def ready_since(self) -> str:
        """When it became ready; "" if it is not."""
        for condition in self.status.conditions:
            if condition.type == "Ready" and condition.status == "True":
                return condition.last_transition_time
        return ""

    @property
    def finished(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def released(self) -> bool:
        """It no longer counts for its owner: its node was silent for too long (`reconcile/nodes/release.py`)."""
        for condition in self.status.conditions:
            if condition.type == RELEASED:
                return condition.status == "True"
        return False

    @property
    def live(self) -> bool:
        """Neither ended, nor on its way out, nor released."""
        status = self.status
        if status.phase in ("Succeeded", "Failed") or self.metadata.deletion_timestamp:
            return False
        for condition in status.conditions:
            if condition.type == RELEASED:
                return condition.status != "True"
        return True


class NodeSpec(View, frozen=True):
    unschedulable: bool = False
    taints: tuple[Json, ...] = ()
    pod_cidr: str = msgspec.field(default="", name="podCIDR")


class NodeStatus(View, frozen=True):
    allocatable: dict[str, Any] = {}
    conditions: tuple[Condition, ...] = ()


class Node(View, frozen=True):
    metadata: Meta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def ready(self) -> bool:
        return any(c.type == "Ready" and c.status == "True" for c in self.status.conditions)


class LeaseSpec(View, frozen=True):
    holder_identity: str = ""
    lease_duration_seconds: int = 0
    renew_time: str = ""
    lease_transitions: int = 0


class Lease(View, frozen=True):
    metadata: Meta
    spec: LeaseSpec = LeaseSpec()


NAMESPACES = Resource("namespaces", "v1", "Namespace", Namespace)
PODS = Resource("pods", "v1", "Pod", Pod)
NODES = Resource("nodes", "v1", "Node", Node)
LEASES = Resource("leases.coordination.k8s.io", "coordination.k8s.io/v1", "Lease", Lease)
