"""The task that works through garbage collection and namespace deletion, on a real loop."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.inprocess import InProcess
from tests.unit.api.things import CONFIGMAPS, configmap, made

from fairlead.core.errors import Unavailable
from fairlead.port.request import Reply, Request
from fairlead.runtime import collector
from fairlead.runtime.collector import Collector
from fairlead.runtime.host import ServingHost


class Host:
    """A plane in memory, asked as the runtime asks; fails as often as told, each time once."""

    def __init__(self, plane: InProcess, failures: list[Exception]) -> None:
        self.api = SimpleNamespace(desk=plane.desk)
        self.asked: list[Request] = []
        self._plane = plane
        self._failures = failures

    async def call(self, request: Request) -> Reply:
        self.asked.append(request)
        if self._failures:
            raise self._failures.pop()
        reply = self._plane.send(request)
        assert isinstance(reply, Reply)
        return reply


def orphans(plane: InProcess, *names: str) -> None:
    """Objects whose owner does not exist."""
    for name in names:
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "u-gone"}
        body: dict[str, Any] = configmap(name)
        body["metadata"]["ownerReferences"] = [owner]
        made(plane, CONFIGMAPS, body)


async def until_empty(plane: InProcess, host: Host) -> None:
    collecting = Collector(cast(ServingHost, host))
    collecting.learn_all()
    task = asyncio.create_task(collecting.run())
    async with asyncio.timeout(10):
        while plane.store.list("configmaps", "default"):
            assert not task.done()
            await asyncio.sleep(0)
    task.cancel()


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (RuntimeError("unforeseen"), "configmaps a could not be looked at"),
        (Unavailable("the disk is slow"), "the disk is slow"),
    ],
)
def test_what_fails_is_said_tried_again_and_keeps_nothing_else_waiting(
    failure: Exception, said: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(collector, "RETRY_SECONDS", 0.0)
    plane = InProcess()
    orphans(plane, "a", "b")
    host = Host(plane, [failure])
    with caplog.at_level(logging.WARNING):
        asyncio.run(until_empty(plane, host))
    assert [request.name for request in host.asked] == ["a", "b", "a"]
    assert said in caplog.text
