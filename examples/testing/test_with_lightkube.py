"""`lightkube`: typed objects, server-side apply, and a workload on nodes that only pretend."""

from __future__ import annotations

import pytest
from lightkube import ApiError, Client, KubeConfig, codecs
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Pod

from fairlead.testing import Plane

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "web:1"}]}
"""


@pytest.mark.fairlead(hollow_nodes=2)
def test_pods_run_on_pretend_nodes(fairlead_plane: Plane) -> None:
    with Client(KubeConfig.from_dict(fairlead_plane.client_config())) as client:
        [web] = codecs.load_all_yaml(WEB)
        client.create(web)
        client.wait(Deployment, "web", for_conditions=["Available"])
        pods = list(client.list(Pod, labels={"app": "web"}))
        assert {pod.spec.nodeName for pod in pods} == {"hollow-0", "hollow-1"}


def test_two_managers_of_one_field(fairlead_shared_plane: Plane, fairlead_namespace: str) -> None:
    def settings(colour: str) -> ConfigMap:
        return ConfigMap(metadata=ObjectMeta(name="web"), data={"colour": colour})

    config = KubeConfig.from_dict(fairlead_shared_plane.client_config(fairlead_namespace))
    with Client(config, field_manager="mine") as client:
        client.apply(settings("blue"))
        with pytest.raises(ApiError, match='conflict with "mine"'):
            client.apply(settings("red"), field_manager="theirs")
        assert client.apply(settings("red"), field_manager="theirs", force=True).data == {"colour": "red"}
