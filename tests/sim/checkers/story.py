"""Stories for checkers: commits, one after the other, and the objects that they are about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairlead.control.leadership import FENCE, NAMESPACE, RESOURCE
from fairlead.core import codec
from fairlead.model.key import Key
from fairlead.sim.checkers.contract import Observed
from fairlead.sim.checkers.roster import all_checkers
from fairlead.sim.violation import Violation
from fairlead.store.contract import ADDED, DELETED, MODIFIED, CommittedChange, Entry

Json = dict[str, Any]


class Story:
    """Commits, one after the other, before the eyes of all checkers."""

    def __init__(self) -> None:
        self.observed = Observed(all_checkers())
        self.revision = 0
        self.seconds = 0.0
        self._objects: dict[Key, str] = {}

    def commit(
        self, resource: str, obj: Json, origin: str = "", gone: bool = False, namespace: str = "default"
    ) -> None:
        self.revision += 1
        metadata = {"uid": f"uid-{obj['metadata']['name']}", **obj["metadata"]}
        metadata["resourceVersion"] = str(self.revision)
        key = Key(resource, namespace, metadata["name"])
        change = DELETED if gone else MODIFIED if key in self._objects else ADDED
        entry = Entry(key, metadata["uid"], self.revision, codec.encode({**obj, "metadata": metadata}))
        self._objects[key] = metadata["uid"]
        self.observed.committed([CommittedChange(change, entry, None)], {self.revision: origin}, self.seconds)

    def decay(self, resource: str, name: str, namespace: str = "default") -> None:
        self.observed.decayed(Key(resource, namespace, name), self.seconds)

    def rest(self) -> None:
        self.observed.quiesced(self.seconds)


def replicaset(replicas: int, generation: int = 1, observed: int = 1, name: str = "web", **meta: Any) -> Json:
    return {
        "metadata": {"name": name, "generation": generation, **meta},
        "spec": {"replicas": replicas},
        "status": {"observedGeneration": observed},
    }


def pod(
    name: str, owner: str = "web", uid: str = "", node: str = "", kind: str = "ReplicaSet", **meta: Any
) -> Json:
    reference = {"kind": kind, "name": owner, "uid": uid or f"uid-{owner}", "controller": True}
    return {
        "metadata": {"name": name, "ownerReferences": [reference], **meta},
        "spec": {"nodeName": node},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def job(parallelism: int, *conditions: str, generation: int = 1) -> Json:
    told = [{"type": kind, "status": "True"} for kind in conditions]
    meta = {"name": "sum", "generation": generation}
    return {"metadata": meta, "spec": {"parallelism": parallelism}, "status": {"conditions": told}}


def deployment(replicas: int, surge: int, away: int) -> Json:
    strategy = {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": away}}
    return {
        "metadata": {"name": "d", "generation": 1},
        "spec": {"replicas": replicas, "strategy": strategy},
        "status": {"observedGeneration": 1},
    }


OF_DEPLOYMENT = [{"kind": "Deployment", "name": "d", "uid": "uid-d", "controller": True}]


GOING = "2027-01-01T00:00:00Z"


def node(name: str, cpu: str = "4", **labels: str) -> Json:
    status = {"allocatable": {"cpu": cpu}, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"metadata": {"name": name, "labels": labels}, "status": status}


def needs(name: str, cpu: str, at: str = "", claims: str = "", priority: int = 0, **meta: Any) -> Json:
    containers = [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]
    status = {"phase": "Running" if at else "Pending", "nominatedNodeName": claims}
    spec = {"nodeName": at, "containers": containers, "priority": priority}
    return {"metadata": {"name": name, **meta}, "spec": spec, "status": status}


def quota(hard: str, used: str = "0") -> Json:
    spec = {"hard": {"cpu": hard}, "nodeSelector": {"matchLabels": {"zone": "z"}}}
    return {"metadata": {"name": "q"}, "spec": spec, "status": {"used": {"cpu": used}}}


SCHEDULER = "scheduler of plane-0-1"


def leads(story: Story, holder: str) -> None:
    story.revision += 1
    metadata = {"name": FENCE, "uid": "f", "resourceVersion": str(story.revision)}
    data = codec.encode({"metadata": metadata, "spec": {"holderIdentity": holder}})
    entry = Entry(Key(RESOURCE, NAMESPACE, FENCE), "f", story.revision, data)
    story.observed.committed([CommittedChange(MODIFIED, entry, None)], {}, story.seconds)


def a_limit_of(story: Story, pods: int, used: int = 0) -> None:
    status = {"used": {"pods": str(used)}}
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": str(pods)}}, "status": status}
    story.commit("resourcequotas", quota)


def told_by(tell: Callable[[Story], None]) -> str:
    """The invariant that a story breaks."""
    with pytest.raises(Violation) as told:
        tell(Story())
    return told.value.invariant
