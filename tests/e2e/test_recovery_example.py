"""The script of examples/recovery on a plane of its own: what it prints is what the controllers did."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

from tests import nursery
from tests.e2e.raw import assert_no_traceback
from tests.running import FAIRLEAD, Running, need_kubectl

SCRIPT = Path(__file__).parents[2] / "examples" / "recovery" / "run.sh"
_SECONDS = 400


def _parts(said: str) -> dict[str, str]:
    """What was printed under each title."""
    found = re.split(r"^== (.*)$", said, flags=re.MULTILINE)[1:]
    return dict(zip(found[::2], found[1::2], strict=True))


def _under(parts: dict[str, str], word: str) -> str:
    (found,) = (text for title, text in parts.items() if title.startswith(word))
    return found


def test_the_recovery_example_recovers_and_leaves_nothing(tmp_path: Path) -> None:
    need_kubectl()
    server = Running(tmp_path / "data", arguments=("--hollow-nodes", "5", "--no-sample"))
    try:
        path = f"{nursery.command().parent}{os.pathsep}{FAIRLEAD.parent}{os.pathsep}{os.environ['PATH']}"
        environment = {
            **os.environ,
            "PATH": path,
            "HOME": str(tmp_path),
            "KUBECONFIG": str(server.kubeconfig),
        }
        done = subprocess.run(
            ["bash", SCRIPT],
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SECONDS,
        )
        assert done.returncode == 0, done.stdout
        parts = _parts(done.stdout)
        _check_forecast(_under(parts, "the tempting response"))
        _check_held(_under(parts, "6 every controller"))
        ended = _under(parts, "7 its time is over")
        assert "Residue=True" in ended
        assert "runs in capacity class recovery on hollow-" in ended
        assert "Ended, residue" in ended
        _check_nothing_left(server, _under(parts, "nothing is left"))
        assert_no_traceback(server)
    finally:
        server.stop()


def _check_forecast(said: str) -> None:
    met = said.partition("whom it meets:")[2].partition("what happens then:")[0]
    for controller, does in (
        ("autoscaler", "where you asked for 9"),
        ("resource-quota", "frees nothing"),
        ("repair", "does not take this for finished clean-up"),
        ("scheduler", "places pods by metadata.labels.tier"),
        ("replicaset", "makes another in its place"),
    ):
        assert re.search(rf" {controller} .*{does}", met), said
    assert "exit code 1" in said


def _check_held(said: str) -> None:
    assert "SchedulerOverrideObserved=True by autoscaler, override-capacity, scheduler of" in said
    assert re.search(r"AbleToScale=False SchedulerOverride \S+ pauses autoscaling", said), said
    nodes = sorted(re.findall(r"^risk-api-\S+ +(hollow-\d) +Running", said, flags=re.MULTILINE))
    assert nodes == ["hollow-1", "hollow-2", "hollow-3", "hollow-4"], said


def _check_nothing_left(server: Running, said: str) -> None:
    assert "No override is active." in said
    assert re.search(r"^residue +Done", said, flags=re.MULTILINE), said
    (override,) = json.loads(server.kubectl("get", "sov", "-A", "-o", "json"))["items"]
    conditions = {each["type"]: each["status"] for each in override["status"]["conditions"]}
    assert (conditions["Residue"], override["status"].get("residue") or []) == ("False", [])
    reservations = json.loads(server.kubectl("get", "reservations", "-A", "-o", "json"))["items"]
    assert [each for each in reservations if each["status"]["phase"] not in ("Expired", "Released")] == []
    pods = json.loads(server.kubectl("get", "pods", "-l", "app=risk-api", "-o", "json"))["items"]
    assert sorted(each["spec"]["nodeName"] for each in pods) == ["hollow-0", "hollow-1", "hollow-2"]
