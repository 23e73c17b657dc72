"""An API over a store in memory, one request after another: each write is durable before the next is looked at.

No loop, no thread, no socket, no faults; time is `now`, which whoever holds the server moves. Built upon by
`closed/server.py` (closed replays), `tests/inprocess.py` (the semantics of verbs) and `bench/turns.py`.
"""

from __future__ import annotations

from fairlead.api.assembly import Assembly
from fairlead.api.conversation import Conversation, Ending
from fairlead.api.plan import Context
from fairlead.port.request import Request
from fairlead.store.contract import CommitOutcome, CommittedChange, Transaction
from fairlead.store.events import Append, Appended, Flush, Instruction, Publish, Resolve, Submitted
from fairlead.store.memory import MemoryJournal


class SteppedServer:
    def __init__(self, assembly: Assembly, journal: MemoryJournal, now: float) -> None:
        """`journal`: what the store of `assembly` was recovered from."""
        self.assembly, self.journal, self.now = assembly, journal, now
        self.store, self.hub, self.api = assembly.store, assembly.hub, assembly.api
        self._tickets = 0
        self._outcomes: dict[int, CommitOutcome] = {}

    def answer(self, request: Request, context: Context) -> Ending:
        conversation = Conversation(self.api, request, context)
        step = conversation.begin()
        while isinstance(step, Transaction):
            step = conversation.resolved(self.commit(step))
        return step

    def commit(self, transaction: Transaction) -> CommitOutcome:
        self._tickets += 1
        ticket = self._tickets
        self.carry_out(self.store.handle(Submitted(ticket, transaction)))
        self.carry_out(self.store.handle(Flush(self.now)))
        return self._outcomes.pop(ticket)

    def carry_out(self, instructions: tuple[Instruction, ...]) -> None:
        for instruction in instructions:
            if isinstance(instruction, Append):
                self.journal.append(instruction.batch)
                self.carry_out(self.store.handle(Appended()))
            elif isinstance(instruction, Publish):
                self.assembly.observe(instruction.changes, self.now)
                self.publish(instruction.changes)
            elif isinstance(instruction, Resolve):
                self._outcomes[instruction.ticket] = instruction.outcome

    def publish(self, changes: tuple[CommittedChange, ...]) -> None:
        """Tell of what was committed, which is in force from here on."""
        self.hub.publish(changes)
