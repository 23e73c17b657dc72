"""Clusters and pods to place, drawn from a seed: small, crowded, and full of features that meet.

A seed first draws which features it is about, then templates that use them, then everything from those templates, so
that pods of a kind meet each other and themselves. `case(seed)` is the same everywhere and for ever.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.oracle.cluster import Cluster

Json = dict[str, Any]

NODES_MAX, PLACED_MAX, SEQUENCE_MAX = 12, 25, 8
HOSTNAME, ZONE, RACK = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "rack"
CORDONED = "node.kubernetes.io/unschedulable"
GPU = "example.com/gpu"
FEATURES = (
    *(
        "extended",
        "inits",
        "overhead",
        "ports",
        "selector",
        "taints",
        "cordons",
        "existing",
        "leaving",
        "tight",
    ),
    *("node-affinity", "odd-nodes", "namespaces", "namespaces", "priorities", "priorities", "priorities"),
    *(("node-preference", "affinity", "anti-affinity") * 2),
    *(("spread", "soft-spread", "pod-preference", "preferred-taints") * 3),
)  # those that are rarely felt are named more often
APPS, TIERS, VERSIONS = ("web", "db", "cache"), ("front", "back"), ("1", "2")
SPACES = {"default": {}, "team-a": {"team": "a", "env": "prod"}, "team-b": {"team": "b", "env": "prod"}}
TAINTS = (("dedicated", "gpu"), ("dedicated", "infra"), ("draining", ""), ("spot", "true"))
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")


@dataclass(frozen=True)
class Case:
    seed: int
    cluster: Cluster
    pods: list[Json]  # to be placed, in this order


def case(seed: int, about: tuple[str, ...] = ()) -> Case:
    """`about`: features that it shall have in any event."""
    return _Drawing(seed, about).case()


def crowded(seed: int) -> Case:
    """Little room, taken by pods of all priorities; most pods to be placed are above them."""
    drawn = case(seed, ("priorities", "tight"))
    for number, pod in enumerate(drawn.pods):
        if number % 3 != 2:
            pod["spec"]["priority"] = 1500
    return drawn


class _Drawing:
    def __init__(self, seed: int, about: tuple[str, ...]) -> None:
        self.seed = seed
        self.random = Random(seed)
        wanted = self.random.sample(FEATURES, self.random.choice((1, 2, 3, 4, 5, 9)))
        self.features = {*wanted, *about}
        self.clock = 0

    # Chances

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def uses(self, feature: str, often: float = 0.75) -> bool:
        """Whether something uses a feature: often if this seed is about it, otherwise hardly ever."""
        return self.chance(often if feature in self.features else 0.02)

    def one(self, *values: Any) -> Any:
        return self.random.choice(values)

    def some(self, values: Any, most: int) -> list[Any]:
        return self.random.sample(list(values), self.random.randint(1, min(most, len(values))))

    # Everything

    def case(self) -> Case:
        nodes = [self.node(name) for name in self.node_names()]
        templates = [self.template() for _ in range(self.random.randint(1, 4))]
        placed = [
            self.placed(f"old-{number}", templates, nodes)
            for number in range(self.random.choice((0, 3, 8, 15, PLACED_MAX)))
        ]
        kinds = self.some(templates, 3)
        pods = []
        for number in range(self.random.randint(1, SEQUENCE_MAX)):
            pods.append(self.named(f"new-{number}", self.random.choice(kinds)))
            if self.uses("priorities", 0.5):
                pods[-1]["spec"]["priority"] = self.one(0, 100, 1000, 2000)
        spaces = [
            {"metadata": {"name": name, "uid": name, "labels": labels}} for name, labels in SPACES.items()
        ]
        budgets = [self.budget(number) for number in range(self.random.randint(0, 3))]
        return Case(self.seed, Cluster(nodes, placed, spaces, [], budgets), pods)

    def node_names(self) -> list[str]:
        names = [f"n{number}" for number in range(self.random.randint(1, NODES_MAX))]
        self.random.shuffle(names)
        return names

    def node(self, name: str) -> Json:
        odd = self.uses("odd-nodes", 0.35)
        labels = {HOSTNAME: name, ZONE: self.one("a", "b", "c")}
        for key in list(labels):
            if odd and self.chance(0.4):
                del labels[key]
        for key, values in (
            (RACK, ("r1", "r2", "r3")),
            ("disk", ("ssd", "hdd")),
            ("cores", ("4", "8", "16", "many")),
        ):
            if self.chance(0.7):
                labels[key] = self.one(*values)
        tight = "tight" in self.features
        room = {
            "cpu": self.one("500m", "1", "1") if tight else self.one("2", "4", "3500m", "8", "6.4"),
            "memory": self.one("512Mi", "1Gi", "700M")
            if tight
            else self.one("2Gi", "4Gi", "3G", "16Gi", "5e9"),
            "pods": self.one("2", "3", "5") if self.uses("tight", 0.4) else "110",
        }
        if self.uses("extended", 0.6):
            room[GPU] = self.one("1", "2", "4", "0")
        if self.uses("extended", 0.6):
            room["ephemeral-storage"] = self.one("1Gi", "3Gi")
        if odd and self.chance(0.15):
            room[self.one("cpu", "memory")] = "0"
        if odd and self.chance(0.05):
            del room[self.one("cpu", "memory", "pods")]  # what a node does not name it has none of
        spec: Json = {}
        if self.uses("taints", 0.35):
            spec["taints"] = [self.taint(*each) for each in self.some(TAINTS, 3)]
        if self.uses("preferred-taints", 0.6):
            disliked = [self.taint(*each) | {"effect": EFFECTS[2]} for each in self.some(TAINTS, 3)]
            spec["taints"] = spec.get("taints", []) + disliked
        if self.uses("cordons", 0.2):
            spec["unschedulable"] = True
            if self.chance(0.3):
                spec.setdefault("taints", []).append({"key": CORDONED, "effect": "NoSchedule"})
        return {
            "metadata": {"name": name, "uid": name, "labels": labels},
            "spec": spec,
            "status": {"allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]},
        }

    def taint(self, key: str, value: str) -> Json:
        taint = {"key": key, "effect": self.one(*EFFECTS)}
        return {**taint, "value": value} if value else taint

    # Pods

    def template(self) -> Json:
        labels = {"app": self.one(*APPS)}
        if self.chance(0.6):
            labels["tier"] = self.one(*TIERS)
        if self.chance(0.5):
            labels["version"] = self.one(*VERSIONS)
        if self.chance(0.05):
            labels = {}
        spec: Json = {"containers": [self.container("c0")]}
        if self.chance(0.2):
            spec["containers"].append(self.container("c1"))
        if self.uses("inits"):
            spec["initContainers"] = [self.init(number) for number in range(self.random.randint(1, 4))]
        if self.uses("overhead"):
            spec["overhead"] = {"cpu": self.one("100m", "250m"), "memory": self.one("64Mi", "120Mi")}
        if self.uses("selector", 0.5):
            spec["nodeSelector"] = self.one({"disk": "ssd"}, {ZONE: "a"}, {"disk": "hdd", RACK: "r1"})
        if self.uses("taints", 0.7) or self.uses("preferred-taints", 0.5) or self.uses("cordons", 0.3):
            spec["tolerations"] = [self.toleration() for _ in range(self.random.randint(1, 3))]
        if self.uses("priorities"):
            spec["priority"] = self.one(-10, 0, 100, 1000)
            if self.chance(0.15):
                spec["preemptionPolicy"] = "Never"
        self.add_affinity(spec)
        spreads = [self.spread("DoNotSchedule") for _ in range(self.one(1, 1, 2)) if self.uses("spread", 0.8)]
        spreads += [
            self.spread("ScheduleAnyway") for _ in range(self.one(1, 2, 2)) if self.uses("soft-spread", 0.8)
        ]
        if spreads:
            self.random.shuffle(spreads)
            spec["topologySpreadConstraints"] = spreads
        space = self.one(*SPACES) if self.uses("namespaces") else "default"
        return {"metadata": {"namespace": space, "labels": labels}, "spec": spec}

    def container(self, name: str) -> Json:
        asked = {}
        if self.chance(0.7):
            asked["cpu"] = self.one("100m", "50m", "250m", "0.4", "0", 1)
        if self.chance(0.7):
            asked["memory"] = self.one("64Mi", "128Mi", "300M", "1Gi", "0", "1e8", "100000000500m")
        if self.uses("extended", 0.5):
            asked[GPU] = self.one("1", "2", "0")
        if self.uses("extended", 0.4):
            asked["ephemeral-storage"] = self.one("200Mi", "1Gi")
        container: Json = {"name": name, "resources": {"requests": asked}} if asked else {"name": name}
        if self.uses("ports"):
            container["ports"] = [self.port() for _ in range(self.one(1, 1, 2))]
        return container

    def port(self) -> Json:
        port: Json = {"containerPort": 80}
        if self.chance(0.9):
            port["hostPort"] = self.one(8080, 8080, 8081)
        if self.chance(0.4):
            port["protocol"] = self.one("TCP", "UDP")
        if self.chance(0.6):
            port["hostIP"] = self.one("127.0.0.1", "10.0.0.1", "0.0.0.0")
        return port

    def init(self, number: int) -> Json:
        container = self.container(f"i{number}")
        return {**container, "restartPolicy": "Always"} if self.chance(0.5) else container

    def toleration(self) -> Json:
        key, value = self.one(*TAINTS, (CORDONED, ""))
        form = self.one("equal", "equal", "exists", "all", "other")
        found: Json = {"key": key}
        if form == "all":
            found = {"operator": "Exists"}
        elif form == "exists":
            found["operator"] = "Exists"
        else:
            if self.chance(0.5):
                found["operator"] = "Equal"
            found["value"] = value if form == "equal" else "other"
            if not found["value"]:
                del found["value"]
        if self.chance(0.5):
            found["effect"] = self.one(*EFFECTS)
        return found

    # Affinity and spreading

    def add_affinity(self, spec: Json) -> None:
        required, preferred = (
            f"{s}DuringSchedulingIgnoredDuringExecution" for s in ("required", "preferred")
        )
        affinity: Json = {}
        if self.uses("node-affinity"):
            terms = [self.node_term() for _ in range(self.one(1, 1, 2))]
            affinity["nodeAffinity"] = {required: {"nodeSelectorTerms": terms}}
        if self.uses("node-preference"):
            liked = [
                {"weight": self.weight(), "preference": self.node_term()} for _ in range(self.one(1, 2, 3))
            ]
            affinity.setdefault("nodeAffinity", {})[preferred] = liked
        for kind, feature in (("podAffinity", "affinity"), ("podAntiAffinity", "anti-affinity")):
            if self.uses(feature, 0.6):
                affinity[kind] = {required: [self.pod_term() for _ in range(self.one(1, 1, 2))]}
            if self.uses("pod-preference", 0.55):
                liked = [
                    {"weight": self.weight(), "podAffinityTerm": self.pod_term()}
                    for _ in range(self.one(1, 2))
                ]
                affinity.setdefault(kind, {})[preferred] = liked
        if affinity:
            spec["affinity"] = affinity

    def weight(self) -> int:
        return int(self.one(1, 2, 7, 30, 50, 100))

    def node_term(self) -> Json:
        if self.chance(0.06):
            return {}
        term: Json = {}
        if self.chance(0.12):
            fields = {
                "key": "metadata.name",
                "operator": self.one("In", "NotIn"),
                "values": [self.one("n0", "n1")],
            }
            term["matchFields"] = [fields]
        if not term or self.chance(0.5):
            term["matchExpressions"] = [self.node_expression() for _ in range(self.one(1, 1, 2))]
        return term

    def node_expression(self) -> Json:
        operator = self.one("In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
        if operator in ("Gt", "Lt"):
            return {"key": "cores", "operator": operator, "values": [self.one("4", "7", "8", "16")]}
        key, values = self.one((ZONE, ("a", "b", "c")), ("disk", ("ssd", "hdd")), (RACK, ("r1", "r2", "r3")))
        if operator in ("Exists", "DoesNotExist"):
            return {"key": key, "operator": operator}
        return {"key": key, "operator": operator, "values": self.some(values, 2)}

    def pod_term(self) -> Json:
        term = {"topologyKey": self.topology_key(), "labelSelector": self.selector()}
        if self.uses("namespaces", 0.6):
            if self.chance(0.5):
                term["namespaces"] = self.some(SPACES, 2)
            if self.chance(0.6):
                term["namespaceSelector"] = self.one(
                    {},
                    {"matchLabels": {"team": "a"}},
                    {"matchLabels": {"env": "prod"}},
                    {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]},
                )
        if self.chance(0.04):
            del term["labelSelector"]
        elif self.chance(0.08):
            term[self.one("matchLabelKeys", "mismatchLabelKeys")] = [self.one("version", "tier")]
        return term

    def topology_key(self) -> str:
        return str(
            self.one(HOSTNAME, HOSTNAME, ZONE, ZONE, RACK, "no-such-key" if self.chance(0.2) else ZONE)
        )

    def selector(self) -> Json:
        form = self.one("app", "app", "in", "notin", "exists", "absent", "two")
        app = self.one(*APPS)
        if form == "app":
            return {"matchLabels": {"app": app}}
        if form == "two":
            return {"matchLabels": {"app": app, "tier": self.one(*TIERS)}}
        if form == "in":
            return {"matchExpressions": [{"key": "app", "operator": "In", "values": self.some(APPS, 2)}]}
        if form == "notin":
            return {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": [self.one(*TIERS)]}]}
        operator = "Exists" if form == "exists" else "DoesNotExist"
        return {"matchExpressions": [{"key": "version", "operator": operator}]}

    def spread(self, action: str) -> Json:
        found = {
            "maxSkew": self.one(1, 1, 2, 3, 5),
            "topologyKey": self.topology_key(),
            "whenUnsatisfiable": action,
            "labelSelector": self.selector(),
        }
        if action == "DoNotSchedule" and self.chance(0.35):
            found["minDomains"] = self.one(1, 2, 3, 4)
        if self.chance(0.35):
            found["nodeAffinityPolicy"] = self.one("Honor", "Ignore")
        if self.chance(0.35):
            found["nodeTaintsPolicy"] = self.one("Honor", "Ignore")
        if self.chance(0.04):
            del found["labelSelector"]
        elif self.chance(0.25):
            found["matchLabelKeys"] = self.some(("version", "tier"), 2)
        return found

    # Pods that are there

    def named(self, name: str, template: Json) -> Json:
        pod: Json = copy.deepcopy(template)
        self.clock += 1
        pod["metadata"] |= {
            "name": name,
            "uid": f"uid-{name}",
            "creationTimestamp": f"2026-01-01T{self.clock // 60:02}:{self.clock % 60:02}:00Z",
        }
        return pod

    def placed(self, name: str, templates: list[Json], nodes: list[Json]) -> Json:
        pod = self.named(name, self.one(*templates) if self.chance(0.7) else self.template())
        pod["status"] = {
            "phase": self.one("Running", "Pending"),
            "startTime": pod["metadata"]["creationTimestamp"],
        }
        pod["spec"]["nodeName"] = self.one(*nodes)["metadata"]["name"]
        if self.uses("leaving", 0.4):
            pod["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
        if self.uses("existing", 0.3):
            pod["status"]["phase"] = self.one("Succeeded", "Failed")
        elif self.uses("existing", 0.15):
            pod["spec"]["nodeName"] = "gone"
        elif self.uses("existing", 0.15):
            del pod["spec"]["nodeName"]
        return pod

    def budget(self, number: int) -> Json:
        selector = {"matchLabels": {"app": self.one(*APPS)}}
        status: Json = {"disruptionsAllowed": self.one(0, 0, 1, 2)}
        if self.chance(0.2):
            status["disruptedPods"] = {f"old-{self.random.randrange(8)}": "2026-01-01T00:00:00Z"}
        metadata = {"name": f"budget-{number}", "uid": f"budget-{number}", "namespace": "default"}
        return {"metadata": metadata, "spec": {"selector": selector}, "status": status}
