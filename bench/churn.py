"""What users do to a plane all day, over and over, through its API; as many objects live after a round as before it.

Used by `longevity.py`. Each lane is a thread with a connection of its own: it does its round, then rests. Names are new
in every round, so that whatever is kept by name or uid shows; `clear` takes all of it away.
"""

from __future__ import annotations

import http.client
import json
import random
import socket
import ssl
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import api
from churn_objects import STAYS, config_map, containers, job, pod_spec, service, workload

Json = dict[str, Any]
NAMESPACE = "steady"
_IN = f"/api/v1/namespaces/{NAMESPACE}"
_APPS = f"/apis/apps/v1/namespaces/{NAMESPACE}"
_BATCH = f"/apis/batch/v1/namespaces/{NAMESPACE}"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_MERGE, _APPLY = "application/merge-patch+json", "application/apply-patch+yaml"


class Caller:
    """One connection, kept; answers are counted by what was asked and its code."""

    def __init__(self, plane: api.Plane, counts: Counter[str]) -> None:
        self.plane = plane
        self._counts = counts
        self._tls = ssl.create_default_context(cafile=plane.ca)
        self._line: http.client.HTTPSConnection | None = None

    def connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("127.0.0.1", self.plane.port, context=self._tls, timeout=60)

    def head(self, form: str = "application/json") -> dict[str, str]:
        return {"Authorization": f"Bearer {self.plane.token}", "Content-Type": form}

    def call(
        self, verb: str, path: str, body: Json | None = None, form: str = "application/json"
    ) -> tuple[int, Any]:
        text = None if body is None else json.dumps(body)
        for attempt in range(3):
            self._line = self._line or self.connect()
            try:
                self._line.request(verb, path, text, self.head(form))
                answer = self._line.getresponse()
                read = answer.read()
            except (OSError, http.client.HTTPException):
                self._line = None
                if attempt == 2:
                    raise
                continue
            self._counts[f"{verb} {answer.status}"] += 1
            try:
                return answer.status, json.loads(read)
            except ValueError:
                return answer.status, read.decode(errors="replace")
        raise AssertionError

    def make(self, path: str, body: Json) -> None:
        self.call("POST", path, body)

    def drop(self, path: str) -> None:
        self.call("DELETE", path)

    def merge(self, path: str, body: Json) -> None:
        self.call("PATCH", path, body, _MERGE)


def begin(caller: Caller, nodes: int) -> None:
    """What lives all along."""
    caller.make(
        "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    )
    for number in range(3):
        caller.make(f"{_IN}/configmaps", config_map(f"settings-{number}", text="0"))
    volumes = [{"name": "settings", "configMap": {"name": "settings-0"}}]
    mounted = containers(STAYS, volumeMounts=[{"name": "settings", "mountPath": "/etc/web"}])
    web = {**pod_spec(), "containers": mounted, "volumes": volumes}
    caller.make(f"{_APPS}/deployments", workload("Deployment", "web", 3, web, revisionHistoryLimit=2))
    caller.make(f"{_APPS}/deployments", workload("Deployment", "elastic", 1, pod_spec()))
    caller.make(f"{_APPS}/deployments", workload("Deployment", "crashing", 1, pod_spec("echo no; exit 1")))
    caller.make(f"{_APPS}/statefulsets", workload("StatefulSet", "db", 1, pod_spec(), serviceName="db"))
    if nodes <= 10:
        caller.make(f"{_APPS}/daemonsets", workload("DaemonSet", "each", None, pod_spec()))
    for number in range(3):
        caller.make(f"{_IN}/services", service(f"front-{number}", "web"))
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    caller.make(
        f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets",
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "web"},
            "spec": budget,
        },
    )
    every_minute = {
        "schedule": "* * * * *",
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 1,
        "jobTemplate": {"spec": job("", "true")["spec"]},
    }
    cron = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly"},
        "spec": every_minute,
    }
    caller.make(f"{_BATCH}/cronjobs", cron)


def rollouts(caller: Caller, number: int) -> None:
    colour = f"new-{number}" if number % 5 == 0 else ("blue", "green")[number % 2]
    template = {"template": {"metadata": {"annotations": {"colour": colour}}}}
    caller.merge(f"{_APPS}/deployments/web", {"spec": template})


def scales(caller: Caller, number: int) -> None:
    caller.merge(f"{_APPS}/deployments/elastic/scale", {"spec": {"replicas": (1, 4)[number % 2]}})
    caller.merge(f"{_APPS}/statefulsets/db/scale", {"spec": {"replicas": (1, 2)[number % 2]}})


def jobs(caller: Caller, number: int) -> None:
    caller.make(f"{_BATCH}/jobs", job(f"batch-{number}", "true" if number % 3 else "exit 3"))


def cron_jobs(caller: Caller, number: int) -> None:
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": job("", "true")["spec"]}}
    meta = {"name": f"cron-{number}"}
    caller.make(
        f"{_BATCH}/cronjobs", {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": meta, "spec": spec}
    )
    caller.drop(f"{_BATCH}/cronjobs/cron-{number - 1}?propagationPolicy=Background")


def crashes(caller: Caller, number: int) -> None:
    spec = pod_spec("echo failing; exit 2")
    caller.make(
        f"{_IN}/pods",
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"crash-{number}"}, "spec": spec},
    )
    caller.call("GET", f"{_IN}/pods/crash-{number - 1}/log?previous=true")
    caller.drop(f"{_IN}/pods/crash-{number - 1}")


def services(caller: Caller, number: int) -> None:
    caller.make(f"{_IN}/services", service(f"extra-{number}", "web"))
    caller.drop(f"{_IN}/services/extra-{number - 1}")


def config_maps(caller: Caller, number: int) -> None:
    caller.merge(f"{_IN}/configmaps/settings-{number % 3}", {"data": {"text": str(number)}})
    caller.make(f"{_IN}/configmaps", config_map(f"short-{number}", text="x" * 500))
    caller.drop(f"{_IN}/configmaps/short-{number - 1}")


def watches(caller: Caller, number: int) -> None:
    """Opened, read a little, and dropped without a word."""
    paths = (
        f"{_IN}/pods?watch=1",
        "/api/v1/configmaps?watch=1&allowWatchBookmarks=true",
        f"/api/v1/pods?watch=1&labelSelector=round%3D{number}",
        f"{_APPS}/deployments?watch=1&resourceVersion=0",
        "/api/v1/events?watch=1&fieldSelector=involvedObject.kind%3DPod",
    )
    line = caller.connect()
    try:
        line.request("GET", paths[number % len(paths)], headers=caller.head())
        line.sock.settimeout(1.0)
        answer = line.getresponse()
        try:
            for _ in range(3):
                answer.readline()
        except OSError:
            pass  # nothing was told in a second
        if number % 2:  # cut, not closed
            line.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        answer.close()
    finally:
        line.close()


def custom_kinds(caller: Caller, number: int) -> None:
    group, plural = f"g{number}.example.com", f"widgets{number}"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": plural, "singular": f"widget{number}", "kind": f"Widget{number}"}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    meta = {"name": f"{plural}.{group}"}
    kind = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": meta,
        "spec": spec,
    }
    caller.make(_CRDS, kind)
    objects = f"/apis/{group}/v1/namespaces/{NAMESPACE}/{plural}"
    for each in range(3):
        one = {
            "apiVersion": f"{group}/v1",
            "kind": f"Widget{number}",
            "metadata": {"name": f"w-{each}"},
            "spec": {},
        }
        caller.make(objects, one)
        caller.merge(f"{objects}/w-{each}", {"spec": {"size": number}})
    caller.call("GET", objects)
    caller.call("GET", f"/openapi/v3/apis/{group}/v1")
    caller.drop(f"{objects}/w-0")
    caller.drop(f"{_CRDS}/widgets{number - 1}.g{number - 1}.example.com")


def namespaces(caller: Caller, number: int) -> None:
    name = f"brief-{number}"
    caller.make("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    caller.make(f"/apis/apps/v1/namespaces/{name}/deployments", workload("Deployment", "web", 1, pod_spec()))
    caller.make(f"/api/v1/namespaces/{name}/services", service("web", "web"))
    caller.make(f"/api/v1/namespaces/{name}/configmaps", config_map("some", text="x"))
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "all"},
        "spec": {"hard": {"pods": "9"}},
    }
    caller.make(f"/api/v1/namespaces/{name}/resourcequotas", quota)
    caller.drop(f"/api/v1/namespaces/brief-{number - 1}")


def events(caller: Caller, number: int) -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"told-{number}"},
        "involvedObject": {"kind": "Pod", "namespace": NAMESPACE, "name": f"web-{number}"},
        "reason": "Told",
        "message": f"round {number}",
        "type": "Normal",
    }
    caller.make(f"{_IN}/events", event)


def leases(caller: Caller, number: int) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": f"lock-{number}"}}
    caller.make(path, {**lease, "spec": {"holderIdentity": "one", "leaseDurationSeconds": 15}})
    caller.merge(f"{path}/lock-{number}", {"spec": {"holderIdentity": "two"}})
    caller.drop(f"{path}/lock-{number - 1}")


def applies(caller: Caller, number: int) -> None:
    path = f"{_IN}/configmaps/applied"
    mine = config_map("applied", **{f"key-{number % 7}": str(number)})
    caller.call("PATCH", f"{path}?fieldManager=tool-{number % 7}&force=true", mine, _APPLY)
    # A manager of its own in every round: such entries are merged into one.
    body = {"metadata": {"annotations": {f"seen-{number % 4}": str(number)}}}
    caller.call("PATCH", f"{path}?fieldManager=build-{number}", body, _MERGE)
    caller.call(
        "PATCH",
        f"{_IN}/configmaps/again?fieldManager=tool-{number % 3}&force=true",
        config_map("again"),
        _APPLY,
    )
    caller.drop(f"{_IN}/configmaps/again")


def questions(caller: Caller, number: int) -> None:
    _, found = caller.call("GET", f"{_IN}/pods?limit=20&labelSelector=app%3Dweb")
    if items := found.get("items"):
        name = random.choice(items)["metadata"]["name"]
        caller.call("GET", f"/fairlead/v1/explain/{NAMESPACE}/{name}")
        caller.call("GET", f"/fairlead/v1/explain/{NAMESPACE}/{name}?all=true")
        caller.call("GET", f"/fairlead/v1/why-not/{NAMESPACE}/{name}/local-1")
        caller.call("GET", f"{_IN}/pods/{name}/log?tailLines=5")
    for path in (
        "/metrics",
        "/fairlead/v1/queues",
        "/fairlead/v1/audit?limit=10",
        "/openapi/v2",
        "/apis",
        "/nothing",
    ):
        caller.call("GET", path)
    caller.call("GET", f"{_IN}/pods/no-such-{number}")
    caller.call("GET", f"/apis/no-{number}.example.com/v1/things")
    caller.call(
        "POST", f"{_IN}/configmaps", {"kind": "ConfigMap", "metadata": {"name": f"Not A Name {number}"}}
    )


def commands(caller: Caller, number: int) -> None:
    """The programs that people type, each a process."""
    data, told = caller.plane.directory, [str(api.FAIRLEAD)]
    where = ["--kubeconfig", str(data / "kubeconfig")]
    typed = (
        [*told, "plan", *where, "-f", str(api.ROOT / "examples" / "03-deployment.yaml")],
        [*told, "get", "pods", *where, "-n", NAMESPACE],
        [*told, "progress", "deployment/web", *where, "-n", NAMESPACE],
        [*told, "repair", *where],
        ["kubectl", *where, "get", "all", "-n", NAMESPACE],
    )
    subprocess.run(typed[number % len(typed)], capture_output=True, timeout=60, check=False)


def impossible(caller: Caller, number: int) -> None:
    """Pods that no node can have."""
    wants = {"resources": {"requests": {"cpu": "900"}}} if number % 2 else {}
    spec = {**pod_spec(), "containers": containers(STAYS, **wants)}
    if not wants:
        spec["nodeSelector"] = {"disk": f"kind-{number}"}
    name = f"impossible-{number}"
    caller.make(f"{_IN}/pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
    caller.call("GET", f"/fairlead/v1/explain/{NAMESPACE}/{name}")
    caller.drop(f"{_IN}/pods/impossible-{number - 2}")


# Seconds of rest after each round.
LANES: dict[str, tuple[float, Callable[[Caller, int], None]]] = {
    "rollouts": (12.0, rollouts),
    "scales": (10.0, scales),
    "jobs": (9.0, jobs),
    "cron_jobs": (70.0, cron_jobs),
    "crashes": (20.0, crashes),
    "services": (4.0, services),
    "config_maps": (0.7, config_maps),
    "watches": (0.5, watches),
    "custom_kinds": (6.0, custom_kinds),
    "namespaces": (9.0, namespaces),
    "events": (0.5, events),
    "leases": (0.7, leases),
    "applies": (0.7, applies),
    "questions": (3.0, questions),
    "commands": (15.0, commands),
    "impossible": (5.0, impossible),
}


class Churn:
    def __init__(self, plane: api.Plane, slowness: float) -> None:
        self.plane = plane
        self.counts: Counter[str] = Counter()
        self.rounds: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self._slowness = slowness
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._lane, args=(name,), daemon=True) for name in LANES]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(90)

    def _lane(self, name: str) -> None:
        rest, act = LANES[name]
        caller = Caller(self.plane, self.counts)
        self._stop.wait(random.random() * rest)
        while not self._stop.is_set():
            self.rounds[name] += 1
            try:
                act(caller, self.rounds[name])
            except Exception as error:  # noqa: BLE001  told at the end; the others go on
                self.errors[f"{name}: {error!r}"[:200]] += 1
            self._stop.wait(rest * self._slowness)


def clear(caller: Caller, seconds: float = 120.0) -> bool:
    """Take away all that was made; whether it went."""
    _, found = caller.call("GET", "/api/v1/namespaces")
    for each in found["items"]:
        if each["metadata"]["name"] == NAMESPACE or each["metadata"]["name"].startswith("brief-"):
            caller.drop(f"/api/v1/namespaces/{each['metadata']['name']}")
    _, kinds = caller.call("GET", _CRDS)
    for each in kinds["items"]:
        caller.drop(f"{_CRDS}/{each['metadata']['name']}")
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        _, found = caller.call("GET", "/api/v1/namespaces")
        _, kinds = caller.call("GET", _CRDS)
        names = {each["metadata"]["name"] for each in found["items"]}
        if not kinds["items"] and not any(name == NAMESPACE or name.startswith("brief-") for name in names):
            return True
        time.sleep(1)
    return False
