"""Pods that behave badly, on a running plane and with kubectl: the node stays whole, nothing is left over or runs twice,
and status tells the truth.

What ran is judged by the locks that processes hold (`witness.py`, `pod_witness.py`) and by the mark that every process
of a pod has in its environment, never by status; then status must agree.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from fairlead.agent.drivers import limits, procfs
from fairlead.agent.drivers.log_files import FILE_BYTES_MAX, FILES_MAX
from tests.clients.converging import items, rolled_out
from tests.clients.kubectl import Operator
from tests.e2e.machine import WITNESS, lines, nobody_left
from tests.e2e.testimony import Testimony, agent_pid, deployment, end_all, eventually, template
from tests.running import Running, need_kubectl

NODES = ("local-1", "local-2")
# A busy machine must not look like a lost lease.
ARGUMENTS = (
    "--nodes",
    "2",
    "--zones",
    "a,b",
    "--no-sample",
    "--lease-seconds",
    "120",
    "--renew-seconds",
    "2",
)
GRACE = 3
Json = dict[str, Any]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    need_kubectl()
    server = Running(tmp_path_factory.mktemp("plane") / "data", arguments=ARGUMENTS)
    try:
        kubectl = Operator(server.kubeconfig)
        eventually(lambda: len(items(kubectl, "nodes")) == len(NODES))
        kubectl(f"wait --for=condition=Ready node {' '.join(NODES)} --timeout=90s")
        yield server
        assert server.stop() == 0
    finally:
        end_all(server.directory)


@pytest.fixture
def team(server: Running, request: pytest.FixtureRequest) -> Iterator[Operator]:
    """A namespace of the test's own, which ends with it: then nothing of its pods may run."""
    kubectl = Operator(server.kubeconfig)
    words = "".join(each if each.isalnum() else "-" for each in request.node.name.lower())[5:45].strip("-")
    namespace = f"t-{words}-{crc32(request.node.name.encode()):08x}"  # what differs may be cut off
    kubectl(f"create namespace {namespace}")
    yield kubectl.inside(namespace)
    before = marks(server)
    kubectl(f"delete namespace {namespace} --timeout=90s")
    eventually(lambda: not (set(procfs.find_tagged()) & before), 60)
    eventually(lambda: not marks(server))


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Testimony]:
    told = Testimony(tmp_path / "told")
    yield told
    told.never_twice()


def marks(server: Running) -> set[str]:
    """Uids of pods that have a directory on a node."""
    nodes = server.directory / "nodes"
    return {each.name for node in NODES for each in (nodes / node / "pods").iterdir()}


def pod(name: str, *command: str, node: str = "", **spec: Any) -> Json:
    container = {"name": "c", "image": "process", "command": list(command), **spec.pop("container", {})}
    chosen = {"nodeName": node} if node else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": GRACE, **chosen, **spec},
    }


def make(team: Operator, *objects: Json) -> None:
    done = team.run("create -f -", list(objects))
    assert done.code == 0, done.err


def container_status(team: Operator, name: str) -> Json:
    statuses = json.loads(team(f"get pod {name} -o json"))["status"].get("containerStatuses")
    return dict(statuses[0]) if statuses else {}


def ended(team: Operator, name: str, restarts: int = 0) -> Json:
    """How the newest run that ended did, once so many were started again."""
    status = container_status(team, name)
    if status.get("restartCount", 0) < restarts:
        return {}
    for state in (status.get("state"), status.get("lastState")):
        if state and "terminated" in state:
            return dict(state["terminated"])
    return {}


def processes_of(uid: str) -> set[int]:
    """Of its containers; its supervisor is not one."""
    found = procfs.find_tagged().get(uid, set())
    return {pid for pid in found if procfs.environment_value(pid, procfs.CONTAINER_TAG)}


def kill(pids: set[int]) -> None:
    assert pids
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # a `sleep` of its script may have ended just now
            os.kill(pid, signal.SIGKILL)


def uid_of(team: Operator, name: str) -> str:
    return str(json.loads(team(f"get pod {name} -o json"))["metadata"]["uid"])


def delete(team: Operator, name: str) -> None:
    """Once kubectl says that a pod is gone, it is."""
    uid = uid_of(team, name)
    team(f"delete pod {name} --timeout=90s")
    assert not processes_of(uid), "kubectl said that it is gone, and processes of it run"
    eventually(lambda: uid not in procfs.find_tagged())  # nor its supervisor


HUNGRY = "x = []\nwhile True: x.append(bytearray(b'x') * (8 << 20))"
ENDS = [
    ("absent", ("/no/such/program",), {}, "StartError", 128, "no such file"),
    ("notfound", ("no-such-program",), {}, "StartError", 128, "not found in $PATH"),
    ("notexecutable", ("/etc/passwd",), {}, "StartError", 126, "permission denied"),
    ("nowhere", ("true",), {"workingDir": "/no/such/place"}, "StartError", 128, "workingDir"),
    ("seven", ("sh", "-c", "exit 7"), {}, "Error", 7, ""),
    ("killed", ("sh", "-c", "kill -9 $$$$"), {}, "Error", 137, ""),
    ("segfault", ("sh", "-c", "kill -SEGV $$$$"), {}, "Error", 139, ""),
    ("done", ("true",), {}, "Completed", 0, ""),
    ("orphaned", ("sh", "-c", "kill -9 $PPID; sleep 600"), {}, "SupervisorLost", 137, "supervisor ended"),
    (
        "hungry",
        (sys.executable, "-I", "-S", "-c", HUNGRY),
        {"resources": {"limits": {"memory": "64Mi"}}},
        "OOMKilled",
        137,
        "more memory than its limit",
    ),
]


@pytest.mark.parametrize("policy", ["Never", pytest.param("Always", marks=pytest.mark.soak)])
def test_how_a_run_ended_is_told(team: Operator, policy: str) -> None:
    rows = [row for row in ENDS if row[0] != "hungry" or limits.find() is not None]
    make(team, *(pod(row[0], *row[1], restartPolicy=policy, container=row[2]) for row in rows))
    for name, _, _, reason, code, words in rows:
        restarts = 1 if policy == "Always" else 0
        found = eventually(lambda name=name, restarts=restarts: ended(team, name, restarts))  # type: ignore[misc]
        assert (found["reason"], found["exitCode"]) == (reason, code), name
        assert words in found.get("message", ""), name
        described = team(f"describe pod {name}")
        assert f"Reason:       {reason}" in described
        assert f"Exit Code:    {code}" in described
        if policy == "Never":
            wanted = "Succeeded" if code == 0 else "Failed"
            eventually(lambda name=name, wanted=wanted: phase(team, name) == wanted)  # type: ignore[misc]
            assert container_status(team, name)["restartCount"] == 0
        else:
            eventually(
                lambda name=name: (
                    container_status(team, name)["state"].get("waiting", {}).get("reason")  # type: ignore[misc]
                    == "CrashLoopBackOff"
                )
            )
            # Again and again, not at once: it is tried every now and then.
            eventually(lambda name=name: "CrashLoopBackOff" in team(f"get pod {name}"))  # type: ignore[misc]
            assert "Back-off restarting failed container" in team(f"describe pod {name}")


def phase(team: Operator, name: str) -> str:
    return team(f"get pod {name} -o jsonpath={{.status.phase}}")


def test_children_that_ignore_sigterm_end_with_their_pod(team: Operator, tmp_path: Path) -> None:
    file = tmp_path / "witness"
    make(
        team, pod("stubborn", sys.executable, "-I", "-S", str(WITNESS), str(file), "children", "ignore-term")
    )
    eventually(lambda: sorted(lines(file)) == ["start child", "start daemon", "start main"])
    delete(team, "stubborn")
    assert nobody_left(file)
    assert "stop" not in " ".join(lines(file)), "SIGTERM was not enough, which is what this is about"


def test_output_without_a_line_and_without_end_is_bounded_and_can_be_read(
    team: Operator, server: Running, tmp_path: Path
) -> None:
    file = tmp_path / "witness"
    make(
        team,
        pod("chatty", sys.executable, "-I", "-S", str(WITNESS), str(file), "print", node="local-1"),
        pod("quiet", "sh", "-c", "echo here; sleep 600", node="local-1"),
    )
    logs = server.directory / "nodes/local-1/pods" / uid_of(team, "chatty") / "logs/c"
    oldest = logs / f"0.log.{FILES_MAX - 1}"
    first = eventually(lambda: inode(oldest))
    eventually(lambda: inode(oldest) not in (0, first))  # one was dropped already
    files = [size for each in logs.iterdir() if (size := size_of(each)) is not None]
    assert len(files) <= FILES_MAX
    assert max(files) <= FILE_BYTES_MAX
    assert team("logs chatty --limit-bytes=1000") == "x" * 1000
    eventually(lambda: team("logs quiet") == "here\n")
    delete(team, "chatty")
    assert nobody_left(file)
    eventually(lambda: not logs.exists())


def size_of(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None  # between two names


def inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


def test_a_disk_for_logs_that_is_full_costs_output_and_nothing_else(
    team: Operator, server: Running, tmp_path: Path
) -> None:
    file, wanted = tmp_path / "witness", tmp_path / "go"
    script = (
        f"echo start main $$$$ >> {file}; echo before; while ! test -e {wanted}; do sleep 0.05; done;"
        f"head -c 3000000 /dev/zero | tr '\\0' x; echo; echo done main $$$$ >> {file}; sleep 600"
    )
    make(team, pod("wordy", "sh", "-c", script, node="local-1"))
    logs = server.directory / "nodes/local-1/pods" / uid_of(team, "wordy") / "logs"
    eventually(lambda: lines(file) == ["start main"] and team("logs wordy") == "before\n")
    # A disk of its own from its second run on, which is where this one will open its file.
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(logs)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may mount a small file system")
    try:
        kill(processes_of(uid_of(team, "wordy")))
        eventually(lambda: lines(file) == ["start main"] * 2)
        wanted.touch()
        eventually(lambda: lines(file) == ["start main"] * 2 + ["done main"])
        status = container_status(team, "wordy")
        assert ("running" in status["state"], status["restartCount"]) == (True, 1)
        assert team("logs wordy --limit-bytes=7") == "before\n"
        assert sum(each.stat().st_size for each in logs.rglob("*") if each.is_file()) <= 1 << 20
    finally:
        subprocess.run(["umount", "--lazy", str(logs)], check=True)
    delete(team, "wordy")


SCRIBBLES = {
    "almost": "echo '{\"format\":1}' > state.json",
    "nonsense": "head -c 100000 /dev/urandom > state.json",
    "huge": """echo '{"format":1,"pid":-1,"boot":"","offset":1e300,"deadline":0,"fenced":0,"containers":[]}' > state.json""",
    "pipe": "rm -f state.json; mkfifo state.json",
    "endless": "rm -f state.json; ln -s /dev/zero state.json",
}


@pytest.mark.parametrize("restarted", [pytest.param(False, marks=pytest.mark.soak), True])
def test_a_pod_whose_directory_is_scribbled_in_and_that_kills_its_supervisor_harms_only_itself(
    team: Operator, server: Running, told: Testimony, restarted: bool
) -> None:
    """A pod that runs as the agent's user could, where it has no files of its own. `restarted`: the agent is away."""
    make(team, {**pod("neighbour"), "spec": {**template(told.directory, {})["spec"], "nodeName": "local-1"}})
    go = told.directory.parent / "go"
    wait = f"while ! test -e {go}; do sleep 0.05; done;"
    for name in SCRIBBLES:
        make(team, pod(name, "sh", "-c", f"{wait} kill -9 $PPID; sleep 600", node="local-1"))
    eventually(lambda: all(phase(team, name) == "Running" for name in SCRIBBLES))
    eventually(lambda: told.running() == ["neighbour"])
    agent = agent_pid(server.directory, "local-1")
    uids = {uid_of(team, name) for name in SCRIBBLES}
    if restarted:
        os.kill(agent, signal.SIGSTOP)
    for name, script in SCRIBBLES.items():
        home = server.directory / "nodes/local-1/pods" / uid_of(team, name)
        subprocess.run(["sh", "-c", script], cwd=home, check=True)
    go.touch()
    if restarted:
        eventually(lambda: not any(procfs.find_tagged().get(uid, set()) - processes_of(uid) for uid in uids))
        os.kill(agent, signal.SIGKILL)
        eventually(lambda: agent_pid(server.directory, "local-1") not in (0, agent))
    for name in SCRIBBLES:
        found = eventually(lambda name=name: ended(team, name, 1))  # type: ignore[misc]
        assert found["exitCode"] == 137, name
    assert told.starts("neighbour") == [told.starts("neighbour")[0]]
    team("wait --for=condition=Ready node/local-1 --timeout=90s")
    for name in SCRIBBLES:
        delete(team, name)


HOMELESS = {"homeless": "", "nameless": "pod.json"}  # pod: what of its directory is removed


@pytest.mark.parametrize("restarted", [pytest.param(False, marks=pytest.mark.soak), True])
def test_a_pod_whose_directory_is_removed_under_it_still_ends_and_never_runs_twice(
    team: Operator, server: Running, told: Testimony, restarted: bool
) -> None:
    for name in HOMELESS:
        make(team, {**pod(name), "spec": {**template(told.directory, {})["spec"], "nodeName": "local-2"}})
    eventually(lambda: told.running() == sorted(HOMELESS))
    pods = server.directory / "nodes/local-2/pods"
    lost = [str(pods / uid_of(team, name) / removed) for name, removed in HOMELESS.items()]
    subprocess.run(["rm", "-rf", *lost], check=True)
    if restarted:
        agent = agent_pid(server.directory, "local-2")
        os.kill(agent, signal.SIGKILL)
    else:
        for name in HOMELESS:  # each has to be started again, which needs a directory
            os.kill(told.starts(name)[0], signal.SIGKILL)
    for name in HOMELESS:
        eventually(lambda name=name: len(told.starts(name)) == 2 and told.runs(name))  # type: ignore[misc]
    if not restarted:
        assert {name: ended(team, name, 1)["exitCode"] for name in HOMELESS} == dict.fromkeys(HOMELESS, 137)
        subprocess.run(["rm", "-rf", *lost], check=True)
    for name in HOMELESS:
        delete(team, name)
    assert told.running() == []


def test_a_node_whose_directory_is_removed_is_made_anew_and_runs_nothing_twice(
    team: Operator, server: Running, told: Testimony
) -> None:
    make(team, {**pod("homeless"), "spec": {**template(told.directory, {})["spec"], "nodeName": "local-2"}})
    eventually(lambda: told.running() == ["homeless"])
    agent = agent_pid(server.directory, "local-2")
    subprocess.run(["rm", "-rf", str(server.directory / "nodes/local-2")], check=True)
    make(team, pod("late", "sleep", "600", node="local-2"))
    eventually(lambda: "No such file or directory" in team("describe pod late"))
    assert told.runs("homeless")
    os.kill(agent, signal.SIGKILL)
    eventually(lambda: len(told.starts("homeless")) == 2 and told.runs("homeless"))
    eventually(lambda: phase(team, "late") == "Running")
    delete(team, "homeless")


def test_environment_of_any_shape_arrives(team: Operator) -> None:
    odd, big = "a\nb\n\n c\t\"'$(NOT) $$HOME é\U0001f600=\\", "x" * 100 * 1024
    script = 'import os; print(ascii((os.environ["ODD"], len(os.environ["BIG"]))))'
    env = [{"name": "ODD", "value": odd}, {"name": "BIG", "value": big}]
    command = (sys.executable, "-I", "-S", "-c", script)
    make(team, pod("shapes", *command, restartPolicy="Never", container={"env": env}))
    eventually(lambda: phase(team, "shapes") == "Succeeded")
    assert team("logs shapes") == ascii((odd.replace("$$", "$"), len(big))) + "\n"
    too_big = [{"name": f"V{number}", "value": "x" * 120 * 1024} for number in range(10)]
    make(
        team,
        pod(
            "toobig",
            "true",
            restartPolicy="Never",
            container={"env": [*too_big, {"name": "W", "value": "x" * 140_000}]},
        ),
    )
    found = eventually(lambda: ended(team, "toobig"))
    assert (found["reason"], "too long together" in found["message"]) == ("StartError", True)


@pytest.mark.soak
def test_a_dozen_pods_at_once_and_one_of_twenty_containers_and_all_end_with_their_namespace(
    team: Operator, told: Testimony
) -> None:
    many = [pod(f"p{number}") for number in range(12)]
    for each in many:
        each["spec"] = {**template(told.directory, {})["spec"], "nodeName": "local-1"}
    wide = pod("wide", node="local-1")
    wide["spec"]["containers"] = [
        {
            **template(told.directory, {}, name=f"wide-{number}")["spec"]["containers"][0],
            "name": f"c{number}",
        }
        for number in range(20)
    ]
    make(team, *many, wide)
    eventually(lambda: len(told.running()) == 32, 120)
    team("wait --for=condition=Ready pods --all --timeout=90s")
    assert "20/20" in team("get pod wide")
    kubectl = Operator(team.kubeconfig)
    kubectl(f"delete namespace {team.namespace} --timeout=90s")
    assert told.running() == []
    assert all([word for word, _ in told.lines(name)] == ["start", "stop"] for name in told.names)
    kubectl(f"create namespace {team.namespace}")


def test_a_name_used_again_and_again_never_runs_twice(team: Operator, told: Testimony) -> None:
    again = {**pod("again"), "spec": template(told.directory, {})["spec"]}
    for number in range(6):
        make(team, again)
        if number % 2:
            eventually(lambda: told.runs("again"))
        team(f"delete pod again --grace-period={1 + number % 3}")
        assert not told.runs("again")
    make(team, again)
    eventually(lambda: told.runs("again"))


@pytest.mark.soak
def test_agents_that_are_killed_during_a_rollout_finish_it_and_start_nothing_twice(
    team: Operator, server: Running, told: Testimony
) -> None:
    team("create -f -", deployment(told.directory, "w", 4))
    rolled_out(team, "deploy/w")
    before = eventually(lambda: told.running() if len(told.running()) == 4 else [])
    team("set env deploy/w ROUND=2")
    for node in NODES:
        agent = agent_pid(server.directory, node)
        os.kill(agent, signal.SIGKILL)
        eventually(lambda agent=agent, node=node: agent_pid(server.directory, node) not in (0, agent))  # type: ignore[misc]
    rolled_out(team, "deploy/w")
    eventually(lambda: len(told.running()) == 4 and not set(told.running()) & set(before))
    assert {len(told.starts(name)) for name in told.names} == {1}
