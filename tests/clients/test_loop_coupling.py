"""`fairlead coupling` on a running plane, as its page shows it."""

from __future__ import annotations

import json
import os
import subprocess
from xml.etree import ElementTree

from tests import nursery
from tests.clients.converging import eventually, rolled_out
from tests.clients.kubectl import Operator, table
from tests.clients.manifests import workload
from tests.running import Running

ARGUMENTS = ("--hollow-nodes", "1")


def _run(server: Running, line: str) -> str:
    return subprocess.run(
        [nursery.command(), *line.split()],
        env={**os.environ, "KUBECONFIG": str(server.kubeconfig)},
        text=True,
        capture_output=True,
        check=True,
        timeout=120,
    ).stdout


def test_who_changes_what_a_controller_decides_on(team: Operator, server: Running) -> None:
    def fairlead(line: str) -> str:
        return _run(server, line)

    team("create -f -", workload("Deployment", "web", replicas=1))
    rolled_out(team, "deploy/web")
    team("scale deploy/web --replicas=2")

    def scaled() -> bool:
        seen, _, _ = fairlead("coupling deployment --observed").partition("\n\n")
        return any(row["BY"] == "admin" and "spec.replicas" in row["FIELDS"] for row in table(seen))

    assert eventually(scaled)
    told = json.loads(fairlead("coupling scheduler -o json"))
    forms = {each["form"] for each in told["couplings"]}
    assert forms >= {"shared field", "shared capacity", "label mutation", "shared API budget"}
    assert ElementTree.fromstring(fairlead("coupling scheduler -o svg")).tag.endswith("svg")
    assert fairlead("coupling -o dot").startswith("digraph coupling {")


def test_a_person_who_fights_a_controller_is_shown_with_the_decisions(
    team: Operator, server: Running
) -> None:
    team("create -f -", workload("Deployment", "web", replicas=2))
    rolled_out(team, "deploy/web")
    name = team.asked("get rs -o name").strip()

    def is_back() -> bool:
        return team.asked(f"get {name} -o jsonpath={{.spec.replicas}}") == "2"

    for _ in range(3):
        patched = team.run(f'patch {name} --type merge -p \'{{"spec":{{"replicas":1}}}}\'')
        assert patched.code == 0, patched.err
        assert "meets deployment" in patched.err  # and is warned
        assert eventually(is_back)

    def found() -> bool:
        told = json.loads(_run(server, "coupling --loops -o json"))["loops"]
        return any(each["kind"] == "oscillation" and "deployment" in each["writers"] for each in told)

    assert eventually(found)
    assert eventually(lambda: "OscillationFound" in team("get events"))
    assert "spec.replicas" in _run(server, "coupling deployment --loops")
