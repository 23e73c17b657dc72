"""What a pod's placement depends on, read once per kind of pod: pods with equal facts are one equivalence class.

`FactsOf` interns: two pods that differ only in name, uid or status get the very same `Facts`, so that plugins can keep
what they computed for a class by identity. A class is wider than a spec (`model/specs.py`): pods with other images are
one class, and labels and owners tell classes apart, so it is known by what it says and lives as long as anybody has it.
A view does not know its bytes: those that `model/pod_decoder.py` made of one spec are known by the parts they share.
Everything here is Kubernetes' meaning of the fields; nothing knows nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from fairlead.core import quantity
from fairlead.core.bounded_dict import BoundedDict
from fairlead.ledger.isolation_needs import NONE as NO_WALLS
from fairlead.ledger.isolation_needs import Walls, walls_of
from fairlead.ledger.override import Name, names_of_owner
from fairlead.ledger.pod_needs import requests_of
from fairlead.ledger.reservation import ANNOTATION
from fairlead.model.selectors import NOTHING, LabelMatcher, Requirement, from_object, label_selector
from fairlead.model.specs import SPECS_MAX
from fairlead.model.views import DAEMONSETS, Container, Json, Meta, Owner, Pod, PodSpec, Toleration

# More than any machine has; thousands of such pods, and a hundred times their sum, still fit into a column.
#: bound: plane | amount of a resource that is told from more | taken for this
AMOUNT_MAX = 2**50
# What a container without requests counts as when nodes are scored, though not when they are filtered.
CPU_UNSAID, MEMORY_UNSAID = 100, 200 * 1024 * 1024

_SPREAD_BY_DEFAULT = ("ReplicaSet", "StatefulSet", "ReplicationController")
_PER_POD = ("statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index")
# What `FactsOf._encoded` reads of a spec.
_parts = attrgetter(
    "containers", "init_containers", "overhead", "resources", "node_selector", "affinity", "tolerations",
    "topology_spread_constraints", "preemption_policy", "security_context", "volumes",
)  # fmt: skip

Amounts = dict[str, int]  # resource -> cpu in thousandths, all others in whole units
LabelPairs = tuple[tuple[str, str], ...]  # sorted


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """One nodeSelectorTerm: all of it must hold. A term without conditions matches no node."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()  # metadata.name only


@dataclass(frozen=True, slots=True)
class PodTerm:
    """One pod (anti-)affinity term. `namespaces` None: all; otherwise those named, besides those selected."""

    topology_key: str
    selector: LabelMatcher
    namespaces: frozenset[str] | None
    namespace_selector: LabelMatcher | None = None
    anti: bool = False
    weight: int = 0  # 0: required


@dataclass(frozen=True, slots=True)
class Spread:
    max_skew: int
    topology_key: str
    required: bool  # DoNotSchedule
    selector: LabelMatcher
    min_domains: int = 1
    honours_affinity: bool = True
    honours_taints: bool = False
    by_default: bool = False  # nobody asked for it: a node without the label is judged without it


@dataclass(frozen=True, slots=True)
class Port:
    number: int
    protocol: str = "TCP"
    address: str = "0.0.0.0"


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Facts:
    """Compared by identity: `FactsOf` makes equal ones the same, as long as anybody has one."""

    namespace: str
    labels: dict[str, str]
    label_key: LabelPairs
    requests: Amounts  # what filtering counts; "pods" is 1
    scored_cpu: int  # with the defaults for containers that do not say
    scored_memory: int
    node_selector: tuple[Requirement, ...]
    required_terms: tuple[NodeTerm, ...] | None  # any of them; None: not asked for
    preferred_terms: tuple[tuple[int, NodeTerm], ...]
    tolerations: tuple[Toleration, ...]
    affinity: tuple[PodTerm, ...]
    anti_affinity: tuple[PodTerm, ...]
    preferred_pods: tuple[PodTerm, ...]  # of both kinds, weights positive
    spreads: tuple[Spread, ...]
    ports: tuple[Port, ...]
    priority: int
    preempts: bool
    priority_class: str = ""
    controller: str = ""  # uid of the owner that manages it
    workload: tuple[Name, ...] = ()  # what an override may call it
    of_daemonset: bool = False  # made for one node by a DaemonSet
    reservation: str = ""  # the one it names
    walls: Walls = NO_WALLS
    own: Facts | None = None  # what it would be without an override that gives it another priority
    prioritized_by: str = ""  # that override


class FactsOf:
    """Facts of pods, each class once. Nothing is kept of a class whose facts nobody has any more: every Job and every
    revision of a Deployment is a class of its own, and leaves one behind."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[tuple[Any, ...], Facts] = WeakValueDictionary()
        self._encode = msgspec.json.Encoder().encode
        self._last: tuple[Pod, Facts] | None = None  # who is placed is asked about twice
        # By the identity of their containers, which views of one spec share.
        self._specs: BoundedDict[int, tuple[PodSpec, tuple[Any, ...], bytes]] = BoundedDict(SPECS_MAX)

    def __call__(self, pod: Pod) -> Facts:
        if self._last is not None and self._last[0] is pod:
            return self._last[1]
        facts = self._found(pod)
        self._last = pod, facts
        return facts

    def _found(self, pod: Pod) -> Facts:
        spec, meta = pod.spec, pod.metadata
        key = (
            meta.namespace,
            tuple(sorted(meta.labels.items())),
            spec.priority,
            spec.priority_class_name,
            meta.owner_references,
            meta.annotations.get(ANNOTATION),
            self._encoded(spec),
        )
        facts = self._known.get(key)
        if facts is None:
            facts = self._known[key] = facts_of(pod)
        return facts

    def _encoded(self, spec: PodSpec) -> bytes:
        """All of a spec that matters, encoded once for the views of one spec."""
        known = self._specs.get(id(spec.containers))
        if known is not None and (known[0] is spec or known[1] == _parts(spec)):
            return known[2]
        encoded = self._encode(
            (
                [(c.resources.requests, c.ports) for c in spec.containers],
                [(c.resources.requests, c.ports, c.restart_policy) for c in spec.init_containers],
                walls_of(spec),
                spec.overhead,
                spec.resources.requests,
                spec.node_selector,
                spec.affinity,
                spec.tolerations,
                spec.topology_spread_constraints,
                spec.preemption_policy,
            )
        )
        self._specs.keep(id(spec.containers), (spec, _parts(spec), encoded))
        return encoded


def facts_of(pod: Pod) -> Facts:
    spec, meta = pod.spec, pod.metadata
    node_affinity = spec.affinity.get("nodeAffinity") or {}
    required = node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    preferred = node_affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    pods = spec.affinity.get("podAffinity") or {}
    others = spec.affinity.get("podAntiAffinity") or {}
    scored = _rounded(requests_of(spec, _scored))
    controller = meta.controller
    return Facts(
        namespace=meta.namespace,
        labels=meta.labels,
        label_key=tuple(sorted(meta.labels.items())),
        requests={**_rounded(requests_of(spec)), "pods": 1},
        scored_cpu=scored["cpu"],
        scored_memory=scored["memory"],
        node_selector=tuple(Requirement(k, "in", (v,)) for k, v in sorted(spec.node_selector.items())),
        required_terms=None
        if required is None
        else tuple(map(_node_term, required.get("nodeSelectorTerms") or ())),
        preferred_terms=tuple(
            (each["weight"], _node_term(each.get("preference") or {})) for each in preferred
        ),
        tolerations=spec.tolerations,
        affinity=_required_pods(pods, meta, False),
        anti_affinity=_required_pods(others, meta, True),
        preferred_pods=(
            *_preferred_pods(pods, meta, False),
            *_preferred_pods(others, meta, True),
        ),
        spreads=tuple(_spread(each, meta.labels) for each in spec.topology_spread_constraints)
        or _default_spreads(meta),
        ports=tuple(_ports(spec)),
        priority=spec.priority,
        preempts=spec.preemption_policy != "Never",
        priority_class=spec.priority_class_name,
        controller=controller.uid if controller is not None else "",
        workload=names_of_owner(meta),
        of_daemonset=_is_of_daemonset(controller, required),
        reservation=meta.annotations.get(ANNOTATION, ""),
        walls=walls_of(spec),
    )


def _is_of_daemonset(controller: Owner | None, required: Json | None) -> bool:
    """As its controller makes them: with itself as the owner, and with one node by name. Anybody may name an owner."""
    if controller is None or (controller.api_version, controller.kind) != (
        DAEMONSETS.api_version,
        DAEMONSETS.kind,
    ):
        return False
    terms: list[Json] = (required or {}).get("nodeSelectorTerms") or []
    return len(terms) == 1 and any(
        each.get("key") == "metadata.name"
        and each.get("operator") == "In"
        and len(each.get("values") or ()) == 1
        for each in terms[0].get("matchFields") or ()
    )


# Amounts


def amount(resource: str, value: Any) -> int:
    """A quantity in the unit of its column: thousandths of a cpu, whole units of everything else, rounded up."""
    return _in_units(resource, quantity.from_json(value))


def _in_units(resource: str, exact: quantity.Quantity) -> int:
    return min(exact.milli() if resource == "cpu" else exact.value(), AMOUNT_MAX)


def _rounded(exact: Amounts) -> Amounts:
    """What a pod needs is rounded up once, not per container."""
    return {name: _in_units(name, quantity.Quantity(nano)) for name, nano in exact.items()}


def _scored(container: Container) -> dict[str, Any]:
    said = container.resources.requests
    return {"cpu": said.get("cpu", f"{CPU_UNSAID}m"), "memory": said.get("memory", MEMORY_UNSAID)}


def _ports(spec: PodSpec) -> list[Port]:
    sidecars = [each for each in spec.init_containers if each.restart_policy == "Always"]
    return [
        Port(port["hostPort"], port.get("protocol") or "TCP", port.get("hostIP") or "0.0.0.0")
        for container in (*spec.containers, *sidecars)
        for port in container.ports
        if port.get("hostPort")
    ]


# Terms

_NODE_OPERATORS = {
    "In": "in",
    "NotIn": "notin",
    "Exists": "exists",
    "DoesNotExist": "!",
    "Gt": ">",
    "Lt": "<",
}


def _node_term(term: Json) -> NodeTerm:
    return NodeTerm(
        tuple(map(_requirement, term.get("matchExpressions") or ())),
        tuple(map(_requirement, term.get("matchFields") or ())),
    )


def _requirement(expression: Json) -> Requirement:
    values = tuple(expression.get("values") or ())
    return Requirement(expression["key"], _NODE_OPERATORS[expression["operator"]], values)


def _required_pods(affinity: Json, meta: Meta, anti: bool) -> tuple[PodTerm, ...]:
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
    return tuple(_pod_term(term, meta, anti, 0) for term in terms)


def _preferred_pods(affinity: Json, meta: Meta, anti: bool) -> tuple[PodTerm, ...]:
    terms = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return tuple(_pod_term(each.get("podAffinityTerm") or {}, meta, anti, each["weight"]) for each in terms)


def _pod_term(term: Json, meta: Meta, anti: bool, weight: int) -> PodTerm:
    """No namespaces and no namespaceSelector: the pod's own; an empty namespaceSelector: all."""
    named = term.get("namespaces") or ()
    selecting = term.get("namespaceSelector")
    every = (
        selecting is not None and not selecting.get("matchLabels") and not selecting.get("matchExpressions")
    )
    return PodTerm(
        topology_key=term.get("topologyKey", ""),
        selector=_narrowed(term, meta.labels),
        namespaces=None
        if every
        else frozenset(named or (() if selecting is not None else (meta.namespace,))),
        namespace_selector=None if selecting is None or every else from_object(selecting),
        anti=anti,
        weight=weight,
    )


def _default_spreads(meta: Meta) -> tuple[Spread, ...]:
    """Pods of a set that say nothing are spread over nodes and zones all the same, where that costs nothing else. Those
    alike are the pods with the same labels, but for the ones that tell a StatefulSet's pods apart."""
    controller = meta.controller
    if controller is None or controller.kind not in _SPREAD_BY_DEFAULT:
        return ()
    alike = label_selector(
        Requirement(key, "in", (value,)) for key, value in meta.labels.items() if key not in _PER_POD
    )
    return tuple(
        Spread(max_skew, key, False, alike, by_default=True)
        for max_skew, key in ((3, "kubernetes.io/hostname"), (5, "topology.kubernetes.io/zone"))
    )


def _spread(constraint: Json, labels: dict[str, str]) -> Spread:
    return Spread(
        max_skew=constraint["maxSkew"],
        topology_key=constraint["topologyKey"],
        required=constraint.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule",
        selector=_narrowed(constraint, labels),
        min_domains=constraint.get("minDomains") or 1,
        honours_affinity=constraint.get("nodeAffinityPolicy", "Honor") == "Honor",
        honours_taints=constraint.get("nodeTaintsPolicy", "Ignore") == "Honor",
    )


def _narrowed(owner: Json, labels: dict[str, str]) -> LabelMatcher:
    """A labelSelector with matchLabelKeys and mismatchLabelKeys: keys that the pod has, with the pod's own values."""
    selector = from_object(owner.get("labelSelector"))
    same = [Requirement(k, "in", (labels[k],)) for k in owner.get("matchLabelKeys") or () if k in labels]
    other = [
        Requirement(k, "notin", (labels[k],)) for k in owner.get("mismatchLabelKeys") or () if k in labels
    ]
    more = (*same, *other)
    if not more or selector is NOTHING:
        return selector
    return label_selector((*selector.requirements, *more))
