"""All rules that a commit changes are in force after it, whatever becomes of one of them."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.api.access.users import User
from fairlead.api.custom import CustomKinds
from fairlead.store.contract import CommittedChange
from tests.inprocess import InProcess
from tests.unit.api.things import made

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
ANN = User("ann", groups=("system:authenticated",))


def test_a_right_that_is_taken_away_is_gone_also_where_another_rule_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plane = InProcess()
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]}
    made(plane, f"{_RBAC}/clusterroles", {"metadata": {"name": "reads"}, "rules": [rule]})
    bound: dict[str, Any] = {
        "metadata": {"name": "ann"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reads"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "ann"}],
    }
    made(plane, f"{_RBAC}/clusterrolebindings", bound)
    assert plane.get("/api/v1/secrets", user=ANN)[0] == 200

    def fails(self: CustomKinds, changes: tuple[CommittedChange, ...]) -> list[str]:
        raise ValueError("for the test")

    monkeypatch.setattr(CustomKinds, "observe", fails)
    with pytest.raises(ValueError, match="for the test"):
        plane.delete(f"{_RBAC}/clusterrolebindings/ann")
    assert plane.get("/api/v1/secrets", user=ANN)[0] == 403
