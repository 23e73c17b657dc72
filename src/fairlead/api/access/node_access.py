"""What a node's credentials may do: its own Node and Lease, pods bound to it and what those refer to.

`NodeRole` judges the request before its body is read (a link of the authorization chain); `node_restriction`
judges the body (a step of the admission chain). Both are needed: a create carries its name in the body only.
Bound means: the durable pod's spec.nodeName is this node. Unknown and foreign objects get the same refusal,
so that a node learns nothing about what exists elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from fairlead.api.access.contract import NO_OPINION, AccessRules, AccessVerdict, Attributes, ResourceRule
from fairlead.api.access.node_references import bound_node, references, runs_as
from fairlead.api.access.users import NODES, User
from fairlead.api.node_addresses import parse_node_address
from fairlead.model.key import Key
from fairlead.model.kind import Json
from fairlead.model.marks import NODE_CERTIFICATE, NODE_ENDPOINT
from fairlead.store.contract import Reader

LEASE_NAMESPACE = "kube-node-lease"
# A node sets those of Kubernetes' labels that describe it, as a kubelet may: by the others (its role, and what
# node-restriction.kubernetes.io/ is kept for) pods and Secrets are drawn to it.
_OWN_LABELS = frozenset(
    {
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "beta.kubernetes.io/os",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }
)
_OWN_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")
_KUBERNETES_DOMAINS = ("kubernetes.io", "k8s.io")

_READ = ("get", "list", "watch")
_LEASE_VERBS = frozenset({"get", "create", "update", "patch", "delete"})
_EVENT_GROUPS = ("", "events.k8s.io")


class NodeRole:
    """Group system:nodes with user name system:node:NAME. Reads pods from the store to see whose they are."""

    __slots__ = ("_reader",)

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def authorize(self, asked: Attributes) -> AccessVerdict:
        node = asked.user.node_name
        if not node:
            if NODES in asked.user.groups:
                return AccessVerdict(
                    "no-opinion", f'group "{NODES}" needs a user name of the form "system:node:NAME"'
                )
            return NO_OPINION
        needed = self._missing(asked, node)
        if needed:
            return AccessVerdict("no-opinion", f'the node role of "{node}" {needed}')
        return AccessVerdict("allowed", f'the node role of "{node}" covers it')

    def rules_for(self, user: User, namespace: str) -> AccessRules:
        node = user.node_name
        if not node:
            return AccessRules()
        lease_verbs = ("get", "update", "patch", "delete")
        return AccessRules(
            (
                ResourceRule(("get", "update", "patch"), ("",), ("nodes", "nodes/status"), (node,)),
                ResourceRule(lease_verbs, ("coordination.k8s.io",), ("leases",), (node,)),
                ResourceRule(("create",), ("",), ("nodes", "events")),
                ResourceRule(("create",), ("coordination.k8s.io",), ("leases",)),
                ResourceRule(_READ, ("",), ("services",)),
                ResourceRule(_READ, ("discovery.k8s.io",), ("endpointslices",)),
            ),
            (),
            f"access to pods, configmaps, secrets and tokens depends on which pods are bound to node {node}",
        )

    def _missing(self, asked: Attributes, node: str) -> str:
        """What stands between this node and the request; "" if nothing does."""
        if not asked.plural:
            return "reads no paths but those open to everyone"
        match asked.group, asked.plural:
            case "", "nodes":
                return _own_node(asked, node)
            case "coordination.k8s.io", "leases":
                return _own_lease(asked, node)
            case "", "pods":
                return self._bound_pod(asked, node)
            case "", "configmaps" | "secrets":
                return self._referenced(asked, node)
            case ("", "services") | ("discovery.k8s.io", "endpointslices"):
                return "" if asked.verb in _READ and not asked.subresource else f"only reads {asked.plural}"
            case "", "serviceaccounts":
                return self._account_of_pod(asked, node)
            case group, "events" if group in _EVENT_GROUPS:
                return self._own_event(asked, node)
        return f"does not cover {asked.plural}; that needs the admin role"

    def _bound_pod(self, asked: Attributes, node: str) -> str:
        action = (asked.verb, asked.subresource)
        if action in (("list", ""), ("watch", "")):
            if selects(asked.field_selector, "spec.nodeName", node):
                return ""
            return f"lists and watches pods only with fieldSelector spec.nodeName={node}"
        if asked.subresource == "status" and asked.verb in ("get", "update", "patch"):
            pass
        elif action not in (("get", ""), ("delete", ""), ("create", "eviction")):
            return "reads and deletes pods and writes their status, nothing else"
        entry = self._reader.get(Key("pods", asked.namespace, asked.name))
        if entry is not None and bound_node(entry.data) == node:
            return ""
        return "reaches only pods that are bound to it"

    def _referenced(self, asked: Attributes, node: str) -> str:
        if asked.verb not in _READ or asked.subresource:
            return f"only reads {asked.plural}"
        name = asked.name or selected_name(asked.field_selector)
        if not name or not asked.namespace:
            return f"reads {asked.plural} one at a time, by namespace and name"
        # Most pods are told apart by these two searches, without decoding them.
        node_text, name_text = node.encode(), name.encode()
        for entry in self._reader.list("pods", asked.namespace):
            data = entry.data
            if node_text in data and name_text in data:
                found = references(data, node)
                if name in (found.secrets if asked.plural == "secrets" else found.configmaps):
                    return ""
        return f"reads only {asked.plural} that a pod bound to it refers to"

    def _account_of_pod(self, asked: Attributes, node: str) -> str:
        """Tokens of the accounts that its pods run as; which pod it is for is judged with the body."""
        if (asked.verb, asked.subresource) != ("create", "token"):
            return "asks for tokens of service accounts, nothing else"
        for entry in self._reader.list("pods", asked.namespace):
            if node.encode() in entry.data and runs_as(entry.data, node) == asked.name:
                return ""
        return "reaches only service accounts that a pod bound to it runs as"

    def _own_event(self, asked: Attributes, node: str) -> str:
        if asked.verb == "create" and not asked.subresource:
            return ""
        if asked.verb not in ("patch", "update") or asked.subresource:
            return "creates events and updates its own, nothing else"
        entry = self._reader.get(Key("events", asked.namespace, asked.name))
        if entry is not None and _reporter(msgspec.json.decode(entry.data)) == node:
            return ""
        return "updates only events that it reported"


def selects(selector: str, path: str, value: str) -> bool:
    """True if the field selector can only match objects whose field `path` is `value`.

    Strict on purpose: escapes, spaces and a second, different requirement on the same path count as no.
    """
    if "\\" in selector or " " in selector:
        return False
    about = [part for part in selector.split(",") if part.startswith((path + "=", path + "!"))]
    return bool(about) and all(part in (f"{path}={value}", f"{path}=={value}") for part in about)


def selected_name(selector: str) -> str:
    """The one name that a field selector can match; "" if it is not bound to one."""
    for part in selector.split(","):
        path, _, value = part.partition("=")
        name = value.lstrip("=")
        if path == "metadata.name" and selects(selector, "metadata.name", name):
            return name
    return ""


def _own_node(asked: Attributes, node: str) -> str:
    if asked.subresource not in ("", "status"):
        return f'does not reach subresource "{asked.subresource}" of nodes'
    if asked.verb == "create" and not asked.subresource:
        return ""
    if asked.verb not in ("get", "list", "watch", "update", "patch"):
        return f"may not {asked.verb} nodes; that needs the admin role"
    if asked.verb in ("list", "watch") and not asked.name:
        own = selects(asked.field_selector, "metadata.name", node)
        return "" if own else f"lists and watches nodes only with fieldSelector metadata.name={node}"
    return "" if asked.name == node else f'reaches only its own Node "{node}"'


def _own_lease(asked: Attributes, node: str) -> str:
    own = asked.namespace == LEASE_NAMESPACE and not asked.subresource and asked.verb in _LEASE_VERBS
    if own and (asked.verb == "create" or asked.name == node):
        return ""
    return f'reaches only its own Lease "{node}" in namespace "{LEASE_NAMESPACE}"'


def _reporter(event: Json) -> str:
    """Which node an Event says it comes from."""
    source = event.get("source") or event.get("deprecatedSource") or {}
    return str(event.get("reportingInstance") or source.get("host") or "")


def node_restriction(
    user: User, resource: str, verb: str, name: str, new: Json | None, old: Json | None
) -> str | None:
    """What is wrong with a node's write, or None. `resource` is the group-resource; for all others: None."""
    node = user.node_name
    if not node:
        return None
    if resource == "nodes":
        return _node_write(node, name, new, old)
    if resource == "pods":
        for pod in (new, old):
            if pod is not None and _field(pod, "spec", "nodeName") != node:
                return f'node "{node}" can only write pods whose spec.nodeName is "{node}"'
        for field in ("labels", "annotations"):
            if (
                new is not None
                and old is not None
                and _field(new, "metadata", field) != _field(old, "metadata", field)
            ):
                return (
                    f'node "{node}" cannot change the {field} of a pod through its status (metadata.{field})'
                )
        return None
    if resource == "leases.coordination.k8s.io":
        wrong = name != node or _field(new or old or {}, "metadata", "namespace") != LEASE_NAMESPACE
        return f'node "{node}" can only write the Lease "{node}" in "{LEASE_NAMESPACE}"' if wrong else None
    if resource in ("events", "events.events.k8s.io"):
        if new is not None and _reporter(new) != node:
            return (
                f'node "{node}" must name itself in source.host or reportingInstance of the events it writes'
            )
        return None
    return f'node "{node}" cannot {verb} {resource}'


def _node_write(node: str, name: str, new: Json | None, old: Json | None) -> str | None:
    if name != node or new is None:
        return f'node "{node}" can only write its own Node "{node}", and not delete it'
    restricted = _restricted_labels(new)
    before = _restricted_labels(old) if old is not None else {}
    changed = sorted(
        key for key in restricted.keys() | before.keys() if restricted.get(key) != before.get(key)
    )
    if changed:
        return f'node "{node}" cannot set or change labels of Kubernetes that do not describe it: {", ".join(changed)}'
    if old is not None and _field(new, "spec", "taints") != _field(old, "spec", "taints"):
        return f'node "{node}" cannot change its taints (spec.taints) after it has registered'
    if _field(new, "metadata", "ownerReferences") != _field(old or {}, "metadata", "ownerReferences"):
        return f'node "{node}" cannot set its owner (metadata.ownerReferences)'
    return None


def _restricted_labels(obj: Json) -> dict[str, Any]:
    labels = _field(obj, "metadata", "labels") or {}
    return {key: value for key, value in labels.items() if not _may_set(key)}


def _may_set(label: str) -> bool:
    domain, slash, _ = label.partition("/")
    if not slash or label in _OWN_LABELS or _is_in(domain, _OWN_DOMAINS):
        return True
    return not _is_in(domain, _KUBERNETES_DOMAINS)


def _is_in(domain: str, parents: tuple[str, ...]) -> bool:
    return any(domain == parent or domain.endswith(f".{parent}") for parent in parents)


def _is_ready(node: bytes) -> bool:
    conditions = _field(msgspec.json.decode(node), "status", "conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def foreign_endpoint(user: User, new: Json | None, old: Json | None, nodes: Iterable[bytes]) -> str | None:
    """What is wrong with the endpoint that a node announces for itself; `nodes`: all Nodes as they are stored."""
    node = user.node_name
    annotations = _field(new or {}, "metadata", "annotations") or {}
    known = _field(old or {}, "metadata", "annotations") or {}
    wanted = {name: annotations.get(name) for name in (NODE_ENDPOINT, NODE_CERTIFICATE)}
    if not node or all(value is None or value == known.get(name) for name, value in wanted.items()):
        return None
    for data in nodes:
        other = parse_node_address(data)
        if other is None or other.name == node:
            continue
        url = wanted[NODE_ENDPOINT]
        same_address = isinstance(url, str) and url.rstrip("/") == other.url
        # The certificate is what an endpoint is known by. The address of a node that is gone may be used again.
        if wanted[NODE_CERTIFICATE] == other.certificate or (same_address and _is_ready(data)):
            return f'node "{node}" cannot announce the endpoint of another node (metadata.annotations)'
    return None


def _field(obj: Json, *path: str) -> Any:
    """The value at a path; None where it, or anything above it, is absent, null or empty."""
    value: Any = obj
    for key in path:
        value = (value or {}).get(key)
    return value or None
