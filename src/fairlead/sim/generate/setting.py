"""What is there before anything else in a world: namespaces and nodes, and what the API can do."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.agent.contract import NodeSettings
from fairlead.model.marks import ZONE
from fairlead.sim.generate.contract import Setting
from fairlead.sim.generate.draw import Draw
from fairlead.sim.scenario import Json
from fairlead.sim.worlds import nodes

_ZONES = ("a", "b")
_ROOM = {"cpu": "32", "memory": "256Gi", "pods": "110"}
_TIGHT = ({"cpu": "2", "memory": "8Gi", "pods": "110"}, {"cpu": "32", "memory": "256Gi", "pods": "3"})
TEAM = "team"
_NO_LABELS: Mapping[str, str] = {}


def draw_setting(draw: Draw) -> Setting:
    machines = 1 + draw.below("machines", 2) if draw.happens("real nodes", 0.04) else 0
    narrow = not machines and draw.happens("narrow", 0.15)
    tight, taints = draw.happens("tight", 0.3), draw.happens("taints", 0.2)
    room = draw.one_of("room", _TIGHT) if tight else _ROOM
    count = 0 if machines else draw.weighted("nodes", ((1, 3), (2, 2)))
    hollow = tuple(_node(draw, number, room, taints and number == 0) for number in range(count))
    return Setting(
        namespace=TEAM if draw.happens("team", 0.3) else "default",
        nodes=hollow,
        machines=machines,
        taints=taints and bool(hollow),
        is_tight=tight and not machines,
        is_narrow=narrow,
    )


def _node(draw: Draw, number: int, room: Json, tainted: bool) -> Json:
    body = hollow_node(f"node-{number}", draw.one_of("zone", _ZONES), room)
    if tainted:
        body["spec"] = {"taints": [{"key": "example.com/kept", "effect": "NoSchedule"}]}
    return body


def hollow_node(name: str, zone: str, room: Json = _ROOM, labels: Mapping[str, str] = _NO_LABELS) -> Json:
    ready = {"type": "Ready", "status": "True", "reason": "Ready"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {ZONE: zone, **labels}},
        "status": {"allocatable": room, "capacity": room, "conditions": [ready]},
    }


def machine_settings(count: int) -> tuple[NodeSettings, ...]:
    return tuple(nodes.settings(f"node-{'abc'[number]}1") for number in range(count))


def node_places(setting: Setting) -> list[tuple[str, str]]:
    """Its nodes, by name and zone."""
    if setting.machines:
        return [(each.name, each.labels[ZONE]) for each in machine_settings(setting.machines)]
    return [(each["metadata"]["name"], each["metadata"]["labels"][ZONE]) for each in setting.nodes]
