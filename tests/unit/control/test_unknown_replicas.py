"""`status.unknownReplicas` of a Deployment: pods of a silent node, until it is heard again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.explain.asking import Asked
from tests.unit.explain.stages import APPS, as_plane, bare, lease


def counted(asked: Asked) -> tuple[int, int]:
    """(unknown, ready)"""
    status: dict[str, Any] = asked.api.get(f"{APPS}/deployments/web")[1]["status"]
    return status.get("unknownReplicas", 0), status.get("readyReplicas", 0)


@pytest.mark.parametrize("ready", [True, False], ids=["it was ready", "it was not ready"])
def test_pods_of_a_silent_node_are_unknown_until_it_is_heard_again(ready: bool) -> None:
    asked = Asked()
    as_plane(asked)
    bare(asked, ready=ready, state={"running": {}})
    lease(asked, "bare")
    asked.run(5)
    assert counted(asked) == (0, int(ready))
    asked.run(90)
    assert counted(asked) == (1, 0)
    for _ in range(4):
        lease(asked, "bare")
        asked.run(10)
    assert counted(asked) == (0, int(ready))
