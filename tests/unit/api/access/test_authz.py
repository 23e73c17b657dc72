"""The three built-in roles, as a table of who may do what, and the words of a refusal."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairlead.api.access.authz import builtin_chain
from fairlead.api.access.contract import AccessVerdict, Attributes, AuthorizerChain, forbidden_error
from fairlead.api.access.node_access import foreign_endpoint, node_restriction, selects
from fairlead.api.access.users import ANONYMOUS, User
from tests.unit.api.access.granting import Objects, default_grants

SIGNED_IN = "system:authenticated"
ADMIN = User("admin", groups=("system:masters", SIGNED_IN))
VIEWER = User("eve", groups=("fairlead:viewers", SIGNED_IN))
NODE = User("system:node:n1", groups=("system:nodes", SIGNED_IN))
FALSE_NODE = User("n1", groups=("system:nodes", SIGNED_IN))
NOBODY = User("nobody", groups=(SIGNED_IN,))


def pod(name: str, node: str | None, **spec: Any) -> tuple[str, dict[str, Any]]:
    return "pods", {"metadata": {"name": name, "namespace": "default"}, "spec": {"nodeName": node, **spec}}


def event(name: str, host: str) -> tuple[str, dict[str, Any]]:
    return "events", {"metadata": {"name": name, "namespace": "default"}, "source": {"host": host}}


MINE = pod(
    "mine",
    "n1",
    volumes=[
        {"secret": {"secretName": "volume-secret"}},
        {"configMap": {"name": "volume-map"}},
        {
            "projected": {
                "sources": [
                    {"secret": {"name": "projected-secret"}},
                    {"configMap": {"name": "projected-map"}},
                ]
            }
        },
        {"csi": {"nodePublishSecretRef": {"name": "csi-secret"}}},
        {"emptyDir": {}},
    ],
    containers=[
        {
            "env": [
                {"name": "A", "value": "plain-value"},
                {"name": "B", "valueFrom": {"secretKeyRef": {"name": "env-secret", "key": "k"}}},
                {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "env-map", "key": "k"}}},
            ],
            "envFrom": [{"secretRef": {"name": "from-secret"}}, {"configMapRef": {"name": "from-map"}}],
        }
    ],
    initContainers=[{"envFrom": [{"secretRef": {"name": "init-secret"}}]}],
    ephemeralContainers=[{"envFrom": [{"configMapRef": {"name": "debug-map"}}]}],
    imagePullSecrets=[{"name": "pull-secret"}],
)
OBJECTS = Objects(
    MINE,
    pod("theirs", "n2", volumes=[{"secret": {"secretName": "their-secret"}}]),
    pod("waiting", None, volumes=[{"secret": {"secretName": "waiting-secret"}}]),
    # Mentions n1 and a secret, but is not bound to n1.
    pod("liar", "n2", containers=[{"image": "n1", "envFrom": [{"secretRef": {"name": "lied-secret"}}]}]),
    pod("null", "n1", volumes=None, containers=[{"env": None, "envFrom": None}], imagePullSecrets=None),
    event("my-event", "n1"),
    event("their-event", "n2"),
)
CHAIN = builtin_chain(OBJECTS, default_grants())


def asked(
    user: User, verb: str, what: str, name: str = "", namespace: str = "default", **more: Any
) -> Attributes:
    """`what` is [group/]resource[:subresource]."""
    resource, _, subresource = what.partition(":")
    group, _, plural = resource.rpartition("/")
    return Attributes(
        user=user,
        verb=verb,
        group=group,
        version="v1",
        plural=plural,
        subresource=subresource,
        namespace=namespace,
        name=name,
        **more,
    )


def allowed(question: Attributes) -> bool:
    return CHAIN.authorize(question).allowed


READS, WRITES = ("get", "list", "watch"), ("create", "update", "patch", "delete", "deletecollection")


@pytest.mark.parametrize("verb", [*READS, *WRITES, "*"])
@pytest.mark.parametrize("what", ["pods", "secrets", "apps/deployments:scale", "fairlead.dev/anything", "*"])
def test_admins_may_do_everything(verb: str, what: str) -> None:
    assert allowed(asked(ADMIN, verb, what, "x"))


@pytest.mark.parametrize("verb", READS)
@pytest.mark.parametrize(
    "what", ["pods", "nodes", "apps/deployments", "pods:status", "apps/deployments:scale"]
)
def test_viewers_read(verb: str, what: str) -> None:
    assert allowed(asked(VIEWER, verb, what))


@pytest.mark.parametrize(
    ("verb", "what"),
    [
        *((verb, "secrets") for verb in READS),
        *((verb, "pods") for verb in WRITES),
        ("get", "pods:exec"),
        ("create", "pods:eviction"),
        ("create", "authorization.k8s.io/subjectaccessreviews"),
        ("get", "vault.example/secrets"),
    ],
)
def test_viewers_do_nothing_else_and_are_told_what_they_have(verb: str, what: str) -> None:
    verdict = CHAIN.authorize(asked(VIEWER, verb, what, "x"))
    assert verdict.decision == "denied"
    assert 'ClusterRole "fairlead:viewer"' in verdict.reason


REVIEWS = [
    "authentication.k8s.io/selfsubjectreviews",
    "authorization.k8s.io/selfsubjectaccessreviews",
    "authorization.k8s.io/selfsubjectrulesreviews",
]


@pytest.mark.parametrize("what", REVIEWS)
def test_everyone_signed_in_may_ask_about_himself_and_nobody_else(what: str) -> None:
    for user in (ADMIN, VIEWER, NODE, NOBODY):
        assert allowed(asked(user, "create", what, namespace=""))
    assert not allowed(asked(ANONYMOUS, "create", what, namespace=""))


@pytest.mark.parametrize(
    ("path", "anonymous", "nobody", "viewer"),
    [
        ("/readyz", True, True, True),
        ("/livez/ping", True, True, True),
        ("/version", True, True, True),
        ("/api", False, True, True),
        ("/api/v1", False, True, True),
        ("/apis/apps/v1", False, True, True),
        ("/openapi/v3", False, True, True),
        ("/apiary", False, False, True),
        ("/metrics", False, False, True),
        ("/fairlead/v1/audit", False, False, True),
    ],
)
def test_paths(path: str, anonymous: bool, nobody: bool, viewer: bool) -> None:
    answers = [allowed(Attributes(user, "get", path=path)) for user in (ANONYMOUS, NOBODY, VIEWER)]
    assert answers == [anonymous, nobody, viewer]
    assert not any(allowed(Attributes(user, "post", path=path)) for user in (ANONYMOUS, NOBODY, VIEWER))


NODE_MAY = [
    *((verb, "nodes", "n1", "", "") for verb in ("get", "update", "patch")),
    *((verb, "nodes:status", "n1", "", "") for verb in ("get", "update", "patch")),
    ("create", "nodes", "", "", ""),
    ("list", "nodes", "", "", "metadata.name=n1"),
    ("watch", "nodes", "", "", "metadata.name==n1"),
    *(
        (verb, "coordination.k8s.io/leases", "n1", "kube-node-lease", "")
        for verb in ("get", "update", "patch", "delete")
    ),
    ("create", "coordination.k8s.io/leases", "", "kube-node-lease", ""),
    ("list", "pods", "", "", "spec.nodeName=n1"),
    ("watch", "pods", "", "default", "status.phase!=Failed,spec.nodeName=n1"),
    ("get", "pods", "mine", "default", ""),
    ("delete", "pods", "mine", "default", ""),
    ("update", "pods:status", "mine", "default", ""),
    ("patch", "pods:status", "mine", "default", ""),
    ("create", "pods:eviction", "mine", "default", ""),
    ("create", "events", "", "default", ""),
    ("create", "events.k8s.io/events", "", "default", ""),
    ("patch", "events", "my-event", "default", ""),
    *((verb, "services", "", "", "") for verb in READS),
    *((verb, "discovery.k8s.io/endpointslices", "", "default", "") for verb in READS),
]


@pytest.mark.parametrize(("verb", "what", "name", "namespace", "selector"), NODE_MAY)
def test_a_node_reaches_what_is_its_own(
    verb: str, what: str, name: str, namespace: str, selector: str
) -> None:
    assert allowed(asked(NODE, verb, what, name, namespace, field_selector=selector))
    assert not allowed(asked(FALSE_NODE, verb, what, name, namespace, field_selector=selector))


NODE_MAY_NOT = [
    ("get", "nodes", "n2", "", ""),
    ("patch", "nodes:status", "n2", "", ""),
    ("delete", "nodes", "n1", "", ""),
    ("list", "nodes", "", "", ""),
    ("list", "nodes", "", "", "metadata.name=n2"),
    ("get", "nodes:proxy", "n1", "", ""),
    ("update", "coordination.k8s.io/leases", "n2", "kube-node-lease", ""),
    ("update", "coordination.k8s.io/leases", "n1", "default", ""),
    ("create", "coordination.k8s.io/leases", "", "default", ""),
    ("list", "coordination.k8s.io/leases", "", "kube-node-lease", ""),
    ("list", "pods", "", "", ""),
    ("list", "pods", "", "", "spec.nodeName=n2"),
    ("list", "pods", "", "", "spec.nodeName!=n1"),
    ("list", "pods", "", "", "spec.nodeName=n1,spec.nodeName=n2"),
    ("list", "pods", "", "", r"metadata.name=a\,spec.nodeName=n1"),
    ("list", "pods", "", "", "xspec.nodeName=n1"),
    ("get", "pods", "theirs", "default", ""),
    ("get", "pods", "waiting", "default", ""),
    ("get", "pods", "unknown", "default", ""),
    ("get", "pods", "mine", "other", ""),
    ("delete", "pods", "theirs", "default", ""),
    ("patch", "pods:status", "theirs", "default", ""),
    ("patch", "pods", "mine", "default", ""),
    ("create", "pods", "", "default", ""),
    ("create", "pods:binding", "mine", "default", ""),
    ("deletecollection", "pods", "", "default", "spec.nodeName=n1"),
    ("get", "events", "my-event", "default", ""),
    ("patch", "events", "their-event", "default", ""),
    ("delete", "events", "my-event", "default", ""),
    ("create", "services", "", "default", ""),
    ("get", "apps/deployments", "web", "default", ""),
    ("create", "authorization.k8s.io/subjectaccessreviews", "", "", ""),
]


@pytest.mark.parametrize(("verb", "what", "name", "namespace", "selector"), NODE_MAY_NOT)
def test_a_node_reaches_nothing_else(verb: str, what: str, name: str, namespace: str, selector: str) -> None:
    verdict = CHAIN.authorize(asked(NODE, verb, what, name, namespace, field_selector=selector))
    assert verdict.decision == "denied"
    assert 'the node role of "n1"' in verdict.reason


@pytest.mark.parametrize(
    ("resource", "name"),
    [
        *(
            ("secrets", f"{kind}-secret")
            for kind in ("volume", "projected", "csi", "env", "from", "init", "pull")
        ),
        *(("configmaps", f"{kind}-map") for kind in ("volume", "projected", "env", "from", "debug")),
    ],
)
def test_a_node_reads_what_its_pods_refer_to(resource: str, name: str) -> None:
    assert allowed(asked(NODE, "get", resource, name))
    assert allowed(asked(NODE, "watch", resource, field_selector=f"metadata.name={name}"))
    assert not allowed(asked(NODE, "get", resource, name, "other"))
    assert not allowed(asked(NODE, "patch", resource, name))
    other = "configmaps" if resource == "secrets" else "secrets"
    assert not allowed(asked(NODE, "get", other, name))


@pytest.mark.parametrize(
    "name", ["their-secret", "waiting-secret", "lied-secret", "plain-value", "unknown", "A", ""]
)
def test_a_node_reads_no_other_secret(name: str) -> None:
    assert not allowed(asked(NODE, "get", "secrets", name))
    assert not allowed(asked(NODE, "list", "secrets"))


@pytest.mark.parametrize(
    ("selector", "answer"),
    [
        ("a=1", True),
        ("a==1", True),
        ("b=2,a=1", True),
        ("a=1,a=1", True),
        ("", False),
        ("a!=1", False),
        ("a=1,a!=2", False),
        ("a=1,a=2", False),
        ("a=1, a=2", False),
        ("a=12", False),
        ("aa=1", False),
        (r"b=\,a=1", False),
    ],
)
def test_a_selector_counts_only_if_it_leaves_no_way_around(selector: str, answer: bool) -> None:
    assert selects(selector, "a", "1") is answer


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (
            asked(NOBODY, "list", "pods", namespace="y"),
            'pods is forbidden: User "nobody" cannot list resource "pods" in API group ""'
            ' in the namespace "y"',
        ),
        (
            asked(NOBODY, "get", "nodes", "n1", ""),
            'nodes "n1" is forbidden: User "nobody" cannot get resource "nodes" in API group ""'
            " at the cluster scope",
        ),
        (
            asked(NOBODY, "patch", "apps/deployments:scale", "web"),
            'deployments.apps "web" is forbidden: User "nobody" cannot patch resource "deployments/scale" in'
            ' API group "apps" in the namespace "default"',
        ),
        (
            Attributes(ANONYMOUS, "get", path="/api"),
            'forbidden: User "system:anonymous" cannot get path "/api"',
        ),
    ],
)
def test_a_refusal_reads_as_kubernetes_words_it(question: Attributes, message: str) -> None:
    verdict = CHAIN.authorize(question)
    error = forbidden_error(question, verdict)
    assert str(error) == f"{message}: {verdict.reason}"
    assert (error.kind, error.name) == (question.plural, question.name)


class Says:
    """An authorizer with one answer."""

    def __init__(self, verdict: AccessVerdict) -> None:
        self.verdict = verdict

    def authorize(self, question: Attributes) -> AccessVerdict:
        return self.verdict

    def rules_for(self, user: User, namespace: str) -> Any:
        raise AssertionError


def test_the_first_opinion_decides() -> None:
    silent, yes, no = (Says(AccessVerdict(d, d)) for d in ("no-opinion", "allowed", "denied"))
    question = asked(NOBODY, "get", "pods")
    assert AuthorizerChain(silent, no, yes).authorize(question) == AccessVerdict("denied", "denied")
    assert AuthorizerChain(silent, yes, no).authorize(question) == AccessVerdict("allowed", "allowed")
    assert AuthorizerChain(silent, silent).authorize(question) == AccessVerdict(
        "denied", "no-opinion; no-opinion"
    )


def test_rules_of_a_viewer_name_every_resource_but_secrets() -> None:
    rules = CHAIN.rules_for(VIEWER, "default")
    readable = {(r.groups, name) for r in rules.resources if "list" in r.verbs for name in r.resources}
    stored = {(("",), "pods"), (("",), "configmaps"), (("apps",), "deployments")}
    asked_of_nodes = {(("",), "pods/log"), (("metrics.k8s.io",), "pods"), (("metrics.k8s.io",), "nodes")}
    assert readable >= stored | asked_of_nodes
    assert not any(name == "secrets" for _, name in readable)
    assert not rules.incomplete


def test_rules_agree_with_verdicts() -> None:
    """Whatever the list of rules grants by exact name, the chain grants, too."""
    for user in (ADMIN, VIEWER, NODE, NOBODY):
        for rule in CHAIN.rules_for(user, "").resources:
            for verb in rule.verbs:
                for what in rule.resources:
                    resource = what.replace("/", ":")
                    name = rule.names[0] if rule.names else ""
                    space = "kube-node-lease" if what == "leases" else ""
                    assert allowed(asked(user, verb, f"{rule.groups[0]}/{resource}", name, space)), (
                        user,
                        rule,
                    )


def test_a_nodes_rules_say_that_they_are_not_all() -> None:
    assert "bound to node n1" in CHAIN.rules_for(NODE, "default").incomplete


def node(name: str = "n1", labels: Any = None, taints: Any = None, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels, **metadata}, "spec": {"taints": taints}}


ENDPOINT, CERTIFICATE = "fairlead.dev/endpoint", "fairlead.dev/endpoint-certificate"


def announcing(name: str, url: str, digit: str) -> dict[str, Any]:
    return node(name, annotations={ENDPOINT: url, CERTIFICATE: digit * 64})


@pytest.mark.parametrize(
    ("user", "new", "old", "refused"),
    [
        (NODE, announcing("n1", "https://127.0.0.1:1", "a"), None, False),
        (NODE, announcing("n1", "https://127.0.0.1:2", "a"), None, True),
        (NODE, announcing("n1", "https://127.0.0.1:2/", "a"), None, True),
        (NODE, announcing("n1", "https://127.0.0.1:1", "b"), None, True),
        (NODE, announcing("n1", "https://127.0.0.1:4", "d"), None, True),
        (NODE, announcing("n1", "https://127.0.0.1:4", "a"), None, False),  # n4 is gone
        (
            NODE,
            announcing("n1", "https://127.0.0.1:2", "b"),
            announcing("n1", "https://127.0.0.1:2", "b"),
            False,
        ),
        (NODE, node(), announcing("n1", "https://127.0.0.1:1", "a"), False),
        (ADMIN, announcing("n1", "https://127.0.0.1:2", "b"), None, False),
    ],
)
def test_a_node_cannot_announce_the_endpoint_of_another(user: Any, new: Any, old: Any, refused: bool) -> None:
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    others = [
        announcing("n2", "https://127.0.0.1:2", "b") | ready,
        announcing("n4", "https://127.0.0.1:4", "d"),
        announcing("n1", "https://127.0.0.1:1", "a") | ready,
        node("n3"),
    ]
    stored = [json.dumps(each).encode() for each in others]
    assert (foreign_endpoint(user, new, old, stored) is not None) is refused


@pytest.mark.parametrize(
    ("label", "allowed"),
    [
        ("disk", True),
        ("example.org/tier", True),
        ("kubernetes.io/hostname", True),
        ("topology.kubernetes.io/zone", True),
        ("node.kubernetes.io/instance-type", True),
        ("gpu.node.kubernetes.io/model", True),
        ("notkubernetes.io/x", True),
        ("node-role.kubernetes.io/control-plane", False),
        ("kubernetes.io/role", False),
        ("node-restriction.kubernetes.io/tier", False),
        ("team.k8s.io/x", False),
        ("k8s.io/x", False),
    ],
)
def test_labels_of_kubernetes_that_a_node_may_set_on_itself(label: str, allowed: bool) -> None:
    labelled = node(labels={label: "x"})
    assert (node_restriction(NODE, "nodes", "create", "n1", labelled, None) is None) is allowed
    assert (node_restriction(NODE, "nodes", "update", "n1", node(), labelled) is None) is allowed
    assert node_restriction(NODE, "nodes", "update", "n1", labelled, labelled) is None


RESTRICTED = {"node-restriction.kubernetes.io/tier": "gold"}
TAINT = [{"key": "a", "effect": "NoSchedule"}]
LEASE = {"metadata": {"name": "n1", "namespace": "kube-node-lease"}}


@pytest.mark.parametrize(
    ("resource", "verb", "name", "new", "old", "problem"),
    [
        ("nodes", "create", "n1", node(), None, None),
        ("nodes", "create", "n1", node(taints=TAINT), None, None),
        ("nodes", "create", "n2", node("n2"), None, "only write its own Node"),
        ("nodes", "create", "n1", node(labels=RESTRICTED), None, "cannot set or change labels"),
        ("nodes", "create", "n1", node(ownerReferences=[{"name": "x"}]), None, "cannot set its owner"),
        ("nodes", "update", "n1", node(labels={"zone": "a"}), node(labels={"zone": "b"}), None),
        ("nodes", "update", "n1", node(labels=RESTRICTED), node(labels=RESTRICTED), None),
        ("nodes", "update", "n1", node(), node(labels=RESTRICTED), "cannot set or change labels"),
        ("nodes", "update", "n1", node(taints=TAINT), node(taints=TAINT), None),
        ("nodes", "update", "n1", node(taints=[]), node(taints=None), None),
        ("nodes", "update", "n1", node(), node(taints=TAINT), "cannot change its taints"),
        ("nodes", "delete", "n1", None, node(), "not delete it"),
        ("pods", "update", "mine", MINE[1], MINE[1], None),
        ("pods", "delete", "mine", None, MINE[1], None),
        ("pods", "update", "mine", pod("mine", "n2")[1], MINE[1], "spec.nodeName"),
        ("pods", "update", "mine", MINE[1], pod("mine", None)[1], "spec.nodeName"),
        ("leases.coordination.k8s.io", "create", "n1", LEASE, None, None),
        ("leases.coordination.k8s.io", "create", "n2", LEASE, None, 'only write the Lease "n1"'),
        ("leases.coordination.k8s.io", "create", "n1", {"metadata": {}}, None, 'only write the Lease "n1"'),
        ("events", "create", "e", event("e", "n1")[1], None, None),
        ("events", "create", "e", {"reportingInstance": "n1"}, None, None),
        ("events", "create", "e", event("e", "n2")[1], None, "must name itself"),
        ("events", "create", "e", {}, None, "must name itself"),
        ("secrets", "update", "s", {}, {}, "cannot update secrets"),
    ],
)
def test_what_a_node_may_write(
    resource: str, verb: str, name: str, new: Any, old: Any, problem: str | None
) -> None:
    found = node_restriction(NODE, resource, verb, name, new, old)
    assert (found is None) if problem is None else (found is not None and problem in found)
    assert node_restriction(ADMIN, resource, verb, name, new, old) is None
