"""What no policy has a say in: what would leave nobody able to end a policy, or end the plane because of one.

Policies and their bindings, as in Kubernetes: whoever may delete a policy can always end it. Leases by which nodes are
heard and planes lead. And what the plane and its nodes report: the status of things, Events, nodes that register. What
the plane wants on behalf of people (the pods of a Deployment, and the nodes it gives them) is judged like anybody's.
"""

from __future__ import annotations

from fairlead.api.access.users import MASTERS, User
from fairlead.api.admission.policies.in_force import RESOURCES
from fairlead.api.attempt import Attempt

PLANE = "system:fairlead"
_LEASES, _LEASE_NAMESPACES = "leases.coordination.k8s.io", ("kube-node-lease", "kube-system")
_REPORTS = frozenset({"events", "nodes", _LEASES})


def is_plane(user: User) -> bool:
    return MASTERS in user.groups and (user.name == PLANE or user.name.startswith(f"{PLANE}:"))


def is_exempt(attempt: Attempt) -> bool:
    resource = attempt.kind.resource
    if resource in RESOURCES:
        return True
    if resource == _LEASES and attempt.key.namespace in _LEASE_NAMESPACES:
        return True
    user = attempt.context.user
    if is_plane(user) or user.node_name:
        return attempt.address == "status" or resource in _REPORTS
    return False
