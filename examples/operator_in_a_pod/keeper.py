"""An operator with kopf that runs as a pod: each Beacon (operator.yaml) has a ConfigMap that says which colour it shows.

It signs in as the ServiceAccount of its pod (in-cluster configuration), and may do what operator.yaml grants to that.
"""

from __future__ import annotations

from typing import Any

import kopf
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

BEACONS = ("harbour.example.com", "v1", "beacons")


@kopf.on.startup()
def sign_in(settings: kopf.OperatorSettings, **_: Any) -> None:
    config.load_incluster_config()
    settings.persistence.finalizer = "harbour.example.com/keeper"


@kopf.on.resume(*BEACONS)
@kopf.on.create(*BEACONS)
@kopf.on.update(*BEACONS, field="spec")
def light(spec: kopf.Spec, name: str, namespace: str, patch: kopf.Patch, **_: Any) -> None:
    lamp: dict[str, Any] = {"metadata": {"name": f"{name}-lamp"}, "data": {"colour": spec["colour"]}}
    kopf.adopt(lamp)  # the lamp goes with its beacon
    maps = client.CoreV1Api()
    try:
        maps.create_namespaced_config_map(namespace, lamp)
    except ApiException as error:
        if error.status != 409:
            raise
        maps.patch_namespaced_config_map(f"{name}-lamp", namespace, lamp)
    patch.status["shows"] = spec["colour"]
