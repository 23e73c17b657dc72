"""The script of examples/rollback_pending on a plane of its own: the stale quota is seen, and the timeline tells it."""

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

SCRIPT = Path(__file__).parents[2] / "examples" / "rollback_pending" / "run.sh"
_SECONDS = 400


def _under(said: str, word: str) -> str:
    """What was printed under the title that begins so."""
    found = re.split(r"^== (.*)$", said, flags=re.MULTILINE)[1:]
    parts = dict(zip(found[::2], found[1::2], strict=True))
    (text,) = (text for title, text in parts.items() if title.startswith(word))
    return text


def _rows(said: str) -> dict[str, str]:
    return {
        name: text.strip() for name, _, text in (line.partition(":") for line in said.splitlines()) if text
    }


def test_the_rollback_example_tells_a_stale_quota_from_a_shortage(tmp_path: Path) -> None:
    need_kubectl()
    server = Running(tmp_path / "data", arguments=("--hollow-nodes", "3", "--no-sample"))
    try:
        environment = {
            **os.environ,
            "PATH": f"{nursery.command().parent}{os.pathsep}{FAIRLEAD.parent}{os.pathsep}{os.environ['PATH']}",
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
        _check_shortage(_rows(_under(done.stdout, "while the quota is full")))
        _check_stale(_rows(_under(done.stdout, "the scheduler's last decision")))
        _check_timeline(_under(done.stdout, "it catches up"))
        _check_gone(_under(done.stdout, "why is that pod"))
        assert_no_traceback(server)
    finally:
        server.stop()


@pytest.mark.soak
def test_it_runs_with_a_plane_in_another_process_whose_watch_is_held_back(tmp_path: Path) -> None:
    need_kubectl()
    environment = {
        **os.environ,
        "PATH": f"{FAIRLEAD.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "PYTHON": sys.executable,
    }
    done = subprocess.run(
        ["bash", SCRIPT.with_name("elsewhere.sh"), tmp_path / "plane"],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=_SECONDS,
    )
    assert done.returncode == 0, done.stdout
    _check_shortage(_rows(_under(done.stdout, "while the quota is full")))
    stale = _rows(_under(done.stdout, "the scheduler's last decision"))
    _check_stale(stale)
    read, newest = stale["scheduler read placementquotas at"], stale["placementquotas latest"]
    assert f"heard up to {read})" in newest, "the watch is held back: it has not heard"
    assert stale["boundary"].startswith(
        "between the store and the scheduler's view: it has heard placementquotas"
    )
    told = _under(done.stdout, "it catches up")
    assert re.search(r"placement-quota .* used cpu 4 -> [23]", told), told  # pods may end together
    assert re.search(
        r"scheduler .* is in its view, which stands at \d+, \d+\.\d s after it was written", told
    ), told
    assert re.search(r"scheduler .* is bound to hollow-2", told), told
    _check_gone(_under(done.stdout, "why is that pod"))


def _check_shortage(rows: dict[str, str]) -> None:
    assert rows["workload"] == "deployments/risk-api, 8 of 11 are ready"
    assert rows["generation"] == "5"
    assert rows["rollback observed by scheduler"] == "true (revision 3, the template of revision 1)"
    assert rows["verdict"].startswith("durable shortage: ")
    assert rows["next"] == "kubectl edit placementquota risk-zone-c -n default"


def _check_stale(rows: dict[str, str]) -> None:
    assert (
        "quota/risk-zone-c: exceeded cpu (requested 1, used 4, limited 4)" in rows["last scheduling reason"]
    )
    read, newest = rows["scheduler read placementquotas at"], rows["placementquotas latest"]
    assert int(read) < int(newest.partition(" ")[0])
    assert "unavailableReplicas" in rows["autoscaler reason"]
    assert rows["verdict"].startswith("stale input: on what there is now it goes to hollow-2")
    assert "nothing has to be added" in rows["boundary"]


def _check_timeline(said: str) -> None:
    """The lesson's ten lines, in its order."""
    at = 0
    for part in (
        r"admin \(kubectl\) .* replicas 8 -> 10",
        r"scheduler .* enters the queue of the scheduler",
        r"scheduler .* attempt 1, woken by PodAdded.*reads nodes@\d+",
        r"scheduler .* PodTopologySpread refuses 2 of 3 nodes",
        r"scheduler .* PlacementQuota refuses 1 of 3 nodes: quota/risk-zone-c",
        r"FailedScheduling: 0/3 nodes are available",
        r"autoscaler .* replicas 10 -> 11 .*unavailableReplicas",
        r"placement-quota .* used cpu 3 -> 2, because of pod/batch-",
        r"scheduler .* is in its view, which stands at \d+, \d+\.\d s after it was written \(used cpu 3 -> 2",
        r"scheduler .* is bound to hollow-2",
    ):
        found = re.compile(part).search(said, at)
        assert found is not None, f"{part!r} is not in the rest of\n{said}"
        at = found.start()


def _check_gone(said: str) -> None:
    assert "it no longer exists" in said
    why = said.partition("\nwhy: ")[2]
    assert why.startswith("it is gone: at ")
    assert "OwnersGone" in why
    assert "deployment/batch" in why
    assert "by admin (kubectl)" in why
