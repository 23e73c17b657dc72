"""Names that several parts must spell alike: taints, conditions, labels and annotations of nodes and pods.

Written by one part and read by another: the agent and the controllers of node health, replica sets and progress. A
name that only one file uses stays in that file.
"""

from __future__ import annotations

PLANE_NAMESPACE, PLANE_LEASE = "kube-system", "fairlead-plane"  # who leads
PLANE_FENCE = "fairlead-plane-fence"  # a Lease that changes with the leader only
CONTROL_LEASE = "fairlead-control"  # who leads where controllers are processes of their own
NODE_LEASES = "kube-node-lease"  # the namespace; a lease is called like its node

DECISION = "fairlead.dev/decision"  # annotation of an Event: the newest decision that it tells of

# Labels of nodes
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
HOSTNAME = "kubernetes.io/hostname"
POOL = "fairlead.dev/pool"  # nodes that are alike, by whoever runs them
DRIVER = "fairlead.dev/driver"  # what runs its pods: process, hollow
ISOLATES_MOUNTS = "fairlead.dev/isolates-mounts"  # "true": its containers have files of their own
ISOLATES_USERS = (
    "fairlead.dev/isolates-users"  # "true": its pods may have users, groups and capabilities of their own
)
ISOLATES_PROCESSES = "fairlead.dev/isolates-processes"  # "true": no pod looks into another one's processes
ISOLATES_PIDS = "fairlead.dev/isolates-pids"  # "true": the number of a container's processes is limited
AGENT_USER = (
    "fairlead.dev/agent-user"  # of a node without that: the one user, and below the group, that its pods have
)
AGENT_GROUP = "fairlead.dev/agent-group"

# Taints of nodes, in the order of a silent node's days
SUSPECT = "fairlead.dev/suspect"  # NoSchedule: nothing new is placed there, nothing else follows from it
UNREACHABLE = "node.kubernetes.io/unreachable"  # NoSchedule, NoExecute: pods have a grace as they tolerate it
NOT_READY = "node.kubernetes.io/not-ready"  # the node itself says so
PRESSURES = {  # condition that a node says of itself -> taint NoSchedule
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
}
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"  # a human confirms that nothing runs there any more

# Annotations of nodes
FENCES_AFTER = (
    "fairlead.dev/fences-after"  # of older agents, which ended all pods with the lease: taken off, not read
)
NODE_ENDPOINT = "fairlead.dev/endpoint"  # https://ADDRESS:PORT where the agent tells logs and usage
NODE_CERTIFICATE = "fairlead.dev/endpoint-certificate"  # sha256 of that endpoint's certificate, hex
USAGE_WANTED_UNTIL = (
    "fairlead.dev/usage-wanted-until"  # until then the agent tells with its lease what its pods use
)
SILENT_SINCE = "fairlead.dev/silent-since"  # its last renewal, by its own clock, while it bears our taints
AGENT_INSTANCE = "fairlead.dev/agent"  # of a node's lease: which of several agents of that name renews it
AGENT_PLACE = "fairlead.dev/agent-place"  # and where that one is, for people: machine and directory
PROXY_FOLLOWS = (
    "fairlead.dev/proxy-follows"  # of a node's lease: uids of the overrides whose weights it follows
)
USAGE = "fairlead.dev/usage"  # of a node's lease: what its pods use (`port/usage.py`)
REASON = "fairlead.dev/reason"  # why somebody cordoned it
AUTHOR = "fairlead.dev/author"  # who did
CORDONED_AT = "fairlead.dev/cordoned-at"  # when
TAINT_AUTHORS = "fairlead.dev/taint-authors"  # who put which taint, and when: {"KEY:EFFECT": "USER TIME"}

# Pods
TEMPLATE_HASH = (
    "pod-template-hash"  # label, of ReplicaSets as well: which template of its Deployment it is of
)
DISRUPTION_TARGET = "DisruptionTarget"  # True: somebody is about to evict it
RELEASED = "fairlead.dev/Released"  # condition: it no longer counts for its owner, who may replace it
RETURNED = "Returned"  # reason of that condition: its node is back, and by the rule it is to count again
QUOTA_GIVEN = "fairlead.dev/QuotaGiven"  # condition of a released pod: another of its owner has its quota
PLANE_CONDITIONS = (RELEASED, QUOTA_GIVEN)  # of pods: written by the plane and the server, by nobody else
REPLACES = "fairlead.dev/replaces"  # annotation of a replacement: the uid of the pod whose place it takes
AT_MOST_ONE = "fairlead.dev/at-most-one"  # annotation "true": a replacement never runs beside the original
ON_RETURN = "fairlead.dev/on-return"  # annotation: which stays if the released one comes back
KEEP_ORIGINAL, KEEP_REPLACEMENT, KEEP_NEWEST = "keep-original", "keep-replacement", "keep-newest"
RETURN_RULES = (KEEP_REPLACEMENT, KEEP_ORIGINAL, KEEP_NEWEST)  # the first is the default

# annotation "true" of a Job's pod that was wanted no more: nobody counts it, even if it ends before it is deleted
GIVEN_UP = "fairlead.dev/given-up"

HOLLOW_USAGE = "hollow.fairlead.dev/usage"  # annotation: what each such pod uses on a hollow node
HOLLOW_LOAD = "hollow.fairlead.dev/load"  # annotation: what all ready pods that have it use together there

# Addresses on the loopback network, so that pods of one machine do not meet on ports
POD_NETWORK = "127.128.0.0/9"  # a /24 of it is a node's spec.podCIDR
HOLLOW_NETWORK = "127.240.0.0/12"  # of it: what hollow nodes and pods say theirs is; nobody listens there
SERVICE_NETWORK = "127.96.0.0/16"  # clusterIPs
# On a pod: a person removed what guarded the room that it uses (`api/admission/finalizers.py`).
GUARD_REMOVED = "fairlead.dev/guard-removed"
