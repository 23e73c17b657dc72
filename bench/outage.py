"""Pods under traffic while their control plane is away: how many requests failed that a pod could have answered.

Run: .venv/bin/python -m bench.outage [--how kill] [--away 600] [--pods 20] [--agents] [--seconds S] [--file FILE]

Starts a plane with two nodes and a Deployment of small web servers behind a Service, then takes the server away (killed,
stopped with SIGSTOP, or with a disk that is full to the last byte), and brings it back. Meanwhile a client asks the
Service and every pod by turns; with --agents, agents are killed and started again by turns. Without --how each way is
tried, and once with --agents; this is what `make soak` does. Writes JSON: requests and failures of each kind, restarts,
and whether the pods are the same afterwards.

In pieces (`pieces.py`): when the seconds of a run are over in the middle of an outage, pods and agents go on by themselves,
and the next run asks on. --afresh ends what an earlier run left. Loopback only.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from bench.outage_plane import NODES, PORT, Plane, is_ready, until
from bench.pieces import RESULTS, Json, OutOfTimeError, Pieces, arguments, say

AWAY_SECONDS, PODS = 600.0, 20
WAYS = ("kill", "stop", "full")
EVERY_WAY = (("kill", False), ("stop", False), ("full", False), ("kill", True), ("full", True))
PIECE_SECONDS = 20.0  # so much is asked, then written down
AROUND_SECONDS = 90.0  # what the beginning and the end of an outage take
AGENT_SECONDS = 15.0  # between two kills of agents
FAILURES_KEPT = 20
_PAUSE_SECONDS = 0.1


def answers(address: str) -> bool:
    return not failure(address)


def failure(address: str) -> str:
    """Why it did not answer; "" if it did."""
    connection = http.client.HTTPConnection(address, PORT, timeout=5)
    try:
        connection.request("GET", "/")
        status = connection.getresponse().status
        return "" if status == 200 else f"status {status}"
    except (OSError, http.client.HTTPException) as error:
        return repr(error)
    finally:
        connection.close()


def restarts(pods: list[Json]) -> int:
    return sum(each["restartCount"] for pod in pods for each in pod["status"]["containerStatuses"])


class Outage:
    """`told` is all there is to know of it, and in the file: another process can go on with it."""

    def __init__(self, told: Json) -> None:
        self.told = told
        self._plane = Plane(Path(told["folder"]), told["how"])

    @classmethod
    def begin(cls, how: str, agents: bool, pods: int) -> Outage:
        plane = Plane.begin(how, pods)
        found = plane.pods()
        service = plane.kubectl("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
        until(lambda: answers(service), "an answer of the Service")
        told = {
            "folder": str(plane.folder),
            "how": how,
            "agents": agents,
            "service": service,
            "addresses": [each["status"]["podIP"] for each in found],
            "names": {each["status"]["podIP"]: each["metadata"]["name"] for each in found},
            "uids": sorted(each["metadata"]["uid"] for each in found),
            "restarts": restarts(found),
            "asked_seconds": 0.0,
            "counts": {"service_requests": 0, "service_failed": 0, "pod_requests": 0, "pod_failed": 0},
            "failures": [],
        }
        if agents:
            told["counts"]["agents_killed"] = 0
        plane.take_away()
        return cls(told)

    @property
    def is_there(self) -> bool:
        """Whether what it was about still is: machines are started anew now and then."""
        return self._plane.folder.exists() and any(map(answers, self.told["addresses"]))

    def ask(self, seconds: float) -> None:
        told, counts, plane = self.told, self.told["counts"], self._plane
        addresses = told["addresses"]
        start = time.monotonic()
        kill_at = start + AGENT_SECONDS / 2
        while (now := time.monotonic()) < start + seconds:
            turn = counts["pod_requests"]
            self._ask("service", told["service"])
            self._ask("pod", addresses[turn % len(addresses)])
            if told["agents"] and now > kill_at:
                plane.kill_agent(NODES[counts["agents_killed"] % len(NODES)])
                counts["agents_killed"] += 1
                kill_at = now + AGENT_SECONDS
            if told["how"] == "full":
                plane.fill()
            time.sleep(_PAUSE_SECONDS)
        told["asked_seconds"] = round(told["asked_seconds"] + time.monotonic() - start, 1)
        if told["how"] == "full":
            counts["refused_writes"] = counts.get("refused_writes", 0) + plane.refuses_writes()
            counts["nodes_not_ready"] = counts.get("nodes_not_ready", 0) + len(NODES) - plane.nodes_ready()

    def _ask(self, what: str, address: str) -> None:
        counts, asked = self.told["counts"], time.monotonic()
        why = failure(address)
        counts[f"{what}_requests"] += 1
        if why:
            counts[f"{what}_failed"] += 1
            failed = {
                "what": self.told["names"].get(address, what),
                "at": time.strftime("%H:%M:%S"),
                "why": why,
                "took_seconds": round(time.monotonic() - asked, 3),
                "load": os.getloadavg()[0],
            }
            self.told["failures"] = [*self.told["failures"], failed][-FAILURES_KEPT:]

    def finish(self) -> Json:
        told, plane = self.told, self._plane
        try:
            plane.bring_back()
            wanted = len(told["uids"])
            until(lambda: sum(map(is_ready, plane.pods())) == wanted, "all pods ready again")
            until(lambda: plane.nodes_ready() == len(NODES), "all nodes ready again")
            after = plane.pods()
        finally:
            plane.end()
        return {
            "how": told["how"],
            "agents": told["agents"],
            "away_seconds": told["asked_seconds"],
            "pods": len(told["addresses"]),
            **told["counts"],
            "failures": told["failures"],
            "restarts": restarts(after) - told["restarts"],
            "same_pods": sorted(each["metadata"]["uid"] for each in after) == told["uids"],
        }

    def end(self) -> None:
        self._plane.end()


def is_sound(done: Json) -> bool:
    """What is in flight through an agent that is killed is lost; all else is answered."""
    excused = done.get("agents_killed", 0)
    failed = done["pod_failed"] + max(0, done["service_failed"] - excused)
    return not failed and not done["restarts"] and done["same_pods"] and not done.get("nodes_not_ready", 0)


def run(pieces: Pieces, ways: tuple[tuple[str, bool], ...], away: float, pods: int) -> None:
    if not pieces.told:
        pieces.write({"outages": [], "under_way": None})
    for number, (how, agents) in enumerate(ways):
        if number < len(pieces.told["outages"]):
            continue
        outage = _under_way(pieces)
        if outage is None:
            pieces.check_time(AROUND_SECONDS + PIECE_SECONDS)
            outage = Outage.begin(how, agents, pods)
        while outage.told["asked_seconds"] < away:
            pieces.write({**pieces.told, "under_way": outage.told})
            pieces.check_time(PIECE_SECONDS)
            outage.ask(min(PIECE_SECONDS, away - outage.told["asked_seconds"]))
        pieces.write({**pieces.told, "under_way": outage.told})
        pieces.check_time(AROUND_SECONDS)
        done = outage.finish()
        pieces.write({"outages": [*pieces.told["outages"], done], "under_way": None})
        say(json.dumps(done))


def _under_way(pieces: Pieces) -> Outage | None:
    """The outage that an earlier run left."""
    told = pieces.told["under_way"]
    if told is None:
        return None
    outage = Outage(told)
    if outage.is_there:
        return outage
    outage.end()
    return None


def forget(file: Path) -> None:
    """End what an earlier run left under way."""
    told: Any = json.loads(file.read_text()).get("under_way") if file.exists() else None
    if told:
        Outage(told).end()


def main() -> int:
    parser = arguments(__doc__, RESULTS / "outage.json")
    parser.add_argument("--away", type=float, default=AWAY_SECONDS, help="how long the server is away")
    parser.add_argument("--pods", type=int, default=PODS)
    parser.add_argument("--how", choices=WAYS, help="this way only")
    parser.add_argument("--agents", action="store_true", help="kill agents and start them again meanwhile")
    options: argparse.Namespace = parser.parse_args()
    ways = ((options.how, options.agents),) if options.how else EVERY_WAY
    if options.afresh:
        forget(options.file)
    head = {"ways": [f"{how}{' and agents' * agents}" for how, agents in ways]}
    pieces = Pieces(options, {**head, "away_seconds": options.away, "pods": options.pods})
    try:
        run(pieces, ways, options.away, options.pods)
    except OutOfTimeError:
        return pieces.more_to_do()
    print(json.dumps(pieces.told["outages"], indent=2))
    return 0 if all(map(is_sound, pieces.told["outages"])) else 1


if __name__ == "__main__":
    sys.exit(main())
