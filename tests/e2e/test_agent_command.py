"""`fairlead agent` and `fairlead up --nodes` as somebody at a terminal meets them: what they say, import and show."""

from __future__ import annotations

import http.client
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import nursery
from tests.e2e.testimony import end_all, eventually
from tests.running import FAIRLEAD, Running, need_kubectl


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    server = Running(tmp_path / "data")
    yield server
    if server.process.poll() is None:
        server.stop()


class Agent:
    """`fairlead agent` in a process of its own, with what it says on standard error in a file."""

    def __init__(self, server: Running, folder: Path, name: str, token: str, *more: str) -> None:
        self._said = folder / f"{name}.err"
        tokens = folder / f"{name}.token"
        tokens.write_text(token)
        words: list[str | Path] = [
            FAIRLEAD,
            "agent",
            "--server",
            f"https://127.0.0.1:{server.port}",
            "--name",
            name,
        ]
        words += ["--token-file", tokens, "--ca-file", server.directory / "identity" / "ca.crt"]
        words += ["--data-dir", folder / name, "--renew-seconds", "1", "--lease-seconds", "10", *more]
        with open(self._said, "wb") as file:
            self.process = nursery.start(words, file)

    def said(self) -> str:
        return self._said.read_text()

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def node_token(server: Running, name: str) -> str:
    words: list[str | Path] = [
        nursery.command(),
        "token",
        "create",
        "--role",
        "node",
        "--name",
        name,
        "--data-dir",
        server.directory,
    ]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def ready(server: Running, node: str) -> bool:
    status, answer = server.request("GET", f"/api/v1/nodes/{node}")
    conditions = answer["status"].get("conditions", ()) if status == 200 else ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def test_a_node_joins_with_its_token_and_leaves_when_told(server: Running, tmp_path: Path) -> None:
    with Agent(
        server, tmp_path, "n1", node_token(server, "n1"), "--zone", "a", "--label", "disk=ssd"
    ) as agent:
        eventually(lambda: ready(server, "n1"))
        _, node = server.request("GET", "/api/v1/nodes/n1")
        labels = node["metadata"]["labels"]
        assert (labels["topology.kubernetes.io/zone"], labels["disk"]) == ("a", "ssd")
        agent.process.send_signal(signal.SIGTERM)
        assert agent.process.wait(90) == 0
        assert agent.said() == ""


def test_a_server_that_is_away_is_said_and_found_when_it_comes_back(server: Running, tmp_path: Path) -> None:
    with Agent(server, tmp_path, "n1", node_token(server, "n1")) as agent:
        eventually(lambda: ready(server, "n1"))
        server.stop()
        eventually(lambda: f"cannot reach 127.0.0.1:{server.port}" in agent.said())
        again = Running(server.directory, server.port)
        try:
            eventually(lambda: "answers again" in agent.said())
            assert "Traceback" not in agent.said()
            assert agent.process.poll() is None
        finally:
            again.stop()


def test_a_token_that_is_refused_is_said_and_a_new_one_taken(server: Running, tmp_path: Path) -> None:
    with Agent(server, tmp_path, "n1", "fairlead_wrong") as agent:
        eventually(lambda: "refuses the token (401)" in agent.said())
        (tmp_path / "n1.token").write_text(node_token(server, "n1"))
        eventually(lambda: ready(server, "n1"))


def test_a_token_of_another_node_is_said(server: Running, tmp_path: Path) -> None:
    with Agent(server, tmp_path, "n1", node_token(server, "n2")) as agent:
        eventually(lambda: "node n1 may not renew its lease" in agent.said())
        assert "give it a token for its own name" in agent.said()


def test_a_name_that_is_taken_on_this_machine_is_refused(server: Running, tmp_path: Path) -> None:
    token = node_token(server, "n1")
    with Agent(server, tmp_path, "n1", token) as first:
        eventually(lambda: ready(server, "n1"))
        (tmp_path / "second").mkdir()
        with Agent(server, tmp_path / "second", "n1", token, "--data-dir", str(tmp_path / "n1")) as second:
            assert second.process.wait(90) == 4
            assert (
                f"an agent of node n1 runs already on {tmp_path / 'n1'} (process {first.process.pid})"
                in second.said()
            )


def test_an_agent_whose_directory_is_removed_leaves_to_a_second_one(server: Running, tmp_path: Path) -> None:
    token = node_token(server, "n1")
    with Agent(server, tmp_path, "n1", token) as agent:
        eventually(lambda: ready(server, "n1"))
        log = (tmp_path / "n1" / "fairlead.log").read_text()
        assert re.search("works for .*, limits by (cgroup|rlimits)", log)
        # Away in one step: removed file by file, the agent would write between them.
        (tmp_path / "n1").rename(tmp_path / "away")
        shutil.rmtree(tmp_path / "away", ignore_errors=True)
        assert agent.process.wait(120) == 4
        assert f"its directory {tmp_path / 'n1'} was removed or replaced while it ran" in agent.said()
    with Agent(server, tmp_path, "n1", token):
        eventually(lambda: (tmp_path / "n1" / "agent.lock").exists() and ready(server, "n1"))


def test_a_full_disk_is_said_and_keeps_new_pods_away_until_there_is_room(
    server: Running, tmp_path: Path
) -> None:
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m,mode=755", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may mount a small file system")

    def told() -> tuple[str, list[str]]:
        _, node = server.request("GET", "/api/v1/nodes/n1")
        (disk,) = (each for each in node["status"]["conditions"] if each["type"] == "DiskPressure")
        return disk["status"], [each["key"] for each in node["spec"].get("taints", ())]

    try:
        with Agent(server, place, "n1", node_token(server, "n1")):
            eventually(lambda: ready(server, "n1") and told() == ("False", []))
            with pytest.raises(OSError, match="No space"):
                (place / "big").write_bytes(bytes(8 << 20))
            eventually(lambda: told() == ("True", ["node.kubernetes.io/disk-pressure"]))
            (place / "big").unlink()
            eventually(lambda: told() == ("False", []))
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_name_that_is_taken_elsewhere_is_waited_for(server: Running, tmp_path: Path) -> None:
    """Another directory stands for another machine. The second does nothing while the first renews, then takes over."""
    token = node_token(server, "n1")
    (tmp_path / "second").mkdir()
    with Agent(server, tmp_path, "n1", token) as first:
        eventually(lambda: ready(server, "n1"))
        _, before = server.request("GET", "/api/v1/nodes/n1")
        with Agent(server, tmp_path / "second", "n1", token) as second:
            eventually(lambda: "node n1 is run by another agent" in second.said())
            assert ready(server, "n1")
            _, after = server.request("GET", "/api/v1/nodes/n1")
            assert after["metadata"]["annotations"] == before["metadata"]["annotations"]
            first.process.kill()
            first.process.wait()
            endpoint = "fairlead.dev/endpoint"
            was = before["metadata"]["annotations"][endpoint]
            eventually(
                lambda: (
                    server.request("GET", "/api/v1/nodes/n1")[1]["metadata"]["annotations"][endpoint] != was
                )
            )
            eventually(lambda: ready(server, "n1"))


def test_an_agent_without_a_server_leaves_when_it_was_told_how_long_to_wait(
    server: Running, tmp_path: Path
) -> None:
    with Agent(server, tmp_path, "n1", node_token(server, "n1"), "--leave-after", "2s") as agent:
        eventually(lambda: ready(server, "n1"))
        server.stop()
        assert agent.process.wait(120) == 0
        assert "node n1 leaves" in agent.said()


def test_an_agent_needs_no_scheduler_and_no_server() -> None:
    script = "import fairlead.cli.agent, fairlead.runtime.node.process, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    heavy = {
        "numpy",
        "apsw",
        "cryptography",
        "yaml",
        "uvloop",
        "fairlead.api.server",
        "fairlead.schedule",
        "fairlead.control",
    }
    assert loaded & heavy == set()


def test_the_first_run_shows_its_progress_and_what_to_try(tmp_path: Path) -> None:
    """On a terminal. What it says to try is tried."""
    data = tmp_path / "data"
    master, slave = pty.openpty()
    words: list[str | Path] = [
        FAIRLEAD,
        "up",
        "--nodes",
        "2",
        "--zones",
        "a,b",
        "--data-dir",
        data,
        "--port",
        "0",
    ]
    process = subprocess.Popen(words, stdout=slave, stderr=slave, stdin=subprocess.DEVNULL)
    os.close(slave)
    try:
        text = _read_until(master, "hello runs")
        assert re.search(r"hello: [█▓▒░]{3} \d placed, \d running, \d ready of 3", text)
        assert re.search(r"hello runs: first pod after [\d.]+ s, all 3 ready after [\d.]+ s\.", text)
        lines = [line.strip() for line in text.splitlines()]
        start = next(index for index, line in enumerate(lines) if line.startswith("export KUBECONFIG="))
        *commands, last = lines[start : lines.index("", start)]
        assert last == "fairlead progress deployment/hello"  # says with its exit code whether all is done yet
        script = "\n".join(["set -e", *commands, f"{last} || true"])
        environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
        eventually(lambda: _answers(data / "kubeconfig"))  # ready pods are a Service's a moment later
        done = subprocess.run(
            ["bash", "-c", script], capture_output=True, text=True, env=environment, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "hello from hello-" in done.stdout
        assert "deployment/hello   " in done.stdout
        process.send_signal(signal.SIGINT)
        assert process.wait(90) == 0
    finally:
        process.kill()
        process.wait()
        os.close(master)
        end_all(data)


def _answers(kubeconfig: Path) -> bool:
    """Whether somebody serves behind the sample's Service."""
    words = [need_kubectl(), "get", "service", "hello", "-o", "jsonpath={.spec.clusterIP}"]
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": str(kubeconfig.parent.parent)}
    address = subprocess.run(words, check=True, capture_output=True, text=True, env=environment).stdout
    try:
        with urllib.request.urlopen(f"http://{address}:8080/", timeout=10) as answer:
            return bool(answer.read())
    except (OSError, http.client.HTTPException):
        return False


def _read_until(terminal: int, words: str) -> str:
    text = b""
    deadline = time.monotonic() + 90
    while words.encode() not in text or not text.endswith(b"\n"):
        assert time.monotonic() < deadline, text.decode(errors="replace")
        if select.select([terminal], [], [], 1.0)[0]:
            text += os.read(terminal, 65536)
    return text.decode(errors="replace").replace("\r\n", "\n")
