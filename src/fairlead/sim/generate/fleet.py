"""What people do with nodes and namespaces: cordon, drain and take away; delete with all that is in it."""

from __future__ import annotations

from dataclasses import replace

from fairlead.model.policy import evidence_rows
from fairlead.sim.generate.contract import Setting, Thing, thing_of
from fairlead.sim.generate.draw import Draw
from fairlead.sim.generate.people import TRIES
from fairlead.sim.generate.setting import TEAM
from fairlead.sim.scenario import Pick, ScenarioStep, delete, evict, patch
from fairlead.sim.worlds import nodes

_AT = (2.0, 5.0, 9.0)


def cleared(setting: Setting) -> list[Thing]:
    """What is made first of all."""
    made = [thing_of(each) for each in setting.nodes]
    if setting.namespace == TEAM:
        made.insert(0, thing_of({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}}))
    if not setting.is_narrow and not any(each.plural == "evidencepolicies" for each in setting.things):
        spec = nodes.policy_spec() if setting.machines else evidence_rows.default_spec()
        body = {"kind": "EvidencePolicy", "metadata": {"name": evidence_rows.NAME}, "spec": spec}
        made.append(thing_of({"apiVersion": "fairlead.dev/v1", **body}))
    return made


def of_nodes(draw: Draw, setting: Setting) -> list[ScenarioStep]:
    if not setting.nodes or not draw.happens("disturbed", 0.3):
        return []
    node = draw.one_of("node", setting.nodes)["metadata"]["name"]
    at = draw.one_of("at", _AT)
    if draw.happens("tainted", 0.3):
        taint = {"key": "example.com/out", "effect": "NoExecute"}
        return [
            _of_node(patch(at, "v1", "nodes", node, {"spec": {"taints": [taint]}}, ""), node, "taint a node"),
            _of_node(patch(at + 8.0, "v1", "nodes", node, {"spec": {"taints": None}}, ""), node, "untaint"),
        ]
    cordon = _of_node(patch(at, "v1", "nodes", node, {"spec": {"unschedulable": True}}, ""), node, "cordon")
    steps = [cordon]
    if draw.happens("drained", 0.7):
        every = Pick("pods", setting.namespace, node=node, most=9)
        steps.append(
            _of_node(replace(evict(at + 0.3, "", setting.namespace), pick=every, tries=TRIES), node, "drain")
        )
    if draw.happens("opened again", 0.35):
        change = {"spec": {"unschedulable": None}}
        steps.append(_of_node(patch(at + 4.0, "v1", "nodes", node, change, ""), node, "uncordon"))
    elif draw.happens("taken away", 0.8) and not setting.is_narrow:
        steps.append(_of_node(delete(at + 1.0, "v1", "nodes", node, ""), node, "delete a node"))
    return steps


def _of_node(step: ScenarioStep, node: str, action: str) -> ScenarioStep:
    return replace(step, lane=f"nodes/{node}", action=action)


def of_spaces(draw: Draw, setting: Setting) -> list[ScenarioStep]:
    if setting.namespace != TEAM or not draw.happens("goes", 0.4):
        return []
    at = draw.one_of("at", (1.2, *_AT))
    gone = delete(at, "v1", "namespaces", TEAM, "")
    return [replace(gone, action="delete a namespace", lane=f"namespaces/{TEAM}")]
