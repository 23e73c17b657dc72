"""Views of Services and EndpointSlices (see `model/views/`), and the names of the labels that join them.

Read by the controller of slices (`reconcile/services/endpoint_slices.py`), by the node that turns both into routes
(`agent/services.py`), and by the simulator's checkers. Endpoints stay plain JSON: they are compared and passed on.
"""

from __future__ import annotations

import msgspec

from fairlead.model.views import Json, Meta, Resource, View

SERVICE_NAME = "kubernetes.io/service-name"  # label of a slice: whose endpoints it holds
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"  # label of a slice: who keeps it
SLICE_CONTROLLER = "endpointslice-controller.k8s.io"
HEADLESS = "service.kubernetes.io/headless"  # label of a slice of a Service without an address of its own
NO_ADDRESS = "None"  # what such a Service has for clusterIP


class ServicePort(View, frozen=True):
    port: int
    name: str = ""
    protocol: str = "TCP"
    target_port: int | str = 0
    node_port: int = 0
    app_protocol: str = ""


class ServiceSpec(View, frozen=True):
    type: str = "ClusterIP"
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    selector: dict[str, str] = msgspec.field(default_factory=dict)
    ports: tuple[ServicePort, ...] = ()
    publish_not_ready_addresses: bool = False
    allocate_load_balancer_node_ports: bool | None = None


class Service(View, frozen=True):
    metadata: Meta
    spec: ServiceSpec = ServiceSpec()

    @property
    def address(self) -> str:
        """Where it is reached; "" for one without an address of its own."""
        spec = self.spec
        return "" if spec.type == "ExternalName" or spec.cluster_ip == NO_ADDRESS else spec.cluster_ip

    @property
    def headless(self) -> bool:
        return self.spec.type != "ExternalName" and self.spec.cluster_ip == NO_ADDRESS


class EndpointSlice(View, frozen=True):
    metadata: Meta
    address_type: str = ""
    endpoints: tuple[Json, ...] = ()
    ports: tuple[Json, ...] = ()


SERVICES = Resource("services", "v1", "Service", Service)
ENDPOINT_SLICES = Resource(
    "endpointslices.discovery.k8s.io", "discovery.k8s.io/v1", "EndpointSlice", EndpointSlice
)
