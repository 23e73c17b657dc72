"""Who ends an override is told whose holds of the same stay."""

from __future__ import annotations

from typing import Any

from fairlead.cli.override_beside import still_holding

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
    assert still_holding([mine], mine, now) == ""
