"""Where the API has no EvidencePolicy, as beside a Kubernetes: nodes are judged, and a person releases their pods."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from fairlead.decision.contract import Decision
from fairlead.decision.decider import Decider
from fairlead.model.key import Key
from fairlead.model.marks import OUT_OF_SERVICE
from fairlead.model.policy.evidence_rows import BUILT_IN_UID
from fairlead.model.views import EVIDENCE_POLICIES, NODES, PODS, EvidencePolicy, Resource
from tests.unit.reconcile.nodes.silent_world import SilentWorld
from tests.unit.reconcile.nodes.test_release import TOLERATIONS


class _Elsewhere:
    """What a plane beside a Kubernetes reads: the policy that it takes to be there (`runtime/remote/plane.py`)."""

    def __init__(self, view: Any) -> None:
        self._view = view

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)

    def get(self, resource: Resource[Any], namespace: str, name: str) -> Any:
        found = self._view.get(resource, namespace, name)
        if isinstance(found, EvidencePolicy):
            return structs.replace(found, metadata=structs.replace(found.metadata, uid=BUILT_IN_UID))
        return found


class BuiltIn(SilentWorld):
    """Without the decider of policies, as a plane leaves out those of kinds that are not served."""

    def __init__(self, nodes: dict[str, str]) -> None:
        super().__init__(nodes)
        self.deciders = tuple(each for each in self.deciders if each.reads[0] is not EVIDENCE_POLICIES)

    def decide(self, decider: Decider, key: Key) -> Decision:
        view: Any = _Elsewhere(self.mirrors.view(*decider.reads))
        return decider.decide(view, key, self.now)


def test_where_the_policy_is_built_in_a_person_has_the_word() -> None:
    world = BuiltIn({"n1": "a", "n2": "a", "n3": "a"})
    world.replicas("web", 3, TOLERATIONS)
    world.start_on("n1", "n2", "n3")
    (gone,) = (name for name, node in world.pods().items() if node == "n1")
    world.hush("n1")
    world.run(300)
    assert world.released(gone) == ("False", "AwaitingConfirmation")
    (pod,) = (each for each in world.list(PODS) if each.metadata.name == gone)
    (told,) = (each.message for each in pod.status.conditions if each.reason == "AwaitingConfirmation")
    assert "the API here has no EvidencePolicy" in told
    assert len(world.pods()) == 3, "nothing was replaced"
    taint = {"key": OUT_OF_SERVICE, "value": "confirmed", "effect": "NoExecute"}
    node = world.get(NODES, "", "n1")
    assert node is not None
    world.edit(NODES, "n1", {"spec": {"taints": [*node.spec.taints, taint]}}, "")
    world.run(1)
    assert gone not in world.pods()
    assert len([each for each in world.list(PODS) if each.live]) == 3
