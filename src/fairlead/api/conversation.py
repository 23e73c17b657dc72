"""One request, from its first plan to what answers it: plan, submit, finish, and again where the state moved.

A machine like the store's: it is told what happened and says what comes next. Driven by `wire/handler.py` for HTTP, by
`runtime/server/host.py` for code in the server's process, by `sim/processes/server.py` for the simulator and by
`tests/inprocess.py`.

    begin() ----+--> Transaction  the driver submits it to the store and tells `resolved` what became of it
                |       |
                |    resolved(outcome) --> Transaction (the next one, or the same request planned anew)
                |       |
                +-------+--> Reply | Watch | NodeStream | NodeQuestion | ApiError: the end

A write that was planned while something it was judged by is being changed (`pending_rules.py`) is planned anew once
that is durable.

`has_written` says whether the last plan was a write, whose line for audit was committed with it.
"""

from __future__ import annotations

from msgspec import structs

from fairlead.api.pending_rules import GROUPS
from fairlead.api.plan import Again, Context, NodeQuestion, NodeStream, Plan, Step, Watch, decided_by
from fairlead.api.server import Api
from fairlead.api.status import failure
from fairlead.core.errors import ApiError, MethodNotAllowed, Unavailable
from fairlead.port.request import Reply, Request
from fairlead.store.contract import CommitOutcome, Precondition, PreconditionFailed, Transaction

# How often one request may be planned again before the client is told to retry: bounds a livelock.
#: bound: requests | times a request is planned anew on a conflict | 503
ATTEMPTS_MAX = 32

Ending = Reply | Watch | NodeStream | NodeQuestion | ApiError
Next = Transaction | Ending


class Conversation:
    __slots__ = ("_again", "_api", "_plan", "_rests_on", "_submitted", "context", "has_written", "request")

    def __init__(self, api: Api, request: Request, context: Context) -> None:
        self.request = request
        self.context = decided_by(context, request.decision) if request.decision else context
        self.has_written = False
        self._api = api
        self._plan: Plan | None = None  # whose transaction the store has
        self._submitted: Transaction | None = None  # the same, if others are judged by what it changes
        self._rests_on: tuple[Precondition, ...] = ()  # what is under way and was not there for the plan
        self._again = 0

    def begin(self) -> Next:
        try:
            return self._went(self._api.plan(self.request, self.context))
        except ApiError as error:
            return error

    def resolved(self, outcome: CommitOutcome) -> Next:
        """The store has judged the transaction that came last."""
        assert self._plan is not None, "nothing was submitted"
        if self._submitted is not None:
            self._api.desk.under_way.ended(self._submitted)
            self._submitted = None
        try:
            if isinstance(outcome, PreconditionFailed) and outcome.precondition in self._rests_on:
                return self._planned_anew()
            step = self._plan.finish(outcome)
            if isinstance(step, Reply):
                self._plan = None
                return step
            return self._planned_anew() if isinstance(step, Again) else self._went(step)
        except ApiError as error:
            return error

    def _planned_anew(self) -> Next:
        self._again += 1
        if self._again > ATTEMPTS_MAX:
            raise Unavailable("the object kept changing under this request; try again", retry_after_seconds=1)
        self.has_written = False
        return self._went(self._api.plan(self.request, self.context))

    def _went(self, step: Step) -> Next:
        if not isinstance(step, Plan):
            self._plan = None
            return step
        self._plan, self.has_written, self._rests_on = step, True, ()
        transaction, under_way = step.transaction, self._api.desk.under_way
        if under_way.keys:
            transaction = self._judged(transaction)
        if self.request.group in GROUPS:
            under_way.began(transaction)
            self._submitted = transaction
        return transaction

    def _judged(self, transaction: Transaction) -> Transaction:
        """With what it rests on of changes that are under way."""
        desk = self._api.desk
        self._rests_on = desk.under_way.preconditions(desk.read, self.request, self.context.user)
        return structs.replace(transaction, preconditions=(*transaction.preconditions, *self._rests_on))


def stored_reply(ending: Ending) -> Reply:
    """What code in this process gets, to which only what is stored is answered: watches are opened at the hub."""
    if isinstance(ending, Reply):
        return ending
    if isinstance(ending, ApiError):
        return failure(ending)
    return failure(MethodNotAllowed("in this process only what is stored is answered"))
