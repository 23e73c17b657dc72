"""Pod networks: every node that runs processes gets a /24 of the loopback network for the addresses of its pods.

A node keeps its network for as long as it exists (`spec.podCIDR` does not change once it is set), and no two nodes have
the same: all are handed out under one key, whose next turn sees what the last one wrote. The node's uid says where the
search for a free one starts, so that a node made anew, or one of another plane on the same machine, hardly ever gets
what was another's a moment ago.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from ipaddress import IPv4Address, IPv4Network

from fairlead.decision.contract import EFFECTS_MAX, SETTLED, Decision, Reading, Waiting
from fairlead.decision.decider import Decider, Wake, WatchEvent
from fairlead.decision.effects import Change
from fairlead.decision.ensure import ensure_fields
from fairlead.model.key import Key
from fairlead.model.marks import DRIVER, HOLLOW_NETWORK, POD_NETWORK
from fairlead.model.views import NODES, Node

_NAME = "pod-networks"
_PROCESS = "process"
_NETWORK = IPv4Network(POD_NETWORK)
_LOWEST = int(_NETWORK.network_address)
_PREFIX = 24
_SIZE = 1 << (32 - _PREFIX)
SLOTS = (int(IPv4Network(HOLLOW_NETWORK).network_address) - _LOWEST) // _SIZE
ALL = Key(NODES.name, "", "")


def pod_network_decider() -> Decider:
    return Decider(name=_NAME, reads=(NODES,), wakes=(Wake(NODES, _wanted_or_freed),), decide=_decide)


def _wanted_or_freed(event: WatchEvent[Node]) -> Iterable[Key]:
    node = event.newest
    due = _wants(node) if event.after is not None else bool(node.spec.pod_cidr)
    return (ALL,) if due else ()


def _decide(view: Reading, key: Key, now: float) -> Decision:
    nodes = view.list(NODES)
    wanting = [node for node in nodes if _wants(node)]
    if not wanting:
        return Decision()
    taken = {slot for node in nodes if node.spec.pod_cidr for slot in _slots(node.spec.pod_cidr)}
    effects: list[Change] = []
    for node in wanting[:EFFECTS_MAX]:
        slot = _first_free(node.metadata.uid, taken)
        if slot is None:
            text = f"node {node.metadata.name} has no addresses for pods: all of {_NETWORK} is given out"
            return Decision(Waiting("NoFreePodNetwork", text), tuple(effects))
        taken.add(slot)
        network = f"{IPv4Address(_LOWEST + slot * _SIZE)}/{_PREFIX}"
        change = ensure_fields(
            _NAME, node.metadata, NODES, node, "pod-network",
            {}, {"spec": {"podCIDR": network, "podCIDRs": [network]}},
        )  # fmt: skip
        assert change is not None  # it had none
        effects.append(change)
    # A node that got its network wants nothing, and wakes nobody: those there was no room for are looked at again.
    again_at = now if len(wanting) > EFFECTS_MAX else 0.0
    return Decision(SETTLED, tuple(effects), again_at)


def _wants(node: Node) -> bool:
    meta = node.metadata
    return meta.labels.get(DRIVER) == _PROCESS and not node.spec.pod_cidr and not meta.deletion_timestamp


def _slots(network: str) -> Iterable[int]:
    """Which of the /24s somebody's network covers, none if it is not of ours."""
    try:
        found = IPv4Network(network)
    except ValueError:
        return ()  # another family
    if not found.overlaps(_NETWORK):
        return ()
    first = max(int(found.network_address), _LOWEST) - _LOWEST
    last = min(int(found.broadcast_address), int(_NETWORK.broadcast_address)) - _LOWEST
    return range(first // _SIZE, last // _SIZE + 1)


def _first_free(uid: str, taken: set[int]) -> int | None:
    start = int.from_bytes(blake2b(uid.encode(), digest_size=4).digest()) % SLOTS
    for step in range(SLOTS):
        slot = (start + step) % SLOTS
        if slot not in taken:
            return slot
    return None
