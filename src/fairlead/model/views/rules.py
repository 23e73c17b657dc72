"""Views of what people lay down: quotas, reservations, policies, the plane's settings."""

from __future__ import annotations

from fairlead.model.views.common import Condition, Json, Meta, Resource, View


class PlaneSettingsStatus(View, frozen=True):
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()
    scheduling_policy: Json = {}  # the one in use; read by model/policy/in_use.py


class PlaneSettings(View, frozen=True):
    metadata: Meta
    spec: Json = {}  # read by model/policy/plane_knobs.py
    status: PlaneSettingsStatus = PlaneSettingsStatus()


class ResourceQuotaSpec(View, frozen=True):
    hard: dict[str, str] = {}
    scopes: tuple[str, ...] = ()
    scope_selector: Json = {}


class ResourceQuotaStatus(View, frozen=True):
    hard: dict[str, str] = {}
    used: dict[str, str] = {}


class ResourceQuota(View, frozen=True):
    metadata: Meta
    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()


class PlacementQuotaSpec(View, frozen=True):
    node_selector: Json = {}
    hard: dict[str, str] = {}
    cohort: str = ""
    borrowing_limit: dict[str, str] = {}
    lending_limit: dict[str, str] = {}


class PlacementQuotaStatus(View, frozen=True):
    used: dict[str, str] = {}
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()
    borrowed: dict[str, str] = {}


class PlacementQuota(View, frozen=True):
    metadata: Meta
    spec: PlacementQuotaSpec = PlacementQuotaSpec()
    status: PlacementQuotaStatus = PlacementQuotaStatus()


class ReservationOwner(View, frozen=True):
    api_version: str
    kind: str
    name: str
    uid: str


class ReservationSpec(View, frozen=True):
    owner: ReservationOwner
    intent: str
    node_name: str = ""
    node_selector: Json | None = None
    capacity_class: str = ""
    requests: dict[str, str] = {}
    expires_at: str = ""
    ttl_seconds: int | None = None
    allocate_once: bool = True


class ReservationStatus(View, frozen=True):
    phase: str = ""
    node_name: str = ""
    allocated_to: ReservationOwner | None = None
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()


class Reservation(View, frozen=True):
    metadata: Meta
    spec: ReservationSpec
    status: ReservationStatus = ReservationStatus()


class OverrideApproval(View, frozen=True):
    kind: str = ""
    name: str = ""
    uid: str = ""
    namespace: str = ""


class OverrideWeight(View, frozen=True):
    zone: str
    weight: int = 0


class OverrideChanges(View, frozen=True):
    pause_autoscaler: bool = False
    pause_expansion: bool = False
    pause_rollout: bool = False
    pause_repair: bool = False
    avoid_zones: tuple[str, ...] = ()
    avoid_pools: tuple[str, ...] = ()
    avoid_nodes: Json = {}
    allow_reserved_capacity_class: str = ""
    reserved_replicas: int = 1
    cordon: bool = False
    drain: bool = False
    approve_repair: OverrideApproval | None = None
    traffic_weights: tuple[OverrideWeight, ...] = ()
    priority_class_name: str = ""
    priority_replicas: int = 1
    preemption_policy: str = ""


class OverridePriority(View, frozen=True):
    value: int = 0
    preemption_policy: str = ""


class SchedulerOverrideSpec(View, frozen=True):
    target: str = ""
    reason: str = ""
    expires_after: str = ""
    expires_at: str = ""
    scope: str = ""
    owner: str = ""
    ticket: str = ""
    replaces: str = ""
    requested_by: str = ""
    approval: str = ""
    priority: OverridePriority | None = None
    changes: OverrideChanges = OverrideChanges()


class OverrideHeld(View, frozen=True):
    kind: str
    name: str
    uid: str
    replicas: int = 0
    namespace: str = ""


class OverrideRaised(View, frozen=True):
    namespace: str
    name: str
    uid: str


class SchedulerOverrideStatus(View, frozen=True):
    observed_generation: int = 0
    active: bool = False
    affected_controllers: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    undo_plan: tuple[str, ...] = ()
    held: tuple[OverrideHeld, ...] = ()
    residue: tuple[str, ...] = ()
    reserved: tuple[str, ...] = ()
    raised: tuple[OverrideRaised, ...] = ()


class SchedulerOverride(View, frozen=True):
    metadata: Meta
    spec: SchedulerOverrideSpec = SchedulerOverrideSpec()
    status: SchedulerOverrideStatus = SchedulerOverrideStatus()


class SchedulingPolicyStatus(View, frozen=True):
    observed_generation: int = 0
    active: bool = False
    observed_by: str = ""
    conditions: tuple[Condition, ...] = ()


class SchedulingPolicy(View, frozen=True):
    metadata: Meta
    spec: Json = {}  # read by schedule/policy.py
    status: SchedulingPolicyStatus = SchedulingPolicyStatus()


class EvidenceRelease(View, frozen=True):
    node: str
    uid: str
    lease: str
    at: str


class EvidenceZone(View, frozen=True):
    name: str
    state: str
    since: str = ""
    reason: str = ""
    message: str = ""
    silent: int = 0
    nodes: int = 0
    releases_in_window: int = 0
    released: tuple[EvidenceRelease, ...] = ()


class EvidenceRegion(View, frozen=True):
    name: str
    state: str
    since: str = ""
    reason: str = ""
    message: str = ""
    silent: int = 0
    nodes: int = 0


class EvidencePolicyStatus(View, frozen=True):
    observed_generation: int = 0
    state: str = ""
    silent: int = 0
    zones: tuple[EvidenceZone, ...] = ()
    regions: tuple[EvidenceRegion, ...] = ()


class EvidencePolicy(View, frozen=True):
    metadata: Meta
    spec: Json = {}  # read by ledger/evidence.py
    status: EvidencePolicyStatus = EvidencePolicyStatus()


class RecordingRule(View, frozen=True):
    """Empty: any."""

    level: str = "Full"
    controllers: tuple[str, ...] = ()
    failed: bool | None = None
    min_priority: int | None = None
    names: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    when: tuple[str, ...] = ()


class RecordingPolicySpec(View, frozen=True):
    bytes_max: int = 0  # 0: as much as is built in
    raise_minutes: int = 15
    rules: tuple[RecordingRule, ...] = ()
    settled_percent: int = 100


class RecordingPolicy(View, frozen=True):
    metadata: Meta
    spec: RecordingPolicySpec = RecordingPolicySpec()


RECORDING_POLICIES = Resource(
    "recordingpolicies.fairlead.dev", "fairlead.dev/v1", "RecordingPolicy", RecordingPolicy
)
PLANE_SETTINGS = Resource("planesettings.fairlead.dev", "fairlead.dev/v1", "PlaneSettings", PlaneSettings)
EVIDENCE_POLICIES = Resource(
    "evidencepolicies.fairlead.dev", "fairlead.dev/v1", "EvidencePolicy", EvidencePolicy
)
RESOURCE_QUOTAS = Resource("resourcequotas", "v1", "ResourceQuota", ResourceQuota)
PLACEMENT_QUOTAS = Resource(
    "placementquotas.fairlead.dev", "fairlead.dev/v1", "PlacementQuota", PlacementQuota
)
RESERVATIONS = Resource("reservations.fairlead.dev", "fairlead.dev/v1", "Reservation", Reservation)
OVERRIDES = Resource(
    "scheduleroverrides.fairlead.dev", "fairlead.dev/v1", "SchedulerOverride", SchedulerOverride
)
SCHEDULING_POLICIES = Resource(
    "schedulingpolicies.fairlead.dev", "fairlead.dev/v1", "SchedulingPolicy", SchedulingPolicy
)
