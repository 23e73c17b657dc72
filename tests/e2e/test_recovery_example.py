"""The script of examples/recovery on a plane of its own: what it prints is what the controllers did."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

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


def _environment(home: Path) -> dict[str, str]:
    path = f"{nursery.command().parent}{os.pathsep}{FAIRLEAD.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "HOME": str(home), "PYTHON": sys.executable}


def _run(script: Path, *arguments: object, environment: dict[str, str]) -> dict[str, str]:
    done = subprocess.run(
        ["bash", script, *map(str, arguments)],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=_SECONDS,
    )
    assert done.returncode == 0, done.stdout
    return _parts(done.stdout)


def test_a_workload_whose_scheduler_does_not_know_of_a_zone_recovers_and_nothing_is_left(
    tmp_path: Path,
) -> None:
    """Controllers in a process of their own, whose watch of nodes is held back."""
    need_kubectl()
    directory = tmp_path / "plane"
    parts = _run(SCRIPT.with_name("stale.sh"), directory, environment=_environment(tmp_path))
    known = _under(parts, "1 is it a shortage")
    assert re.search(
        r"^verdict: +stale input: on what there is now it goes to hollow-0", known, re.MULTILINE
    ), known
    assert re.search(r"^boundary: +between the store and the scheduler's view", known, re.MULTILINE), known
    _check(parts)
    for said in ("server.said", "control.said"):
        assert "Traceback" not in (directory / said).read_text()


@pytest.mark.soak
def test_it_does_so_on_a_plane_in_one_process(tmp_path: Path) -> None:
    need_kubectl()
    server = Running(tmp_path / "data", arguments=("--hollow-nodes", "5", "--no-sample"))
    try:
        environment = {**_environment(tmp_path), "KUBECONFIG": str(server.kubeconfig)}
        _check(_run(SCRIPT, environment=environment))
        assert_no_traceback(server)
    finally:
        server.stop()


def _check(parts: dict[str, str]) -> None:
    _check_forecast(_under(parts, "the tempting response"))
    _check_held(_under(parts, "6 every controller"))
    _check_avoided(_under(parts, "the scheduler hears of eu-west-a"))
    ended = _under(parts, "7 its time is over")
    assert "Residue=True" in ended
    assert "runs in capacity class recovery on hollow-" in ended
    assert "Ended, residue" in ended
    _check_nothing_left(_under(parts, "nothing is left"))


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


def _check_avoided(said: str) -> None:
    """One like it goes to the zone, which is also what would suit it best; it does not go there itself."""
    assert re.search(r"^stranger +Pod/stranger +hollow-0 .*fits", said, flags=re.MULTILINE), said
    assert re.search(r"SchedulerOverrides +refuses +node\(s\) were closed by SchedulerOverride", said), said
    assert re.search(r"NodeResourcesFit +passes +needs 20 cpu, free 32 of 32", said), said
    totals = {
        node: int(total) for node, total in re.findall(r"^(hollow-\d) .* (\d+)$", said, flags=re.MULTILINE)
    }
    assert totals["hollow-0"] > totals["hollow-1"], said


def _check_nothing_left(said: str) -> None:
    assert "No override is active." in said
    assert re.search(r"^residue +Done", said, flags=re.MULTILINE), said
    assert re.search(r"eu-west-a,2xrecovery +Ended  ", said), said  # and no word of residue
    assert "No resources found" in said  # of reservations
    nodes = sorted(re.findall(r"^risk-api-\S+ +(hollow-\d) +Running", said, flags=re.MULTILINE))
    assert nodes == ["hollow-0", "hollow-1", "hollow-2"], said
