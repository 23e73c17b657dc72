"""Without an EvidencePolicy, deleted or of a kind that the API lacks: the built-in rows hold, and what needs the object
to count is left to a person, which is told."""

from __future__ import annotations

from fairlead.model.marks import OUT_OF_SERVICE
from fairlead.model.views import EVIDENCE_POLICIES, NODES, PODS
from tests.unit.reconcile.nodes.silent_world import SilentWorld
from tests.unit.reconcile.nodes.test_release import TOLERATIONS


def _without_the_policy() -> SilentWorld:
    world = SilentWorld({"n1": "a", "n2": "a", "n3": "a"})
    world.replicas("web", 3, TOLERATIONS)
    world.start_on("n1", "n2", "n3")
    world.delete(EVIDENCE_POLICIES, "default", "")
    return world


def _on_n1(world: SilentWorld) -> str:
    (found,) = (name for name, node in world.pods().items() if node == "n1")
    return found


def test_where_the_policy_is_built_in_a_person_has_the_word() -> None:
    world = _without_the_policy()
    gone = _on_n1(world)
    world.hush("n1")
    world.run(300)
    assert world.released(gone) == ("False", "AwaitingConfirmation")
    (pod,) = (each for each in world.list(PODS) if each.metadata.name == gone)
    (told,) = (each.message for each in pod.status.conditions if each.reason == "AwaitingConfirmation")
    assert "there is no EvidencePolicy default" in told
    assert len(world.pods()) == 3, "nothing was replaced"
    taint = {"key": OUT_OF_SERVICE, "value": "confirmed", "effect": "NoExecute"}
    node = world.get(NODES, "", "n1")
    assert node is not None
    world.edit(NODES, "n1", {"spec": {"taints": [*node.spec.taints, taint]}}, "")
    world.run(1)
    assert gone not in world.pods()
    assert len([each for each in world.list(PODS) if each.live]) == 3


def test_pods_of_a_deleted_node_are_released_by_the_built_in_row() -> None:
    world = _without_the_policy()
    gone = _on_n1(world)
    world.delete(NODES, "n1", "")
    world.run(30)
    assert world.released(gone) == ("False", "NodeGone")
    world.run(30)
    assert gone not in world.pods()
    assert len([each for each in world.list(PODS) if each.live]) == 3
