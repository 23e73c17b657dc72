"""A plane for tests is a real one: it starts, keeps what it acknowledged, lets go of everything, and is not alone."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.core.errors import DataDirectoryBusy, OperatorError, UsageError
from fairlead.runtime.server.store_driver import StoreDriver
from fairlead.testing import Plane, plane
from tests.clients.converging import eventually
from tests.running import free_port, need_kubectl

MAPS = "/api/v1/namespaces/default/configmaps"


def settings(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def names(p: Plane, path: str = MAPS) -> list[str]:
    return [each["metadata"]["name"] for each in p.request("GET", path).body["items"]]


def open_files() -> set[str]:
    """What this process has open, but for what comes and goes with Python itself."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            found.add(os.readlink(f"/proc/self/fd/{number}"))
        except FileNotFoundError:
            continue
    return {name for name in found if "fairlead" in name or name.startswith("socket:")}


# Starting and ending


def test_nothing_is_left_when_it_ends() -> None:
    with plane():
        pass  # what is made once in a process is made now
    threads, files, handlers = set(threading.enumerate()), open_files(), signal.getsignal(signal.SIGTERM)
    with plane(users={"ci": "viewer"}, hollow_nodes=1) as p:
        directory = p.kubeconfig.parent
        p.create(settings("a"))
        assert set(threading.enumerate()) - threads
    assert set(threading.enumerate()) <= threads
    assert open_files() <= files  # others that tests before this one left may end meanwhile
    assert not directory.exists()
    assert signal.getsignal(signal.SIGTERM) is handlers
    with pytest.raises(OSError, match="refused"):
        p.request("GET", MAPS)


def test_what_fails_inside_is_raised_and_nothing_is_left() -> None:
    threads = set(threading.enumerate())
    directories: list[Path] = []

    def fail() -> None:
        with plane() as p:
            directories.append(p.kubeconfig.parent)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not directories[0].exists()
    assert set(threading.enumerate()) <= threads


def test_open_watches_and_pooled_connections_do_not_hold_up_the_end() -> None:
    with plane() as p:
        tls = ssl.create_default_context(cafile=p.ca)
        request = urllib.request.Request(
            f"{p.url}{MAPS}?watch=true", headers={"Authorization": f"Bearer {p.token}"}
        )
        stream = urllib.request.urlopen(request, context=tls)
        p.create(settings("a"))
        assert json.loads(stream.readline())["type"] == "ADDED"
    assert stream.read() == b""  # it was ended, not cut
    stream.close()


def test_several_at_once_know_nothing_of_each_other() -> None:
    def live(number: int) -> tuple[str, list[str]]:
        with plane(controllers=bool(number % 2)) as p:
            p.create(settings(f"only-{number}"))
            return p.url, names(p)

    with ThreadPoolExecutor(4) as pool:
        lives = list(pool.map(live, range(4)))
    assert [found for _, found in lives] == [[f"only-{number}"] for number in range(4)]


def test_the_first_of_a_process_may_be_several() -> None:
    """They import the server and make certificates at the same moment, and must agree on these."""
    script = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from fairlead.testing import plane\n"
        "def live(_):\n"
        "    with plane() as p:\n"
        "        return p.request('GET', '/readyz').status\n"
        "with ThreadPoolExecutor(4) as pool:\n"
        "    print(list(pool.map(live, range(4))))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=100)
    assert done.stdout == "[200, 200, 200, 200]\n", done.stderr


def test_a_port_that_is_taken_is_said_so() -> None:
    threads = set(threading.enumerate())
    with (
        plane() as p,
        pytest.raises(OperatorError, match="cannot listen"),
        plane(port=int(p.url.rpartition(":")[2])),
    ):
        pass
    assert set(threading.enumerate()) <= threads


def test_a_plane_whose_port_was_taken_while_it_was_down_says_so_and_ends() -> None:
    threads = set(threading.enumerate())
    thief = socket.socket()
    thief.setsockopt(
        socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
    )  # its last connections may not be forgotten yet

    def lose(p: Plane) -> None:
        stop = p._backend.stop

        def stop_and_lose_the_port() -> None:
            stop()
            thief.bind(("127.0.0.1", int(p.url.rpartition(":")[2])))
            thief.listen()

        p._backend.stop = stop_and_lose_the_port  # type: ignore[method-assign]
        p.restart()

    with thief, pytest.raises(OperatorError, match="cannot listen"), plane() as p:
        lose(p)
    assert set(threading.enumerate()) <= threads


def test_a_port_can_be_chosen() -> None:
    def chosen(port: int) -> bool:
        try:
            with plane(port=port) as p:
                assert p.url == f"https://127.0.0.1:{port}"
                assert p.url in p.kubeconfig.read_text()
        except OperatorError:
            return False  # somebody took it meanwhile
        return True

    assert any(chosen(free_port()) for _ in range(5))


# Ways in


def test_what_clients_need_names_the_same_plane() -> None:
    with plane() as p:
        config = p.client_config("shop")
        assert config["contexts"][0]["context"]["namespace"] == "shop"
        written = yaml.safe_load(p.kubeconfig.read_text())
        assert (
            written["clusters"][0]["cluster"]["server"] == config["clusters"][0]["cluster"]["server"] == p.url
        )
        assert written["users"][0]["user"] == config["users"][0]["user"] == {"token": p.token}
        assert p.ca.read_text().startswith("-----BEGIN CERTIFICATE-----")
        assert p.kubectl_env["KUBECONFIG"] == str(p.kubeconfig)
        done = subprocess.run(
            [need_kubectl(), "get", "namespaces", "-o", "name"],
            env=p.kubectl_env, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert "namespace/default" in done.stdout, done.stderr
        assert (p.kubeconfig.parent / "kubectl-cache").is_dir()


def test_users_have_the_roles_that_they_were_given() -> None:
    with plane(users={"ci": "viewer", "boss": "admin"}) as p:
        ci, boss = p.user("ci"), p.user("boss")
        assert ci.request("GET", MAPS).status == 200
        assert ci.request("POST", MAPS, settings("a")).status == 403
        assert boss.request("POST", MAPS, settings("a")).status == 201
        assert yaml.safe_load(ci.kubeconfig.read_text())["users"] == [
            {"name": "ci", "user": {"token": ci.token}}
        ]
        p.restart()
        assert ci.request("GET", MAPS).status == 200
        with pytest.raises(UsageError, match="no user 'cj'"):
            p.user("cj")


@pytest.mark.parametrize("users", [{"ci": "root"}, {"admin": "admin"}, {"no good": "viewer"}], ids=str)
def test_users_that_cannot_be_are_refused(users: dict[str, str]) -> None:
    with pytest.raises(UsageError), plane(users=users):
        pass


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"port": 99_999}, "no TCP port"),
        ({"port": -1}, "no TCP port"),
        ({"hollow_nodes": -1}, "number of nodes"),
        ({"hollow_nodes": "two"}, "number of nodes"),
    ],
)
def test_arguments_that_cannot_be_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says), plane(**options):
        pass


def test_what_keeps_it_from_starting_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = set(threading.enumerate())

    def fail(driver: StoreDriver) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(StoreDriver, "start", fail)
    with pytest.raises(ZeroDivisionError), plane():
        pass
    assert set(threading.enumerate()) <= threads


def test_namespaces_are_nobody_elses(fairlead_shared_plane: Plane) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: fairlead_shared_plane.namespace("own"), range(8)))
    assert len(set(made)) == 8


# What lasts


@pytest.fixture(params=["memory", "disk", "process"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Plane]:
    options: dict[str, dict[str, Any]] = {
        "memory": {},
        "disk": {"data_dir": tmp_path / "data"},
        "process": {"process": True},
    }
    with plane(**options[request.param]) as running:
        yield running


def test_what_was_acknowledged_outlives_restart_and_crash(kept: Plane) -> None:
    url, token = kept.url, kept.token
    [made] = kept.create(settings("a"))
    kept.restart()
    kept.create(settings("b"))
    kept.crash()
    assert (kept.url, kept.token) == (url, token)
    assert names(kept) == ["a", "b"]
    assert kept.request("GET", f"{MAPS}/a").body == made
    assert kept.request("DELETE", f"{MAPS}/a").status == 200
    assert names(kept) == ["b"]
    [again] = kept.create(settings("a"))
    assert int(again["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])


def test_writes_in_flight_are_there_whole_or_not_at_all_after_a_crash() -> None:
    """Writers go on through three crashes; whatever was acknowledged is found, and nothing that was never sent."""
    acknowledged: list[str] = []
    sent: list[str] = []
    stop = threading.Event()

    def write(p: Plane, worker: int) -> None:
        number = 0
        while not stop.is_set():
            name = f"w{worker}-{number}"
            number += 1
            sent.append(name)
            try:
                if p.request("POST", MAPS, settings(name)).status == 201:
                    acknowledged.append(name)
            except (OSError, http.client.HTTPException):
                time.sleep(0.005)

    with plane() as p, ThreadPoolExecutor(3) as pool:
        for worker in range(3):
            pool.submit(write, p, worker)
        try:
            for _ in range(3):
                wanted = len(acknowledged) + 20
                eventually(lambda: len(acknowledged) > wanted)  # noqa: B023 - asked before the next round
                p.crash()
        finally:
            stop.set()
        pool.shutdown()
        found = set(names(p))
    assert set(acknowledged) <= found <= set(sent)


def test_a_data_directory_is_what_fairlead_serve_would_find(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    with plane(data_dir=directory) as p:
        p.create(settings("a"))
        with pytest.raises(DataDirectoryBusy), plane(data_dir=directory):
            pass
    with plane(data_dir=directory, process=True) as p:
        assert names(p) == ["a"]
        p.create(settings("b"))
    with plane(data_dir=directory) as p:
        assert names(p) == ["a", "b"]


def test_history_expires_on_a_disk_as_well(tmp_path: Path) -> None:
    with plane(data_dir=tmp_path / "data") as p:
        old = p.request("GET", MAPS).body["metadata"]["resourceVersion"]
        p.create(settings("a"))
        path = f"{MAPS}?watch=true&timeoutSeconds=1&resourceVersion={old}"
        assert p.request("GET", path).status == 200
        p.expire_history()
        assert p.request("GET", path).status == 410
        p.crash()
        assert p.request("GET", path).status == 410  # what is forgotten is not there again


def test_what_reaches_into_the_server_is_refused_where_it_is_another_process() -> None:
    with plane(process=True, controllers=False) as p:
        for reach in (p.drop_watches, p.expire_history, lambda: p.unkind().__enter__()):
            with pytest.raises(UsageError, match="process=True"):
                reach()


# Controllers and nodes


def test_pods_run_on_hollow_nodes() -> None:
    pod = {"containers": [{"name": "web", "image": "web:1"}]}
    labels = {"app": "web"}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
    with plane(hollow_nodes=2) as p:
        p.create(deployment)
        path = "/apis/apps/v1/namespaces/default/deployments/web"
        eventually(lambda: p.request("GET", path).body["status"].get("readyReplicas") == 2)
    with plane(controllers=False) as p:
        p.create(deployment)
        assert names(p, "/apis/apps/v1/namespaces/default/replicasets") == []
        assert p.request("GET", path).body["status"] == {}
