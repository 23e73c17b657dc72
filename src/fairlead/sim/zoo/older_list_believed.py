"""Zoo: an agent that begins anew believes its first list, whatever the one before it knew: what an older list does not
show is ended."""

from __future__ import annotations

from fairlead.agent.contract import AgentInstruction, Keep, Recalled
from fairlead.agent.machine import Agent
from fairlead.core import codec
from fairlead.sim.parts import replacing


class UndatedRecall(Agent):
    def _recalled(self, event: Recalled) -> tuple[AgentInstruction, ...]:
        return super()._recalled(Recalled(tuple(map(_undated, event.kept)), event.now))


def _undated(kept: Keep) -> Keep:
    if not kept.data:
        return kept
    body = codec.decode(kept.data)
    body["metadata"].pop("resourceVersion", None)
    return Keep(kept.resource, kept.namespace, kept.name, codec.encode(body))


plant = replacing(agent=UndatedRecall)
