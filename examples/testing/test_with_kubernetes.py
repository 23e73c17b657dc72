"""The `kubernetes` client: a controller's loop of list and watch, and what it must survive."""

from __future__ import annotations

import threading

from kubernetes import client, config
from kubernetes.informer import SharedInformer

from fairlead.testing import Plane, plane


def test_a_config_map_comes_back_as_it_was_made() -> None:
    with plane() as p, config.new_client_from_config_dict(p.client_config()) as api:
        v1 = client.CoreV1Api(api)
        body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="web"), data={"colour": "blue"})
        v1.create_namespaced_config_map("default", body)
        assert v1.read_namespaced_config_map("web", "default").data == {"colour": "blue"}


def test_an_informer_misses_nothing(fairlead_shared_plane: Plane, fairlead_namespace: str) -> None:
    seen: dict[str, threading.Event] = {"before": threading.Event(), "after": threading.Event()}
    with config.new_client_from_config_dict(fairlead_shared_plane.client_config()) as api:
        v1 = client.CoreV1Api(api)
        informer = SharedInformer(v1.list_namespaced_config_map, namespace=fairlead_namespace)
        informer.add_event_handler("ADDED", lambda obj: seen[obj.metadata.name].set())
        informer.start()
        for name, trouble in (("before", lambda: None), ("after", fairlead_shared_plane.drop_watches)):
            trouble()
            body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name))
            v1.create_namespaced_config_map(fairlead_namespace, body)
            assert seen[name].wait(30)
        informer.stop()
