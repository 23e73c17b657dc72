"""At rest nothing is left that a rule of repair would remove: orphans are removed in the end, whatever was lost before.

That no pod is bound to a Node that is gone is also seen by `bound_once.py`. Leases are not judged: they are kept for
longer than a run rests.
"""

from __future__ import annotations

from fairlead.ledger import repair
from fairlead.model.views import NODES, PODS
from fairlead.sim.checkers.contract import CommittedObjects, SeenChange
from fairlead.sim.violation import Violation


class NoLeftover:
    name = "no-leftover"
    sees: frozenset[str] = frozenset()

    def saw(self, sight: SeenChange) -> None:
        """Leftovers are allowed on the way: they have their time."""

    def quiesced(self, objects: CommittedObjects, seconds: float) -> None:
        nodes = {key.name for key in objects.of(NODES.name)}
        for pod in objects.of(PODS.name).values():
            node = pod.spec.node_name
            found = repair.of_pod(pod, bool(node) and node not in nodes, 0.0)
            if found is not None and found.rule.act:
                raise Violation(
                    self.name, f"pod {pod.metadata.name} is left over: {found.why} ({found.rule.cited})"
                )
