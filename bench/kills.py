"""kill -9 of servers, agents and supervisors, over and over, under writers and with pods that testify. Writes JSON.

Run: .venv/bin/python -m bench.kills [--kills 1000] [--seed 1] [--seconds S] [--file FILE] [--afresh]

In pieces (`pieces.py`) of 50 kills, each on a plane of its own with two nodes, a Deployment that is scaled up and down
and a StatefulSet. By chance, from the seed: who is killed and when, alone or all at once, also while they start. Judged:

    nothing acknowledged is lost     every write that was answered is read and watched as it was answered
    nothing is lost or twice         as many pods run in the end as asked for; each holds a lock while it lives
    nothing is restarted for it      a pod starts once, and once more for each of its supervisors that was killed
    nothing is left over             after the end no process and no directory of any pod is there

A piece that fails is told in the file, its directory stays, and the exit code is 1.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench.pieces import RESULTS, Json, OutOfTimeError, Pieces, arguments, say
from tests.e2e.testimony import Testimony, agent_pid, deployment, end_all, eventually, template
from tests.e2e.writers import DEAD, Promises
from tests.running import FAIRLEAD, Running

from fairlead.agent.drivers import procfs

KILLS, CHUNK = 1_000, 50
PIECE_SECONDS = 180.0  # about what one takes on two busy cores
NODES = ("local-1", "local-2")
# A lease so long that none lapses while an agent waits to be started again: what ends then ended for another reason.
OPTIONS = ("--nodes", "2", "--no-sample", "--no-root-certificates")
LEASE = ("--lease-seconds", "120", "--renew-seconds", "5")
WRITERS, PAUSE_SECONDS = 4, 0.02
STATEFUL, REPLICAS_MAX = 2, 6
SETTLE_SECONDS = 300.0
APPS, PODS = "/apis/apps/v1/namespaces/default", "/api/v1/namespaces/default/pods"


class Trial:
    """One plane and its pods; `kill` is one step, `settle` what must hold afterwards."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self._chance = chance
        self.data = folder / "data"
        self.told = Testimony(folder / "told")
        self.killed: Counter[str] = Counter()
        self._supervisors: Counter[str] = Counter()  # killed, by the pod's uid
        self._pods: dict[str, str] = {}  # uid -> name, of all that were ever seen
        self._replicas = 3
        self.server = self._start(0)
        self.promises = Promises(self.server, WRITERS, PAUSE_SECONDS)

    def _start(self, port: int) -> Running:
        return Running(self.data, port, arguments=(*OPTIONS, *LEASE))

    def begin(self) -> None:
        web = deployment(self.told.directory, "web", self._replicas)
        labels = {"app": "db"}
        stateful = {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": "db"},
            "spec": {
                "replicas": STATEFUL,
                "serviceName": "db",
                "podManagementPolicy": "Parallel",
                "selector": {"matchLabels": labels},
                "template": template(self.told.directory, labels),
            },
        }
        for kind, body in (("deployments", web), ("statefulsets", stateful)):
            status, answer = self.server.request("POST", f"{APPS}/{kind}", body)
            assert status == 201, answer
        eventually(lambda: len(self.told.running()) == self._replicas + STATEFUL)

    # Killing

    def kill(self) -> None:
        """One step, after a while: somebody dies, or several at once."""
        time.sleep(self._chance.uniform(0.0, 0.6))
        if self._chance.random() < 0.25:
            self._scale()
        self._look()
        choice = self._chance.random()
        if choice < 0.3:
            self._kill_server()
        elif choice < 0.6:
            self._kill_agent(self._chance.choice(NODES))
        elif choice < 0.9:
            self._kill_supervisor()
        else:
            for node in NODES:
                self._kill_agent(node)
            self._kill_supervisor()
            self._kill_server()

    def _kill_server(self) -> None:
        self.promises.assert_unbroken()
        self.server.kill()
        self.killed["server"] += 1
        writes = self.promises.taken()
        if self._chance.random() < 0.2:
            self._die_while_starting(self._chance.uniform(0.1, 0.8))
        if self._chance.random() < 0.3:  # while it is away the others die as well
            self._kill_agent(self._chance.choice(NODES))
            self._kill_supervisor()
        self.server = self._start(self.server.port)
        self.promises.check(writes)

    def _die_while_starting(self, after_seconds: float) -> None:
        words = ["up", "--data-dir", str(self.data), "--port", str(self.server.port), *OPTIONS, *LEASE]
        starting = subprocess.Popen([FAIRLEAD, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(after_seconds)
        starting.kill()
        starting.wait(30)
        self.killed["server"] += 1

    def _kill_agent(self, node: str) -> None:
        if pid := agent_pid(self.data, node):
            self._end("agent", pid)

    def _kill_supervisor(self) -> None:
        """Of a pod that was spared so far, rather than of others: each further one waits longer to be restarted."""
        supervisors = [
            (self._supervisors[uid], self._chance.random(), uid, pid)
            for uid, pids in sorted(procfs.find_tagged().items())
            if uid in self._pods
            for pid in pids
            if not procfs.environment_value(pid, procfs.CONTAINER_TAG)
        ]
        if supervisors:
            _, _, uid, pid = min(supervisors)
            self._supervisors[uid] += 1
            self._end("supervisor", pid)

    def _end(self, who: str, pid: int) -> None:
        try:
            os.kill(pid, signal.SIGKILL)
            self.killed[who] += 1
        except ProcessLookupError:
            pass  # it ended by itself

    def _scale(self) -> None:
        wanted = self._chance.randint(1, REPLICAS_MAX)
        headers = {"Content-Type": "application/merge-patch+json"}
        patch = {"spec": {"replicas": wanted}}
        status, answer = self.server.request("PATCH", f"{APPS}/deployments/web", patch, headers=headers)
        assert status == 200, answer
        self._replicas = wanted

    def _look(self) -> None:
        """Whose directories are there: a uid has its name in it."""
        for file in self.data.glob("nodes/*/pods/*/pod.json"):
            if file.parent.name not in self._pods:
                try:
                    self._pods[file.parent.name] = json.loads(file.read_bytes())["name"]
                except (OSError, ValueError):
                    continue  # it is being made, or removed

    # Judging

    def settle(self) -> None:
        """All that was asked for runs, and nothing else; the API says the same."""
        wanted = self._replicas + STATEFUL
        eventually(lambda: len(self._running_pods()) == wanted == len(self._pod_list()), SETTLE_SECONDS)
        names = sorted(each["metadata"]["name"] for each in self._running_pods())
        eventually(lambda: self.told.running() == names, SETTLE_SECONDS)
        self._look()
        self.promises.check([])
        self._judge_starts()

    def _judge_starts(self) -> None:
        self.told.never_twice()
        excused: Counter[str] = Counter()
        for uid, name in self._pods.items():
            excused[name] += self._supervisors[uid]
        for name in self.told.names:
            starts, most = len(self.told.starts(name)), 1 + excused[name]
            assert starts <= most, f"{name} was started {starts} times, {most} would do"

    def clear(self) -> None:
        for kind, name in (("deployments", "web"), ("statefulsets", "db")):
            status, answer = self.server.request("DELETE", f"{APPS}/{kind}/{name}")
            assert status == 200, answer
        eventually(lambda: not self._pod_list(), SETTLE_SECONDS)
        assert self.told.running() == [], "what was deleted runs"
        self.promises.end()
        eventually(lambda: not list(self.data.glob("nodes/*/pods/*")), SETTLE_SECONDS)
        assert self.server.stop() == 0
        left = {self._pods[uid]: pids for uid, pids in procfs.find_tagged().items() if uid in self._pods}
        assert not left, f"processes are left: {left}"
        assert not [node for node in NODES if agent_pid(self.data, node)], "an agent is left"
        self.told.never_twice()
        assert "Traceback" not in self._said(), f"a traceback is in a log below {self.data}"

    def _said(self) -> str:
        return "".join(each.read_text(errors="replace") for each in self.data.parent.rglob("*.log"))

    def _pod_list(self) -> list[Json]:
        status, answer = self.server.request("GET", PODS)
        assert status == 200, answer
        items: list[Json] = answer["items"]
        return items

    def _running_pods(self) -> list[Json]:
        return [each for each in self._pod_list() if _is_ready(each)]

    def summary(self) -> dict[str, int]:
        """What it did, in numbers that can be added up."""
        return {
            **{f"killed_{who}s": count for who, count in self.killed.items()},
            "acknowledged_writes": self.promises.acknowledged,
            "unanswered_writes": self.promises.unknown,
            "unanswered_writes_that_happened": self.promises.unknown_kept,
            "watch_events": len(self.promises.history.at_revision),
            "pods": len(self._pods),
            "starts": sum(len(self.told.starts(name)) for name in self.told.names),
        }


def _is_ready(pod: Json) -> bool:
    conditions = pod.get("status", {}).get("conditions", ())
    return "deletionTimestamp" not in pod["metadata"] and any(
        each["type"] == "Ready" and each["status"] == "True" for each in conditions
    )


def piece(seed: str, kills: int) -> tuple[dict[str, int], str]:
    """What one plane went through, and what did not hold, "" if all did."""
    folder = Path(tempfile.mkdtemp(prefix="fairlead-kills-"))
    trial = Trial(folder, random.Random(seed))
    failure = ""
    try:
        trial.begin()
        while trial.killed.total() < kills:
            trial.kill()
        trial.settle()
        trial.clear()
    except (AssertionError, *DEAD) as error:
        failure = f"{error!r}; left as it was: {folder}"[:2000]
    finally:
        trial.promises.stop.set()
        if trial.server.process.poll() is None:
            trial.server.kill()
        end_all(trial.data)
    counts = trial.summary()
    if not failure:
        shutil.rmtree(folder)
    return counts, failure


def run(pieces: Pieces, kills: int, seed: int) -> None:
    told = pieces.told or {"kills": 0, "pieces": 0, "elapsed_seconds": 0.0, "counts": {}, "failures": []}
    while told["kills"] < kills:
        pieces.check_time(PIECE_SECONDS)
        began = time.monotonic()
        counts, failure = piece(f"{seed}/{told['pieces']}", min(CHUNK, kills - told["kills"]))
        failures: list[Any] = [{"piece": told["pieces"], "what": failure}] if failure else []
        told = {
            "kills": told["kills"]
            + sum(count for name, count in counts.items() if name.startswith("killed_")),
            "pieces": told["pieces"] + 1,
            "elapsed_seconds": round(told["elapsed_seconds"] + time.monotonic() - began, 1),
            "counts": dict(Counter(told["counts"]) + Counter(counts)),
            "failures": told["failures"] + failures,
        }
        pieces.write(told)
        say(f"{told['kills']}/{kills} kills, {len(told['failures'])} failures {failure}")


def main() -> int:
    parser = arguments(__doc__, RESULTS / "kills.json")
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    pieces = Pieces(options, {"seed": options.seed})
    try:
        run(pieces, options.kills, options.seed)
    except OutOfTimeError:
        return pieces.more_to_do()
    print(json.dumps(pieces.told, indent=2))
    return 1 if pieces.told["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
