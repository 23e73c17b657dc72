"""`fairlead drain`: takes a node out of use for a reason, and its pods away, as fast as their budgets allow.

What kubectl's drain does, with a reason and an author on the Node, each step told as it happens with the budget that
stands in the way, and an end: at the deadline it says what is left. Only evictions are asked for, so that a budget is
never broken; `--force-at-deadline yes` deletes what is left then, which no budget stops.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import closing
from typing import Any, NamedTuple

from fairlead.cli import options as shared
from fairlead.cli.client import ApiClient, connect
from fairlead.cli.objects import exists, not_found
from fairlead.cli.output import cell, hint, print_json
from fairlead.cli.pods import named_node
from fairlead.core.errors import ApiError, NotFound, TooManyRequests, UsageError
from fairlead.core.times import SECOND, human_duration, parse_duration
from fairlead.model.marks import AUTHOR, REASON

#: bound: plane | `fairlead drain` looks every | -
POLL_SECONDS = 0.5
# How soon a pod that its budget keeps is asked for again.
#: bound: plane | it asks again for a pod that a budget keeps every | -
ASK_AGAIN_SECONDS = 2.0
# Beyond its own grace, how long a pod that was deleted is waited for.
#: bound: plane | beyond its grace it waits for a deleted pod | told as left
FORCED_SECONDS = 10.0
_MIRROR = "kubernetes.io/config.mirror"
EPILOG = """examples:
  fairlead drain node-1 --reason "new disks"                    10 minutes, then it says what is left
  fairlead drain node-1 --reason "new disks" --deadline 1h
  fairlead drain node-1 --reason fire --deadline 30s --force-at-deadline yes
  kubectl uncordon node-1                                       back into use; reason and author go

Pods of DaemonSets stay, since they would come back; so do those that have ended. A pod that nobody would make again is
a reason not to begin, unless --unmanaged says that it may be lost. Exit code 0 when the node is empty, 1 when something
is left; the node stays cordoned either way.
"""

Json = dict[str, Any]


class Sorted(NamedTuple):
    """The pods of a node: to be evicted, to be left with why, and those that nobody would make again."""

    leaving: list[Json]
    kept: list[tuple[Json, str]]
    unmanaged: list[Json]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("node", metavar="NODE", help="its name, or node/NAME")
    parser.add_argument(
        "--reason", metavar="TEXT", required=True, help="why; kept on the Node until it is uncordoned"
    )
    parser.add_argument(
        "--deadline", metavar="TIME", default="10m", help="when to stop, as 90s or 1h (default: 10m)"
    )
    parser.add_argument(
        "--force-at-deadline",
        choices=("no", "yes"),
        default="no",
        help="yes: delete what is left then, whatever budgets say (default: no)",
    )
    parser.add_argument(
        "--unmanaged", action="store_true", help="evict pods too that no controller would make again"
    )
    shared.add_client_options(parser, run, "text", "json")


def run(options: argparse.Namespace) -> int:
    if not options.reason.strip():
        raise UsageError("--reason is empty: say why, whoever finds the node cordoned will want to know")
    seconds = _seconds(options.deadline)
    with closing(connect(options.kubeconfig)) as client:
        node = named_node(client, options.node)
        if not exists(client, node):
            raise not_found(client, [node])
        drain = Drain(client, node.name, quiet=options.output == "json")
        try:
            drain.begin(options.reason, unmanaged=options.unmanaged)
            drain.evict(time.monotonic() + seconds)
            if drain.left and options.force_at_deadline == "yes":
                drain.force()
        except KeyboardInterrupt:
            hint(f"interrupted: {node.name} stays cordoned, `kubectl uncordon {node.name}` takes that back")
            raise
    if options.output == "json":
        print_json(drain.report(options.reason))
        return 1 if drain.left else 0
    return drain.conclude(options.deadline)


def _seconds(text: str) -> float:
    try:
        seconds = parse_duration(text) / SECOND
    except ValueError:
        seconds = 0.0
    if seconds <= 0:
        raise UsageError(f"--deadline {text!r} is no time from now: write 90s, 10m or 1h")
    return seconds


def sort(pods: list[Json]) -> Sorted:
    leaving, kept, unmanaged = [], [], []
    for pod in pods:
        meta = pod["metadata"]
        owner = next((each for each in meta.get("ownerReferences") or () if each.get("controller")), None)
        if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
            kept.append((pod, "it has ended"))
        elif owner is not None and owner["kind"] == "DaemonSet":
            kept.append((pod, f"DaemonSet {owner['name']} would make it again"))
        elif _MIRROR in (meta.get("annotations") or {}):
            kept.append((pod, "its node made it"))
        else:
            leaving.append(pod)
            if owner is None and not meta.get("deletionTimestamp"):
                unmanaged.append(pod)
    return Sorted(leaving, kept, unmanaged)


class Drain:
    def __init__(self, client: ApiClient, node: str, *, quiet: bool = False) -> None:
        self._client, self._node, self._quiet = client, node, quiet
        self._path = f"/api/v1/nodes/{node}"
        self._said: dict[str, str] = {}  # by uid of a pod
        self._ask_at: dict[str, float] = {}
        self.gone: list[str] = []
        self.kept: list[tuple[str, str]] = []
        self.left: list[Json] = []

    def begin(self, reason: str, *, unmanaged: bool) -> None:
        """Nothing is touched if there is a pod that would be lost."""
        node = self._client.get(self._path)
        found = sort(self._pods())
        if found.unmanaged and not unmanaged:
            names = ", ".join(map(_name, found.unmanaged))
            raise UsageError(
                f"no controller would make these pods again: {names}: delete them, or say --unmanaged to lose them"
            )
        was = (node["metadata"].get("annotations") or {}).get(AUTHOR)
        cordoned = bool((node.get("spec") or {}).get("unschedulable"))
        body = {"metadata": {"annotations": {REASON: reason}}, "spec": {"unschedulable": True}}
        self._client.patch(self._path, body)
        by = f", which {was} did before" if cordoned and was else ""
        self._say(f"{self._node} cordoned{by}: {reason}")
        self.kept = [(_name(pod), why) for pod, why in found.kept]
        for name, why in self.kept:
            self._say(f"{name} stays: {why}")
        self.left = found.leaving

    def evict(self, until: float) -> None:
        """Until all are gone or it is time."""
        while self.left:
            for pod in self.left:
                self._evict(pod)
            if time.monotonic() >= until:
                return
            time.sleep(min(POLL_SECONDS, max(0.0, until - time.monotonic())))
            self._look()

    def force(self) -> None:
        graces = [(pod.get("spec") or {}).get("terminationGracePeriodSeconds", 30) for pod in self.left]
        for pod in self.left:
            if not pod["metadata"].get("deletionTimestamp"):
                meta = pod["metadata"]
                try:
                    self._client.delete(f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}")
                except NotFound:
                    continue
                self._tell(pod, "deleted: the deadline is over")
        until = time.monotonic() + max(graces) + FORCED_SECONDS
        while self.left and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
            self._look()

    def conclude(self, deadline: str) -> int:
        if not self.left:
            print(
                f"{self._node} drained: {_count(len(self.gone), 'pod')} gone, {len(self.kept)} left as they are"
            )
            return 0
        sys.stdout.flush()
        hint(f"{_count(len(self.left), 'pod')} left on {self._node} after {deadline}:")
        for pod in self.left:
            hint(f"  {_name(pod)}: {self.why(pod)}")
        hint(
            f"{self._node} stays cordoned: drain it again, `--force-at-deadline yes` breaks budgets, "
            f"`kubectl uncordon {self._node}` takes it back into use"
        )
        return 1

    def report(self, reason: str) -> Json:
        return {
            "node": self._node,
            "reason": reason,
            "gone": self.gone,
            "kept": [{"pod": name, "why": why} for name, why in self.kept],
            "left": [{"pod": _name(pod), "why": self.why(pod)} for pod in self.left],
        }

    def why(self, pod: Json) -> str:
        return self._said.get(pod["metadata"]["uid"], "not asked for yet")

    def _evict(self, pod: Json) -> None:
        meta = pod["metadata"]
        uid = meta["uid"]
        if meta.get("deletionTimestamp"):
            grace = human_duration(meta.get("deletionGracePeriodSeconds") or 0)
            held = meta.get("finalizers")
            waits = f"finalizers {', '.join(held)}" if held else f"its node, which gives it {grace}"
            self._tell(pod, f"is ending; waits for {waits}")
            return
        if time.monotonic() < self._ask_at.get(uid, 0.0):
            return
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": meta["name"], "namespace": meta["namespace"]},
            "deleteOptions": {"preconditions": {"uid": uid}},
        }
        self._ask_at[uid] = time.monotonic() + ASK_AGAIN_SECONDS
        try:
            self._client.post(f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/eviction", body)
            self._tell(pod, "evicted")
            self._ask_at.pop(uid, None)
        except NotFound:
            return
        except TooManyRequests as error:
            causes = [each.message for each in error.causes if each.message]
            self._tell(pod, f"stays for now: {'; '.join(causes) or error}")
        except ApiError as error:
            self._tell(pod, f"cannot be evicted: {error}")

    def _look(self) -> None:
        here = {pod["metadata"]["uid"]: pod for pod in self._pods()}
        asked = {pod["metadata"]["uid"] for pod in self.left}
        for pod in self.left:
            uid = pod["metadata"]["uid"]
            if uid not in here:
                self.gone.append(_name(pod))
                self._tell(pod, "gone")
        # Also those that came meanwhile: whoever tolerates a cordon may still be placed there.
        self.left = sort(list(here.values())).leaving
        known = {pod["metadata"]["uid"] for pod in self.left}
        # And those that were evicted and have ended: they are seen off until they are gone.
        self.left += (
            pod
            for uid, pod in here.items()
            if uid in asked - known and pod["metadata"].get("deletionTimestamp")
        )

    def _pods(self) -> list[Json]:
        answer = self._client.get("/api/v1/pods", {"fieldSelector": f"spec.nodeName={self._node}"})
        return list(answer.get("items") or ())

    def _tell(self, pod: Json, what: str) -> None:
        uid = pod["metadata"]["uid"]
        if self._said.get(uid) != what:
            self._said[uid] = what
            self._say(f"{_name(pod)} {what}")

    def _say(self, text: str) -> None:
        if self._quiet:
            hint(cell(text))
        else:
            print(cell(text), flush=True)


def _name(pod: Json) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
