"""`fairlead explain`, `why-not` and `plan` in front of a running plane: for pods that fit and for those that cannot."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import nursery
from tests.clients.converging import eventually
from tests.clients.kubectl import Done, Operator
from tests.clients.manifests import workload
from tests.running import Running

ARGUMENTS = ("--hollow-nodes", "2")  # of 32 cpu each
Ask = Callable[..., Done]
Json = dict[str, Any]


@pytest.fixture
def ask(server: Running, team: Operator, tmp_path: Path) -> Ask:
    def run(line: str, manifest: Any = None) -> Done:
        if manifest is not None:
            documents = manifest if isinstance(manifest, list) else [manifest]
            (tmp_path / "m.yaml").write_text("\n---\n".join(map(json.dumps, documents)))
            line += f" -f {tmp_path / 'm.yaml'}"
        done = subprocess.run(
            [nursery.command(), *line.split(), "-n", team.namespace],
            env={**os.environ, "KUBECONFIG": str(server.kubeconfig)},
            text=True,
            capture_output=True,
            timeout=120,
        )
        assert "Traceback" not in done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    return run


def pod(name: str, cpu: str = "100m", labels: Json | None = None, **spec: Any) -> Json:
    container = {"name": "main", "image": "busybox:1", "resources": {"requests": {"cpu": cpu}}}
    metadata = {"name": name, "labels": labels or {}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container], **spec},
    }


def tried(team: Operator, ask: Ask, manifest: Json) -> str:
    """What `explain` prints once there has been an attempt."""
    team("create -f -", manifest)
    name = manifest["metadata"]["name"]
    eventually(lambda: json.loads(ask(f"explain pod/{name} -o json").out)["attempt"])
    # Between its attempts, not in the midst of one or back in the queue because something changed meanwhile.
    settled = (": placed on ", "queue: unschedulable (waits for ")

    def told() -> str:
        text = ask(f"explain pod/{name}").out
        return text if any(part in text for part in settled) else ""

    return str(eventually(told))


def test_a_placed_pod_shows_waterfall_and_scores_and_agrees_with_itself(team: Operator, ask: Ask) -> None:
    told = tried(team, ask, pod("web"))
    assert told.startswith(f"pod/web in {team.namespace}: placed on hollow-")
    for part in ("policy default@0", "run again: agrees", "(all nodes)", "NodeResourcesFit x1", "TOTAL"):
        assert part in told
    assert "what would have to change" not in told
    assert ask("explain web --all").out.splitlines()[1].split()[2] == "1"


AWKWARD = {
    "larger than every node": (
        pod("odd", "64"),
        "no node is large enough for 64 cpu: the largest has 32; ask for less, or add a larger node",
        r"Insufficient cpu: needs 64 cpu, free ",
    ),
    "a selector that matches nothing": (
        pod("odd", nodeSelector={"disk": "ssd"}),
        "no node matches nodeSelector disk=ssd: none has the label disk at all",
        "asks for disk=ssd, the node has no label disk",
    ),
    "a topology key that no node has": (
        pod(
            "odd",
            topologySpreadConstraints=[
                {
                    "maxSkew": 1,
                    "topologyKey": "rack",
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"app": "x"}},
                }
            ],
        ),
        "no node has the label rack, which a topology spread constraint asks for",
        r"\(missing required label\): the node has no label rack",
    ),
}


@pytest.mark.parametrize("case", AWKWARD)
def test_a_pod_that_fits_nowhere_is_told_ways_out(team: Operator, ask: Ask, case: str) -> None:
    manifest, remedy, detail = AWKWARD[case]
    told = tried(team, ask, manifest)
    assert "fits on no node: 0/2 nodes are available: 2 " in told
    assert "queue: unschedulable (waits for " in told
    assert "WHO MAY REACT" in told
    assert "run again: agrees" in told
    assert f"  - {remedy}" in told
    there = ask("why-not pod/odd hollow-1")
    assert "odd on hollow-1, now: hollow-1 does not take it: " in there.out
    assert re.search(detail, there.out)
    planned = ask("plan", manifest | {"metadata": {"name": "other"}})
    assert planned.code == 1
    assert f"  - {remedy}" in planned.out


def test_why_not_compares_with_the_node_that_was_chosen(team: Operator, ask: Ask) -> None:
    tried(team, ask, pod("web"))
    chosen = eventually(lambda: team.asked("get pod web -o jsonpath={.spec.nodeName}"))
    other = "hollow-1" if chosen == "hollow-0" else "hollow-0"
    told = ask(f"why-not pod/web {other}").out
    assert "when it was placed" in told
    assert "passes   needs 100m cpu, free " in told
    assert told.splitlines()[-1].startswith(chosen)
    assert ask("why-not pod/web nowhere").err.startswith(
        'fairlead: there is no node "nowhere": `fairlead get nodes` lists those there are'
    )


def test_a_plan_comes_true_and_writes_nothing(team: Operator, ask: Ask) -> None:
    manifest = workload("Deployment", "web", replicas=3)
    planned = ask("plan", [manifest, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}])
    assert planned.code == 0
    rows = [line.split() for line in planned.out.splitlines()[1:]]
    assert [row[:2] for row in rows] == [[f"web-{number}", "Deployment/web"] for number in range(3)]
    assert "3 of 3 pods would be placed; nothing was written" in planned.err
    assert "ConfigMap/c is left out" in planned.err
    assert team.run("get deploy,pods").out == ""
    team("create -f -", manifest)
    bound = eventually(lambda: _nodes(team, 3))
    assert sorted(bound) == sorted(row[2] for row in rows)
    again = ask("plan", manifest)
    assert "Deployment/web exists: only what it would have in addition is planned" in again.err


def _nodes(team: Operator, number: int) -> list[str]:
    found = team.asked("get pods -o jsonpath={.items[*].spec.nodeName}").split()
    return found if len(found) == number else []


def test_a_plan_says_whom_it_would_evict(team: Operator, ask: Ask) -> None:
    important = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "important"},
        "value": 1000,
    }
    team("create -f -", important)
    for number in (0, 1):
        team("create -f -", pod(f"low-{number}", "25"))
    eventually(lambda: _nodes(team, 2))
    planned = ask("plan -o json", pod("high", "25", priorityClassName="important"))
    assert planned.code == 0
    (item,) = json.loads(planned.out)["items"]
    assert item["evicts"] in ([f"{team.namespace}/low-0"], [f"{team.namespace}/low-1"])
    assert len(_nodes(team, 2)) == 2
    told = tried(team, ask, pod("high", "25", priorityClassName="important"))
    number = json.loads(ask("explain high --all -o json").out)["attempts"][0]["number"]
    first = ask(f"explain high --attempt {number}").out
    assert f"goes to {item['node']} once one pod has left it" in first
    assert "BREAKS A BUDGET" in first
    assert "run again: agrees" in told
    assert "run again: agrees" in first


def test_a_directory_is_planned_as_a_whole_and_gates_are_told(
    team: Operator, ask: Ask, tmp_path: Path
) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    alike = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "shop"}}}
    away = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [alike]}}
    (shop / "a.json").write_text(json.dumps(pod("one", labels={"app": "shop"}, affinity=away)))
    (shop / "b.yaml").write_text(json.dumps(pod("two", labels={"app": "shop"}, affinity=away)))
    (shop / "readme.txt").write_text("no manifest")
    gated = tmp_path / "gated.yaml"
    gated.write_text(json.dumps(pod("gated", "64", schedulingGates=[{"name": "example.com/wait"}])))
    planned = ask(f"plan -f {shop} -f {gated}")
    assert planned.code == 0, planned.err
    rows = {line.split()[0]: line.split()[2] for line in planned.out.splitlines()[1:]}
    assert {rows["one"], rows["two"]} == {"hollow-0", "hollow-1"}, "the second sees the first"
    assert "it is held back by scheduling gates: example.com/wait" in planned.out
    assert "2 of 3 pods would be placed, 1 held back" in planned.err


def test_attempts_of_namesakes_are_kept_apart(team: Operator, ask: Ask) -> None:
    for _ in range(2):
        told = tried(team, ask, pod("web"))
        assert team.run("delete pod web --grace-period=0 --force").code == 0
    everything = ask("explain web --all").out
    assert everything.count("an earlier one, which is gone") == 2
    assert everything.count("NUMBER   TIME") == 2
    number = told.split("(--attempt ")[1].split(")")[0]
    assert f"(--attempt {number})" in ask(f"explain web --attempt {number}").out


def test_both_sides_of_a_refusal_are_in_one_unit(team: Operator, ask: Ask) -> None:
    tried(team, ask, pod("odd", "40500m"))
    assert re.search(r"needs 40500m cpu, free \d+m? of 32", ask("why-not pod/odd hollow-0").out)


WRONG = {
    "explain pod/nothing": (7, 'there is no pod "nothing" in namespace'),
    "explain deploy/web": (7, 'there is no deployment "web"'),
    "explain node/web": (7, "no decision about one is kept"),
    "explain pod/": (2, "names no object: write KIND/NAME"),
    "explain pod/x --all --attempt 3": (2, "give one of them"),
    "explain pod/x --attempt 0": (2, "takes a number greater than 0"),
    "why-not pod/nothing hollow-0": (7, 'there is no pod "nothing"'),
    "plan -f /nonexistent.yaml": (2, "cannot be read: no such file or directory"),
}


@pytest.mark.parametrize("line", WRONG)
def test_mistakes_are_answered_with_a_sentence(ask: Ask, line: str) -> None:
    code, text = WRONG[line]
    done = ask(line)
    assert (done.code, done.out) == (code, "")
    assert text in done.err
    assert len(done.err.splitlines()) == 1


def test_pods_that_nobody_tries_are_told_why(team: Operator, ask: Ask) -> None:
    team("create -f -", pod("foreign", schedulerName="mine"))
    team("create -f -", pod("gated", schedulingGates=[{"name": "example.com/wait"}]))
    assert "not tried: it asks for the scheduler mine" in ask("explain pod/foreign").out
    assert "not tried: it is held back by scheduling gates: example.com/wait" in ask("explain pod/gated").out


def test_an_invalid_manifest_is_refused_as_its_creation_would_be(ask: Ask) -> None:
    done = ask(
        "plan", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": []}}
    )
    assert done.code == 1
    assert "spec.containers" in done.err
    assert (
        "leads to pods"
        in ask("plan", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}).err
    )


@pytest.mark.parametrize(
    ("spec", "reason", "owner"),
    [
        ({"nodeSelector": {"disk": "none-such"}}, "Unschedulable", "user or node-admin or autoscaler"),
        ({"schedulingGates": [{"name": "wait"}]}, "SchedulingGated", "who set the gates"),
        ({"priorityClassName": "none-such"}, "WaitingForPriorityClass", "cluster-admin"),
    ],
    ids=["selector", "gates", "class"],
)
def test_progress_explain_and_conditions_name_the_same_owner(
    team: Operator, ask: Ask, spec: Json, reason: str, owner: str
) -> None:
    manifest = workload("Deployment", "web", replicas=1)
    manifest["spec"]["template"]["spec"] |= spec
    team("create -f -", manifest)

    def limit() -> Json:
        found: Json = (
            json.loads(team.asked("get deploy web -o json"))["status"].get("progress", {}).get("limit", {})
        )
        return found if found.get("reason") == reason else {}

    assert eventually(limit)["owner"] == owner
    said = f": {reason}"
    for line in ("progress deploy/web", "explain deploy/web"):
        told = [each for each in ask(line).out.splitlines() if "next step: " in each]
        assert told
        assert all(said in each and f"next step: {owner}" in each for each in told), told
    objects = [
        json.loads(team.asked("get deploy web -o json")),
        *json.loads(team.asked("get pods -o json"))["items"],
    ]
    conditions = [
        each for obj in objects for each in obj["status"].get("conditions", ()) if each.get("owner")
    ]
    assert {each["owner"] for each in conditions} == {owner}
    assert reason in {each["reason"] for each in conditions}
