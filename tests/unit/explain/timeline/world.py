"""A plane whose requests name their decision and their controller, as the server's do, and its logs as they are kept."""

from __future__ import annotations

from typing import Any

from fairlead.api.access.users import MASTERS, User
from fairlead.api.plan import Context, decided_by
from fairlead.control.instructions import Call
from fairlead.core import codec
from fairlead.core.times import parse_time
from fairlead.explain.asking import answered
from fairlead.explain.timeline.telling import TimelineQuestion as About
from fairlead.explain.timeline.telling import timeline
from fairlead.model.key import Key
from fairlead.store.contract import Batch, Note
from tests.inprocess import ADMIN, InProcess
from tests.unit.control.driving import Driver
from tests.unit.explain.asking import Asked

Json = dict[str, Any]
APPS = "/apis/apps/v1/namespaces/default"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"
ZONES = "/apis/fairlead.dev/v1/namespaces/default/placementquotas"


class NamingApi(InProcess):
    decision = controller = ""

    def context(self, user: User = ADMIN) -> Context:
        if self.controller:
            user = User(f"system:fairlead:{self.controller}", groups=(MASTERS,))
        return decided_by(super().context(user), self.decision)


class NamingDriver(Driver):
    def _do(self, instruction: Any) -> None:
        assert isinstance(self.api, NamingApi)
        if isinstance(instruction, Call):
            self.api.decision, self.api.controller = instruction.decision, instruction.controller
        try:
            super()._do(instruction)
        finally:
            self.api.decision = self.api.controller = ""


class World(Asked):
    def __init__(self) -> None:
        self.api = NamingApi()
        self.driver = NamingDriver(self.api)
        self._kept = 0
        self.run(10)

    def run(self, seconds: float) -> None:
        self.driver.run(seconds)
        first, self._kept = self._kept, len(self.driver.records)
        for record, stream in zip(self.driver.records[first:], self.driver.streams[first:], strict=True):
            note = Note(stream, codec.encode(record), 0)
            self.api.journal.append(Batch((), (note,), parse_time(record["time"])))

    def deploy(self, replicas: int, cpu: str = "1") -> None:
        container = {"name": "main", "image": "web:1", "resources": {"requests": {"cpu": cpu}}}
        body = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}},
            },
        }
        code, answer = self.api.post(f"{APPS}/deployments", body)
        assert code == 201, answer

    def scale(self, replicas: int) -> None:
        code, answer = self.api.patch(f"{APPS}/deployments/web", {"spec": {"replicas": replicas}})
        assert code == 200, answer

    def limit_pods(self, number: int) -> None:
        body = {
            "apiVersion": "fairlead.dev/v1",
            "kind": "PlacementQuota",
            "metadata": {"name": "risk-zone-c"},
            "spec": {"hard": {"pods": str(number)}},
        }
        code, answer = self.api.post(ZONES, body)
        assert code == 201, answer

    def pods(self) -> list[str]:
        return [entry.key.name for entry in self.api.store.list("pods", "default")]

    def told(self, resource: str, name: str, **more: Any) -> Json:
        return answered(timeline(self.sources, About(Key(resource, "default", name), **more)))


def lines(answer: Json) -> list[str]:
    return [f"{each['who']}: {each['what']}" for each in answer["moments"]]


def place(answer: Json, part: str, after: int = -1) -> int:
    """Where the first line is that has this in it."""
    told = lines(answer)
    found = [number for number, text in enumerate(told) if part in text and number > after]
    assert found, f"{part!r} is not in\n" + "\n".join(told)
    return found[0]
