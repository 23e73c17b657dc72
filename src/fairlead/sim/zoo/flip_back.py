"""Zoo 9: a node is closed step by step, and only the last step is ever taken back.

Marks of silence are removed where a node was given up and is heard again. A node that is heard again before that, while
it is merely suspected, is left closed for ever.
"""

from __future__ import annotations

from msgspec import structs

from fairlead.decision.contract import Decision, Reading
from fairlead.decision.decider import Decider
from fairlead.decision.effects import Change, Effect
from fairlead.model.key import Key
from fairlead.model.marks import SUSPECT
from fairlead.model.views import NODES
from fairlead.sim.zoo.wrapping import deciding, spoiling


@deciding
def one_way(inner: Decider, view: Reading, key: Key, now: float) -> Decision:
    decision = inner.decide(view, key, now)
    effects = tuple(each for each in decision.effects if not _opens_suspect(view, each))
    return structs.replace(decision, effects=effects)


def _opens_suspect(view: Reading, effect: Effect) -> bool:
    """Whether it takes the mark of suspicion from a node, without giving it up."""
    node = view.get(NODES, "", effect.name)
    if not isinstance(effect, Change) or node is None or "taints" not in effect.patch.get("spec", {}):
        return False
    suspected = any(taint.get("key") == SUSPECT for taint in node.spec.taints)
    return suspected and not effect.patch["spec"]["taints"]


plant = spoiling("node-health", one_way)
