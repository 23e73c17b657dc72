"""Every kind the API serves, and the ways to find one. Built once, read everywhere, never changed.

`api/` looks kinds up by what a URL says, by what an object says of itself, and by the store's name of a
resource; discovery lists them in the order below. A new kind is a module in `model/kinds/` and a line
here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fairlead.model.kind import Kind
from fairlead.model.kinds import (
    accessgrant,
    auditpolicy,
    certificatesigningrequest,
    changefreeze,
    chaosexperiment,
    configmap,
    controllerrevision,
    cronjob,
    customresourcedefinition,
    daemonset,
    deployment,
    endpointslice,
    event,
    evidencepolicy,
    flowschema,
    lease,
    limitrange,
    namespace,
    node,
    placementquota,
    planesettings,
    poddisruptionbudget,
    priorityclass,
    prioritylevelconfiguration,
    recordingpolicy,
    replicaset,
    reservation,
    resourcequota,
    role,
    rolebinding,
    runbook,
    runtimeclass,
    scheduleroverride,
    schedulingpolicy,
    secret,
    service,
    serviceaccount,
    servicelevelobjective,
    statefulset,
)
from fairlead.model.kinds.admission import bindings as admission_bindings
from fairlead.model.kinds.admission import policies as admission_policies
from fairlead.model.kinds.horizontalpodautoscaler import kind as horizontalpodautoscaler
from fairlead.model.kinds.horizontalpodautoscaler import kind_v1 as horizontalpodautoscaler_v1
from fairlead.model.kinds.job import kind as job
from fairlead.model.kinds.pod import kind as pod


class Catalog:
    """A fixed set of kinds. Iterating gives them in their order. `changes` grows when there are others than before,
    which is never, but for those of `served.py`."""

    __slots__ = ("_by_kind", "_by_path", "_by_resource", "_kinds", "versions")

    changes: int = 0

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._kinds = tuple(kinds)
        self._by_path = {(kind.group, kind.version, kind.plural): kind for kind in self._kinds}
        self._by_kind = {(kind.group, kind.version, kind.kind): kind for kind in self._kinds}
        self._by_resource: dict[str, Kind] = {}
        for kind in self._kinds:
            self._by_resource.setdefault(kind.resource, kind)
        if len(self._by_path) != len(self._kinds) or len(self._by_kind) != len(self._kinds):
            raise ValueError("two kinds of a catalog share a group, a version and a name")
        # (group, version) in order of first appearance; the first version of a group is the preferred one.
        self.versions: tuple[tuple[str, str], ...] = tuple(
            dict.fromkeys((kind.group, kind.version) for kind in self._kinds)
        )

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        """The kind behind a URL, or None when there is none."""
        return self._by_path.get((group, version, plural))

    def by_resource(self, group: str, version: str, plural: str) -> Kind:
        """The kind behind a URL that is known to exist; KeyError otherwise."""
        return self._by_path[group, version, plural]

    def find_kind(self, group: str, version: str, kind: str) -> Kind | None:
        """The kind an object names in apiVersion and kind, or None."""
        return self._by_kind.get((group, version, kind))

    def of_resource(self, resource: str) -> Kind | None:
        """The kind that the store calls `pods` or `deployments.apps`, in its preferred version, or None."""
        return self._by_resource.get(resource)


CATALOG = Catalog(
    (
        configmap.KIND,
        event.KIND,
        limitrange.KIND,
        namespace.KIND,
        node.KIND,
        pod.KIND,
        resourcequota.KIND,
        secret.KIND,
        serviceaccount.KIND,
        service.KIND,
        controllerrevision.KIND,
        daemonset.KIND,
        deployment.KIND,
        replicaset.KIND,
        statefulset.KIND,
        horizontalpodautoscaler.KIND,
        horizontalpodautoscaler_v1.KIND,
        cronjob.KIND,
        job.KIND,
        poddisruptionbudget.KIND,
        priorityclass.KIND,
        runtimeclass.KIND,
        certificatesigningrequest.KIND,
        role.ROLE,
        role.CLUSTER_ROLE,
        rolebinding.ROLE_BINDING,
        rolebinding.CLUSTER_ROLE_BINDING,
        flowschema.KIND,
        prioritylevelconfiguration.KIND,
        lease.KIND,
        endpointslice.KIND,
        planesettings.KIND,
        schedulingpolicy.KIND,
        placementquota.KIND,
        reservation.KIND,
        scheduleroverride.KIND,
        evidencepolicy.KIND,
        auditpolicy.KIND,
        recordingpolicy.KIND,
        accessgrant.KIND,
        changefreeze.KIND,
        chaosexperiment.KIND,
        servicelevelobjective.KIND,
        runbook.RUNBOOK,
        runbook.RUN,
        customresourcedefinition.KIND,
        admission_policies.VALIDATING,
        admission_bindings.VALIDATING,
        admission_policies.MUTATING,
        admission_bindings.MUTATING,
    )
)
