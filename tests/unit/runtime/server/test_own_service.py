"""The Service that leads to the server itself, over starts on different ports."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from fairlead.runtime.server import own_service
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


def test_where_low_ports_are_not_allowed_the_service_has_a_port_at_which_somebody_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_service, "may_listen_on", lambda port: False)
    with plane(controllers=False, data_dir=tmp_path) as p:
        (told,) = p.request("GET", SERVICE).body["spec"]["ports"]
        assert told["port"] == told["targetPort"] == int(p.url.rpartition(":")[2])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can ask as somebody else")
def test_whether_a_low_port_may_be_listened_on_is_asked_of_the_system() -> None:
    lowest = int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text())
    child = os.fork()
    if not child:
        os.setresuid(65534, 65534, 65534)
        os._exit(own_service.may_listen_on(443))
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == (lowest <= 443)


def test_a_port_that_somebody_has_may_be_listened_on() -> None:
    with socket.socket() as taken:
        taken.bind((own_service._NOBODYS, 0))
        taken.listen()
        assert own_service.may_listen_on(taken.getsockname()[1])
