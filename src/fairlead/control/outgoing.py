"""The way out of a plane: every call is known as its asker's, carries the leader's fence, and names who writes.

Part of the plane (`plane.py`), whose controllers and scheduler put their instructions into a `WorkerOutbox`. Where
the API cannot judge premises and charges in the transaction, writes go through `read_before_write.py` as well.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import structs

from fairlead.control.controller import Controller
from fairlead.control.instructions import Call, Instruction, PlaneInstruction
from fairlead.control.leadership import Leadership
from fairlead.control.placing import Placer
from fairlead.control.read_before_write import Narrow
from fairlead.control.sources import MirrorSources
from fairlead.port.capabilities import Capabilities
from fairlead.port.request import READ_VERBS

Worker = Controller | Placer


class Outgoing:
    """One per plane. `narrow` is None where the API judges all of it in the transaction."""

    def __init__(
        self,
        leadership: Callable[[], Leadership],
        capabilities: Capabilities,
        new_call: Callable[[], int],
        sources: MirrorSources,
    ) -> None:
        self._leadership = leadership
        self.callers: dict[int, Worker] = {}  # who hears the answer to a call that is under way
        self.narrow = (
            None
            if capabilities.complete
            else Narrow(
                capabilities,
                new_call,
                lambda now: leadership().may_act(now),
                sources.quotas_in,
                self.fenced,
                sources.address_of,
            )
        )

    def send(self, worker: Worker, call: Call, now: float) -> tuple[Instruction, ...]:
        """What the driver is to carry out for a call of this worker's."""
        self.remember(worker, call)
        return self.narrow.outgoing(call, now) if self.narrow is not None else (self.fenced(call),)

    def remember(self, worker: Worker, call: Call) -> None:
        self.callers[call.call] = worker

    def take_caller(self, call: int) -> Worker:
        """Who is to hear the answer, which comes once."""
        return self.callers.pop(call)

    def fenced(self, call: Call) -> Call:
        """Writes commit only while this plane leads."""
        request, fence = call.request, self._leadership().fence
        if request.verb in READ_VERBS or fence is None:
            return call
        premises, manager = (fence, *request.premises), f"fairlead-{call.controller}"
        fenced = structs.replace(request, premises=premises, manager=manager, decision=call.decision)
        return Call(call.call, call.controller, fenced, call.decision)


Sent = Callable[[Worker, Instruction, float], tuple[Instruction, ...]]


class WorkerOutbox:
    """Where one worker puts what its step leads to (an `Outbox`); it leaves the plane as `sent` says."""

    __slots__ = ("_now", "_out", "_sent", "_worker")

    def __init__(self, sent: Sent, worker: Worker, now: float, out: list[PlaneInstruction]) -> None:
        self._sent, self._worker, self._now, self._out = sent, worker, now, out

    def append(self, instruction: Instruction, /) -> None:
        self._out += self._sent(self._worker, instruction, self._now)
