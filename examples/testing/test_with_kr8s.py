"""`kr8s`: a custom kind, scaled and waited for."""

from __future__ import annotations

from pathlib import Path

import kr8s
import pytest
from kr8s.objects import new_class

from fairlead.testing import Plane

CronTab = new_class("CronTab", "stable.example.com/v1", scalable=True, scalable_spec="replicas")


@pytest.mark.fairlead(crds=[Path(__file__).with_name("crontabs.yaml")])
def test_a_custom_kind_is_scaled(fairlead_plane: Plane) -> None:
    api = kr8s.api(kubeconfig=fairlead_plane.client_config())
    tab = CronTab({"metadata": {"name": "nightly"}, "spec": {"cronSpec": "0 3 * * *"}}, api=api)
    tab.create()
    assert tab.spec.image == "cron:1"  # the default of its schema
    tab.scale(3)
    tab.patch({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, subresource="status")
    tab.wait("condition=Ready")
    assert [each.spec.replicas for each in api.get("ct")] == [3]
