"""At rest the slices of every Service that selects pods name each of them once, and say of each what it is.

Judged from pods and slices alone, without what the controller of slices uses to write them.
"""

from __future__ import annotations

from typing import Any

from fairlead.model.marks import RELEASED
from fairlead.model.service_views import ENDPOINT_SLICES, MANAGED_BY, SERVICE_NAME, SERVICES, SLICE_CONTROLLER
from fairlead.model.views import PODS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation

_FULL = 100
_Told = tuple[bool, bool, bool]  # ready, serving, terminating


class SlicesAtRest:
    name = "slices-at-rest"
    sees: frozenset[str] = frozenset()

    def saw(self, sight: SeenChange) -> None:
        """Says nothing about the way to rest."""

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        for key, service in objects.of(SERVICES.name).items():
            if service.spec.selector and service.spec.type != "ExternalName":
                wanted = {
                    pod.status.pod_ip: _is(pod, service.spec.publish_not_ready_addresses)
                    for at, pod in objects.of(PODS.name).items()
                    if at.namespace == key.namespace and _is_behind(pod, service.spec.selector)
                }
                self._compare(key.name, wanted, self._told(objects, key.namespace, key.name))

    def _told(self, objects: CommittedObjects, namespace: str, name: str) -> dict[str, _Told]:
        found: dict[str, _Told] = {}
        for key, cut in objects.of(ENDPOINT_SLICES.name).items():
            labels = cut.metadata.labels
            if (key.namespace, labels.get(SERVICE_NAME)) != (namespace, name):
                continue
            if labels.get(MANAGED_BY) != SLICE_CONTROLLER:
                continue
            if len(cut.endpoints) > _FULL:
                raise Violation(self.name, f"{key.name} has {len(cut.endpoints)} endpoints")
            for endpoint in cut.endpoints:
                (address,) = endpoint["addresses"]
                if address in found:
                    raise Violation(self.name, f"{address} is twice in the slices of {name}")
                told = endpoint["conditions"]
                found[address] = (told["ready"], told["serving"], told["terminating"])
        return found

    def _compare(self, name: str, wanted: dict[str, _Told], found: dict[str, _Told]) -> None:
        for address in sorted(wanted.keys() | found.keys()):
            if wanted.get(address) != found.get(address):
                raise Violation(
                    self.name,
                    f"the slices of {name} say {found.get(address, 'nothing')} of {address} instead of "
                    f"{wanted.get(address, 'nothing')} (ready, serving, terminating)",
                )


def _is_behind(pod: Any, selector: dict[str, str]) -> bool:
    return (
        bool(pod.status.pod_ip)
        and pod.status.phase not in ("Succeeded", "Failed")
        and all(pod.metadata.labels.get(key) == value for key, value in selector.items())
    )


def _is(pod: Any, publish: bool) -> _Told:
    held = {each.type for each in pod.status.conditions if each.status == "True"}
    serving, terminating = "Ready" in held and RELEASED not in held, bool(pod.metadata.deletion_timestamp)
    return publish or (serving and not terminating), serving, terminating
