"""A plane that failed is replaced by another, which reads all there is from the store and goes on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from fairlead.control.instructions import Answers
from fairlead.control.plane import Plane
from fairlead.control.roster import default_deciders
from fairlead.port.request import Reply, Request
from fairlead.runtime.server import planes as under_test
from fairlead.runtime.server.plane_driver import PlaneDriver
from fairlead.runtime.server.planes import Planes
from fairlead.store.contract import CommittedChange
from fairlead.store.watch import Subscription
from tests.inprocess import InProcess

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


class Brittle(Plane):
    """Raises when it is answered, as long as it is told to."""

    fails = True

    def handle(self, event: Any) -> tuple[Any, ...]:
        if self.fails and isinstance(event, Answers):
            raise LookupError("a fault of the plane's")
        return super().handle(event)


class Host:
    """The API of this process, without a writer's thread."""

    def __init__(self, api: InProcess) -> None:
        self._api = api

    def note(self, notes: tuple[Any, ...]) -> None: ...

    def send(self, request: Request, user: Any, done: Callable[[Reply], None], context: Any = None) -> None:
        reply = self._api.send(request, user)
        assert isinstance(reply, Reply)
        done(reply)


def test_another_takes_its_place_and_does_what_the_first_left(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(under_test, "REPLACE_SECONDS", 0.1)
    api = InProcess()
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    assert api.post(DEPLOYMENTS, body)[0] == 201
    made: list[Brittle] = []
    told: set[str] = set()

    async def run() -> Planes:
        loop = asyncio.get_running_loop()

        def drive(failed: Callable[[BaseException], None]) -> PlaneDriver:
            plane = Brittle("here", default_deciders())
            plane.fails = len(made) < 2
            made.append(plane)
            host: Any = Host(api)
            return PlaneDriver(
                loop, plane, host, api.store, api.hub, lambda: api.now + loop.time(), failed, tape=False
            )

        kept = Planes(loop, drive)
        publish = api.hub.publish

        def publish_and_wake(changes: Iterable[CommittedChange]) -> list[Subscription]:
            woken = publish(changes)
            kept.wake(woken)
            return woken

        monkeypatch.setattr(api.hub, "publish", publish_and_wake)
        kept.start()
        for _ in range(1000):
            checks = {each.name: each.problem for each in kept.checks(kept.lags(), api.now + loop.time())}
            told.add(checks["controllers"])
            if api.store.list("replicasets.apps"):
                break
            await asyncio.sleep(0.01)
        kept.stop()
        return kept

    with caplog.at_level(logging.CRITICAL):
        kept = asyncio.run(run())
    assert kept.replaced == 2
    assert kept.plane is made[2]
    assert "the plane has failed (LookupError): nothing is decided" in told
    assert "" in told
    assert [each.message for each in caplog.records if "another takes its place" in each.message]
    assert [each.key.name for each in api.store.list("replicasets.apps")]
