"""Expired Events go as fast as they come, also where each removal takes its time."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fairlead.model.key import Key
from fairlead.port.request import Reply, Request
from fairlead.reconcile.event_expiry import EventsKept
from fairlead.runtime.server.event_expirer import EXPIRED_AT_ONCE_MAX, EventExpirer
from fairlead.store.contract import ADDED, DELETED, CommittedChange, Entry


class SlowHost:
    """Answers together whatever was asked until the loop came round; counts how often it had to."""

    def __init__(self, status: int = 200) -> None:
        self.commits = self.asked = 0
        self._status = status
        self._waiting: list[tuple[Request, asyncio.Future[Reply]]] = []
        self.expirer: EventExpirer | None = None
        catalog = SimpleNamespace(find_kind=lambda *_: None)  # nothing lives that Events are about
        self.api = SimpleNamespace(desk=SimpleNamespace(catalog=catalog))

    async def call(self, request: Request) -> Reply:
        self.asked += 1
        answered: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        if not self._waiting:
            asyncio.get_running_loop().call_later(0.001, self._commit)
        self._waiting.append((request, answered))
        return await answered

    def _commit(self) -> None:
        self.commits += 1
        waiting, self._waiting = self._waiting, []
        assert self.expirer is not None
        for request, answered in waiting:
            if self._status == 200:
                entry = Entry(Key("events", request.namespace, request.name), "u", 1, b"")
                self.expirer.observe((CommittedChange(DELETED, entry, None),))
            answered.set_result(Reply(self._status, b""))


def expirer_of(host: SlowHost, events: int) -> EventExpirer:
    expirer = EventExpirer(cast(Any, host), EventsKept(0.0, per_object=1000), clock=time.time)
    host.expirer = expirer
    for number in range(events):
        entry = Entry(Key("events", "default", f"e-{number}"), "u", number + 1, b"")
        expirer.observe((CommittedChange(ADDED, entry, None),))
    return expirer


def test_many_are_removed_with_few_commits_and_more_than_one_look_finds_are_told() -> None:
    host = SlowHost()
    expirer = expirer_of(host, EXPIRED_AT_ONCE_MAX + 30)
    assert asyncio.run(expirer.remove_due()) is True
    assert (host.asked, host.commits) == (EXPIRED_AT_ONCE_MAX, 10)
    assert asyncio.run(expirer.remove_due()) is False
    assert host.asked == EXPIRED_AT_ONCE_MAX + 30
    assert expirer._expiry.due(time.time(), 10) == []


@pytest.mark.parametrize(("status", "asked"), [(503, 25), (404, 60), (409, 60)])
def test_a_server_that_cannot_write_is_left_alone_until_the_next_look(status: int, asked: int) -> None:
    host = SlowHost(status)
    assert asyncio.run(expirer_of(host, 60).remove_due()) is False
    assert host.asked == asked
