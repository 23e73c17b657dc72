"""Which fields are whose, for the controllers that there are: the rows of `ledger/authority.py`.

Who reads a kind is taken from what Deciders declare; what a controller does about an edit is said here,
because no declaration can. Handed to the API where a server is put together; read by `fairlead forecast`.
"""

from __future__ import annotations

from fairlead.api.admission import fights
from fairlead.api.admission.step import AdmissionStep
from fairlead.ledger.authority import (
    CHANGE,
    DELETE,
    OWNED,
    SCALED,
    UNFINALIZE,
    AuthorityRow,
    AuthorityTable,
)
from fairlead.ledger.repair import TRACKING
from fairlead.model.metadata import FOREGROUND, ORPHAN
from fairlead.model.views import NODES, PODS
from fairlead.reconcile.autoscaling import decider as autoscaling

SCHEDULER = "scheduler"
AUTOSCALER = autoscaling.NAME
AGENT = "agent"  # of the node

_SCALED = ("deployments.apps", "replicasets.apps", "statefulsets.apps")
_STATUS = {
    "deployments.apps": "deployment",
    "replicasets.apps": "replicaset",
    "statefulsets.apps": "statefulset",
    "daemonsets.apps": "daemonset",
    "jobs.batch": "job",
    "cronjobs.batch": "cronjob",
    "poddisruptionbudgets.policy": "disruption",
    "resourcequotas": "resource-quota",
    "placementquotas.fairlead.dev": "placement-quota",
    "reservations.fairlead.dev": "reservation",
    "namespaces": "namespace",
    "nodes": AGENT,
    "pods": AGENT,
}
_POD_OWNERS = {
    "ReplicaSet": "replicaset",
    "StatefulSet": "statefulset",
    "DaemonSet": "daemonset",
    "Job": "job",
}
_OWN_TAINTS = ("node.kubernetes.io/", "fairlead.dev/")
_AGENT_LABELS = ("kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch")


def rows() -> tuple[AuthorityRow, ...]:
    return (
        *(
            AuthorityRow(
                CHANGE, each, "spec.replicas", AUTOSCALER,
                "sets spec.replicas again to what its metrics ask for: {target} scales this; pause it, or change its"
                " bounds", SCALED,
            )
            for each in _SCALED
        ),
        AuthorityRow(
            CHANGE, "replicasets.apps", "spec.replicas", "deployment",
            "sets spec.replicas back to what {owner} asks for: change that instead", OWNED, "Deployment",
        ),
        AuthorityRow(
            CHANGE, "replicasets.apps", "spec.template", "deployment",
            "does not take up {field}: its next step goes by the template of {owner}; change that instead", OWNED,
            "Deployment",
        ),
        AuthorityRow(
            DELETE, "replicasets.apps", "", "deployment",
            "makes it again, with all its pods: scale or delete {owner} instead", OWNED, "Deployment",
        ),
        *(
            AuthorityRow(
                DELETE, PODS.name, "", controller,
                "makes another in its place at once: scale {owner}, or what owns it, instead",
                OWNED, kind,
            )
            for kind, controller in _POD_OWNERS.items()
        ),
        *(
            AuthorityRow(
                CHANGE, PODS.name, "metadata.labels", controller,
                "lets go of this pod and makes another, if the selector of {owner} no longer matches", OWNED, kind,
            )
            for kind, controller in _POD_OWNERS.items()
        ),
        *(
            AuthorityRow(
                DELETE, "controllerrevisions.apps", "", controller, "writes it again from the template of {owner}",
                OWNED, kind,
            )
            for kind, controller in (("StatefulSet", "statefulset"), ("DaemonSet", "daemonset"))
        ),
        *(
            AuthorityRow(
                CHANGE, resource, "status", controller,
                "writes {field} again from what it finds: a status follows, it does not steer",
            )
            for resource, controller in _STATUS.items()
        ),
        *(
            AuthorityRow(
                verb, "endpointslices.discovery.k8s.io", "endpoints" if verb == CHANGE else "", "endpoint-slices",
                "writes it again from the pods that {owner} selects", OWNED, "Service",
            )
            for verb in (CHANGE, DELETE)
        ),
        AuthorityRow(
            CHANGE, NODES.name, "metadata.labels", SCHEDULER,
            "places pods by {field} from now on, waiting ones at once, and moves none that is placed",
            reads=True,
        ),
        AuthorityRow(
            CHANGE, NODES.name, "metadata.labels", "daemonset",
            "starts or ends its pods there, if a DaemonSet selects nodes by {field}", reads=True,
        ),
        *(
            AuthorityRow(
                CHANGE, NODES.name, "metadata.labels", AGENT, "sets {field} back to what its machine is",
                value=label,
            )
            for label in _AGENT_LABELS
        ),
        AuthorityRow(
            CHANGE, NODES.name, "spec.taints", "node-health",
            "sets or removes its own taints (" + ", ".join(f"{each}*" for each in _OWN_TAINTS) + ") by what it hears"
            " of the node", reads=True,
        ),
        AuthorityRow(
            CHANGE, NODES.name, "spec.taints", "taint-eviction",
            "ends pods that tolerate no NoExecute taint, when their time is over", reads=True,
        ),
        AuthorityRow(
            DELETE, NODES.name, "", AGENT,
            "registers the node again when it is restarted and not before, without what others put on it",
        ),
        AuthorityRow(
            DELETE, NODES.name, "", "release", "gives up its pods once a row of evidence allows it"
        ),
        AuthorityRow(
            UNFINALIZE, PODS.name, "", "job",
            "counts how its pod ended from {field}: {owner} may run it once more; `fairlead repair` tells of it",
            OWNED, "Job", TRACKING,
        ),
        AuthorityRow(
            UNFINALIZE, "resourcequotas", "", "resource-quota",
            "counts what there is and goes on holding to spec.hard: removing {field} frees nothing",
        ),
        AuthorityRow(
            UNFINALIZE, "placementquotas.fairlead.dev", "", "placement-quota",
            "counts what there is and goes on holding to spec.hard: removing {field} frees nothing",
        ),
        AuthorityRow(
            UNFINALIZE, "", "", "garbage-collector",
            "takes what {field} kept waiting as not cleaned up: dependents are looked for and removed", "", "",
            FOREGROUND,
        ),
        AuthorityRow(
            UNFINALIZE, "", "", "garbage-collector",
            "takes what {field} kept waiting as not cleaned up: dependents stay owned, and are removed with it", "",
            "", ORPHAN,
        ),
        AuthorityRow(
            UNFINALIZE, "", "", "repair",
            "does not take this for finished clean-up: what is left over is found by what there is, not by finalizers",
        ),
    )  # fmt: skip


def authority_table() -> AuthorityTable:
    return AuthorityTable(rows())


def warning_steps(steps: tuple[AdmissionStep, ...], controllers: bool = True) -> tuple[AdmissionStep, ...]:
    """These, and the one that warns people of the controllers that their writes meet, where controllers run."""
    return (*steps, fights.step(authority_table())) if controllers else steps
