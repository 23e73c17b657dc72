"""The default roles over starts on one data directory, as that of an earlier release has none of them."""

from __future__ import annotations

import time
from pathlib import Path

from fairlead.testing import Plane, plane

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
AUTOUPDATE = "rbac.authorization.kubernetes.io/autoupdate"


def test_a_start_makes_what_is_missing_and_leaves_what_was_added(tmp_path: Path) -> None:
    merge = "application/merge-patch+json"
    with plane(controllers=False, data_dir=tmp_path) as p:

        def patch(target: str, body: object) -> None:
            assert p.request("PATCH", target, body, content_type=merge).status == 200

        first = {each["metadata"]["name"]: each for each in p.request("GET", ROLES).body["items"]}
        assert {"cluster-admin", "admin", "edit", "view", "system:basic-user", "fairlead:viewer"} <= set(
            first
        )
        # As a directory of before: no such roles at all.
        for name in ("system:monitoring", "view"):
            assert p.request("DELETE", f"{ROLES}/{name}").status == 200
        assert p.request("DELETE", f"{BINDINGS}/system:discovery").status == 200
        basic = first["system:basic-user"]["rules"]
        patch(f"{ROLES}/system:basic-user", {"rules": [basic[0], RULE]})
        patch(
            f"{ROLES}/system:auth-delegator",
            {"metadata": {"annotations": {AUTOUPDATE: "false"}}, "rules": []},
        )
        patch(f"{BINDINGS}/system:basic-user", {"subjects": None})

    with plane(controllers=False, data_dir=tmp_path) as p:

        def rules(name: str) -> object:
            return p.request("GET", f"{ROLES}/{name}").body.get("rules") or []

        assert rules("system:monitoring") == first["system:monitoring"]["rules"]
        assert rules("view") == first["view"]["rules"]
        assert rules("system:basic-user") == [basic[0], RULE, basic[1]]
        assert rules("system:auth-delegator") == []
        assert p.request("GET", f"{BINDINGS}/system:discovery").status == 200
        (subject,) = p.request("GET", f"{BINDINGS}/system:basic-user").body["subjects"]
        assert subject["name"] == "system:authenticated"
        revision = _at_rest(p)

    with plane(controllers=False, data_dir=tmp_path) as p:
        items = p.request("GET", ROLES).body["items"]
        assert max(int(each["metadata"]["resourceVersion"]) for each in items) <= int(revision)


def _at_rest(p: Plane) -> str:
    """The revision at which the roles are, once nothing is written to them any more."""
    before, deadline = "", time.monotonic() + 30
    while time.monotonic() < deadline:
        listed = p.request("GET", ROLES).body
        newest = str(max(int(each["metadata"]["resourceVersion"]) for each in listed["items"]))
        if newest == before:
            return newest
        before = newest
        time.sleep(1.0)
    raise AssertionError("roles are written again and again")
