"""Who ends an override is told whose holds of the same stay."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import pytest

from fairlead.cli.override import verb as command
from fairlead.cli.override.beside import still_holding
from fairlead.core.errors import Forbidden, Unreachable

Json = dict[str, Any]


def override(name: str, owner: str, target: str = "deployment/web", at: int = 10, **changes: Any) -> Json:
    spec = {"target": target, "owner": owner, "changes": changes, "expiresAt": f"2026-01-01T00:00:{at}Z"}
    return {"metadata": {"name": name, "uid": name}, "spec": spec}


def test_only_what_holds_the_same_of_the_same_target_is_named() -> None:
    mine = override("mine", "jane", pauseRollout=True)
    known = [
        mine,
        override("same", "ann", pauseRollout=True, pauseRepair=True),
        override("other", "ann", pauseRepair=True),
        override("elsewhere", "ann", "deployment/db", pauseRollout=True),
        override("over", "ann", pauseRollout=True),
    ]
    now = 1767225600.0 + 7
    known[-1]["spec"]["expiresAt"] = "2026-01-01T00:00:05Z"
    assert still_holding(known, mine, now) == "same of ann"
    waits = override("waits", "bob", pauseRollout=True)
    waits["spec"]["approval"] = "it closes much"
    assert still_holding([mine, waits], mine, now) == "", "it holds nothing yet"
    waits["status"] = {"conditions": [{"type": "Approved", "status": "True"}]}
    assert still_holding([mine, waits], mine, now) == "waits of bob"
    assert still_holding([mine], mine, now) == ""


@pytest.mark.parametrize("listed", ["no right to list", "one is damaged", "server gone"])
def test_one_that_has_ended_is_told_as_ended_whatever_is_beside_it(
    listed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = override("mine", "jane", pauseRollout=True)
    mine["metadata"]["namespace"] = "default"
    mine["status"] = {"undoPlan": ["rollouts of deployment/web go on"]}

    class Client:
        def get(self, path: str) -> Json:
            if path.endswith("/mine"):
                return mine
            if listed == "no right to list":
                raise Forbidden("jane may not list scheduleroverrides")
            if listed == "server gone":
                raise Unreachable("the server does not answer")
            return {"items": [{"metadata": {"name": "rotten", "uid": "unknown"}}]}

        def delete(self, path: str) -> None:
            assert path.endswith("/mine")

        def close(self) -> None:
            pass

    monkeypatch.setattr(command, "connect", lambda kubeconfig: Client())
    options = Namespace(kubeconfig=None, namespace="default", name="mine", output="text")
    assert command._end(options) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[:2] == ["scheduleroverride/mine ended", "  rollouts of deployment/web go on"]
