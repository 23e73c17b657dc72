"""What hears of commits stops none of them."""

from __future__ import annotations

import logging

import pytest

from fairlead.model.key import Key
from fairlead.runtime.server.commit_listeners import Hearing
from fairlead.runtime.server.run_meter import RunMeter
from fairlead.store.contract import ADDED, CommittedChange, Entry
from fairlead.testing import plane

_CHANGE = CommittedChange(ADDED, Entry(Key("configmaps", "default", "one"), "u", 1, b"{}"), None)


def test_one_that_fails_is_told_and_the_others_hear(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[str] = []

    def fails(changes: tuple[CommittedChange, ...]) -> None:
        heard.append("fails")
        raise KeyError("spec")

    def hears(changes: tuple[CommittedChange, ...]) -> None:
        heard.append(changes[0].entry.key.name)

    hearing = Hearing(meter=fails, routes=hears)
    with caplog.at_level(logging.ERROR):
        hearing((_CHANGE,))
        hearing((_CHANGE,))
    assert heard == ["fails", "one"] * 2
    told = [(each.getMessage(), each.exc_info is not None) for each in caplog.records]
    assert told == [
        ("meter could not take in a commit: 'spec'", True),
        ("meter could not take in a commit: 'spec'", False),
    ]


def test_one_that_fails_at_every_commit_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def fails(changes: tuple[CommittedChange, ...]) -> None:
        raise KeyError("spec")

    hearing = Hearing(meter=fails)
    with caplog.at_level(logging.ERROR):
        for _ in range(1000):
            hearing((_CHANGE,))
    assert 2 < len(caplog.records) < 500


def test_a_server_goes_on_whatever_hears_of_its_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: RunMeter, changes: tuple[CommittedChange, ...]) -> None:
        raise ValueError("for the test")

    monkeypatch.setattr(RunMeter, "observe", fails)
    with plane(controllers=False) as p:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
        assert p.request("POST", "/api/v1/namespaces/default/configmaps", body).status == 201
