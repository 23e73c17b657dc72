"""kubectl logs and kubectl top against a node whose pods are real processes."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import nursery
from tests.clients.converging import rolled_out
from tests.clients.kubectl import Operator
from tests.e2e.testimony import agent_pid, end_all, eventually
from tests.running import Running, need_kubectl

NODES = ("--nodes", "2", "--no-sample", "--hollow-nodes", "1")
STAMP = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z (.*)$")
TALK = "i=0; while [ $i -lt 5 ]; do echo line $i; i=$((i+1)); done; exec sleep 1000"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    need_kubectl()
    server = Running(tmp_path_factory.mktemp("plane") / "data", arguments=NODES)
    try:
        yield server
        assert server.stop() == 0
    finally:
        end_all(server.directory)


@pytest.fixture(autouse=True)
def ready(kubectl: Operator) -> None:
    eventually(lambda: "local-1" in kubectl.asked("get nodes -o name"))
    kubectl("wait --for=create node/local-1 node/local-2 --timeout=90s")
    kubectl("wait --for=condition=Ready node local-1 local-2 --timeout=90s")


def container(name: str, script: str) -> dict[str, Any]:
    return {"name": name, "image": "process", "command": ["/bin/sh", "-c", script]}


def pod(name: str, *containers: dict[str, Any], node: str = "local-1", **spec: Any) -> dict[str, Any]:
    """On a real node: the hollow one would take it, too."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "containers": list(containers),
            "nodeSelector": {"kubernetes.io/hostname": node},
            "terminationGracePeriodSeconds": 1,
            **spec,
        },
    }


def create(team: Operator, *objects: Any) -> None:
    """`image` is ignored by nodes that run processes, with a warning that is not of interest here."""
    done = team.run("create -f -", list(objects))
    assert done.code == 0, done.err


def says(team: Operator, line: str, text: str) -> None:
    eventually(lambda: team.run(line).out == text)


ALL = "".join(f"line {number}\n" for number in range(5))


def test_what_was_printed_is_shown_as_asked_for(team: Operator) -> None:
    create(team, pod("talk", container("c", TALK)))
    says(team, "logs talk", ALL)
    assert team("logs talk --tail=2") == "line 3\nline 4\n"
    assert team("logs talk --tail=0") == ""
    assert team("logs pod/talk -c c --limit-bytes=8") == "line 0\nl"
    stamped = team("logs talk --timestamps").splitlines()
    assert [STAMP.sub(r"\1", line) for line in stamped] == ALL.splitlines()
    assert all(STAMP.match(line) for line in stamped)
    assert team("logs talk --since=1h") == ALL
    assert team("logs talk --since-time=2100-01-01T00:00:00Z") == ""
    assert team("logs -l app=talk --tail=1 --prefix") == "[pod/talk/c] line 4\n"


def test_a_log_is_followed_until_its_container_ends(team: Operator, kubectl: Operator, tmp_path: Any) -> None:
    more = tmp_path / "more"
    script = f"echo first; while [ ! -e {shlex.quote(str(more))} ]; do sleep 0.1; done; echo last"
    create(team, pod("talk", container("c", script), restartPolicy="Never"))
    says(team, "logs talk", "first\n")
    with team.started("logs -f talk") as following:
        assert following.stdout is not None
        assert following.stdout.readline() == "first\n"
        more.touch()
        assert following.stdout.read() == "last\n"
        assert following.wait() == 0
    team("wait --for=jsonpath={.status.phase}=Succeeded pod talk --timeout=90s")
    assert team("logs talk") == "first\nlast\n"


def test_whoever_stops_following_stops_the_stream(team: Operator, kubectl: Operator) -> None:
    create(team, pod("talk", container("c", TALK)))
    says(team, "logs talk", ALL)
    with team.started("logs -f talk") as following:
        assert following.stdout is not None
        assert following.stdout.readline() == "line 0\n"
        eventually(lambda: _open_logs(kubectl) == 1)  # others have just been closed
    eventually(lambda: _open_logs(kubectl) == 0)


def _open_logs(kubectl: Operator) -> int:
    found = re.search(r"^fairlead_logs_open (\d+)$", kubectl("get --raw /metrics"), re.MULTILINE)
    assert found is not None
    return int(found[1])


def test_several_containers_must_be_told_apart(team: Operator) -> None:
    create(
        team,
        pod(
            "pair",
            container("a", "echo from a; exec sleep 1000"),
            container("b", "echo from b; exec sleep 1000"),
            initContainers=[container("first", "echo from first")],
        ),
    )
    says(team, "logs pair -c b", "from b\n")
    says(team, "logs pair -c a", "from a\n")
    assert team("logs pair -c first") == "from first\n"
    assert sorted(team("logs pair --all-containers").splitlines()) == ["from a", "from b", "from first"]
    assert "container nope is not valid for pod pair" in team.refused("logs pair -c nope")
    told = team.refused("get --raw /api/v1/namespaces/" + team.namespace + "/pods/pair/log")
    expected = "a container name must be specified for pod pair, choose one of: [a b] or one of the init containers: [first]"
    assert expected in told


def test_the_run_before_is_told_with_previous(team: Operator, tmp_path: Any) -> None:
    once = shlex.quote(str(tmp_path / "once"))
    script = (
        f"if [ -e {once} ]; then echo second run; exec sleep 1000; fi; echo first run; touch {once}; exit 3"
    )
    create(team, pod("again", container("c", script)))
    says(team, "logs again --previous", "first run\n")  # also while it waits to be started again
    says(team, "logs again", "second run\n")
    says(team, "logs again --previous", "first run\n")
    create(team, pod("once", container("c", TALK)))
    says(team, "logs once", ALL)
    refused = team.refused("logs once --previous")
    assert 'previous terminated container "c" in pod "once" not found' in refused


def test_where_nothing_runs_the_reason_is_said(team: Operator) -> None:
    missing = [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "absent", "key": "k"}}}]
    create(
        team,
        pod("nowhere", container("c", TALK), node="no-such-node"),
        pod("pretends", container("c", TALK), node="hollow-0"),
        pod("lacking", {**container("c", TALK), "env": missing}),
    )
    assert "is waiting to start: the pod has no node yet" in team.refused("logs nowhere")
    eventually(lambda: team.asked("get pod pretends -o jsonpath={.spec.nodeName}") == "hollow-0")
    assert "hollow nodes only pretend: nothing runs there" in team.refused("logs pretends")
    eventually(lambda: "CreateContainerConfigError" in team("get pod lacking -o yaml"))
    assert 'container "c" in pod "lacking" is waiting to start: CreateContainerConfigError' in team.refused(
        "logs lacking"
    )


def test_logs_of_a_deployment(team: Operator) -> None:
    template = pod("web", container("c", TALK))
    labels = {"app": "web"}
    made = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": template["spec"]},
        },
    }
    create(team, made)
    rolled_out(team, "deploy/web")

    def both() -> bool:
        lines = team("logs -l app=web --prefix --tail=-1").splitlines()
        return sorted(line.split("] ")[1] for line in lines) == sorted(2 * ALL.splitlines())

    eventually(both)
    one = team.run("logs deploy/web --tail=1")
    assert (one.out, "Found 2 pods" in one.err) == ("line 4\n", True)


def test_an_agent_that_is_away_is_named_and_found_again(team: Operator, server: Running) -> None:
    create(team, pod("talk", container("c", TALK), node="local-2"))
    says(team, "logs talk", ALL)
    agent = agent_pid(server.directory, "local-2")
    os.kill(agent, signal.SIGSTOP)
    try:
        refused = team.refused("logs talk")
        assert 'node "local-2" does not answer at https://127.0.0.1' in refused
        warned = team.run("top pods")
        assert "local-2" in warned.err
        assert "local-2" in team.run("top nodes").err
    finally:
        os.kill(agent, signal.SIGKILL)
    eventually(lambda: team.run("logs talk").out == ALL)


def test_viewers_read_logs_and_usage_and_the_rest_do_not(
    team: Operator, server: Running, tmp_path: Any
) -> None:
    create(team, pod("talk", container("c", TALK)))
    says(team, "logs talk", ALL)
    for role, name, reads in (("viewer", "eve", True), ("node", "other", False)):
        made = subprocess.run(
            [
                nursery.command(),
                *f"token create --role {role} --name {name} -o kubeconfig".split(),
                "--data-dir",
                server.directory,
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        file = tmp_path / role / "kubeconfig"
        file.parent.mkdir()
        file.write_text(made.stdout)
        reader = Operator(file, team.namespace)
        if reads:
            assert reader("logs talk") == ALL
            eventually(lambda: "talk" in reader.run("top pods").out)  # noqa: B023
        else:
            assert "forbidden" in reader.refused("logs talk").lower()
            assert "forbidden" in reader.refused("top nodes").lower()


def test_a_followed_log_ends_with_the_token_of_who_reads_it(
    team: Operator, server: Running, tmp_path: Any
) -> None:
    create(team, pod("talk", container("c", TALK)))
    says(team, "logs talk", ALL)
    make: list[str | Path] = [
        nursery.command(),
        *["token", "create", "--role", "viewer", "--name", "guest", "--data-dir"],
        server.directory,
        "-o",
    ]
    subprocess.run([*make, file := tmp_path / "guest.kubeconfig"], check=True)
    with Operator(file, team.namespace).started("logs -f talk") as following:
        assert following.stdout is not None
        assert following.stdout.readline() == "line 0\n"
        subprocess.run(
            [nursery.command(), "token", "revoke", "guest", "--data-dir", server.directory], check=True
        )
        subprocess.run([*make, tmp_path / "again.kubeconfig"], check=True)
        following.stdout.read()  # to its end


BUSY = "while true; do :; done"


def test_top_shows_what_pods_use(team: Operator, kubectl: Operator) -> None:
    create(
        team,
        pod("calm", container("c", "exec sleep 1000"), container("d", "exec sleep 1000")),
        pod("busy", container("c", BUSY), node="local-2"),
    )

    def rows(line: str) -> list[dict[str, str]]:
        done = team.run(line)
        if done.code or not done.out:
            return []
        heading, *lines = [each.split() for each in done.out.splitlines()]
        return [dict(zip(heading, each, strict=True)) for each in lines]

    eventually(lambda: {row["NAME"] for row in rows("top pods")} == {"calm", "busy"})
    eventually(lambda: _cores(rows("top pods"), "busy") > 50)
    eventually(lambda: [row["NAME"] for row in rows("top pods --sort-by=cpu")] == ["busy", "calm"])
    # A container that started later is measured later.
    all_of_them = [("busy", "c"), ("calm", "c"), ("calm", "d")]
    eventually(lambda: [(row["POD"], row["NAME"]) for row in rows("top pods --containers")] == all_of_them)
    assert [row["NAME"] for row in rows("top pods -l app=calm")] == ["calm"]
    memory = [row["MEMORY(bytes)"] for line in ("top pods", "top nodes") for row in rows(line)]
    assert len(memory) == 5  # the hollow node uses nothing that could be told
    assert sum(bool(re.fullmatch(r"\d+Mi", each)) for each in memory) == 4
    eventually(lambda: _cores(rows("top nodes"), "local-2") > 50)
    eventually(lambda: [row["NAME"] for row in rows("top nodes --sort-by=cpu")][:1] == ["local-2"])
    assert "not found" in team.refused("top pod absent")
    listed = team.yaml("get pods.metrics.k8s.io busy")
    assert listed["kind"] == "PodMetrics"
    assert listed["metadata"]["labels"] == {"app": "busy"}
    team("delete pod busy --timeout=90s")
    eventually(lambda: [row["NAME"] for row in rows("top pods")] == ["calm"])


def _cores(rows: list[dict[str, str]], name: str) -> int:
    return next((int(row["CPU(cores)"].removesuffix("m")) for row in rows if row["NAME"] == name), 0)
