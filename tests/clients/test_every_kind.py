"""One object of every kind: the row that `kubectl get -o wide` shows of it, and what `describe` says."""

from __future__ import annotations

import re

import pytest

from tests.clients.converging import eventually
from tests.clients.kubectl import Operator, table
from tests.clients.manifests import one_of_each

POD = {"CONTAINERS": "main", "IMAGES": "busybox:1"}
# The resource, and its row in the order of the columns. `AGE` stands for any age.
ROWS: dict[str, dict[str, str]] = {
    "namespaces": {"NAME": "made", "STATUS": "Active", "AGE": "AGE"},
    "nodes": {
        "NAME": "worker-1", "STATUS": "Unknown", "ROLES": "worker", "AGE": "AGE", "VERSION": "",
        "INTERNAL-IP": "<none>", "EXTERNAL-IP": "<none>", "OS-IMAGE": "<unknown>",
        "KERNEL-VERSION": "<unknown>", "CONTAINER-RUNTIME": "<unknown>",
        "REASON": "<none>",
    },
    "priorityclasses": {
        "NAME": "high", "VALUE": "7", "GLOBAL-DEFAULT": "false", "AGE": "AGE",
        "PREEMPTIONPOLICY": "PreemptLowerPriority",
    },
    "rolebindings": {
        "NAME": "readers", "ROLE": "Role/reader", "AGE": "AGE", "USERS": "ada", "GROUPS": "",
        "SERVICEACCOUNTS": "default/robot",
    },
    "clusterrolebindings": {
        "NAME": "probers", "ROLE": "ClusterRole/prober", "AGE": "AGE", "USERS": "", "GROUPS": "watchers",
        "SERVICEACCOUNTS": "",
    },
    "certificatesigningrequests": {
        "NAME": "ada", "AGE": "AGE", "SIGNERNAME": "kubernetes.io/kube-apiserver-client", "REQUESTOR": "admin",
        "REQUESTEDDURATION": "<none>", "CONDITION": "Pending",
    },
    "flowschemas": {
        "NAME": "robots", "PRIORITYLEVEL": "batch", "MATCHINGPRECEDENCE": "700", "DISTINGUISHERMETHOD": "<none>",
        "AGE": "AGE", "MISSINGPL": "False",
    },
    "prioritylevelconfigurations": {
        "NAME": "batch", "TYPE": "Limited", "NOMINALCONCURRENCYSHARES": "0", "QUEUES": "16", "HANDSIZE": "8",
        "QUEUELENGTHLIMIT": "50", "AGE": "AGE",
    },
    "planesettings": {"NAME": "default", "APPLIED": "Unknown", "AGE": "AGE"},
    "runtimeclasses": {"NAME": "sandboxed", "HANDLER": "sandbox", "AGE": "AGE"},
    "accessgrants": {
        "NAME": "night", "SUBJECT": "jane", "ROLE": "edit", "WHERE": "shop", "PHASE": "Pending", "UNTIL": "<none>",
        "REVIEW": "<none>", "AGE": "AGE",
    },
    "changefreezes": {
        "NAME": "feast", "IN FORCE": "False", "ENDS": "<none>", "NEXT": "<none>", "NAMESPACES": "all",
        "FORBIDS": "Rollouts", "AGE": "AGE",
    },
    "servicelevelobjectives": {
        "NAME": "checkout", "TARGET": "Deployment/checkout", "OBJECTIVE": "99.9%", "AVAILABILITY": "<none>",
        "SPENT": "<none>", "BURN": "<none>", "MET": "Unknown", "AGE": "AGE",
    },
    "auditpolicies": {"NAME": "default", "IN FORCE": "True", "RULES": "1", "AGE": "AGE"},
    "recordingpolicies": {
        "NAME": "default", "IN FORCE": "True", "RULES": "1", "KEPT": "0", "BYTES": "0", "DROPPED": "0",
        "MERGED": "0", "AGE": "AGE",
    },
    "validatingadmissionpolicies": {
        "NAME": "judges", "VALIDATIONS": "1", "PARAMKIND": "v1/ConfigMap", "AGE": "AGE",
    },
    "validatingadmissionpolicybindings": {
        "NAME": "judges-all", "POLICYNAME": "judges", "PARAMREF": "default/settings", "AGE": "AGE",
    },
    "mutatingadmissionpolicies": {"NAME": "labels", "MUTATIONS": "1", "PARAMKIND": "<unset>", "AGE": "AGE"},
    "mutatingadmissionpolicybindings": {
        "NAME": "labels-all", "POLICYNAME": "labels", "PARAMREF": "<unset>", "AGE": "AGE",
    },
    "evidencepolicies": {
        "NAME": "default", "STATE": "Unknown", "SILENT": "0/0", "BRAKED": "<none>", "AGE": "AGE", "WHY": "",
    },
    "runbooks": {"NAME": "hold", "STEPS": "1", "SUMMARY": "waits", "AGE": "AGE"},
    "runbookruns": {
        "NAME": "hold-1", "RUNBOOK": "hold", "PHASE": "Running", "STEP": "wait", "BY": "admin", "AGE": "AGE",
    },
    "schedulingpolicies": {"NAME": "packed", "ACTIVE": "Unknown", "OBSERVED BY": "", "AGE": "AGE"},
    "placementquotas": {"NAME": "zone-c", "NODES": "zone=c", "USED": "cpu: 0/4, pods: 0/9", "COHORT": "<none>", "BORROWED": "<none>", "AGE": "AGE"},
    "reservations": {
        "NAME": "recover-ee20c5dd592c", "OWNER": "Deployment/web", "INTENT": "recover", "PHASE": "Pending",
        "NODE": "<none>", "AGE": "AGE",
    },
    "pods": {
        "NAME": "web-1", "READY": "0/1", "STATUS": "Pending", "RESTARTS": "0", "AGE": "AGE", "IP": "<none>",
        "NODE": "<none>", "NOMINATED NODE": "<none>", "READINESS GATES": "<none>", "STAGE": "queued",
    },
    "configmaps": {"NAME": "settings", "DATA": "2", "AGE": "AGE"},
    "secrets": {"NAME": "pass", "TYPE": "Opaque", "DATA": "1", "AGE": "AGE"},
    "serviceaccounts": {"NAME": "robot", "SECRETS": "0", "AGE": "AGE"},
    "services": {
        "NAME": "web", "TYPE": "ClusterIP", "CLUSTER-IP": "127.96.0.80", "EXTERNAL-IP": "<none>", "PORT(S)": "80/TCP",
        "AGE": "AGE", "SELECTOR": "app=web",
    },
    "events": {
        "LAST SEEN": "<unknown>", "TYPE": "Normal", "REASON": "Pulled", "OBJECT": "pod/web-1", "SUBOBJECT": "",
        "SOURCE": "", "MESSAGE": "fetched", "FIRST SEEN": "<unknown>", "COUNT": "3", "NAME": "web-1.1",
    },
    "endpointslices": {
        "NAME": "web-abc", "ADDRESSTYPE": "IPv4", "PORTS": "8080", "ENDPOINTS": "10.0.0.7", "AGE": "AGE",
    },
    "deployments": {
        "NAME": "web", "READY": "0/3", "UP-TO-DATE": "0", "AVAILABLE": "0", "AGE": "AGE", **POD,
        "SELECTOR": "app=web", "PROGRESS": "<none>",
    },
    "replicasets": {
        "NAME": "web-rs", "DESIRED": "2", "CURRENT": "0", "READY": "0", "AGE": "AGE", **POD,
        "SELECTOR": "app=web-rs",
    },
    "statefulsets": {"NAME": "db", "READY": "0/1", "AGE": "AGE", **POD, "PROGRESS": "<none>"},
    "daemonsets": {
        "NAME": "agent", "DESIRED": "0", "CURRENT": "0", "READY": "0", "UP-TO-DATE": "0", "AVAILABLE": "0",
        "NODE SELECTOR": "<none>", "AGE": "AGE", **POD, "SELECTOR": "app=agent",
        "PROGRESS": "<none>",
    },
    "controllerrevisions": {"NAME": "db-1", "CONTROLLER": "<none>", "REVISION": "4", "AGE": "AGE"},
    "cronjobs": {
        "NAME": "tick", "SCHEDULE": "*/5 * * * *", "TIMEZONE": "<none>", "SUSPEND": "False", "ACTIVE": "0",
        "LAST SCHEDULE": "<none>", "AGE": "AGE", **POD, "SELECTOR": "<none>",
    },
    "horizontalpodautoscalers": {
        "NAME": "web", "REFERENCE": "Deployment/web", "TARGETS": "cpu: <unknown>/50%", "MINPODS": "2",
        "MAXPODS": "9", "REPLICAS": "0", "AGE": "AGE",
    },
    "poddisruptionbudgets": {
        "NAME": "web", "MIN AVAILABLE": "1", "MAX UNAVAILABLE": "N/A", "ALLOWED DISRUPTIONS": "0", "AGE": "AGE",
    },
    "leases": {"NAME": "leader", "HOLDER": "me", "AGE": "AGE"},
}  # fmt: skip
# The resource, the name, and lines that its description has. Runs of spaces count as one.
DESCRIBED: dict[str, tuple[str, ...]] = {
    "namespaces/made": ("Labels: kubernetes.io/metadata.name=made", "Status: Active", "No resource quota."),
    "nodes/worker-1": ("Roles: worker", "Taints: <none>", "Unschedulable: false", "cpu 0 (0%) 0 (0%)"),
    "priorityclasses/high": ("Value: 7", "GlobalDefault: false", "PreemptionPolicy: PreemptLowerPriority"),
    "roles/reader": ("pods/log [] [] [get list]",),
    "rolebindings/readers": ("Name: reader", "User ada", "ServiceAccount robot default"),
    "clusterroles/prober": ("[/metrics] [] [get]",),
    "clusterrolebindings/probers": ("Name: prober", "Group watchers"),
    "certificatesigningrequests/ada": ("Requesting User: admin", "Status: Pending", "Common Name: ada"),
    "flowschemas/robots": ("Matching Precedence: 700", "Name: batch", "Type: Dangling"),
    "prioritylevelconfigurations/batch": ("Nominal Concurrency Shares: 0", "Queues: 16", "Type: Limited"),
    "planesettings/default": ("Queues:", "Job:", "Rate Per Second: 20"),
    "runtimeclasses/sandboxed": ("Handler: sandbox",),
    "validatingadmissionpolicies/judges": ("Failure Policy: Fail", "Kind: ConfigMap"),
    "validatingadmissionpolicybindings/judges-all": ("Policy Name: judges", "Deny"),
    "mutatingadmissionpolicies/labels": ("Reinvocation Policy: Never", "Patch Type: ApplyConfiguration"),
    "mutatingadmissionpolicybindings/labels-all": ("Policy Name: labels",),
    "accessgrants/night": ("Expires After: 30m", "Reason: checkout is down", "Requested By: admin"),
    "changefreezes/feast": ("Reason: the feast", "Forbids:", "Rollouts"),
    "servicelevelobjectives/checkout": ("Objective: 99.9", "Window Seconds: 86400"),
    "auditpolicies/default": ("Level: Metadata", "Users:", "ci", "Verbs:"),
    "recordingpolicies/default": ("Level: Outcome", "builds"),
    "chaosexperiments/drill": ("Reason: a drill", "Percent: 1", "cronjob"),
    "evidencepolicies/default": ("Signal: MissedHeartbeats", "Confidence: medium", "Releases Per Minute: 6"),
    "runbooks/hold": ("Summary: waits", "Expression: now > timestamp(0)"),
    "runbookruns/hold-1": ("Runbook: hold", "Username: admin", "Until: false"),
    "schedulingpolicies/packed": ("Scoring:", "Strategy: MostAllocated"),
    "placementquotas/zone-c": ("Hard:", "Cpu: 4", "Pods: 9"),
    "scheduleroverrides/calm": ("Target: namespace", "Reason: an incident", "Pause Rollout: true"),
    "reservations/recover-ee20c5dd592c": ("Allocate Once: true", "Intent: recover", "Ttl Seconds: 600"),
    "pods/web-1": ("Priority: 0", "Status: Pending", "Image: busybox:1", "QoS Class: BestEffort"),
    "configmaps/settings": ("colour:", "blue", "size:", "3"),
    "secrets/pass": ("Type: Opaque", "word: 9 bytes"),
    "serviceaccounts/robot": ("Mountable secrets: <none>", "Tokens: <none>"),
    "resourcequotas/small": ("Name: small", "Namespace: default", "Resource Used Hard"),
    "limitranges/sizes": ("Container cpu - 1 500m 500m -",),
    "services/web": (
        "Type: ClusterIP",
        "Port: <unset> 80/TCP",
        "TargetPort: 8080/TCP",
        "Endpoints: 10.0.0.7:8080",
    ),
    "events/web-1.1": ("Count: 3", "Message: fetched", "Reason: Pulled"),
    "endpointslices/web-abc": (
        "AddressType: IPv4",
        "<unset> 8080 TCP",
        "- Addresses: 10.0.0.7",
        "Ready: true",
    ),
    "deployments/web": (
        "Replicas: 3 desired | 0 updated | 0 total | 0 available | 0 unavailable",
        "RollingUpdateStrategy: 25% max unavailable, 25% max surge",
    ),
    "replicasets/web-rs": ("Replicas: 0 current / 2 desired", "Image: busybox:1"),
    "statefulsets/db": ("Replicas: 1 desired | 0 total", "Update Strategy: RollingUpdate", "Partition: 0"),
    "daemonsets/agent": ("Desired Number of Nodes Scheduled: 0", "Selector: app=agent"),
    "controllerrevisions/db-1": ("Revision: 4", "$patch: replace"),
    "jobs/once": ("Parallelism: 1", "Completions: 1", "Completion Mode: NonIndexed", "Backoff Limit: 6"),
    "cronjobs/tick": ("Schedule: */5 * * * *", "Concurrency Policy: Allow", "Suspend: False"),
    "horizontalpodautoscalers/web": ("Reference: Deployment/web", "Min replicas: 2", "Max replicas: 9"),
    "poddisruptionbudgets/web": ("Min available: 1", "Selector: app=web", "Allowed disruptions: 0"),
    "leases/leader": ("Holder Identity: me", "Lease Duration Seconds: 15"),
}


@pytest.fixture(scope="module")
def filled(kubectl: Operator) -> Operator:
    kubectl("create -f -", one_of_each("default"))
    return kubectl


@pytest.fixture(scope="module")
def described(filled: Operator) -> str:
    """Every description in one run of kubectl."""
    done = filled.run(f"describe {' '.join(DESCRIBED)}")
    assert (done.code, done.err) == (0, "")
    return done.out


@pytest.mark.parametrize("resource", ROWS)
def test_get_wide_shows_the_columns_that_operators_know(filled: Operator, resource: str) -> None:
    expected = ROWS[resource]
    if (
        resource == "runbookruns"
    ):  # every server carries them out: this one waits for somebody in its first step
        eventually(lambda: expected in table(filled(f"get {resource} -o wide")))
    shown = table(filled(f"get {resource} -o wide"))
    assert expected in shown
    assert [list(row) for row in shown if row == expected] == [list(expected)], "columns are in another order"


def test_a_job_shows_its_generated_selector(filled: Operator) -> None:
    uid = filled("get job once -o jsonpath={.metadata.uid}")
    (row,) = table(filled("get jobs -o wide"))
    assert row == {
        "NAME": "once", "STATUS": "Running", "COMPLETIONS": "0/1", "DURATION": "", "AGE": "AGE", **POD,
        "SELECTOR": f"batch.kubernetes.io/controller-uid={uid}", "PROGRESS": "<none>",
    }  # fmt: skip


def test_limit_ranges_show_when_they_were_made(filled: Operator) -> None:
    made = filled("get limits sizes -o jsonpath={.metadata.creationTimestamp}")
    assert table(filled("get limits")) == [{"NAME": "sizes", "CREATED AT": made}]


def test_a_quota_shows_what_is_used_of_what_is_granted(filled: Operator) -> None:
    claimed = '{"status":{"used":{"pods":"7","requests.cpu":"250m"}}}'
    filled(f"patch quota small --subresource=status --type=merge -p '{claimed}'")
    (row,) = table(filled("get quota"))
    counted = "pods: 1/10, requests.cpu: 0/4"  # by the server, whatever is claimed
    assert row == {"NAME": "small", "REQUEST": counted, "LIMIT": "", "AGE": "AGE"}


@pytest.mark.parametrize("which", DESCRIBED)
def test_describe_says_what_matters(described: str, which: str) -> None:
    """Objects come in the order in which they were asked for, and each begins with its name."""
    sections = dict(zip(DESCRIBED, re.split(r"(?m)^(?=Name: )", described)[1:], strict=True))
    lines = [" ".join(line.split()) for line in sections[which].splitlines()]
    assert lines[0] == f"Name: {which.partition('/')[2]}"
    for line in DESCRIBED[which]:
        assert line in lines


def test_the_secret_itself_is_not_described(described: str) -> None:
    assert "swordfish" not in described


def test_every_resource_of_the_server_was_looked_at(filled: Operator) -> None:
    served = {name.partition(".")[0] for name in filled("api-resources --verbs=list -o name").split()}
    # In test_custom_resources.py and test_reading.py.
    served -= {"customresourcedefinitions", "replicationcontrollers"}
    assert served == {each.partition("/")[0] for each in DESCRIBED}
