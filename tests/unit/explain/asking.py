"""A plane in one thread whose records are kept as the server keeps them, and the questions asked about it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from fairlead.cli.client import ApiClient
from fairlead.control.record import STREAM
from fairlead.core import codec
from fairlead.explain import explaining
from fairlead.explain.asking import answered
from fairlead.explain.index import MemoryIndex
from fairlead.explain.sources import Sources
from fairlead.store.contract import Batch, Note
from tests.inprocess import InProcess
from tests.unit.control.driving import Driver

PODS = "/api/v1/namespaces/default/pods"


class Asked:
    """Two hollow nodes of 32 cpu: node-0 and node-1."""

    def __init__(self) -> None:
        self.api = InProcess()
        self.driver = Driver(self.api)
        self._kept = 0
        self.run(10)

    def run(self, seconds: float) -> None:
        self.driver.run(seconds)
        new = self.driver.records[self._kept :]
        self._kept += len(new)
        notes = tuple(Note(STREAM, codec.encode(each), 0) for each in new)
        self.api.journal.append(Batch((), notes, self.driver.now))

    def create(self, name: str, cpu: str = "1", **spec: Any) -> None:
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"containers": [container], **spec},
        }
        code, answer = self.api.post(PODS, body)
        assert code == 201, answer

    @property
    def sources(self) -> Sources:
        return Sources(
            self.api.store,
            self.api.journal,
            lambda: self.driver.plane,
            lambda: self.driver.now,
            MemoryIndex(self.api.journal),
        )


def explain(sources: Sources, namespace: str, name: str, number: int = 0) -> dict[str, Any]:
    return answered(explaining.explain(sources, namespace, name, number))


def history(sources: Sources, namespace: str, name: str) -> dict[str, Any]:
    return answered(explaining.history(sources, namespace, name))


def why_not_there(sources: Sources, namespace: str, name: str, node: str) -> dict[str, Any]:
    return answered(explaining.why_not_there(sources, namespace, name, node))


class InProcessClient(ApiClient):
    """What the command line reads with, without a connection."""

    def __init__(self, asked: Asked) -> None:
        self._api = asked.api

    def get(self, path: str, query: Any = None, accept: str = "") -> dict[str, Any]:
        code, answer = self._api.get(f"{path}?{urlencode(query)}" if query else path)
        assert code == 200, answer
        found: dict[str, Any] = answer
        return found
