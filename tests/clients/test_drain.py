"""Nodes taken out of use: who, when and why is kept; `fairlead drain` keeps to budgets and to its deadline."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import nursery
from tests.clients.converging import eventually, is_live, items, rolled_out
from tests.clients.kubectl import Done, Operator, table
from tests.clients.manifests import pod, workload
from tests.running import Running

ARGUMENTS = ("--hollow-nodes", "3")
NODES = ("hollow-0", "hollow-1", "hollow-2")


@pytest.fixture(scope="module")
def drain(server: Running) -> Callable[[str], Done]:
    def run(line: str) -> Done:
        words: list[str | Path] = [
            nursery.command(),
            "drain",
            *shlex.split(line),
            "--kubeconfig",
            str(server.kubeconfig),
        ]
        done = subprocess.run(words, text=True, capture_output=True, timeout=120)
        return Done(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(autouse=True)
def _as_before(kubectl: Operator) -> Iterator[None]:
    """Tests share the nodes: each leaves none of its own there, and all in use."""
    yield
    kubectl("delete poddisruptionbudgets,deployments,daemonsets,pods --all --all-namespaces --wait=true")
    kubectl("uncordon " + " ".join(NODES))


def _annotations(kubectl: Operator, node: str) -> dict[str, str]:
    found = json.loads(kubectl.asked(f"get node {node} -o json"))["metadata"].get("annotations") or {}
    return {name: value for name, value in found.items() if name != "fairlead.dev/operation"}


def _on(team: Operator, node: str) -> list[str]:
    return [
        each["metadata"]["name"]
        for each in items(team, "pods")
        if is_live(each) and each["spec"].get("nodeName") == node
    ]


def _fullest(team: Operator) -> str:
    return max(NODES, key=lambda node: len(_on(team, node)))


def test_kubectl_cordon_is_signed_and_uncordon_takes_it_away(kubectl: Operator) -> None:
    kubectl("annotate node hollow-0 fairlead.dev/reason='new disks'")
    kubectl("cordon hollow-0")
    kept = _annotations(kubectl, "hollow-0")
    assert (kept["fairlead.dev/reason"], kept["fairlead.dev/author"]) == ("new disks", "admin")
    assert kept["fairlead.dev/cordoned-at"]
    told = kubectl("describe node hollow-0")
    assert "fairlead.dev/author: admin" in told
    (row,) = table(kubectl("get node hollow-0 -o wide"))
    assert (row["STATUS"], row["REASON"]) == ("Ready,SchedulingDisabled", "new disks (admin)")
    assert list(row)[-2:] == ["CONTAINER-RUNTIME", "REASON"]
    kubectl("uncordon hollow-0")
    assert not _annotations(kubectl, "hollow-0").keys() & kept.keys()


def test_a_taint_of_a_person_is_signed(kubectl: Operator) -> None:
    kubectl("taint node hollow-0 dedicated=gpu:NoSchedule")
    signed = json.loads(_annotations(kubectl, "hollow-0")["fairlead.dev/taint-authors"])
    assert signed["dedicated:NoSchedule"].startswith("admin ")
    kubectl("taint node hollow-0 dedicated-")
    assert "fairlead.dev/taint-authors" not in _annotations(kubectl, "hollow-0")


def test_a_node_is_drained_and_its_pods_run_elsewhere(team: Operator, drain: Callable[[str], Done]) -> None:
    team("create -f -", workload("Deployment", "web", replicas=4))
    rolled_out(team, "deploy/web")
    node = _fullest(team)
    before = _on(team, node)
    assert before
    done = drain(f"{node} --reason 'new disks'")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == f"{node} cordoned: new disks"
    for name in before:
        assert f"{team.namespace}/{name} evicted" in lines
        assert f"{team.namespace}/{name} gone" in lines
    assert lines[-1].startswith(f"{node} drained: {len(before)} pod")
    assert _annotations(team, node)["fairlead.dev/reason"] == "new disks"
    assert _on(team, node) == []
    rolled_out(team, "deploy/web")
    again = drain(f"node/{node} --reason again")
    assert again.out.splitlines()[0] == f"{node} cordoned, which admin did before: again"


def test_a_budget_is_kept_and_named_and_what_is_left_at_the_deadline_is_told(
    team: Operator, drain: Callable[[str], Done]
) -> None:
    team("create -f -", workload("Deployment", "web", replicas=3))
    rolled_out(team, "deploy/web")
    team("create poddisruptionbudget keep --selector=app=web --min-available=3")
    eventually(lambda: items(team, "pdb")[0].get("status", {}).get("currentHealthy") == 3)
    node = _fullest(team)
    before = _on(team, node)
    blocked = "The disruption budget keep needs 3 healthy pods and has 3 currently"
    done = drain(f"{node} --reason disks --deadline 4s")
    assert done.code == 1
    for name in before:
        assert f"{team.namespace}/{name} stays for now: {blocked}" in done.out.splitlines()
        assert f"  {team.namespace}/{name}: stays for now: {blocked}" in done.err.splitlines()
    assert f"left on {node} after 4s" in done.err
    assert f"`kubectl uncordon {node}`" in done.err
    assert sorted(_on(team, node)) == sorted(before)
    told = drain(f"{node} --reason disks --deadline 4s -o json")
    assert told.code == 1
    left = json.loads(told.out)["left"]
    assert {each["pod"] for each in left} == {f"{team.namespace}/{name}" for name in before}
    forced = drain(f"{node} --reason fire --deadline 4s --force-at-deadline yes")
    assert forced.code == 0, forced.out + forced.err
    assert f"{team.namespace}/{before[0]} deleted: the deadline is over" in forced.out.splitlines()
    assert not set(_on(team, node)) & set(before)


def test_a_pod_that_nobody_would_make_again_is_a_reason_not_to_begin(
    team: Operator, drain: Callable[[str], Done]
) -> None:
    team("create -f -", pod("alone", node="hollow-1"))
    team("wait pod alone --for=condition=ready --timeout=90s")
    done = drain("hollow-1 --reason disks")
    assert done.code == 2
    assert f"no controller would make these pods again: {team.namespace}/alone" in done.err
    assert not json.loads(team.asked("get node hollow-1 -o json"))["spec"].get("unschedulable")
    done = drain("hollow-1 --reason disks --unmanaged")
    assert done.code == 0, done.out + done.err
    assert f"{team.namespace}/alone gone" in done.out.splitlines()


def test_pods_of_daemon_sets_stay(team: Operator, drain: Callable[[str], Done]) -> None:
    team("create -f -", workload("DaemonSet", "log"))
    rolled_out(team, "ds/log")
    (name,) = _on(team, "hollow-2")
    done = drain("hollow-2 --reason disks")
    assert done.code == 0, done.out + done.err
    assert f"{team.namespace}/{name} stays: DaemonSet log would make it again" in done.out.splitlines()
    assert _on(team, "hollow-2") == [name]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("nowhere --reason x", 'there is no node "nowhere"'),
        ("hollow-0", "--reason"),
        ("hollow-0 --reason ' '", "--reason is empty"),
        ("hollow-0 --reason x --deadline soon", "--deadline 'soon' is no time from now"),
        ("hollow-0 --reason x --deadline -5s", "deadline"),
        ("Hollow_0 --reason x", "'Hollow_0' does not name a node"),
    ],
)
def test_mistakes_are_told_with_the_next_step(drain: Callable[[str], Done], line: str, told: str) -> None:
    done = drain(line)
    assert done.code == (7 if "nowhere" in line else 2)
    assert told in done.err
    assert "Traceback" not in done.err
