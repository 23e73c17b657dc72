"""The Service that leads to the server itself, over starts on different ports."""

from __future__ import annotations

from pathlib import Path

from fairlead.testing import plane

SERVICE = "/api/v1/namespaces/default/services/kubernetes"
SLICE = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"


def test_service_and_slice_name_the_port_of_the_present_start_and_the_address_stays(tmp_path: Path) -> None:
    addresses, led = set(), []
    for _ in range(2):
        with plane(controllers=False, data_dir=tmp_path) as p:
            service, found = p.request("GET", SERVICE).body, p.request("GET", SLICE).body
            addresses.add(service["spec"]["clusterIP"])
            port = int(p.url.rpartition(":")[2])
            led.append((service["spec"]["ports"][0]["targetPort"] == port, found["ports"][0]["port"] == port))
    assert led == [(True, True), (True, True)]
    assert len(addresses) == 1
