"""kill -9 of a real server, over and over, under 32 writers: what was acknowledged is there, and told once.

What is written, watched and promised is in `writers.py`; `history.py` judges.
"""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import SOAK
from tests.e2e.history import Object
from tests.e2e.raw import assert_no_traceback
from tests.e2e.testimony import eventually
from tests.e2e.writers import Promises
from tests.running import FAIRLEAD, Running

KILLS = 300 if SOAK else 5
WRITERS = 32
DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments"

# What is judged is what clients were told; controllers would change the Deployment in between.
ALONE = ("--without-controllers",)


class Trial:
    """A server, its writers and its watcher; `cycle` is one kill with everything that must hold after it."""

    def __init__(self, directory: Path) -> None:
        self.server = Running(directory, arguments=ALONE)
        self.promises = Promises(self.server, WRITERS)
        self.deployment: Object = {}

    def cycle(self, chance: random.Random) -> None:
        self._intend(chance.randrange(1000))
        self.promises.await_writers()
        time.sleep(chance.uniform(0.15, 0.55))
        self.server.kill()
        writes = self.promises.taken()
        if chance.random() < 0.2:
            self._die_while_starting(chance.uniform(0.05, 0.4))
        self.server = Running(self.server.directory, self.server.port, arguments=ALONE)
        self.promises.check(writes)
        assert self.promises.main.call("GET", f"{DEPLOYMENT}/kept") == (200, self.deployment)

    def _intend(self, replicas: int) -> None:
        """An object with a generation, which only this thread writes."""
        if not self.deployment:
            status, self.deployment = self.promises.main.call("POST", DEPLOYMENT, _deployment())
            assert status == 201, self.deployment
        patch = {"spec": {"replicas": replicas}}
        target = f"{DEPLOYMENT}/kept"
        status, answer = self.promises.main.call("PATCH", target, patch, "application/merge-patch+json")
        assert status == 200, answer
        bumped = int(answer["spec"] != self.deployment["spec"])
        assert answer["metadata"]["generation"] == self.deployment["metadata"]["generation"] + bumped
        self.deployment = answer

    def _die_while_starting(self, after_seconds: float) -> None:
        address = ("--data-dir", self.server.directory, "--port", str(self.server.port))
        arguments: list[str | Path] = [FAIRLEAD, "up", *address, *ALONE]
        starting = subprocess.Popen(
            arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ)
        )
        time.sleep(after_seconds)
        starting.kill()
        starting.wait(30)

    def end(self) -> None:
        self.promises.end()
        assert self.server.stop() == 0
        self.promises.watcher.join(30)


def _deployment() -> Object:
    labels = {"app": "kept"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "kept"}, "spec": spec}


# Python's ssl module forgets a socket whose peer dies between connecting and the handshake.
@pytest.mark.filterwarnings("ignore:unclosed <ssl.SSLSocket:ResourceWarning")
@pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <ssl.SSLSocket:pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.timeout(3600 if SOAK else 900)
def test_kill_after_kill_nothing_acknowledged_is_lost_and_the_watch_misses_and_repeats_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trial = Trial(tmp_path / "data")
    chance = random.Random(1)
    try:
        for _ in range(KILLS):
            trial.cycle(chance)
        trial.end()
    finally:
        trial.promises.stop.set()
        trial.server.kill()
    assert trial.promises.watcher.resumed > KILLS
    assert trial.promises.acknowledged > 10 * KILLS
    assert trial.promises.unknown > KILLS, (
        "no write was under way when the server died: the kills prove little"
    )
    with capsys.disabled():
        print(
            f"\n{KILLS} kills, {trial.promises.acknowledged} acknowledged writes, {len(trial.promises.history.at_revision)} events, "
            f"{trial.promises.unknown} unanswered writes of which {trial.promises.unknown_kept} happened"
        )
    assert_no_traceback(trial.server)


def test_how_often_a_blocked_pod_was_tried_survives_a_kill(tmp_path: Path) -> None:
    arguments = ("--hollow-nodes", "1", "--no-sample")
    server = Running(tmp_path / "data", arguments=arguments)
    requests = {"resources": {"requests": {"cpu": "900"}}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "big"},
        "spec": {"containers": [{"name": "main", "image": "big", **requests}]},
    }
    node = "/api/v1/nodes/hollow-0"
    merge = {"Content-Type": "application/merge-patch+json"}

    def tried(server: Running) -> list[list[int]]:
        path = "/fairlead/v1/decisions?object=pods/default/big"
        lines = [each["record"] for each in server.request("GET", path)[1]["items"]]
        mine = [each for each in lines if each["controller"] == "scheduler" and "id" in each]
        return [each.get("attempts") or [each["attempt"], each["attempt"]] for each in mine]

    def counted() -> bool:
        """Whether an attempt was counted that no record tells of yet; otherwise, have it tried again."""
        turns = server.request("GET", "/fairlead/v1/decisions?before=0&stream=turns")[1]["items"]
        lines = [each["record"] for each in turns if "counted" in each["record"]]
        if lines and lines[-1]["counted"][0][3] > tried(server)[-1][1]:
            return True
        stir[0] += 1
        server.request("PATCH", node, {"metadata": {"labels": {"stir": str(stir[0])}}}, headers=merge)
        return False

    stir = [0]
    try:
        eventually(lambda: server.request("GET", node)[0] == 200)
        assert server.request("POST", "/api/v1/namespaces/default/pods", pod)[0] == 201
        eventually(counted)
        told = tried(server)[-1][1]
    finally:
        server.process.kill()
        server.process.wait()
    again = Running(server.directory, server.port, arguments=arguments)
    try:
        eventually(lambda: [told + 1, told + 1] in tried(again))
    finally:
        again.stop()
