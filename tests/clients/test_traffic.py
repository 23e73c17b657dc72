"""Services as people use them: kubectl makes them, pods come and go behind them, and bytes get through.

The nodes pretend; what a node would report of a pod (its address, whether it is ready) is reported here.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import msgspec

from fairlead.agent.contract import Route
from fairlead.agent.services import routes
from fairlead.model.marks import POD_NETWORK, SERVICE_NETWORK
from fairlead.model.service_views import EndpointSlice, Service
from fairlead.runtime.node.service_proxy import ServiceProxy
from tests.clients.converging import eventually, items, rolled_out
from tests.clients.kubectl import Operator, table
from tests.clients.manifests import node, pod, workload

ARGUMENTS = ("--hollow-nodes", "2")
Json = dict[str, Any]
WEB = {"app": "web"}


def report(team: Operator, name: str, address: str, ready: bool = True) -> None:
    """What the pod's node would say."""
    status: Json = {"podIP": address, "phase": "Running"}
    status["conditions"] = [{"type": "Ready", "status": "True" if ready else "False"}]
    team(f"patch pod {name} --subresource=status --type=merge -p '{json.dumps({'status': status})}'")


def started(team: Operator, name: str, address: str, ready: bool = True) -> None:
    """A pod on a node that nobody plays."""
    team("create -f -", pod(name, node="elsewhere", labels=WEB))
    report(team, name, address, ready)


def endpoints(team: Operator) -> dict[str, bool]:
    """address -> ready, of all slices."""
    found: dict[str, bool] = {}
    for each in items(team, "endpointslices"):
        for endpoint in each.get("endpoints", ()):
            found[endpoint["addresses"][0]] = endpoint["conditions"]["ready"]
    return found


def become(team: Operator, wanted: dict[str, bool]) -> None:
    eventually(lambda: endpoints(team) == wanted or None)


def test_slices_follow_the_pods_whichever_came_first(team: Operator) -> None:
    started(team, "early", "127.128.9.1")
    team("create service clusterip web --tcp=80:8080")
    become(team, {"127.128.9.1": True})
    started(team, "late", "127.128.9.2", ready=False)
    become(team, {"127.128.9.1": True, "127.128.9.2": False})
    report(team, "late", "127.128.9.2")
    become(team, {"127.128.9.1": True, "127.128.9.2": True})
    report(team, "early", "127.128.9.1", ready=False)
    become(team, {"127.128.9.1": False, "127.128.9.2": True})
    team.run("delete pod early --grace-period=0 --force --wait=false")  # warns that it is forced
    become(team, {"127.128.9.2": True})
    (row,) = table(team("get endpointslices"))
    assert row["NAME"].startswith("web-")
    assert (row["ADDRESSTYPE"], row["PORTS"], row["ENDPOINTS"]) == ("IPv4", "8080", "127.128.9.2")
    assert "127.128.9.2" in team("describe service web")
    team("delete service web")
    eventually(lambda: not items(team, "endpointslices"))


def test_an_exposed_deployment_is_followed_as_it_is_scaled(team: Operator) -> None:
    team("create -f -", workload("Deployment", "web", replicas=3))
    rolled_out(team, "deploy/web")
    team("expose deployment web --port=80 --target-port=8080")
    _addressed(team)
    eventually(lambda: len(endpoints(team)) == 3)
    team("scale deploy web --replicas=1")
    eventually(lambda: len(endpoints(team)) == 1)
    team("scale deploy web --replicas=4")
    rolled_out(team, "deploy/web")
    _addressed(team)
    eventually(lambda: sorted(endpoints(team).values()) == [True] * 4)


def _addressed(team: Operator) -> None:
    """Each live pod that has no address gets one."""
    pods = items(team, "pods")
    taken = {each["status"].get("podIP") for each in pods}
    free = (address for number in range(1, 200) if (address := f"127.128.7.{number}") not in taken)
    for each in pods:
        if "deletionTimestamp" not in each["metadata"] and not each["status"].get("podIP"):
            status = {"status": {"podIP": next(free)}}
            name = each["metadata"]["name"]
            team(f"patch pod {name} --subresource=status --type=merge -p '{json.dumps(status)}'")


def test_kinds_of_services_that_kubectl_makes(team: Operator) -> None:
    team("create service clusterip inside --tcp=80")
    team("create service clusterip headless --clusterip=None --tcp=80")
    team("create service nodeport outside --tcp=80")
    team("create service loadbalancer balanced --tcp=80")
    team("create service externalname elsewhere --external-name=a.example")
    rows = {row["NAME"]: row for row in table(team("get services"))}
    addresses = [rows[name]["CLUSTER-IP"] for name in ("inside", "outside", "balanced")]
    assert len(set(addresses)) == 3
    assert all(ip_address(each) in ip_network(SERVICE_NETWORK) for each in addresses)
    assert [rows[name]["CLUSTER-IP"] for name in ("headless", "elsewhere")] == ["None", "<none>"]
    for name in ("outside", "balanced"):
        port, _, number = rows[name]["PORT(S)"].removesuffix("/TCP").partition(":")
        assert (port, 30000 <= int(number) <= 32767) == ("80", True)


def test_a_headless_service_has_endpoints_and_no_address(team: Operator) -> None:
    started(team, "one", "127.128.9.11")
    team("expose pod one --name=web --port=80 --cluster-ip=None --selector=app=web")
    become(team, {"127.128.9.11": True})
    (only,) = items(team, "endpointslices -l service.kubernetes.io/headless")
    assert only["metadata"]["labels"]["kubernetes.io/service-name"] == "web"


def test_addresses_are_given_once_and_kept(team: Operator) -> None:
    team("create service clusterip a --tcp=80 --clusterip=127.96.0.40")
    said = team.refused("create service clusterip b --tcp=80 --clusterip=127.96.0.40")
    assert "spec.clusterIPs" in said
    assert "provided IP is already allocated: name another, or leave the field out" in said
    assert "not in the valid range" in team.refused(
        "create service clusterip b --tcp=80 --clusterip=10.0.0.1"
    )
    said = team.refused(
        'patch service a --type=merge -p \'{"spec":{"clusterIP":"127.96.0.41","clusterIPs":null}}\''
    )
    assert "may not change once set" in said
    # A manifest without the address, applied again and again, keeps it.
    manifest = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "c"},
        "spec": {"ports": [{"port": 80}]},
    }
    team("apply -f -", manifest)
    address = team.asked("get service c -o jsonpath={.spec.clusterIP}")
    manifest["spec"] = {"ports": [{"port": 81}]}
    team("apply -f -", manifest)
    assert team.asked("get service c -o jsonpath={.spec.clusterIP}") == address
    team("delete service a")
    team("create service clusterip b --tcp=80 --clusterip=127.96.0.40")


def test_a_node_that_runs_processes_gets_addresses_for_its_pods(kubectl: Operator) -> None:
    def made(name: str) -> str:
        body = node(name)
        body["metadata"]["labels"]["fairlead.dev/driver"] = "process"
        kubectl("create -f -", body)
        return str(eventually(lambda: kubectl.asked(f"get node {name} -o jsonpath={{.spec.podCIDR}}")))

    first, second = made("runs-1"), made("runs-2")
    assert first != second
    assert all(ip_network(each).subnet_of(ip_network(POD_NETWORK)) for each in (first, second))  # type: ignore[arg-type]
    said = kubectl.refused(
        'patch node runs-1 --type=merge -p \'{"spec":{"podCIDR":"10.0.0.0/24","podCIDRs":null}}\''
    )
    assert "may not change podCIDR" in said
    kubectl("delete node runs-1 runs-2")


@contextmanager
def serving(directory: Path, text: str, address: str, port: int) -> Iterator[None]:
    """A real server, as a pod's process would be."""
    directory.mkdir()
    (directory / "index.html").write_text(text)
    command = [
        sys.executable,
        "-m",
        "http.server",
        "--bind",
        address,
        "--directory",
        str(directory),
        str(port),
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: _fetch(f"http://{address}:{port}") == text)
        yield
    finally:
        process.kill()
        process.wait()


def _fetch(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return str(answer.read().decode())
    except OSError as error:
        return type(getattr(error, "reason", error)).__name__


def _routes(team: Operator) -> tuple[Route, ...]:
    """What a node would serve, from what it would read."""
    services = [msgspec.convert(each, Service) for each in items(team, "services")]
    slices = [msgspec.convert(each, EndpointSlice) for each in items(team, "endpointslices")]
    return routes(services, slices, 0.0)


def test_bytes_get_through_to_ready_pods_and_to_no_others(team: Operator, tmp_path: Path) -> None:
    a, b, port = "127.128.66.1", "127.128.66.2", 18431
    with serving(tmp_path / "a", "from a", a, port), serving(tmp_path / "b", "from b", b, port):
        started(team, "a", a)
        started(team, "b", b)
        team(f"create service clusterip web --tcp=18080:{port}")
        become(team, {a: True, b: True})
        url = f"http://{team('get service web -o jsonpath={.spec.clusterIP}')}:18080"
        asyncio.run(asyncio.wait_for(_browse(team, url, a, b), 120))


async def _browse(team: Operator, url: str, a: str, b: str) -> None:
    told: list[str] = []
    proxy = ServiceProxy(asyncio.get_running_loop(), told.append)

    async def apart(work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.to_thread(work, *arguments)

    try:
        proxy.serve(await apart(_routes, team))
        assert {await apart(_fetch, url) for _ in range(4)} == {"from a", "from b"}
        await apart(report, team, "a", a, False)
        await apart(become, team, {a: False, b: True})
        proxy.serve(await apart(_routes, team))
        assert {await apart(_fetch, url) for _ in range(4)} == {"from b"}
        await apart(report, team, "b", b, False)
        await apart(become, team, {a: False, b: False})
        proxy.serve(await apart(_routes, team))
        assert await apart(_fetch, url) == "ConnectionResetError"
        await apart(team, "delete service web")
        proxy.serve(await apart(_routes, team))
        assert await apart(_fetch, url) == "ConnectionRefusedError"
        assert told == []
    finally:
        proxy.close()
