"""A write of the status leaves the stored spec alone: it had its defaults when it came."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.model.kinds import workload
from tests.inprocess import InProcess
from tests.samples import SAMPLES

_PATHS = {
    "Deployment": "/apis/apps/v1/namespaces/shop/deployments",
    "ReplicaSet": "/apis/apps/v1/namespaces/shop/replicasets",
    "StatefulSet": "/apis/apps/v1/namespaces/shop/statefulsets",
    "DaemonSet": "/apis/apps/v1/namespaces/shop/daemonsets",
    "Job": "/apis/batch/v1/namespaces/shop/jobs",
    "CronJob": "/apis/batch/v1/namespaces/shop/cronjobs",
}


@pytest.mark.parametrize("kind", _PATHS)
def test_a_status_is_written_without_defaulting_the_template(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane, sample = InProcess(), SAMPLES[kind]
    plane.post("/api/v1/namespaces", SAMPLES["Namespace"])
    status, made = plane.post(_PATHS[kind], sample)
    assert status == 201
    defaulted: list[Any] = []
    monkeypatch.setattr(workload, "default_pod_spec", lambda spec, template: defaulted.append(spec))
    target = f"{_PATHS[kind]}/{sample['metadata']['name']}/status"
    status, told = plane.patch(target, {"metadata": {"annotations": {"seen": "yes"}}})
    assert (status, defaulted) == (200, [])
    assert told["spec"] == made["spec"]
    assert told["status"] == made["status"]
