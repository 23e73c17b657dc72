"""What one renewal of a node's lease costs in the server, in processor time: API, store and plane, without sockets and disk.

    python bench/renewals.py [--nodes 1000] [--rounds 5] [--profile] [--json]

All controllers and the scheduler over the real API and a store in memory, in one thread, with virtual time (`turns.py`).
Every node renews its lease once in a round of ten (virtual) seconds, in lots of five, as a busy server gets them. `api` is
request to answer, the store included; `plane` is what the mirrors and controllers make of it. `turns` are decisions that
followed, all rounds together: they do not grow with the number of renewals.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import pstats
import time
from typing import Any

import turns

from fairlead.agent.lease import lease_request
from fairlead.core import codec
from fairlead.model.marks import NODE_LEASES
from fairlead.model.policy import evidence_rows
from fairlead.port.driving import Woke
from fairlead.port.request import Request

LOT = 5
ROUND_SECONDS = 10.0


class Bench:
    def __init__(self, nodes: int) -> None:
        self.server = turns.Server()
        for name in ("default", "kube-system", NODE_LEASES):
            self._create("", "v1", "namespaces", {"kind": "Namespace", "metadata": {"name": name}})
        policy = {"metadata": {"name": evidence_rows.NAME}, "spec": evidence_rows.default_spec()}
        self._create("fairlead.dev", "v1", "evidencepolicies", {"kind": "EvidencePolicy", **policy})
        self.process = turns.Process(self.server, "bench", nodes)
        self.process.settle(60.0)
        mirror = self.process.plane.mirrors["nodes"]
        self.uids = {node.metadata.name: node.metadata.uid for node in mirror.index.all()}
        assert len(self.uids) == nodes
        for name in self.uids:
            self._send(self._requests([name], exists=False))
            self.process.keep_up()
        self.process.settle(1.0)

    def round(self) -> tuple[float, float]:
        """Every node once; processor seconds of the API and of the plane."""
        names, server, process = list(self.uids), self.server, self.process
        spent = [0.0, 0.0]
        for first in range(0, len(names), LOT):
            server.now += ROUND_SECONDS / len(names) * LOT
            requests = self._requests(names[first : first + LOT], exists=True)
            began = time.process_time()
            self._send(requests)
            between = time.process_time()
            if 0.0 < process.wake_at <= server.now:
                process.tell(Woke(server.now, 0.5))
            process.keep_up()
            spent[0] += between - began
            spent[1] += time.process_time() - between
        return spent[0], spent[1]

    def _requests(self, names: list[str], *, exists: bool) -> list[Request]:
        return [lease_request(name, 40, self.server.now, exists, self.uids[name]) for name in names]

    def _send(self, requests: list[Request]) -> None:
        for request in requests:
            reply = self.server.send(request)
            assert reply.status < 300, reply

    def _create(self, group: str, version: str, plural: str, body: dict[str, Any]) -> None:
        given = {"apiVersion": f"{group}/{version}" if group else version, **body}
        self._send([Request("create", group, version, plural, body=codec.encode(given))])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--profile", action="store_true", help="then print where the time of one more round goes"
    )
    parser.add_argument("--json", action="store_true", help="on one line instead of many")
    options = parser.parse_args()
    gc.set_threshold(50_000, 20, 100)  # as runtime/server/process.py does
    bench = Bench(options.nodes)
    bench.round()
    gc.collect()
    gc.freeze()
    before = bench.process.turns
    rounds = [bench.round() for _ in range(options.rounds)]
    each = [[round(seconds / options.nodes * 1e6, 1) for seconds in found] for found in rounds]
    out = {
        "bench": "renewals",
        "nodes": options.nodes,
        "microseconds": {"api": min(api for api, _ in each), "plane": min(plane for _, plane in each)},
        "turns": bench.process.turns - before,
        "rounds": each,
    }
    print(json.dumps(out, indent=None if options.json else 1))
    if options.profile:
        profile = cProfile.Profile()
        profile.runcall(bench.round)
        pstats.Stats(profile).sort_stats("tottime").print_stats(35)


if __name__ == "__main__":
    main()
